// SparseAdam: the arithmetic of torch/optim/_functional.py on the rows that have a gradient.
#include "libamp/optim/sparse_adam.h"

#include <cmath>

#include "libamp/optim/sparse_rows.h"

namespace amp {

SparseAdam::SparseAdam(const Tensors& params, const SparseAdamOptions& options)
    : GroupedOptimizer("SparseAdam", options) {
  add_param_group(params);
}

void SparseAdam::check(const SparseAdamOptions& o) const {
  check_option(o.lr > 0, "SparseAdam", "lr", o.lr, "above 0");
  check_option(o.eps > 0, "SparseAdam", "eps", o.eps, "above 0");
  for (const double beta : o.betas) check_option(beta >= 0 && beta < 1, "SparseAdam", "betas", beta, "0 to below 1");
}

Optimizer::Options SparseAdam::options(std::size_t i) {
  SparseAdamOptions& o = group(i);
  return {{"lr", {&o.lr}}, {"betas", {&o.betas[0], &o.betas[1]}}, {"eps", {&o.eps}}, {"maximize", {}, &o.maximize}};
}

void SparseAdam::update(std::size_t, const Tensor& param, const Tensor& gradient, State&) {
  fail(ErrorCode::runtime, "SparseAdam",
       "dense gradients are not supported: got " + describe(gradient) + " for " + describe(param) +
           ", need a sparse gradient (embedding with sparse = true), or Adam");
}

void SparseAdam::update_sparse(std::size_t i, const Tensor& param, const Tensor& gradient, State& state) {
  const SparseAdamOptions& o = group(i);
  if (!state.contains("step")) {
    state["step"] = zeros({}, {.device = param.device()});
    state["exp_avg"] = new_state(param);
    state["exp_avg_sq"] = new_state(param);
  }
  kept(state, "step").add_(1.0);
  const double step = kept(state, "step").item();
  const SparseRows rows(param, gradient, o.master_weights ? master_of(param, state) : Tensor());
  if (rows.count() == 0) return;
  const Tensor g = o.maximize ? -rows.gradient() : rows.gradient();
  const Tensor m = rows.at(kept(state, "exp_avg")), v = rows.at(kept(state, "exp_avg_sq"));
  const Tensor new_m = m + (g - m) * (1 - o.betas[0]), new_v = v + (g * g - v) * (1 - o.betas[1]);
  rows.set(kept(state, "exp_avg"), new_m);
  rows.set(kept(state, "exp_avg_sq"), new_v);
  const double correction1 = 1 - std::pow(o.betas[0], step), correction2 = 1 - std::pow(o.betas[1], step);
  rows.add_to_param(new_m / (sqrt(new_v) + o.eps), -o.lr * std::sqrt(correction2) / correction1);
}

}  // namespace amp
