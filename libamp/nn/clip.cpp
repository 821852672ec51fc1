// Clipping in float32, whatever the gradients' type.
#include "libamp/nn/clip.h"

#include "libamp/core/grad_mode.h"
#include "libamp/ops/join.h"
#include "libamp/ops/ops.h"

namespace amp::nn::utils {

Tensor clip_grad_norm_(const Tensors& parameters, double max_norm, double norm_type) {
  const PhaseScope phase(&Context::phase, Phase::optimizer);
  const no_grad quiet;
  Tensors norms;
  for (const Tensor& p : parameters)
    if (const Tensor g = p.grad(); g.defined()) norms.push_back(vector_norm(g, norm_type, {}, false, DType::float32));
  if (norms.empty()) return zeros({});
  const Tensor total = vector_norm(stack(norms), norm_type);
  // 1e-6 as PyTorch, against a division by zero.
  const Tensor factor = clamp(max_norm / (total + 1e-6), {}, 1.0);
  for (const Tensor& p : parameters)
    if (const Tensor g = p.grad(); g.defined()) g.mul_(factor);
  return total;
}

void clip_grad_value_(const Tensors& parameters, double clip_value) {
  const PhaseScope phase(&Context::phase, Phase::optimizer);
  const no_grad quiet;
  for (const Tensor& p : parameters)
    if (const Tensor g = p.grad(); g.defined()) clamp_(g, -clip_value, clip_value);
}

}  // namespace amp::nn::utils
