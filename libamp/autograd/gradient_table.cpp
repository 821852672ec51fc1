// From op id to gradient formula, by the rows of ops.def.
#include "libamp/autograd/gradient.h"

namespace amp {

namespace gradients {
#define AMP_FORMULA_yes(id) Tensors id(const GradCall&);
#define AMP_FORMULA_no(id)
#define AMP_FORMULA_missing(id)
#define AMP_FORMULA_inside(id)
#define AMP_OP(id, cuda_rule, cpu_rule, min_inputs, max_inputs, backends, gradient, saves, cost, text) \
  AMP_FORMULA_##gradient(id)
#include "libamp/base/ops.def"
#undef AMP_FORMULA_yes
#undef AMP_FORMULA_no
#undef AMP_FORMULA_missing
#undef AMP_FORMULA_inside
}  // namespace gradients

GradientFormula gradient_formula(OpId op) {
  static constexpr GradientFormula kFormulas[kOpCount] = {
      nullptr,
#define AMP_FORMULA_yes(id) &gradients::id,
#define AMP_FORMULA_no(id) nullptr,
#define AMP_FORMULA_missing(id) nullptr,
#define AMP_FORMULA_inside(id) nullptr,
#define AMP_OP(id, cuda_rule, cpu_rule, min_inputs, max_inputs, backends, gradient, saves, cost, text) \
  AMP_FORMULA_##gradient(id)
#include "libamp/base/ops.def"
  };
  return kFormulas[static_cast<std::size_t>(op)];
}

}  // namespace amp
