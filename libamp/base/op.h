// Ids and fixed facts of the ops, expanded from ops.def. Shared by libamp and the profiler; holds no code of an op.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "libamp/base/words.h"

namespace amp {

/// Row of ops.def; 0 is "no op".
enum class OpId : std::uint16_t {
  none = 0,
#define AMP_OP(id, cuda_rule, cpu_rule, min_inputs, max_inputs, backends, gradient, saves, cost, text) id,
#include "libamp/base/ops.def"
  count_
};
inline constexpr std::size_t kOpCount = static_cast<std::size_t>(OpId::count_);

/// max_inputs of ops that take a list of tensors.
inline constexpr int kAny = 255;

/// Bits of the `saves` column.
enum Saves : std::uint32_t {
  kSaveNone = 0,
  kSaveIn0 = 1u << 0,
  kSaveIn1 = 1u << 1,
  kSaveIn2 = 1u << 2,
  kSaveIn3 = 1u << 3,
  kSaveIn4 = 1u << 4,
  kSaveIn5 = 1u << 5,
  kSaveAllIn = 0xffffu,
  kSaveOut0 = 1u << 16,
  kSaveOut1 = 1u << 17,
  kSaveOut2 = 1u << 18,
};

/// Where an op's body lives.
enum class BodyKind : std::uint8_t { none, backend, composite };

/// One row of ops.def without its code.
struct OpInfo {
  std::string_view name;
  CastRule cuda_rule, cpu_rule;
  int min_inputs, max_inputs;
  BodyKind body;
  bool differentiable;
  std::uint32_t saves;
  std::string_view cost_name;
  std::string_view text;

  [[nodiscard]] constexpr CastRule rule(Policy policy) const {
    return policy == Policy::cuda ? cuda_rule : policy == Policy::cpu ? cpu_rule : CastRule::none;
  }
};

/// The row of an op; for an id outside the table the row of OpId::none, whose name is "?".
const OpInfo& op_info(OpId op) noexcept;
/// Finds an op by name; OpId::none if there is none.
OpId find_op(std::string_view name) noexcept;

}  // namespace amp
