// Expanded from ops.def: a row with a CPU body that is not written does not link.
#include "libamp/backend/cpu/table.h"

namespace amp::cpu {

#define AMP_BODY_cpu(id) Tensors id(const OpCall&);
#define AMP_BODY_composite(id)
#define AMP_OP(id, cuda_rule, cpu_rule, min_inputs, max_inputs, backends, gradient, saves, cost, text) \
  AMP_BODY_##backends(id)
#include "libamp/base/ops.def"
#undef AMP_BODY_cpu
#undef AMP_BODY_composite

const Backend& table() {
  static const Backend kTable = {
      {
          nullptr,
#define AMP_BODY_cpu(id) &cpu::id,
#define AMP_BODY_composite(id) nullptr,
#define AMP_OP(id, cuda_rule, cpu_rule, min_inputs, max_inputs, backends, gradient, saves, cost, text) \
  AMP_BODY_##backends(id)
#include "libamp/base/ops.def"
      },
      &tensor_stats,
  };
  return kTable;
}

}  // namespace amp::cpu
