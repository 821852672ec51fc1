// RMSprop: checks of the options, state, and the op call of one update.
#include "libamp/optim/rmsprop.h"

#include "libamp/dispatch/run_op.h"
#include "libamp/ops/create.h"

namespace amp {

RMSprop::RMSprop(const Tensors& params, const RMSpropOptions& options) : GroupedOptimizer("RMSprop", options) {
  add_param_group(params);
}

void RMSprop::check(const RMSpropOptions& o) const {
  check_option(o.lr >= 0, "RMSprop", "lr", o.lr, "at least 0");
  check_option(o.eps >= 0, "RMSprop", "eps", o.eps, "at least 0");
  check_option(o.momentum >= 0, "RMSprop", "momentum", o.momentum, "at least 0");
  check_option(o.weight_decay >= 0, "RMSprop", "weight_decay", o.weight_decay, "at least 0");
  check_option(o.alpha >= 0, "RMSprop", "alpha", o.alpha, "at least 0");
}

Optimizer::Options RMSprop::options(std::size_t i) {
  RMSpropOptions& o = group(i);
  return {{"lr", {&o.lr}},
          {"momentum", {&o.momentum}},
          {"alpha", {&o.alpha}},
          {"eps", {&o.eps}},
          {"centered", {}, &o.centered},
          {"weight_decay", {&o.weight_decay}},
          {"maximize", {}, &o.maximize}};
}

void RMSprop::update(std::size_t i, const Tensor& param, const Tensor& gradient, State& state) {
  const RMSpropOptions& o = group(i);
  if (!state.contains("step")) {
    state["step"] = zeros({}, {.device = param.device()});
    state["square_avg"] = new_state(param);
    if (o.momentum > 0) state["momentum_buffer"] = new_state(param);
    if (o.centered) state["grad_avg"] = new_state(param);
  }
  const Tensor buffer = o.momentum > 0 ? kept(state, "momentum_buffer") : Tensor();
  const Tensor average = o.centered ? kept(state, "grad_avg") : Tensor();
  const Tensor master = o.master_weights ? master_of(param, state) : Tensor();
  run_op({OpId::rmsprop_step_,
          {param.detach(), gradient, kept(state, "square_avg"), kept(state, "step"), average, buffer, master,
           grad_scale, found_inf},
          {{"lr", o.lr},
           {"alpha", o.alpha},
           {"eps", o.eps},
           {"weight_decay", o.weight_decay},
           {"momentum", o.momentum},
           {"maximize", o.maximize}},
          {}});
}

}  // namespace amp
