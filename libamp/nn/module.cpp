// The tree of modules, and the path of the one that runs.
#include "libamp/nn/module.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "libamp/core/ambient.h"
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

// A checkpointed stretch that is computed again finds the modules around it running, as they were.
ambient::Enter capture_running() {
  if (running().empty()) return {};
  return [stack = running()]() -> std::shared_ptr<void> {
    auto before = std::make_shared<std::vector<Running>>(std::exchange(running(), stack));
    return {before.get(), [before](void*) { running() = *before; }};
  };
}
[[maybe_unused]] const bool capture_is_set = (ambient::set_capture(&capture_running), true);

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

// Replaces a module's tensors by what `convert` makes of them, gradients included.
template <typename F>
void convert_tensors(const Module& module, F convert) {
  const no_grad quiet;
  const CauseScope cause(&Context::cause, MemoryCause::weights);
  for (const auto& [path, tensor] : module.named_parameters()) {
    const Tensor gradient = tensor.grad(), converted = convert(tensor.detach());
    if (converted.impl()->storage == tensor.impl()->storage) continue;
    replace_data(tensor, converted);
    if (gradient.defined()) tensor.set_grad(convert(gradient.detach()));
  }
  for (const auto& [path, tensor] : module.named_buffers()) replace_data(tensor, convert(tensor.detach()));
}

template <typename List>
auto find_named(const List& list, std::string_view name) {
  return std::find_if(list.begin(), list.end(), [&](const auto& entry) { return entry.first == name; });
}

}  // namespace

struct ModuleHooks {
  std::uint64_t next_id = 1;
  std::vector<std::pair<std::uint64_t, Module::ForwardPreHook>> before;
  std::vector<std::pair<std::uint64_t, Module::ForwardHook>> after;
};

Tensor Module::forward(const Tensor&) {
  fail(ErrorCode::not_implemented, "Module", "forward(input) is not there: need a subclass that has it");
}

Tensor Module::operator()(const Tensor& input) {
  const Scope scope(*this);
  if (!hooks_) return forward(input);
  const ModuleHooks now = *hooks_;  // a hook may add and remove hooks
  Tensor given = input;
  for (const auto& [id, hook] : now.before)
    if (Tensor replaced = hook(*this, given); replaced.defined()) given = std::move(replaced);
  Tensor output = forward(given);
  for (const auto& [id, hook] : now.after)
    if (Tensor replaced = hook(*this, given, output); replaced.defined()) output = std::move(replaced);
  return output;
}

ModuleHooks& Module::hooks() {
  if (!hooks_) hooks_ = std::make_shared<ModuleHooks>();
  return *hooks_;
}

Module::HookHandle Module::register_forward_pre_hook(ForwardPreHook hook) {
  HookHandle handle;
  handle.id_ = hooks().next_id++;
  handle.hooks_ = hooks_;
  hooks_->before.emplace_back(handle.id_, std::move(hook));
  return handle;
}

Module::HookHandle Module::register_forward_hook(ForwardHook hook) {
  HookHandle handle;
  handle.id_ = hooks().next_id++;
  handle.hooks_ = hooks_;
  hooks_->after.emplace_back(handle.id_, std::move(hook));
  return handle;
}

