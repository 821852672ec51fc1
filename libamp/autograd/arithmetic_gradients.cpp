// Gradients of arithmetic, products and sums. The engine sums what broadcasting expanded.
#include "libamp/autograd/gradient.h"

namespace amp::gradients {
namespace {

Tensor scaled(const Tensor& gradient, double alpha) { return alpha == 1 ? gradient : gradient * alpha; }

}  // namespace

Tensors add(const GradCall& g) {
  return {g.grad(), g.needs(1) ? scaled(g.grad(), g.attributes().number("alpha", 1)) : Tensor()};
}
Tensors sub(const GradCall& g) {
  return {g.grad(), g.needs(1) ? scaled(g.grad(), -g.attributes().number("alpha", 1)) : Tensor()};
}
Tensors mul(const GradCall& g) {
  return {g.needs(0) ? g.grad() * g.in(1) : Tensor(), g.needs(1) ? g.grad() * g.in(0) : Tensor()};
}
Tensors div(const GradCall& g) {
  return {g.needs(0) ? g.grad() / g.in(1) : Tensor(),
          g.needs(1) ? -g.grad() * ((g.in(0) / g.in(1)) / g.in(1)) : Tensor()};
}
Tensors neg(const GradCall& g) { return {-g.grad()}; }

Tensors sum(const GradCall& g) {
  const Shape& sizes = g.input_sizes(0);
  Tensor gradient = g.grad();
  const Shape dims = g.attributes().list("dim", {});
  if (!dims.empty() && !g.attributes().flag("keepdim", false)) {
    // Put the summed dims back as size 1, in increasing order.
    Shape with_ones = sizes;
    for (const auto d : dims) with_ones[wrap_dim(d, sizes.size(), "sum")] = 1;
    gradient = view(gradient.contiguous(), sizes.empty() ? Shape{} : with_ones);
  }
  return {expand(gradient, sizes)};
}

// out = a @ b. For matrices da = g @ b^T, db = a^T @ g; vectors are seen as one-row or one-column matrices.
Tensors matmul(const GradCall& g) {
  Tensor a = g.in(0), b = g.in(1), gradient = g.grad();
  const bool vector_a = a.dim() == 1, vector_b = b.dim() == 1;
  if (vector_b) {
    b = unsqueeze(b, 1);
    gradient = unsqueeze(gradient, -1);
  }
  if (vector_a) {
    a = unsqueeze(a, 0);
    gradient = unsqueeze(gradient, -2);
  }
  Tensor da, db;
  if (g.needs(0)) {
    da = amp::matmul(gradient, transpose(b, -1, -2));
    if (vector_a) da = sum_to_size(da, a.sizes()).reshape(g.input_sizes(0));
  }
  if (g.needs(1)) {
    // A batch on the left and a plain matrix on the right: one product over all rows instead of a sum of products.
    const bool one_product = b.dim() == 2 && a.dim() > 2;
    db = one_product
             ? amp::matmul(transpose(a.reshape({-1, a.size(-1)}), 0, 1), gradient.reshape({-1, gradient.size(-1)}))
             : amp::matmul(transpose(a, -1, -2), gradient);
    if (vector_b) db = sum_to_size(db, b.sizes()).reshape(g.input_sizes(1));
  }
  return {da, db};
}

Tensors linear(const GradCall& g) {
  const Tensor gradient = g.grad();
  const Shape rows_by_out = {-1, gradient.size(-1)};
  Tensors result(g.input_count());
  if (g.needs(0)) result[0] = amp::matmul(gradient, g.in(1));
  if (g.needs(1)) {
    const Tensor x = g.in(0);
    result[1] = amp::matmul(transpose(gradient.reshape(rows_by_out), 0, 1), x.reshape({-1, x.size(-1)}));
  }
  if (g.needs(2)) result[2] = amp::sum(gradient.reshape(rows_by_out), Shape{0});
  return result;
}

}  // namespace amp::gradients
