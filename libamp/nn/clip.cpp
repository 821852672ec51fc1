// Clipping in float32, whatever the gradients' type.
#include "libamp/nn/clip.h"

#include <cmath>

#include "libamp/core/grad_mode.h"
#include "libamp/ops/join.h"
#include "libamp/ops/ops.h"

namespace amp::nn::utils {
namespace {

Tensors gradients_of(const Tensors& parameters) {
  Tensors gradients;
  for (const Tensor& p : parameters)
    if (const Tensor g = p.grad(); g.defined()) gradients.push_back(g);
  return gradients;
}

}  // namespace

Tensor get_total_norm(const Tensors& tensors, double norm_type, bool error_if_nonfinite) {
  const PhaseScope phase(&Context::phase, Phase::optimizer);
  const no_grad quiet;
  if (tensors.empty()) return zeros({});
  Tensors norms;
  for (const Tensor& t : tensors)
    norms.push_back(vector_norm(t.is_sparse() ? t.coalesce().values() : t, norm_type, {}, false, DType::float32));
  const Tensor total = vector_norm(stack(norms), norm_type);
  if (error_if_nonfinite && !std::isfinite(total.item()))
    fail(ErrorCode::runtime, "clip_grad_norm_",
         "the total norm of the gradients is not finite, so they cannot be clipped: got " +
             std::to_string(total.item()) + "; error_if_nonfinite = false scales them all the same");
  return total;
}

void clip_grads_with_norm_(const Tensors& parameters, double max_norm, const Tensor& total_norm) {
  const PhaseScope phase(&Context::phase, Phase::optimizer);
  const no_grad quiet;
  // 1e-6 as PyTorch, against a division by zero.
  const Tensor factor = clamp(max_norm / (total_norm + 1e-6), {}, 1.0);
  for (const Tensor& g : gradients_of(parameters)) g.mul_(factor);
}

Tensor clip_grad_norm_(const Tensors& parameters, double max_norm, double norm_type, bool error_if_nonfinite) {
  const Tensor total = get_total_norm(gradients_of(parameters), norm_type, error_if_nonfinite);
  clip_grads_with_norm_(parameters, max_norm, total);
  return total;
}

void clip_grad_value_(const Tensors& parameters, double clip_value) {
  const PhaseScope phase(&Context::phase, Phase::optimizer);
  const no_grad quiet;
  for (const Tensor& g : gradients_of(parameters)) clamp_(g, -clip_value, clip_value);
}

Tensor parameters_to_vector(const Tensors& parameters) {
  Tensors flat;
  for (const Tensor& p : parameters) flat.push_back(reshape(p, {-1}));
  return cat(flat);
}

void vector_to_parameters(const Tensor& vector, const Tensors& parameters) {
  std::int64_t count = 0, at = 0;
  for (const Tensor& p : parameters) count += p.numel();
  if (vector.dim() != 1 || vector.numel() != count)
    fail(ErrorCode::runtime, "vector_to_parameters",
         "got " + describe(vector) + ", need " + std::to_string(count) + " elements in one dim");
  const no_grad quiet;
  for (const Tensor& p : parameters) {
    p.copy_(narrow(vector, 0, at, p.numel()).view(p.sizes()));
    at += p.numel();
  }
}

}  // namespace amp::nn::utils
