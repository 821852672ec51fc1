// Gradients of cat and stack: each input gets its range back, as a view.
#include "libamp/autograd/gradient.h"

namespace amp::gradients {

Tensors cat(const GradCall& g) {
  const Tensor gradient = g.grad();
  const int dim = wrap_dim(g.attributes().integer("dim", 0), gradient.dim(), "cat");
  Tensors result(g.input_count());
  std::int64_t start = 0;
  for (std::size_t i = 0; i < result.size(); ++i) {
    const Shape& sizes = g.input_sizes(i);
    const bool skipped = sizes.size() == 1 && sizes[0] == 0;
    if (g.needs(i))
      result[i] = skipped ? zeros(sizes, {.dtype = gradient.dtype(), .device = gradient.device()})
                          : narrow(gradient, dim, start, sizes[dim]);
    if (!skipped) start += sizes[dim];
  }
  return result;
}

Tensors stack(const GradCall& g) {
  const int dim = wrap_dim(g.attributes().integer("dim", 0), g.grad().dim(), "stack");
  Tensors result(g.input_count());
  for (std::size_t i = 0; i < result.size(); ++i)
    if (g.needs(i)) result[i] = select(g.grad(), dim, static_cast<std::int64_t>(i));
  return result;
}

}  // namespace amp::gradients
