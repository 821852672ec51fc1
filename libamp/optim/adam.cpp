// Adam and AdamW: checks of the options, state, and the op call of one update.
#include "libamp/optim/adam.h"

#include <algorithm>

#include "libamp/dispatch/run_op.h"
#include "libamp/ops/create.h"

namespace amp {

Adam::Adam(const Tensors& params, const AdamOptions& options, bool decoupled, const char* name)
    : decoupled_(decoupled), name_(name) {
  add_param_group(params, options);
}

void Adam::add_param_group(const Tensors& params, const AdamOptions& o) {
  check_option(o.lr >= 0, name_, "lr", o.lr, "at least 0");
  check_option(o.eps >= 0, name_, "eps", o.eps, "at least 0");
  check_option(o.weight_decay >= 0, name_, "weight_decay", o.weight_decay, "at least 0");
  check_option(o.beta1 >= 0 && o.beta1 < 1, name_, "beta1", o.beta1, "a value in [0, 1)");
  check_option(o.beta2 >= 0 && o.beta2 < 1, name_, "beta2", o.beta2, "a value in [0, 1)");
  if (group_count() > 0 && o.fused != supports_amp_scaling())
    fail(ErrorCode::value, name_, "fused differs between groups: need the same in all");
  add_group(params);
  groups_.push_back(o);
}

bool Adam::supports_amp_scaling() const {
  return std::any_of(groups_.begin(), groups_.end(), [](const AdamOptions& o) { return o.fused; });
}

Optimizer::Options Adam::options(std::size_t group) {
  AdamOptions& o = groups_[group];
  return {{"lr", &o.lr}, {"beta1", &o.beta1}, {"beta2", &o.beta2}, {"eps", &o.eps}, {"weight_decay", &o.weight_decay}};
}

void Adam::update(std::size_t group, const Tensor& param, const Tensor& gradient, State& state) {
  const AdamOptions& o = groups_[group];
  if (!state.contains("step")) {
    state["step"] = zeros({}, {.device = param.device()});
    state["exp_avg"] = new_state(param);
    state["exp_avg_sq"] = new_state(param);
    if (o.amsgrad) state["max_exp_avg_sq"] = new_state(param);
  }
  const Tensor largest = o.amsgrad ? state["max_exp_avg_sq"] : Tensor();
  const Tensor master = o.master_weights ? master_of(param, state) : Tensor();
  run_op({OpId::adam_step_,
          {param.detach(), gradient, state["exp_avg"], state["exp_avg_sq"], state["step"], largest, master, grad_scale,
           found_inf},
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
