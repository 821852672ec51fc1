// Gradients of conversion, copies and views.
#include "libamp/autograd/gradient.h"
#include "libamp/dispatch/run_op.h"

namespace amp::gradients {

// The engine casts a gradient to its input's dtype, which is all a cast's gradient is.
Tensors to(const GradCall& g) { return {g.grad()}; }
Tensors clone(const GradCall& g) { return {g.grad()}; }
Tensors copy_(const GradCall& g) {
  return {g.needs(0) ? zeros_like(g.grad()) : Tensor(),
          g.needs(1) ? sum_to_size(g.grad(), g.input_sizes(1)) : Tensor()};
}

Tensors view(const GradCall& g) { return {reshape(g.grad(), g.input_sizes(0))}; }

Tensors permute(const GradCall& g) {
  const Shape dims = g.attributes().list("dims", {});
  Shape inverse = dims;
  for (int d = 0; d < dims.size(); ++d) inverse[static_cast<int>(dims[d] < 0 ? dims[d] + dims.size() : dims[d])] = d;
  return {amp::permute(g.grad(), inverse)};
}

// The engine sums what was expanded.
Tensors expand(const GradCall& g) { return {g.grad()}; }

Tensors narrow(const GradCall& g) {
  return {run_op1({OpId::narrow_backward,
                   {g.grad()},
                   {{"size", g.input_sizes(0)},
                    {"dim", g.attributes().integer("dim", 0)},
                    {"start", g.attributes().integer("start", 0)}},
                   {}})};
}

Tensors narrow_backward(const GradCall& g) {
  const auto dim = g.attributes().integer("dim", 0);
  return {amp::narrow(g.grad(), dim, g.attributes().integer("start", 0), g.input_sizes(0)[static_cast<int>(dim)])};
}

}  // namespace amp::gradients
