// Bodies of the updates of Adagrad and RMSprop: one pass over a parameter, its gradient and its state. Formulas and
// their order are those of torch/optim/{adagrad,rmsprop}.py; arithmetic is float32 (double for float64 parameters).
#include <cmath>

#include "libamp/backend/cpu/optimizer.h"
#include "libamp/backend/cpu/table.h"

namespace amp::cpu {
namespace {

// The gradient as the formulas take it: its sign turned for `maximize`, with weight decay added.
template <typename C>
void direction(const C* g, const C* w, C* d, std::int64_t n, bool maximize, C decay) {
  for (std::int64_t i = 0; i < n; ++i) d[i] = maximize ? -g[i] : g[i];
  if (decay != 0)
    for (std::int64_t i = 0; i < n; ++i) d[i] = add_product(d[i], decay, w[i]);
}

// -- Adagrad: parameter, gradient, sum of squares, step, master copy, grad_scale, found_inf
template <typename C>
void adagrad(const OpCall& call, double step, double grad_scale) {
  const Attributes& a = call.attributes;
  const C rate = static_cast<C>(-a.number("lr", 0) / (1 + (step - 1) * a.number("lr_decay", 0)));
  const C decay = static_cast<C>(a.number("weight_decay", 0)), eps = static_cast<C>(a.number("eps", 0));
  const bool maximize = a.flag("maximize", false), unscales = grad_scale != 1, has_master = call.has(4);
  const Tensor &p = call.in(0), &master = or_else(call, 4, p);
  const unsigned written = 1u | (unscales ? 2u : 0u) | 4u | (has_master ? 8u : 0u);
  update_blocks<C, 4>({&p, &call.in(1), &call.in(2), &master}, written,
                      [&](const std::array<C*, 4>& b, std::int64_t n) {
                        C d[kBlock];
                        C *w = has_master ? b[3] : b[0], *sum = b[2];
                        if (unscales) unscale_block(b[1], n, grad_scale);
                        direction(b[1], w, d, n, maximize, decay);
                        for (std::int64_t i = 0; i < n; ++i) {
                          sum[i] = sum[i] + d[i] * d[i];
                          w[i] = w[i] + rate * d[i] / (std::sqrt(sum[i]) + eps);
                        }
                        if (has_master) std::copy(w, w + n, b[0]);
                      });
}

// -- RMSprop: parameter, gradient, mean of squares, step, mean (centered), momentum buffer, master copy, grad_scale,
//    found_inf
struct RmspropFactors {
  double lr, alpha, eps, decay, momentum;
  bool maximize, centered, has_buffer;
};

template <typename C>
void rmsprop_block(const RmspropFactors& f, C* w, const C* g, C* v, C* mean, C* buffer, std::int64_t n) {
  C d[kBlock], root[kBlock];
  const C alpha = static_cast<C>(f.alpha), rest = static_cast<C>(1 - f.alpha), eps = static_cast<C>(f.eps);
  const C rate = static_cast<C>(-f.lr), momentum = static_cast<C>(f.momentum);
  direction(g, w, d, n, f.maximize, static_cast<C>(f.decay));
  for (std::int64_t i = 0; i < n; ++i) v[i] = v[i] * alpha + rest * d[i] * d[i];
  if (f.centered) {
    // lerp as ATen: from the nearer end.
    for (std::int64_t i = 0; i < n; ++i)
      mean[i] = rest < static_cast<C>(0.5) ? mean[i] + rest * (d[i] - mean[i]) : d[i] - (d[i] - mean[i]) * (1 - rest);
    for (std::int64_t i = 0; i < n; ++i) root[i] = std::sqrt(v[i] - mean[i] * mean[i]) + eps;
  } else {
    for (std::int64_t i = 0; i < n; ++i) root[i] = std::sqrt(v[i]) + eps;
  }
  if (f.has_buffer) {
    for (std::int64_t i = 0; i < n; ++i) buffer[i] = buffer[i] * momentum + d[i] / root[i];
    for (std::int64_t i = 0; i < n; ++i) w[i] = add_product(w[i], rate, buffer[i]);
  } else {
    for (std::int64_t i = 0; i < n; ++i) w[i] = w[i] + rate * d[i] / root[i];
  }
}

template <typename C>
void rmsprop(const OpCall& call, double grad_scale) {
  const Attributes& a = call.attributes;
  const RmspropFactors f{
      a.number("lr", 0),       a.number("alpha", 0.99),   a.number("eps", 1e-8), a.number("weight_decay", 0),
      a.number("momentum", 0), a.flag("maximize", false), call.has(4),           call.has(5)};
  const bool unscales = grad_scale != 1, has_master = call.has(6);
  const Tensor &p = call.in(0), &mean = or_else(call, 4, p), &buffer = or_else(call, 5, p);
  const Tensor& master = or_else(call, 6, p);
  const unsigned written =
      1u | (unscales ? 2u : 0u) | 4u | (f.centered ? 8u : 0u) | (f.has_buffer ? 16u : 0u) | (has_master ? 32u : 0u);
  update_blocks<C, 6>({&p, &call.in(1), &call.in(2), &mean, &buffer, &master}, written,
                      [&](const std::array<C*, 6>& b, std::int64_t n) {
                        if (unscales) unscale_block(b[1], n, grad_scale);
                        rmsprop_block<C>(f, has_master ? b[5] : b[0], b[1], b[2], b[3], b[4], n);
                        if (has_master) std::copy(b[5], b[5] + n, b[0]);
                      });
}

}  // namespace

Tensors adagrad_step_(const OpCall& call) {
  require_state(call, {2, 3});
  check_operands(call, 5, 3);
  const FromScaler given = from_scaler(call, 5, 6);
  if (given.skip) return {call.in(0)};
  const double now = static_cast<double>(*call.in(3).data<float>() += 1);
  if (call.in(0).dtype() == DType::float64)
    adagrad<double>(call, now, given.scale);
  else
    adagrad<float>(call, now, given.scale);
  bump_versions(call, {0, 1, 2, 3, 4});
  return {call.in(0)};
}

Tensors rmsprop_step_(const OpCall& call) {
  require_state(call, {2, 3});
  check_operands(call, 7, 3);
  const FromScaler given = from_scaler(call, 7, 8);
  if (given.skip) return {call.in(0)};
  *call.in(3).data<float>() += 1;
  if (call.in(0).dtype() == DType::float64)
    rmsprop<double>(call, given.scale);
  else
    rmsprop<float>(call, given.scale);
  bump_versions(call, {0, 1, 2, 3, 4, 5, 6});
  return {call.in(0)};
}

}  // namespace amp::cpu