void Module::HookHandle::remove() {
  const auto hooks = hooks_.lock();
  if (!hooks) return;
  const auto is_own = [this](const auto& entry) { return entry.first == id_; };
  std::erase_if(hooks->before, is_own);
  std::erase_if(hooks->after, is_own);
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

std::vector<Module*> Module::modules() {
  std::vector<Module*> all;
  for (const auto& [path, module] : named_modules()) all.push_back(const_cast<Module*>(module));  // reached from here
  return all;
}

std::vector<std::shared_ptr<Module>> Module::children() const {
  std::vector<std::shared_ptr<Module>> all;
  for (const auto& [name, child] : children_) all.push_back(child);
  return all;
}

Module::Named Module::named_parameters(bool recurse) const {
  Named all;
  std::unordered_set<const TensorImpl*> seen;
  visit("", [&](const std::string& path, const Module& module) {
    if (!recurse && &module != this) return;
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

Module::Named Module::named_buffers(bool recurse) const {
  Named all;
  std::unordered_set<const TensorImpl*> seen;
  visit("", [&](const std::string& path, const Module& module) {
    if (!recurse && &module != this) return;
    for (const auto& [name, tensor] : module.buffers_)
      if (seen.insert(tensor.impl()).second) all.emplace_back(join(path, name), tensor);
  });
  return all;
}

Tensors Module::parameters(bool recurse) const {
  Tensors all;
  for (const auto& [name, tensor] : named_parameters(recurse)) all.push_back(tensor);
  return all;
}

Tensors Module::buffers(bool recurse) const {
  Tensors all;
  for (const auto& [name, tensor] : named_buffers(recurse)) all.push_back(tensor);
  return all;
}

std::shared_ptr<Module> Module::get_submodule(std::string_view path) const {
  const std::size_t dot = path.find('.');
  const auto found = find_named(children_, path.substr(0, dot));
  if (found == children_.end())
    fail(ErrorCode::value, "Module", fmt::format("there is no module '{}' here", path.substr(0, dot)));
  return dot == std::string_view::npos ? found->second : found->second->get_submodule(path.substr(dot + 1));
}

const Module& Module::parent_of(std::string_view path, std::string& name) const {
  const std::size_t dot = path.rfind('.');
  name = path.substr(dot == std::string_view::npos ? 0 : dot + 1);
  return dot == std::string_view::npos ? *this : *get_submodule(path.substr(0, dot));
}

Tensor Module::get_parameter(std::string_view path) const {
  std::string name;
  const Module& owner = parent_of(path, name);
  const auto found = find_named(owner.parameters_, name);
  if (found == owner.parameters_.end())
    fail(ErrorCode::value, "Module", fmt::format("there is no parameter '{}'", path));
  return found->second;
}

Tensor Module::get_buffer(std::string_view path) const {
  std::string name;
  const Module& owner = parent_of(path, name);
  const auto found = find_named(owner.buffers_, name);
  if (found == owner.buffers_.end()) fail(ErrorCode::value, "Module", fmt::format("there is no buffer '{}'", path));
  return found->second;
}

Module& Module::apply(const std::function<void(Module&)>& f) {
  for (const auto& [name, child] : children_) child->apply(f);
  f(*this);
  return *this;
}

Module& Module::add_module(std::string name, std::shared_ptr<Module> module) {
  add_child(std::move(name), std::move(module));
  return *this;
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
  convert_tensors(*this, [&](const Tensor& t) { return t.is_floating_point() ? t.to(dtype) : t; });
  return *this;
}

Module& Module::to(Device device) {
  require_available(device.type, "Module::to");
  convert_tensors(*this, [&](const Tensor& t) { return t.to(device); });
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

template <typename F>
void Module::visit_state(F&& f) const {
  visit("", [&](const std::string& path, const Module& module) {
    for (const auto& [name, tensor] : module.parameters_) f(module, join(path, name), name, tensor);
    for (const auto& [name, tensor] : module.buffers_)
      if (!module.transient_.contains(name)) f(module, join(path, name), name, tensor);
  });
}

std::map<std::string, Tensor> Module::state_dict() const {
  (void)named_parameters();  // names the parameters
  std::map<std::string, Tensor> state;
  visit_state([&](const Module&, const std::string& path, const std::string&, const Tensor& tensor) {
    state[path] = tensor.detach();
  });
  return state;
}

Module::IncompatibleKeys Module::load_state_dict(const std::map<std::string, Tensor>& state, bool strict) {
  IncompatibleKeys keys;
  std::string shapes;
  std::vector<std::pair<Tensor, Tensor>> copies;
  std::set<std::string> own;
  visit_state([&](const Module& module, const std::string& path, const std::string& name, const Tensor& tensor) {
    own.insert(path);
    const auto found = state.find(path);
    if (found == state.end()) {
      if (!module.optional_in_state(name)) keys.missing_keys.push_back(path);
    } else if (!found->second.defined() || !(found->second.sizes() == tensor.sizes())) {
      shapes += fmt::format("; '{}': got {}, need {}", path, describe(found->second), to_string(tensor.sizes()));
    } else {
      copies.emplace_back(tensor.detach(), found->second);
    }
  });
  for (const auto& [path, tensor] : state)
    if (!own.contains(path)) keys.unexpected_keys.push_back(path);
  std::string wrong = shapes;
  if (strict) {
    for (const std::string& path : keys.missing_keys) wrong += fmt::format("; '{}' is missing", path);
    for (const std::string& path : keys.unexpected_keys) wrong += fmt::format("; '{}' is not in this module", path);
  }
  if (!wrong.empty()) fail(ErrorCode::runtime, "load_state_dict", "the state does not fit" + wrong);
  const no_grad quiet;
  for (const auto& [tensor, value] : copies) tensor.copy_(value);
  return keys;
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

Tensor Module::register_buffer(std::string name, const Tensor& value, bool persistent) {
  if (!value.defined()) return value;
  check_name(name);
  if (!persistent) transient_.insert(name);
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
  for (const auto& [name, child] : named_children()) x = (*child)(x);
  return x;
}

Module& Sequential::operator[](std::size_t i) const {
  if (i >= size())
    fail(ErrorCode::index, "Sequential", fmt::format("index out of range: got {}, need less than {}", i, size()));
  return *named_children()[i].second;
}

}  // namespace amp::nn
