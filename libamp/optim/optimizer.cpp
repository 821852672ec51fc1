// Groups, state dicts, and the frame around an update.
#include "libamp/optim/optimizer.h"

#include <fmt/format.h>

#include "libamp/core/grad_mode.h"
#include "libamp/core/observer.h"
#include "libamp/core/step_clock.h"
#include "libamp/dispatch/announce.h"
#include "libamp/ops/ops.h"

namespace amp {
namespace {

std::string state_key(std::size_t index, const std::string& name) { return fmt::format("state.{}.{}", index, name); }
std::string option_key(std::size_t group, const std::string& name) {
  return fmt::format("param_groups.{}.{}", group, name);
}

bool observing_sample() { return observe::active() && step_clock::sampled(); }

// Reports need a name; programs that do not use nn::Module have not given one.
StringId name_of(const Tensor& param, std::size_t index) {
  return param.name() != 0 ? param.name() : observe::intern(fmt::format("parameter {}", index));
}

bool is_half(const Tensor& t) { return is_low_precision(t.dtype()); }

}  // namespace

void check_option(bool holds, const char* where, const char* option, double value, const char* need) {
  if (!holds) fail(ErrorCode::value, where, fmt::format("invalid {}: got {}, need {}", option, value, need));
}

void Optimizer::add_group(const Tensors& params) {
  if (params.empty()) fail(ErrorCode::value, "optimizer", "got an empty parameter list, need at least one parameter");
  for (const Tensor& p : params) {
    if (!p.defined() || !p.is_floating_point())
      fail(ErrorCode::type, "optimizer", "only floating tensors can be optimized: got " + describe(p));
    if (!p.is_leaf())
      fail(ErrorCode::value, "optimizer",
           "can't optimize a tensor that is not a leaf: got " + describe(p) +
               "; need detach() or the leaf it was made from");
    if (!states_.try_emplace(p.impl()).second)
      fail(ErrorCode::value, "optimizer", "a parameter appears in more than one place: got " + describe(p) + " twice");
    p.impl()->storage->set_cause(MemoryCause::weights);
  }
  groups_.push_back(params);
}

Tensors Optimizer::parameters() const {
  Tensors all;
  for (const Tensors& group : groups_) all.insert(all.end(), group.begin(), group.end());
  return all;
}

void Optimizer::zero_grad(bool set_to_none) {
  const PhaseScope phase(&Context::phase, Phase::optimizer);
  const no_grad quiet;
  for (const Tensors& group : groups_)
    for (const Tensor& p : group) {
      if (set_to_none) {
        if (p.grad().defined()) p.set_grad({});
      } else if (const Tensor g = p.grad(); g.defined()) {
        p.set_grad(g.detach());
        g.zero_();
      }
    }
}

Tensor Optimizer::step(const Closure& closure) {
  Tensor loss;
  if (closure) {
    const enable_grad with_graph;
    loss = closure();
  }
  const PhaseScope phase(&Context::phase, Phase::optimizer);
  const CauseScope cause(&Context::cause, MemoryCause::optimizer_state);
  const no_grad quiet;
  announce_weights();
  if (!grad_scale.defined()) announce_gradients();
  for (std::size_t g = 0; g < groups_.size(); ++g)
    for (const Tensor& p : groups_[g])
      if (const Tensor gradient = p.grad(); gradient.defined()) update(g, p, gradient, states_[p.impl()]);
  // With grad_scale the gradients were unscaled by the update; after a skip they still carry the scale.
  if (grad_scale.defined() && observing_sample() && !skipped_by_scaler()) announce_gradients();
  step_clock::note_optimizer_step();
  return loss;
}

void Optimizer::announce_weights() {
  if (!observing_sample() || weights_announced_ == step_clock::current() + 1) return;
  weights_announced_ = step_clock::current() + 1;
  std::size_t index = 0;
  for (const Tensor& p : parameters())
    announce::tensor_stats(p.detach(), name_of(p, index++), TensorRole::weight, OpId::none);
}

void Optimizer::announce_gradients() {
  if (!observing_sample() || gradients_announced_ == step_clock::current() + 1) return;
  gradients_announced_ = step_clock::current() + 1;
  std::size_t index = 0;
  for (const Tensor& p : parameters()) {
    if (const Tensor g = p.grad(); g.defined())
      announce::tensor_stats(g.detach(), name_of(p, index), TensorRole::unscaled_gradient, OpId::none);
    ++index;
  }
}

StateDict Optimizer::state_dict() const {
  StateDict dict;
  const no_grad quiet;
  std::size_t index = 0;
  for (const Tensor& p : parameters()) {
    for (const auto& [name, tensor] : states_.at(p.impl())) dict[state_key(index, name)] = tensor.clone();
    ++index;
  }
  for (std::size_t g = 0; g < groups_.size(); ++g)
    for (const auto& [name, value] : const_cast<Optimizer*>(this)->options(g))
      dict[option_key(g, name)] = scalar_tensor(*value, {.dtype = DType::float64});
  return dict;
}

void Optimizer::load_state_dict(const StateDict& state) {
  const auto refuse = [](const std::string& key, const std::string& why) {
    fail(ErrorCode::value, "load_state_dict", "entry '" + key + "': " + why);
  };
  const Tensors params = parameters();
  // Checked before anything is changed.
  std::vector<State> states(params.size());
  std::vector<std::pair<double*, double>> values;
  for (const auto& [key, tensor] : state) {
    std::size_t index = 0;
    char name[64] = {};
    if (std::sscanf(key.c_str(), "state.%zu.%63s", &index, name) == 2) {
      if (index >= params.size()) refuse(key, fmt::format("the optimizer has {} parameters", params.size()));
      if (tensor.dim() != 0 && !(tensor.sizes() == params[index].sizes()))
        refuse(key, "got " + describe(tensor) + ", need the parameter's shape " + to_string(params[index].sizes()));
      states[index][name] = tensor;
    } else if (std::sscanf(key.c_str(), "param_groups.%zu.%63s", &index, name) == 2) {
      if (index >= groups_.size()) refuse(key, fmt::format("the optimizer has {} groups", groups_.size()));
      double* found = nullptr;
      for (const auto& [option, value] : options(index))
        if (option == name) found = value;
      if (found == nullptr) refuse(key, "this optimizer has no such option");
      values.emplace_back(found, tensor.item());
    } else {
      refuse(key, "need state.I.NAME or param_groups.G.NAME");
    }
  }
  const no_grad quiet;
  const CauseScope cause(&Context::cause, MemoryCause::optimizer_state);
  for (std::size_t i = 0; i < params.size(); ++i) {
    State& own = states_[params[i].impl()];
    own.clear();
    for (const auto& [name, tensor] : states[i]) own[name] = tensor.clone();
  }
  for (const auto& [where, value] : values) *where = value;
}

Tensor Optimizer::master_of(const Tensor& param, State& state) {
  if (!is_half(param)) return {};
  Tensor& master = state["master"];
  if (!master.defined()) master = param.detach().to(DType::float32);
  return master;
}

Tensor Optimizer::new_state(const Tensor& param) {
  return zeros(param.sizes(), {.dtype = is_half(param) ? DType::float32 : param.dtype(), .device = param.device()});
}

}  // namespace amp
