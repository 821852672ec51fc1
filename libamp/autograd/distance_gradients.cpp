// Gradient of cdist; the other distances are composites.
#include <cmath>

#include "libamp/autocast/scope.h"
#include "libamp/autograd/gradient.h"

namespace amp::gradients {
namespace {

Tensor zero_where(const Tensor& mask, const Tensor& t) { return amp::masked_fill(t, mask, 0); }

// p = 2 without the differences of all pairs: with w = g / distance, dx1 = x1 * (row sums of w) - w @ x2.
Tensor euclidean(const Tensor& w, const Tensor& x, const Tensor& other) {
  return x * amp::sum(w, {-1}, true, w.dtype()) - amp::matmul(w, other);
}

}  // namespace

Tensors cdist(const GradCall& g) {
  // The products here belong to a distance, which needs float32's digits: near rows cancel.
  const AutocastSuspended suspended;
  const Tensor x1 = g.in(0), x2 = g.in(1), out = g.out();
  const double p = g.attributes().number("p", 2);
  Tensors result(2);
  if (p == 2) {
    const Tensor w = zero_where(amp::eq(out, 0), g.grad() / out);
    if (g.needs(0)) result[0] = euclidean(w, x1, x2);
    if (g.needs(1)) result[1] = euclidean(transpose(w, -1, -2), x2, x1);
    return result;
  }
  const Tensor difference = unsqueeze(x1, -2) - unsqueeze(x2, -3), size = amp::abs(difference);
  const Tensor gradient = unsqueeze(g.grad(), -1), distance = unsqueeze(out, -1);
  Tensor each;
  if (p == 0)
    each = zeros_like(difference);
  else if (p == 1)
    each = amp::sign(difference) * gradient;
  else if (std::isinf(p))
    each = amp::sign(difference) * amp::eq(size, distance).to(size.dtype()) * gradient;
  else
    each = amp::sign(difference) * zero_where(amp::eq(size, 0), amp::pow(size, p - 1)) *
           zero_where(amp::eq(distance, 0), gradient / amp::pow(distance, p - 1));
  if (g.needs(0)) result[0] = amp::sum(each, {-2}, false, each.dtype());
  if (g.needs(1)) result[1] = -amp::sum(each, {-3}, false, each.dtype());
  return result;
}

}  // namespace amp::gradients
