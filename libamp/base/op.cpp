// The table behind op.h.
#include "libamp/base/op.h"

namespace amp {
namespace {

namespace body {
constexpr BodyKind cpu = BodyKind::backend;
constexpr BodyKind composite = BodyKind::composite;
}  // namespace body
namespace differentiable {
constexpr bool yes = true, no = false, inside = false, missing = true;
}

constexpr OpInfo kOps[] = {
    {"?", CastRule::none, CastRule::none, 0, 0, BodyKind::none, false, kSaveNone, "free", "no op"},
#define AMP_OP(id, cuda_rule, cpu_rule, min_inputs, max_inputs, backends, gradient, saves, cost, text) \
  {#id,                                                                                                \
   CastRule::cuda_rule,                                                                                \
   CastRule::cpu_rule,                                                                                 \
   min_inputs,                                                                                         \
   max_inputs,                                                                                         \
   body::backends,                                                                                     \
   differentiable::gradient,                                                                           \
   saves,                                                                                              \
   #cost,                                                                                              \
   text},
#include "libamp/base/ops.def"
};

}  // namespace

const OpInfo& op_info(OpId op) noexcept {
  const auto i = static_cast<std::size_t>(op);
  return kOps[i < kOpCount ? i : 0];
}

OpId find_op(std::string_view name) noexcept {
  for (std::size_t i = 1; i < kOpCount; ++i)
    if (kOps[i].name == name) return static_cast<OpId>(i);
  return OpId::none;
}

}  // namespace amp
