// Adam and AdamW: checks of the options, state, and the op call of one update.
#include "libamp/optim/adam.h"

#include "libamp/dispatch/run_op.h"
#include "libamp/ops/create.h"

namespace amp {

Adam::Adam(const Tensors& params, const AdamOptions& options, bool decoupled, const char* name)
    : GroupedOptimizer(name, options), decoupled_(decoupled) {
  Adam::add_param_group(params);
}

void Adam::check(const AdamOptions& o) const {
  check_option(o.lr >= 0, name(), "lr", o.lr, "at least 0");
  check_option(o.eps >= 0, name(), "eps", o.eps, "at least 0");
  check_option(o.weight_decay >= 0, name(), "weight_decay", o.weight_decay, "at least 0");
  check_option(o.beta1 >= 0 && o.beta1 < 1, name(), "beta1", o.beta1, "a value in [0, 1)");
  check_option(o.beta2 >= 0 && o.beta2 < 1, name(), "beta2", o.beta2, "a value in [0, 1)");
}

Optimizer::Options Adam::options(std::size_t i) {
  AdamOptions& o = group(i);
  return {{"lr", {&o.lr}},
          {"betas", {&o.beta1, &o.beta2}},
          {"eps", {&o.eps}},
          {"weight_decay", {&o.weight_decay}},
          {"amsgrad", {}, &o.amsgrad},
          {"maximize", {}, &o.maximize}};
}

void Adam::update(std::size_t i, const Tensor& param, const Tensor& gradient, State& state) {
  const AdamOptions& o = group(i);
  if (!state.contains("step")) {
    state["step"] = zeros({}, {.device = param.device()});
    state["exp_avg"] = new_state(param);
    state["exp_avg_sq"] = new_state(param);
    if (o.amsgrad) state["max_exp_avg_sq"] = new_state(param);
  }
  const Tensor largest = o.amsgrad ? kept(state, "max_exp_avg_sq") : Tensor();
  const Tensor master = o.master_weights ? master_of(param, state) : Tensor();
  run_op({OpId::adam_step_,
          {param.detach(), gradient, kept(state, "exp_avg"), kept(state, "exp_avg_sq"), kept(state, "step"), largest,
           master, grad_scale, found_inf},
          {{"lr", o.lr},
           {"beta1", o.beta1},
           {"beta2", o.beta2},
           {"eps", o.eps},
           {"weight_decay", o.weight_decay},
           {"decoupled", decoupled_},
           {"maximize", o.maximize}},
          {}});
}

}  // namespace amp
