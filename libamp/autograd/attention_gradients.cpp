// The gradient of attention: the fused op, or single ops where a mask needs a gradient or the backward pass itself is
// recorded.
#include <limits>

#include "libamp/autograd/gradient.h"
#include "libamp/core/grad_mode.h"
#include "libamp/dispatch/run_op.h"

namespace amp::gradients {
namespace {

// p = softmax(s), s = scale q k^T + mask, out = p v; then ds = p (dp - sum(dp p)) with dp = grad v^T.
Tensors composed(const GradCall& g) {
  const DType wide = g.input_dtype(0) == DType::float64 ? DType::float64 : DType::float32;
  const Tensor q = to(g.in(0), wide), k = to(g.in(1), wide), v = to(g.in(2), wide), mask = g.in(3),
               grad = to(g.grad(), wide);
  const double scale = g.attributes().number("scale", 1);
  constexpr double kHidden = -std::numeric_limits<double>::infinity();
  Tensor scores = matmul(q * scale, transpose(k, -2, -1));
  Tensor hidden;
  if (g.attributes().flag("is_causal", false))
    hidden = logical_not(tril(ones({q.size(-2), k.size(-2)}, {.dtype = DType::bool_})));
  if (mask.defined() && mask.dtype() == DType::bool_) hidden = logical_not(mask);
  if (mask.defined() && mask.dtype() != DType::bool_) scores = scores + to(mask, wide);
  if (hidden.defined()) scores = masked_fill(scores, hidden, kHidden);
  const Tensor p = softmax(scores, -1), dp = matmul(grad, transpose(v, -2, -1));
  const Tensor ds = p * (dp - sum(dp * p, Shape{-1}, true));
  return {matmul(ds, k) * scale, matmul(transpose(ds, -2, -1), q) * scale, matmul(transpose(p, -2, -1), grad),
          g.needs(3) ? ds : Tensor()};
}

}  // namespace

Tensors attention(const GradCall& g) {
  if (grad_mode().enabled || g.needs(3)) return composed(g);
  Tensors result = run_op({OpId::attention_backward,
                           {g.grad(), g.in(0), g.in(1), g.in(2), g.out(0), g.out(1), g.in(3)},
                           g.attributes(),
                           {}});
  result.resize(4);
  return result;
}

}  // namespace amp::gradients
