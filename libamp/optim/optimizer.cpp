// Groups, state dicts, and the frame around an update.
#include "libamp/optim/optimizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "libamp/core/grad_mode.h"
#include "libamp/core/observer.h"
#include "libamp/core/step_clock.h"
#include "libamp/dispatch/announce.h"
#include "libamp/ops/ops.h"

namespace amp {
namespace {

std::string state_key(std::size_t index, const std::string& name) { return fmt::format("state.{}.{}", index, name); }
std::string option_key(std::size_t group, std::string_view name) {
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
  std::unordered_set<const TensorImpl*> seen;
  for (const Tensor& p : params) {
    if (!p.defined() || !p.is_floating_point())
      fail(ErrorCode::type, "optimizer", "only floating tensors can be optimized: got " + describe(p));
    if (!p.is_leaf())
      fail(ErrorCode::value, "optimizer",
           "can't optimize a tensor that is not a leaf: got " + describe(p) +
               "; need detach() or the leaf it was made from");
    if (states_.contains(p.impl()) || !seen.insert(p.impl()).second)
      fail(ErrorCode::value, "optimizer", "a parameter appears in more than one place: got " + describe(p) + " twice");
  }
  for (const Tensor& p : params) {
    states_.try_emplace(p.impl());
    p.impl()->storage->set_cause(MemoryCause::weights);
  }
  groups_.push_back({params, {}});
}

Tensors Optimizer::parameters() const {
  Tensors all;
  for (const Group& group : groups_) all.insert(all.end(), group.params.begin(), group.params.end());
  return all;
}

void Optimizer::check_group(std::size_t group) const {
  if (group >= groups_.size())
    fail(ErrorCode::index, "optimizer", fmt::format("no such group: got {}, need less than {}", group, groups_.size()));
}

const Tensors& Optimizer::group_parameters(std::size_t group) const {
  check_group(group);
  return groups_[group].params;
}

std::optional<double>& Optimizer::initial_lr(std::size_t group) {
  check_group(group);
  return groups_[group].initial_lr;
}

const Optimizer::State& Optimizer::state(const Tensor& param) const {
  const auto found = states_.find(param.impl());
  if (found == states_.end())
    fail(ErrorCode::value, "optimizer", "the tensor is not optimized here: got " + describe(param));
  return found->second;
}

double* Optimizer::find_option(std::size_t group, std::string_view name, std::size_t index) {
  check_group(group);
  for (const Option& option : options(group))
    if (option.name == name && index < option.numbers.size()) return option.numbers[index];
  return nullptr;
}

void Optimizer::zero_grad(bool set_to_none) {
  const PhaseScope phase(&Context::phase, Phase::optimizer);
  const no_grad quiet;
  for (const Group& group : groups_)
    for (const Tensor& p : group.params) {
      if (set_to_none) {
        if (p.grad().defined()) p.set_grad({});
      } else if (const Tensor g = p.grad(); g.defined()) {
        const Tensor zero = g.detach();
        zero.zero_();  // a sparse one loses its entries
        p.set_grad(zero);
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
    for (const Tensor& p : groups_[g].params)
      if (const Tensor gradient = p.grad(); gradient.defined()) {
        gradient.is_sparse() ? update_sparse(g, p, gradient, states_[p.impl()])
                             : update(g, p, gradient, states_[p.impl()]);
        if (is_half(p)) left_[p.impl()] = left_in(p);
      }
  const bool skipped = skipped_by_scaler();
  ++(skipped ? steps_skipped_ : steps_taken_);
  // With grad_scale the gradients were unscaled by the update; after a skip they still carry the scale.
  if (grad_scale.defined() && observing_sample() && !skipped) announce_gradients();
  step_clock::note_optimizer_step();
  return loss;
}

void Optimizer::update_sparse(std::size_t, const Tensor& param, const Tensor& gradient, State&) {
  fail(ErrorCode::runtime, "optimizer",
       "sparse gradients are not supported: got " + describe(gradient) + " for " + describe(param) +
           ", need SGD, Adagrad or SparseAdam");
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
  const TensorOptions number{.dtype = DType::float64};
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    std::vector<double> indices;
    for (const Tensor& p : groups_[g].params) {
      for (const auto& [name, tensor] : states_.at(p.impl())) dict[state_key(index, name)] = tensor.clone();
      indices.push_back(static_cast<double>(index++));
    }
    dict[option_key(g, "params")] = tensor(indices, {.dtype = DType::int64});
    if (groups_[g].initial_lr) dict[option_key(g, "initial_lr")] = scalar_tensor(*groups_[g].initial_lr, number);
    for (const Option& option : const_cast<Optimizer*>(this)->options(g)) {
      Tensor& entry = dict[option_key(g, option.name)];
      if (option.flag != nullptr) {
        entry = scalar_tensor(*option.flag ? 1 : 0, {.dtype = DType::bool_});
      } else if (option.numbers.size() == 1) {
        entry = scalar_tensor(*option.numbers[0], number);
      } else {
        std::vector<double> values;
        for (const double* value : option.numbers) values.push_back(*value);
        entry = tensor(values, number);
      }
    }
  }
  return dict;
}

// What a state dict says, before anything of it is put in place.
struct Optimizer::Loaded {
  std::vector<State> states;
  std::vector<std::pair<double*, double>> numbers;
  std::vector<std::pair<bool*, bool>> flags;
  std::vector<std::pair<std::size_t, double>> initial_lrs;
  std::unordered_set<std::size_t> groups;
};

namespace {

[[noreturn]] void refuse(const std::string& key, const std::string& why) {
  fail(ErrorCode::value, "load_state_dict", "entry '" + key + "': " + why);
}

}  // namespace

void Optimizer::load_option(Loaded& loaded, const std::string& key, std::size_t group, std::string_view name,
                            const Tensor& value) {
  if (group >= groups_.size()) refuse(key, fmt::format("the optimizer has {} groups", groups_.size()));
  const auto need_numbers = [&](std::size_t count) {
    if (!value.defined() || value.numel() != static_cast<std::int64_t>(count))
      refuse(key, fmt::format("got {}, need {} numbers", describe(value), count));
    return value.to_vector();
  };
  loaded.groups.insert(group);
  if (name == "params") {
    need_numbers(groups_[group].params.size());
  } else if (name == "initial_lr") {
    loaded.initial_lrs.emplace_back(group, need_numbers(1)[0]);
  } else {
    const Options own = options(group);
    const auto option = std::find_if(own.begin(), own.end(), [&](const Option& o) { return o.name == name; });
    if (option == own.end()) refuse(key, "this optimizer has no such option");
    const std::vector<double> values = need_numbers(option->flag != nullptr ? 1 : option->numbers.size());
    if (option->flag != nullptr) loaded.flags.emplace_back(option->flag, values[0] != 0);
    for (std::size_t i = 0; i < option->numbers.size(); ++i) loaded.numbers.emplace_back(option->numbers[i], values[i]);
  }
}

void Optimizer::load_state_dict(const StateDict& state) {
  const Tensors params = parameters();
  Loaded loaded;
  loaded.states.resize(params.size());
  for (const auto& [key, tensor] : state) {
    std::size_t index = 0;
    char name[64] = {};
    if (std::sscanf(key.c_str(), "state.%zu.%63s", &index, name) == 2) {
      if (index >= params.size()) refuse(key, fmt::format("the optimizer has {} parameters", params.size()));
      if (!tensor.defined() || (tensor.dim() != 0 && !(tensor.sizes() == params[index].sizes())))
        refuse(key, "got " + describe(tensor) + ", need the parameter's shape " + to_string(params[index].sizes()));
      loaded.states[index][name] = tensor;
    } else if (std::sscanf(key.c_str(), "param_groups.%zu.%63s", &index, name) == 2) {
      load_option(loaded, key, index, name, tensor);
    } else {
      refuse(key, "need state.I.NAME or param_groups.G.NAME");
    }
  }
  if (loaded.groups.size() != groups_.size())
    fail(ErrorCode::value, "load_state_dict",
         fmt::format("the state has another number of groups: got {}, need {}", loaded.groups.size(), groups_.size()));
  const no_grad quiet;
  const CauseScope cause(&Context::cause, MemoryCause::optimizer_state);
  for (std::size_t i = 0; i < params.size(); ++i) {
    State& own = states_[params[i].impl()];
    own.clear();
    const DType compute = is_half(params[i]) ? DType::float32 : params[i].dtype();
    for (const auto& [name, tensor] : loaded.states[i])
      own[name] = tensor.detach().to(name == "step" ? DType::float32 : compute).clone();
  }
  for (const auto& [where, value] : loaded.numbers) *where = value;
  for (const auto& [where, value] : loaded.flags) *where = value;
  for (const auto& [group, value] : loaded.initial_lrs) groups_[group].initial_lr = value;
}

Tensor Optimizer::master_of(const Tensor& param, State& state) {
  if (!is_half(param)) return {};
  Tensor& master = state["master"];
  const Tensor now = param.detach();
  if (!master.defined()) {
    master = now.to(DType::float32);
  } else if (left_[param.impl()] != left_in(param)) {
    // Loaded, or written by the program: what no longer is the master's rounded value counts.
    master.copy_(where(eq(master.to(param.dtype()), now), master, now.to(DType::float32)));
  }
  return master;
}

Tensor Optimizer::new_state(const Tensor& param, double value) {
  return full(param.sizes(), value,
              {.dtype = is_half(param) ? DType::float32 : param.dtype(), .device = param.device()});
}

const Tensor& Optimizer::kept(const State& state, const char* name) {
  const auto found = state.find(name);
  if (found == state.end())
    fail(ErrorCode::value, "optimizer",
         fmt::format("the state has no entry '{}': it was loaded from an optimizer with other options", name));
  return found->second;
}

}  // namespace amp
