// Gradients of what puts elements elsewhere or picks them by rank, of windows that do not lie on a grid, and of
// ctc_loss.
#include <limits>

#include "libamp/autograd/gradient.h"
#include "libamp/dispatch/run_op.h"

namespace amp::gradients {
namespace {

int dim_of(const GradCall& g, std::int64_t otherwise) {
  return wrap_dim(g.attributes().list("dim", {otherwise})[0], g.input_sizes(0).size(), "rank");
}
Tensor zeros_of(const GradCall& g) {
  return zeros(g.input_sizes(0), {.dtype = g.grad().dtype(), .device = g.grad().device()});
}
Tensors running_extreme(const GradCall& g) {
  if (g.input_sizes(0).empty()) return {g.grad()};
  return {amp::scatter_add(zeros_of(g), dim_of(g, 0), g.out(1), g.grad())};
}
// The element that was picked from each slice.
Tensors picked(const GradCall& g) {
  const int dim = dim_of(g, -1);
  if (g.input_sizes(0).empty()) return {g.grad()};
  const bool keep = g.attributes().flag("keepdim", false);
  return {amp::scatter_add(zeros_of(g), dim, keep ? g.out(1) : unsqueeze(g.out(1), dim),
                           keep ? g.grad() : unsqueeze(g.grad(), dim))};
}
Tensors windows(const GradCall& g, std::int64_t spatial) {
  Tensors result(g.input_count());
  result[0] = run_op1(
      {OpId::max_pool_backward, {g.grad(), g.out(1)}, {{"input_sizes", g.input_sizes(0)}, {"spatial", spatial}}, {}});
  return result;
}

}  // namespace

Tensors flip(const GradCall& g) { return {amp::flip(g.grad(), g.attributes().list("dims", {}))}; }
Tensors constant_pad_nd(const GradCall& g) {
  Shape pad = g.attributes().list("pad", {});
  for (auto& p : pad) p = -p;
  return {amp::constant_pad_nd(g.grad(), pad)};
}
Tensors diagonal(const GradCall& g) {
  Attributes attributes{{"offset", g.attributes().integer("offset", 0)},
                        {"dim1", g.attributes().integer("dim1", 0)},
                        {"dim2", g.attributes().integer("dim2", 1)},
                        {"input_sizes", g.input_sizes(0)}};
  return {run_op1({OpId::diagonal_backward, {g.grad()}, std::move(attributes), {}})};
}
Tensors diagonal_backward(const GradCall& g) {
  const Attributes& a = g.attributes();
  return {amp::diagonal(g.grad(), a.integer("offset", 0), a.integer("dim1", 0), a.integer("dim2", 1))};
}

Tensors cummax(const GradCall& g) { return running_extreme(g); }
Tensors cummin(const GradCall& g) { return running_extreme(g); }
Tensors kthvalue(const GradCall& g) { return picked(g); }
Tensors median(const GradCall& g) { return picked(g); }
Tensors nanmedian(const GradCall& g) { return picked(g); }

// g_i = sum over j >= i of grad_j exp(x_i - out_j), in logarithms: positive and negative gradients apart.
Tensors logcumsumexp(const GradCall& g) {
  constexpr double kNever = -std::numeric_limits<double>::infinity();
  const Tensor x = g.in(0), grad = g.grad();
  if (x.dim() == 0 || x.numel() == 0) return {grad};
  const int dim = dim_of(g, 0);
  const Tensor out = amp::masked_fill(g.out(), amp::eq(g.out(), kNever), 0);  // no NaN of two infinities
  const auto part = [&](const Tensor& none, const Tensor& size) {
    const Tensor logs = amp::masked_fill(amp::log(amp::masked_fill(size, none, 1)), none, kNever);
    const Tensor sums = amp::flip(amp::logcumsumexp(amp::flip(logs - out, {dim}), dim), {dim});
    // Where nothing was added up, minus infinity: masked, so that its derivatives are zero too.
    const Tensor empty = amp::eq(sums, kNever);
    return amp::masked_fill(amp::exp(amp::masked_fill(sums, empty, 0) + x), empty, 0);
  };
  return {part(amp::le(grad, 0), grad) - part(amp::ge(grad, 0), -grad)};
}

Tensors adaptive_max_pool2d(const GradCall& g) { return windows(g, 2); }
Tensors adaptive_max_pool3d(const GradCall& g) { return windows(g, 3); }
Tensors fractional_max_pool2d(const GradCall& g) { return windows(g, 2); }
Tensors fractional_max_pool3d(const GradCall& g) { return windows(g, 3); }

Tensors ctc_loss_nll(const GradCall& g) {
  Tensors result(g.input_count());
  result[0] = run_op1({OpId::ctc_loss_backward, {g.grad(), g.in(0), g.in(1), g.in(2), g.in(3)}, g.attributes(), {}});
  return result;
}

}  // namespace amp::gradients
