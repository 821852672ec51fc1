// Gradients of softmax, log_softmax and nll_loss.
#include "libamp/autograd/gradient.h"
#include "libamp/dispatch/run_op.h"

namespace amp::gradients {
namespace {

// The result is rounded once, to the dtype the forward op read.
Tensors backward(const GradCall& g, OpId op) {
  return {run_op1(
      {op, {g.grad(), g.out()}, {{"dim", g.attributes().integer("dim", -1)}, {"dtype", g.input_dtype(0)}}, {}})};
}

}  // namespace

Tensors softmax(const GradCall& g) { return backward(g, OpId::softmax_backward); }
Tensors log_softmax(const GradCall& g) { return backward(g, OpId::log_softmax_backward); }

// f = y (g - sum(g y)); inputs g, y. `v` is the gradient of f.
Tensors softmax_backward(const GradCall& call) {
  const Tensor g = call.in(0), y = call.in(1), v = call.grad();
  const Shape dim{call.attributes().integer("dim", -1)};
  if (y.dim() == 0) return {v * 0.0, v * 0.0};
  const Tensor vy = sum(v * y, dim, true);
  return {y * (v - vy), v * (g - sum(g * y, dim, true)) - vy * g};
}

// f = g - exp(y) sum(g); inputs g, y.
Tensors log_softmax_backward(const GradCall& call) {
  const Tensor g = call.in(0), y = call.in(1), v = call.grad();
  const Shape dim{call.attributes().integer("dim", -1)};
  if (y.dim() == 0) return {v * 0.0, v * 0.0};
  const Tensor ve = v * exp(y);
  return {v - sum(ve, dim, true), -(ve * sum(g, dim, true))};
}

Tensors nll_loss(const GradCall& g) {
  Attributes attributes = g.attributes();
  attributes.set("input_sizes", g.input_sizes(0));
  return {run_op1({OpId::nll_loss_backward, {g.grad(), g.in(1), g.out(1), g.in(2)}, attributes, {}}), {}, {}};
}

// Linear in the gradient, with nll_loss as its transpose.
Tensors nll_loss_backward(const GradCall& g) {
  return {run_op1({OpId::nll_loss, {g.grad(), g.in(1), g.in(3)}, g.attributes(), {}}), {}, {}, {}};
}

}  // namespace amp::gradients
