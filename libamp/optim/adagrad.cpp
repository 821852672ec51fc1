// Adagrad: checks of the options, state, and the op call of one update.
#include "libamp/optim/adagrad.h"

#include "libamp/dispatch/run_op.h"
#include "libamp/ops/create.h"
#include "libamp/optim/sparse_rows.h"

namespace amp {

Adagrad::Adagrad(const Tensors& params, const AdagradOptions& options) : GroupedOptimizer("Adagrad", options) {
  add_param_group(params);
}

void Adagrad::check(const AdagradOptions& o) const {
  check_option(o.lr >= 0, "Adagrad", "lr", o.lr, "at least 0");
  check_option(o.lr_decay >= 0, "Adagrad", "lr_decay", o.lr_decay, "at least 0");
  check_option(o.weight_decay >= 0, "Adagrad", "weight_decay", o.weight_decay, "at least 0");
  check_option(o.initial_accumulator_value >= 0, "Adagrad", "initial_accumulator_value", o.initial_accumulator_value,
               "at least 0");
  check_option(o.eps >= 0, "Adagrad", "eps", o.eps, "at least 0");
}

Optimizer::Options Adagrad::options(std::size_t i) {
  AdagradOptions& o = group(i);
  return {{"lr", {&o.lr}},
          {"lr_decay", {&o.lr_decay}},
          {"weight_decay", {&o.weight_decay}},
          {"initial_accumulator_value", {&o.initial_accumulator_value}},
          {"eps", {&o.eps}},
          {"maximize", {}, &o.maximize}};
}

void Adagrad::make_state(std::size_t i, const Tensor& param, State& state) {
  if (state.contains("step")) return;
  state["step"] = zeros({}, {.device = param.device()});
  state["sum"] = new_state(param, group(i).initial_accumulator_value);
}

void Adagrad::update(std::size_t i, const Tensor& param, const Tensor& gradient, State& state) {
  const AdagradOptions& o = group(i);
  make_state(i, param, state);
  const Tensor master = o.master_weights ? master_of(param, state) : Tensor();
  run_op({OpId::adagrad_step_,
          {param.detach(), gradient, kept(state, "sum"), kept(state, "step"), master, grad_scale, found_inf},
          {{"lr", o.lr},
           {"lr_decay", o.lr_decay},
           {"weight_decay", o.weight_decay},
           {"eps", o.eps},
           {"maximize", o.maximize}},
          {}});
}

void Adagrad::update_sparse(std::size_t i, const Tensor& param, const Tensor& gradient, State& state) {
  const AdagradOptions& o = group(i);
  refuse_for_sparse(o.weight_decay != 0, "Adagrad", "weight_decay");
  refuse_for_sparse(o.fused, "Adagrad", "fused");
  make_state(i, param, state);
  kept(state, "step").add_(1.0);
  const double rate = o.lr / (1 + (kept(state, "step").item() - 1) * o.lr_decay);
  const SparseRows rows(param, gradient, o.master_weights ? master_of(param, state) : Tensor());
  const Tensor g = o.maximize ? -rows.gradient() : rows.gradient();
  const Tensor sum = rows.at(kept(state, "sum")) + g * g;
  rows.set(kept(state, "sum"), sum);
  rows.add_to_param(g / (sqrt(sum) + o.eps), -rate);
}

}  // namespace amp
