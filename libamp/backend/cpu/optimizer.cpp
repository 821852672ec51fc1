// Bodies of the updates of SGD and Adam: one pass over a parameter, its gradient and its state. Formulas and their
// order are those of torch/optim/{sgd,adam,adamw}.py; arithmetic is float32 (double for float64 parameters).
#include "libamp/backend/cpu/optimizer.h"

#include <cmath>

#include "libamp/backend/cpu/table.h"

namespace amp::cpu {
namespace {

// -- SGD: parameter, gradient, momentum buffer, master copy, grad_scale, found_inf
template <typename C>
void sgd(const OpCall& call, double grad_scale) {
  const Attributes& a = call.attributes;
  const C lr = static_cast<C>(a.number("lr", 0)), momentum = static_cast<C>(a.number("momentum", 0));
  const C keep = static_cast<C>(1 - a.number("dampening", 0)), decay = static_cast<C>(a.number("weight_decay", 0));
  const bool nesterov = a.flag("nesterov", false), maximize = a.flag("maximize", false), first = a.flag("first", false);
  const bool has_buffer = call.has(2), unscales = grad_scale != 1, has_master = call.has(3);
  const Tensor &p = call.in(0), &buffer = or_else(call, 2, p), &master = or_else(call, 3, p);
  const unsigned written = 1u | (unscales ? 2u : 0u) | (has_buffer ? 4u : 0u) | (has_master ? 8u : 0u);
  // The direction is worked out beside the gradient, which keeps its value.
  update_blocks<C, 4>({&p, &call.in(1), &buffer, &master}, written, [&](const std::array<C*, 4>& b, std::int64_t n) {
    C d[kBlock];
    C* w = has_master ? b[3] : b[0];
    if (unscales) unscale_block(b[1], n, grad_scale);
    for (std::int64_t i = 0; i < n; ++i) d[i] = maximize ? -b[1][i] : b[1][i];
    if (decay != 0)
      for (std::int64_t i = 0; i < n; ++i) d[i] = add_product(d[i], decay, w[i]);
    if (has_buffer) {
      C* m = b[2];
      if (first)
        std::copy(d, d + n, m);
      else
        for (std::int64_t i = 0; i < n; ++i) m[i] = add_product(m[i] * momentum, keep, d[i]);
      if (nesterov)
        for (std::int64_t i = 0; i < n; ++i) d[i] = add_product(d[i], momentum, m[i]);
      else
        std::copy(m, m + n, d);
    }
    for (std::int64_t i = 0; i < n; ++i) w[i] = add_product(w[i], -lr, d[i]);
    if (has_master) std::copy(w, w + n, b[0]);
  });
}

// -- Adam and AdamW: parameter, gradient, first and second moment, step, largest second moment, master copy,
//    grad_scale, found_inf
struct AdamFactors {
  double beta1, beta2, eps, decay, lr, step_size, sqrt_correction2;
  bool decoupled, amsgrad, maximize;
};

AdamFactors adam_factors(const OpCall& call, double step) {
  const Attributes& a = call.attributes;
  AdamFactors f{};
  f.beta1 = a.number("beta1", 0.9);
  f.beta2 = a.number("beta2", 0.999);
  f.eps = a.number("eps", 1e-8);
  f.decay = a.number("weight_decay", 0);
  f.lr = a.number("lr", 0);
  f.step_size = f.lr / (1 - std::pow(f.beta1, step));
  f.sqrt_correction2 = std::sqrt(1 - std::pow(f.beta2, step));
  f.decoupled = a.flag("decoupled", false);
  f.amsgrad = call.has(5);
  f.maximize = a.flag("maximize", false);
  return f;
}

// One block; w: the weights that are updated, g: the gradient, m, v: moments, largest: of v (amsgrad).
template <typename C>
void adam_block(const AdamFactors& f, C* w, const C* g, C* m, C* v, C* largest, std::int64_t n) {
  const C shrink = static_cast<C>(1 - f.lr * f.decay), decay = static_cast<C>(f.decay);
  const C weight1 = static_cast<C>(1 - f.beta1), beta2 = static_cast<C>(f.beta2), weight2 = static_cast<C>(1 - f.beta2);
  const C step_size = static_cast<C>(-f.step_size), correction2 = static_cast<C>(f.sqrt_correction2);
  const C eps = static_cast<C>(f.eps), complement = static_cast<C>(1) - weight1;
  for (std::int64_t i = 0; i < n; ++i) {
    C d = f.maximize ? -g[i] : g[i];
    if (f.decay != 0) {
      if (f.decoupled)
        w[i] = w[i] * shrink;
      else
        d = d + decay * w[i];
    }
    // lerp as ATen: from the nearer end.
    m[i] = weight1 < static_cast<C>(0.5) ? m[i] + weight1 * (d - m[i]) : d - (d - m[i]) * complement;
    v[i] = v[i] * beta2 + weight2 * d * d;
    C denominator = v[i];
    if (f.amsgrad) denominator = largest[i] = std::max(largest[i], v[i]);
    denominator = std::sqrt(denominator) / correction2 + eps;
    w[i] = w[i] + step_size * m[i] / denominator;
  }
}

template <typename C>
void adam(const OpCall& call, const AdamFactors& factors, double grad_scale) {
  const bool unscales = grad_scale != 1, has_master = call.has(6);
  const Tensor &p = call.in(0), &largest = or_else(call, 5, p), &master = or_else(call, 6, p);
  const unsigned written = 1u | (unscales ? 2u : 0u) | 4u | 8u | (factors.amsgrad ? 16u : 0u) | (has_master ? 32u : 0u);
  update_blocks<C, 6>({&p, &call.in(1), &call.in(2), &call.in(3), &largest, &master}, written,
                      [&](const std::array<C*, 6>& b, std::int64_t n) {
                        if (unscales) unscale_block(b[1], n, grad_scale);
                        adam_block<C>(factors, has_master ? b[5] : b[0], b[1], b[2], b[3], b[4], n);
                        if (has_master) std::copy(b[5], b[5] + n, b[0]);
                      });
}

}  // namespace

Tensors sgd_step_(const OpCall& call) {
  check_operands(call, 4);
  const FromScaler given = from_scaler(call, 4, 5);
  if (given.skip) return {call.in(0)};
  if (call.in(0).dtype() == DType::float64)
    sgd<double>(call, given.scale);
  else
    sgd<float>(call, given.scale);
  bump_versions(call, {0, 1, 2, 3});
  return {call.in(0)};
}

Tensors adam_step_(const OpCall& call) {
  require_state(call, {2, 3, 4});
  check_operands(call, 7, 4);
  const FromScaler given = from_scaler(call, 7, 8);
  if (given.skip) return {call.in(0)};
  const float now = *call.in(4).data<float>() += 1;
  const AdamFactors factors = adam_factors(call, static_cast<double>(now));
  if (call.in(0).dtype() == DType::float64)
    adam<double>(call, factors, given.scale);
  else
    adam<float>(call, factors, given.scale);
  bump_versions(call, {0, 1, 2, 3, 4, 5, 6});
  return {call.in(0)};
}

}  // namespace amp::cpu
