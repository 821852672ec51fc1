// Gradients of the named matrix products.
#include "libamp/autograd/gradient.h"

namespace amp::gradients {
namespace {

Tensor turned(const Tensor& t) { return transpose(t, -2, -1); }
Tensor scaled(const Tensor& t, double by) { return by == 1 ? t : t * by; }

// grad x b^T and a^T x grad, for matrices and batches of them.
Tensor for_left(const Tensor& grad, const Tensor& b) { return matmul(grad, turned(b)); }
Tensor for_right(const Tensor& grad, const Tensor& a) { return matmul(turned(a), grad); }
Tensor outer(const Tensor& a, const Tensor& b) { return unsqueeze(a, 1) * unsqueeze(b, 0); }

// beta * input + alpha * (a x b): what the three get, given the product's two gradients.
template <typename Left, typename Right>
Tensors add_product(const GradCall& g, Left left, Right right) {
  const Tensor grad = g.grad();
  const double alpha = g.attributes().number("alpha", 1);
  return {g.needs(0) ? scaled(grad, g.attributes().number("beta", 1)) : Tensor(),
          g.needs(1) ? scaled(left(grad), alpha) : Tensor(), g.needs(2) ? scaled(right(grad), alpha) : Tensor()};
}

}  // namespace

Tensors mm(const GradCall& g) {
  const Tensor grad = g.grad();
  return {g.needs(0) ? for_left(grad, g.in(1)) : Tensor(), g.needs(1) ? for_right(grad, g.in(0)) : Tensor()};
}
Tensors bmm(const GradCall& g) { return mm(g); }
Tensors mv(const GradCall& g) {
  const Tensor grad = g.grad();
  return {g.needs(0) ? outer(grad, g.in(1)) : Tensor(), g.needs(1) ? matmul(turned(g.in(0)), grad) : Tensor()};
}

Tensors addmm(const GradCall& g) {
  return add_product(
      g, [&](const Tensor& grad) { return for_left(grad, g.in(2)); },
      [&](const Tensor& grad) { return for_right(grad, g.in(1)); });
}
// The product's gradient broadcasts over the batch that was summed.
Tensors addbmm(const GradCall& g) { return addmm(g); }
Tensors baddbmm(const GradCall& g) { return addmm(g); }
Tensors addmv(const GradCall& g) {
  return add_product(
      g, [&](const Tensor& grad) { return outer(grad, g.in(2)); },
      [&](const Tensor& grad) { return matmul(turned(g.in(1)), grad); });
}
Tensors addr(const GradCall& g) {
  return add_product(
      g, [&](const Tensor& grad) { return matmul(grad, g.in(2)); },
      [&](const Tensor& grad) { return matmul(turned(grad), g.in(1)); });
}

// out[r, o] = sum_ij x[r, i] w[o, i, j] y[r, j], with leading dims folded into r.
Tensors trilinear(const GradCall& g) {
  const Tensor x = g.in(0), y = g.in(1), w = g.in(2);
  const std::int64_t outs = w.size(0), ni = w.size(1), nj = w.size(2);
  const Tensor grad = reshape(g.grad(), {-1, outs}), xs = reshape(x, {-1, ni}), ys = reshape(y, {-1, nj});
  const std::int64_t rows = grad.size(0);
  Tensors result(3);
  if (g.needs(0)) {
    const Tensor wy = view(matmul(ys, transpose(view(contiguous(w), {outs * ni, nj}), 0, 1)), {rows, outs, ni});
    result[0] = reshape(matmul(unsqueeze(grad, 1), wy), g.input_sizes(0));
  }
  if (g.needs(1)) {
    const Tensor by_j = reshape(permute(w, {1, 0, 2}), {ni, outs * nj});
    result[1] = reshape(matmul(unsqueeze(grad, 1), view(matmul(xs, by_j), {rows, outs, nj})), g.input_sizes(1));
  }
  if (g.needs(2)) {
    const Tensor gx = reshape(unsqueeze(grad, 2) * unsqueeze(xs, 1), {rows, outs * ni});
    result[2] = view(matmul(transpose(gx, 0, 1), ys), {outs, ni, nj});
  }
  return result;
}

}  // namespace amp::gradients
