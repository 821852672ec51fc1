// Gradients of the losses with bodies of their own. Each is the derivative of one term, times the gradient of the
// reduced loss spread over the terms; the engine sums what broadcasting repeated.
#include "libamp/autograd/gradient.h"

namespace amp::gradients {
namespace {

// The gradient of one term: of the loss itself, shared among the terms of a mean.
Tensor per_term(const GradCall& g) {
  if (g.attributes().text("reduction", "mean") != "mean") return g.grad();
  Shape sizes;
  for (std::size_t i = 0; i < g.input_count(); ++i)
    if (g.input_dtype(i) != DType::count_) sizes = broadcast_shapes(sizes, g.input_sizes(i), "loss");
  return g.grad() / static_cast<double>(numel_of(sizes));
}

// For losses of input - target: `slope` is the derivative by the difference.
Tensors of_difference(const GradCall& g, const Tensor& slope) {
  const Tensor gradient = slope * per_term(g);
  return {gradient, g.needs(1) ? -gradient : Tensor()};
}
Tensor difference(const GradCall& g) { return g.in(0) - g.in(1); }

Tensor weighted(const Tensor& t, const Tensor& weight) { return weight.defined() ? t * weight : t; }

}  // namespace

Tensors mse_loss(const GradCall& g) { return of_difference(g, difference(g) * 2); }
Tensors l1_loss(const GradCall& g) { return of_difference(g, amp::sign(difference(g))); }
Tensors smooth_l1_loss(const GradCall& g) {
  const double beta = g.attributes().number("beta", 1);
  const Tensor d = difference(g);
  return of_difference(g, beta == 0 ? amp::sign(d) : amp::clamp(d / beta, -1, 1));
}
Tensors huber_loss(const GradCall& g) {
  const double delta = g.attributes().number("delta", 1);
  return of_difference(g, amp::clamp(difference(g), -delta, delta));
}

// log(1 + exp(-t x))
Tensors soft_margin_loss(const GradCall& g) {
  const Tensor x = g.in(0), t = g.in(1);
  const Tensor slope = -amp::sigmoid(-(t * x)) * per_term(g);
  return {g.needs(0) ? slope * t : Tensor(), g.needs(1) ? slope * x : Tensor()};
}

Tensors kl_div(const GradCall& g) {
  const Tensor x = g.in(0), t = g.in(1), share = per_term(g);
  Tensors result(2);
  if (g.attributes().flag("log_target", false)) {
    const Tensor p = amp::exp(t);
    if (g.needs(0)) result[0] = -p * share;
    if (g.needs(1)) result[1] = p * (t - x + 1) * share;
  } else {
    if (g.needs(0)) result[0] = -t * share;
    if (g.needs(1)) result[1] = (amp::log(t) + 1 - x) * share;
  }
  return result;
}

Tensors poisson_nll_loss(const GradCall& g) {
  const Tensor x = g.in(0), t = g.in(1), share = per_term(g);
  const double eps = g.attributes().number("eps", 1e-8);
  const bool log_input = g.attributes().flag("log_input", true);
  Tensors result(2);
  if (g.needs(0)) result[0] = (log_input ? amp::exp(x) - t : 1 - t / (x + eps)) * share;
  if (g.needs(1)) {
    Tensor slope = log_input ? -x : -amp::log(x + eps);
    if (g.attributes().flag("full", false))
      slope = slope + amp::where(amp::gt(t, 1), amp::log(t) + 0.5 * amp::reciprocal(t), 0.0);
    result[1] = slope * share;
  }
  return result;
}

Tensors binary_cross_entropy(const GradCall& g) {
  const Tensor x = g.in(0), t = g.in(1), share = weighted(per_term(g), g.in(2));
  Tensors result(g.input_count());
  if (g.needs(0)) result[0] = share * ((x - t) / amp::clamp((1 - x) * x, 1e-12));
  if (g.needs(1)) {
    const Tensor log_x = amp::clamp(amp::log(x), -100), log_rest = amp::clamp(amp::log1p(-x), -100);
    result[1] = share * (log_rest - log_x);
  }
  if (g.needs(2)) result[2] = per_term(g) * amp::binary_cross_entropy(x, t, {}, "none");
  return result;
}

// (1 - t) x - ((w - 1) t + 1) log sigmoid(x), w = pos_weight
Tensors binary_cross_entropy_with_logits(const GradCall& g) {
  const Tensor x = g.in(0), t = g.in(1), positive = g.in(3), share = weighted(per_term(g), g.in(2));
  Tensors result(g.input_count());
  if (g.needs(0)) {
    const Tensor s = amp::sigmoid(x);
    result[0] = share * (positive.defined() ? (1 - t) - ((positive - 1) * t + 1) * (1 - s) : s - t);
  }
  if (g.needs(1)) result[1] = share * (positive.defined() ? -x - (positive - 1) * amp::log_sigmoid(x) : -x);
  if (g.needs(2)) result[2] = per_term(g) * amp::binary_cross_entropy_with_logits(x, t, {}, "none", positive);
  if (g.needs(3)) result[3] = -(share * t * amp::log_sigmoid(x));
  return result;
}

}  // namespace amp::gradients
