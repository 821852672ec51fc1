// Name tables of words.h, expanded from the same .def rows as the enums, so that they cannot disagree.
#include "libamp/base/words.h"

#include <array>

namespace amp {
namespace {

struct DTypeRow {
  std::string_view name, short_name;
  std::size_t bytes;
  bool is_floating;
};
constexpr DTypeRow kDTypes[] = {
#define AMP_DTYPE(id, name, short_name, bytes, is_floating, c_type) {name, short_name, bytes, is_floating},
#include "libamp/base/dtype.def"
};

#define AMP_TEXT(id, text) std::string_view(text),
constexpr std::string_view kCastRules[] = {
#define AMP_CAST_RULE AMP_TEXT
#include "libamp/base/words.def"
};
constexpr std::string_view kReasons[] = {
#define AMP_REASON AMP_TEXT
#include "libamp/base/words.def"
};
constexpr std::string_view kPhases[] = {
#define AMP_PHASE AMP_TEXT
#include "libamp/base/words.def"
};
constexpr std::string_view kRoles[] = {
#define AMP_TENSOR_ROLE AMP_TEXT
#include "libamp/base/words.def"
};
constexpr std::string_view kCauses[] = {
#define AMP_MEMORY_CAUSE AMP_TEXT
#include "libamp/base/words.def"
};
constexpr std::string_view kCastKinds[] = {
#define AMP_CAST_KIND AMP_TEXT
#include "libamp/base/words.def"
};
constexpr std::string_view kScalerActions[] = {
#define AMP_SCALER_ACTION AMP_TEXT
#include "libamp/base/words.def"
};
#undef AMP_TEXT
constexpr std::string_view kDevices[] = {"cpu", "cuda"};
constexpr std::string_view kPolicies[] = {"none", "cuda", "cpu"};

template <std::size_t N, typename Enum>
std::string_view text(const std::string_view (&table)[N], Enum value) noexcept {
  static_assert(N == static_cast<std::size_t>(Enum::count_));
  const auto i = static_cast<std::size_t>(value);
  return i < N ? table[i] : std::string_view("?");
}

}  // namespace

std::string_view name(DType d) noexcept {
  const auto i = static_cast<std::size_t>(d);
  return i < kDTypeCount ? kDTypes[i].name : "?";
}
std::string_view short_name(DType d) noexcept {
  const auto i = static_cast<std::size_t>(d);
  return i < kDTypeCount ? kDTypes[i].short_name : "?";
}
std::string_view name(CastRule v) noexcept { return text(kCastRules, v); }
std::string_view name(Reason v) noexcept { return text(kReasons, v); }
std::string_view name(Phase v) noexcept { return text(kPhases, v); }
std::string_view name(TensorRole v) noexcept { return text(kRoles, v); }
std::string_view name(MemoryCause v) noexcept { return text(kCauses, v); }
std::string_view name(CastKind v) noexcept { return text(kCastKinds, v); }
std::string_view name(ScalerAction v) noexcept { return text(kScalerActions, v); }
std::string_view name(DeviceType v) noexcept { return text(kDevices, v); }
std::string_view name(Policy v) noexcept { return text(kPolicies, v); }

std::size_t size_of(DType d) noexcept {
  const auto i = static_cast<std::size_t>(d);
  return i < kDTypeCount ? kDTypes[i].bytes : 0;
}
bool is_floating(DType d) noexcept {
  const auto i = static_cast<std::size_t>(d);
  return i < kDTypeCount && kDTypes[i].is_floating;
}
bool is_low_precision(DType d) noexcept { return is_floating(d) && size_of(d) < 4; }

DType find_dtype(std::string_view wanted) noexcept {
  for (std::size_t i = 0; i < kDTypeCount; ++i)
    if (kDTypes[i].name == wanted || kDTypes[i].short_name == wanted) return static_cast<DType>(i);
  return DType::count_;
}

}  // namespace amp
