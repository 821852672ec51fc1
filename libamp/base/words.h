// Enums and names of the vocabularies in words.def and dtype.def. Shared by libamp and the profiler.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace amp {

/// Element types, in the order of dtype.def. Values are stable: they are written to captures.
enum class DType : std::uint8_t {
#define AMP_DTYPE(id, name, short_name, bytes, is_floating, c_type) id,
#include "libamp/base/dtype.def"
  count_
};
inline constexpr std::size_t kDTypeCount = static_cast<std::size_t>(DType::count_);

#define AMP_WORD(id, text) id,
enum class CastRule : std::uint8_t {
#define AMP_CAST_RULE AMP_WORD
#include "libamp/base/words.def"
  count_
};
enum class Reason : std::uint8_t {
#define AMP_REASON AMP_WORD
#include "libamp/base/words.def"
  count_
};
enum class Phase : std::uint8_t {
#define AMP_PHASE AMP_WORD
#include "libamp/base/words.def"
  count_
};
enum class TensorRole : std::uint8_t {
#define AMP_TENSOR_ROLE AMP_WORD
#include "libamp/base/words.def"
  count_
};
enum class MemoryCause : std::uint8_t {
#define AMP_MEMORY_CAUSE AMP_WORD
#include "libamp/base/words.def"
  count_
};
enum class CastKind : std::uint8_t {
#define AMP_CAST_KIND AMP_WORD
#include "libamp/base/words.def"
  count_
};
enum class ScalerAction : std::uint8_t {
#define AMP_SCALER_ACTION AMP_WORD
#include "libamp/base/words.def"
  count_
};
#undef AMP_WORD

/// Device kinds a tensor can live on. Values are stable.
enum class DeviceType : std::uint8_t { cpu = 0, cuda = 1, count_ };

/// Whose rule list an autocast region follows. `none` in events means: autocast was off.
enum class Policy : std::uint8_t { none = 0, cuda = 1, cpu = 2, count_ };

inline constexpr std::size_t kNarrowTypeCount = 4;
/// The narrow types of the report's underflow and overflow shares, in order.
inline constexpr DType kNarrowTypes[kNarrowTypeCount] = {
#define AMP_NARROW_TYPE(id) DType::id,
#include "libamp/base/words.def"
};

// Names as they appear in reports and messages. Out-of-range values give "?": they come from captures.
std::string_view name(DType dtype) noexcept;        ///< "float16"
std::string_view short_name(DType dtype) noexcept;  ///< "fp16"
std::string_view name(CastRule rule) noexcept;
std::string_view name(Reason reason) noexcept;
std::string_view name(Phase phase) noexcept;
std::string_view name(TensorRole role) noexcept;
std::string_view name(MemoryCause cause) noexcept;
std::string_view name(CastKind kind) noexcept;
std::string_view name(ScalerAction action) noexcept;
std::string_view name(DeviceType type) noexcept;
std::string_view name(Policy policy) noexcept;

/// Bytes of one element; 0 for a value that is no dtype.
std::size_t size_of(DType dtype) noexcept;
bool is_floating(DType dtype) noexcept;
/// True for the types autocast calls low precision: narrower than float32 and floating.
bool is_low_precision(DType dtype) noexcept;
/// Finds a dtype by its name ("float16") or short name ("fp16"); DType::count_ if there is none.
DType find_dtype(std::string_view name) noexcept;

}  // namespace amp
