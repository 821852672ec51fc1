// Bodies of composite rows, expanded from ops.def.
#include "libamp/dispatch/backend.h"

namespace amp {

namespace composite {
#define AMP_BODY_cpu(id)
#define AMP_BODY_composite(id) Tensors id(const OpCall&);
#define AMP_OP(id, cuda_rule, cpu_rule, min_inputs, max_inputs, backends, gradient, saves, cost, text) \
  AMP_BODY_##backends(id)
#include "libamp/base/ops.def"
#undef AMP_BODY_cpu
#undef AMP_BODY_composite
}  // namespace composite

Body composite_body(OpId op) {
  static constexpr Body kBodies[kOpCount] = {
      nullptr,
#define AMP_BODY_cpu(id) nullptr,
#define AMP_BODY_composite(id) &composite::id,
#define AMP_OP(id, cuda_rule, cpu_rule, min_inputs, max_inputs, backends, gradient, saves, cost, text) \
  AMP_BODY_##backends(id)
#include "libamp/base/ops.def"
  };
  return kBodies[static_cast<std::size_t>(op)];
}

}  // namespace amp
