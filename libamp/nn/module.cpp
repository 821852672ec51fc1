// The tree of modules, and the path of the one that runs.
#include "libamp/nn/module.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "libamp/core/grad_mode.h"
#include "libamp/core/observer.h"
#include "libamp/ops/ops.h"

namespace amp::nn {
namespace {

struct Running {
  const Module* module;
  std::string path;
};
// Modules that run in this thread, outermost first.
std::vector<Running>& running() {
  thread_local std::vector<Running> stack;
  return stack;
}

std::string join(const std::string& prefix, const std::string& name) {
  if (prefix.empty() || name.empty()) return prefix + name;
  return prefix + "." + name;
}

// Gives a tensor other data, for everyone who holds it.
void replace_data(const Tensor& tensor, const Tensor& with) {
  TensorImpl& impl = *tensor.impl();
  impl.storage = with.impl()->storage;
  impl.offset = with.impl()->offset;
  impl.strides = with.strides();
  impl.dtype = with.dtype();
}

}  // namespace

Tensor Module::forward(const Tensor&) {
  fail(ErrorCode::not_implemented, "Module", "forward(input) is not there: need a subclass that has it");
}

Tensor Module::operator()(const Tensor& input) {
  const Scope scope(*this);
  return forward(input);
}

Module::Scope::Scope(const Module& module) : entered_(observe::active()) {
  if (!entered_) return;
  auto& stack = running();
  std::string path;
  // The caller's child as a rule; a module that is reached past its parent is found from further out.
  for (auto at = stack.rbegin(); at != stack.rend(); ++at) {
    std::string below;
    if (!at->module->find_path(module, below)) continue;
    path = join(at->path, below);
    break;
  }
  before_ = context().module_path;
  context().module_path = path.empty() ? 0 : observe::intern(path);
  stack.push_back({&module, std::move(path)});
}

Module::Scope::~Scope() {
  if (!entered_) return;
  running().pop_back();
  context().module_path = before_;
}

bool Module::find_path(const Module& wanted, std::string& path) const {
  if (&wanted == this) return true;
  for (const auto& [name, child] : children_)
    if (child.get() == &wanted) {
      path = name;
      return true;
    }
  for (const auto& [name, child] : children_) {
    std::string below;
    if (!child->find_path(wanted, below)) continue;
    path = join(name, below);
    return true;
  }
  return false;
}

template <typename F>
void Module::visit(const std::string& prefix, F&& f) const {
  f(prefix, *this);
  for (const auto& [name, child] : children_) child->visit(join(prefix, name), f);
}

std::vector<std::pair<std::string, const Module*>> Module::named_modules() const {
  std::vector<std::pair<std::string, const Module*>> all;
  std::unordered_set<const Module*> seen;
  visit("", [&](const std::string& path, const Module& module) {
    if (seen.insert(&module).second) all.emplace_back(path, &module);
  });
  return all;
}

Module::Named Module::named_parameters() const {
  Named all;
  std::unordered_set<const TensorImpl*> seen;
  visit("", [&](const std::string& path, const Module& module) {
    for (const auto& [name, tensor] : module.parameters_) {
      if (!seen.insert(tensor.impl()).second) continue;
      const std::string full = join(path, name);
      tensor.set_name(observe::intern(full));
      tensor.impl()->storage->set_cause(MemoryCause::weights);
      all.emplace_back(full, tensor);
    }
  });
  return all;
}

Tensors Module::parameters() const {
  Tensors all;
  for (const auto& [name, tensor] : named_parameters()) all.push_back(tensor);
  return all;
}

Module::Named Module::named_buffers() const {
  Named all;
  visit("", [&](const std::string& path, const Module& module) {
    for (const auto& [name, tensor] : module.buffers_) all.emplace_back(join(path, name), tensor);
  });
  return all;
}

Module& Module::train(bool on) {
  training_ = on;
  for (const auto& [name, child] : children_) child->train(on);
  return *this;
}

Module& Module::to(DType dtype) {
  if (!is_floating(dtype))
    fail(ErrorCode::type, "Module::to",
         "a module can only be converted to a floating dtype: got " + std::string(name(dtype)));
  const no_grad quiet;
  const CauseScope cause(&Context::cause, MemoryCause::weights);
  for (const auto& [path, tensor] : named_parameters()) {
    if (tensor.dtype() == dtype) continue;
    const Tensor gradient = tensor.grad();
    replace_data(tensor, tensor.detach().to(dtype));
    if (gradient.defined()) tensor.set_grad(gradient.detach().to(dtype));
  }
  for (const auto& [path, tensor] : named_buffers())
    if (tensor.is_floating_point() && tensor.dtype() != dtype) replace_data(tensor, tensor.detach().to(dtype));
  return *this;
}

void Module::zero_grad(bool set_to_none) {
  const no_grad quiet;
  for (const auto& [path, tensor] : named_parameters()) {
    const Tensor gradient = tensor.grad();
    if (!gradient.defined()) continue;
    if (set_to_none)
      tensor.set_grad({});
    else
      gradient.detach().zero_();
  }
}

Module& Module::requires_grad_(bool on) {
  for (const auto& [path, tensor] : named_parameters()) tensor.requires_grad_(on);
  return *this;
}

std::map<std::string, Tensor> Module::state_dict() const {
  std::map<std::string, Tensor> state;
  for (const Named& list : {named_parameters(), named_buffers()})
    for (const auto& [path, tensor] : list) state[path] = tensor.detach();
  return state;
}

void Module::load_state_dict(const std::map<std::string, Tensor>& state) {
  const auto own = state_dict();
  std::string wrong;
  for (const auto& [path, tensor] : own) {
    const auto found = state.find(path);
    if (found == state.end())
      wrong += fmt::format("; '{}' is missing", path);
    else if (!found->second.defined() || !(found->second.sizes() == tensor.sizes()))
      wrong += fmt::format("; '{}': got {}, need {}", path, describe(found->second), to_string(tensor.sizes()));
  }
  for (const auto& [path, tensor] : state)
    if (!own.contains(path)) wrong += fmt::format("; '{}' is not in this module", path);
  if (!wrong.empty()) fail(ErrorCode::runtime, "load_state_dict", "the state does not fit" + wrong);
  const no_grad quiet;
  for (const auto& [path, tensor] : own) tensor.copy_(state.at(path));
}

void Module::check_name(const std::string& name) const {
  const auto is_taken = [&](const auto& list) {
    return std::any_of(list.begin(), list.end(), [&](const auto& entry) { return entry.first == name; });
  };
  if (name.empty() || name.find('.') != std::string::npos)
    fail(ErrorCode::value, "Module", fmt::format("names must not be empty or hold a dot: got '{}'", name));
  if (is_taken(parameters_) || is_taken(buffers_) || is_taken(children_))
    fail(ErrorCode::value, "Module", fmt::format("the name is taken: got '{}' twice", name));
}

Tensor Module::register_parameter(std::string name, const Tensor& value) {
  if (!value.defined()) return value;  // an optional parameter that is left out
  check_name(name);
  value.requires_grad_();
  value.impl()->storage->set_cause(MemoryCause::weights);
  parameters_.emplace_back(std::move(name), value);
  return value;
}

Tensor Module::register_buffer(std::string name, const Tensor& value) {
  if (!value.defined()) return value;
  check_name(name);
  value.impl()->storage->set_cause(MemoryCause::weights);
  buffers_.emplace_back(std::move(name), value);
  return value;
}

void Module::add_child(std::string name, std::shared_ptr<Module> module) {
  check_name(name);
  if (!module) fail(ErrorCode::value, "Module", fmt::format("submodule '{}': got none, need a module", name));
  children_.emplace_back(std::move(name), std::move(module));
}

Tensor Sequential::forward(const Tensor& input) {
  Tensor x = input;
  for (const auto& [name, child] : children()) x = (*child)(x);
  return x;
}

Module& Sequential::operator[](std::size_t i) const {
  if (i >= size())
    fail(ErrorCode::index, "Sequential", fmt::format("index out of range: got {}, need less than {}", i, size()));
  return *children()[i].second;
}

}  // namespace amp::nn
