// SGD: checks of the options, and the op call of one update.
#include "libamp/optim/sgd.h"

#include "libamp/dispatch/run_op.h"
#include "libamp/optim/sparse_rows.h"

namespace amp {

SGD::SGD(const Tensors& params, const SGDOptions& options) : GroupedOptimizer("SGD", options) {
  add_param_group(params);
}

void SGD::check(const SGDOptions& o) const {
  check_option(o.lr >= 0, "SGD", "lr", o.lr, "at least 0");
  check_option(o.momentum >= 0, "SGD", "momentum", o.momentum, "at least 0");
  check_option(o.weight_decay >= 0, "SGD", "weight_decay", o.weight_decay, "at least 0");
  check_option(!o.nesterov || (o.momentum > 0 && o.dampening == 0), "SGD", "nesterov", 1,
               "a momentum above 0 and no dampening");
}

Optimizer::Options SGD::options(std::size_t i) {
  SGDOptions& o = group(i);
  return {{"lr", {&o.lr}},
          {"momentum", {&o.momentum}},
          {"dampening", {&o.dampening}},
          {"weight_decay", {&o.weight_decay}},
          {"nesterov", {}, &o.nesterov},
          {"maximize", {}, &o.maximize}};
}

void SGD::update(std::size_t i, const Tensor& param, const Tensor& gradient, State& state) {
  const SGDOptions& o = group(i);
  Tensor buffer;
  bool first = false;
  if (o.momentum != 0) {
    first = !state.contains("momentum_buffer");
    buffer = first ? new_state(param) : state["momentum_buffer"];
  }
  const Tensor master = o.master_weights ? master_of(param, state) : Tensor();
  run_op({OpId::sgd_step_,
          {param.detach(), gradient, buffer, master, grad_scale, found_inf},
          {{"lr", o.lr},
           {"momentum", o.momentum},
           {"dampening", o.dampening},
           {"weight_decay", o.weight_decay},
           {"nesterov", o.nesterov},
           {"maximize", o.maximize},
           {"first", first}},
          {}});
  // A first step that the scaler skipped leaves the buffer to be set by the next one.
  if (first && !skipped_by_scaler()) state["momentum_buffer"] = buffer;
}

// A momentum buffer moves rows long after they had a gradient, so with one the gradient is made dense; half parameters
// go by way of their master copy. Without either the rows alone are moved.
void SGD::update_sparse(std::size_t i, const Tensor& param, const Tensor& gradient, State& state) {
  const SGDOptions& o = group(i);
  refuse_for_sparse(o.weight_decay != 0, "SGD", "weight_decay");
  refuse_for_sparse(o.fused, "SGD", "fused");
  if (o.momentum != 0 || is_low_precision(param.dtype())) return update(i, param, gradient.to_dense(), state);
  add_sparse_(param.detach(), gradient, o.maximize ? o.lr : -o.lr);
}

}  // namespace amp
