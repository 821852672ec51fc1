// A module: named parameters, buffers and submodules, and a call that tells reports which module an op ran in.
// torch.nn.Module in C++. Paths are those of named_modules(): names joined by dots, the root's is empty.
#pragma once
#include <concepts>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "libamp/core/tensor.h"

namespace amp::nn {

struct ModuleHooks;

/// Base of all modules. A subclass registers its parts in its constructor and overrides forward(), or, if it takes
/// other arguments, offers its own forward(...) that opens with `const Scope scope(*this);`.
/// Modules can be moved (their parts are shared pointers) but not copied.
class Module {
 public:
  Module() = default;
  virtual ~Module() = default;
  Module(Module&&) = default;
  Module& operator=(Module&&) = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  /// What the module computes. Call it through operator(), which also notes the module's path.
  virtual Tensor forward(const Tensor& input);
  Tensor operator()(const Tensor& input);

  /// Marks this module as the one that runs, while it lives. Costs one branch when nobody listens.
  class Scope {
   public:
    explicit Scope(const Module& module);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    bool entered_;
    StringId before_ = 0;
  };

  using Named = std::vector<std::pair<std::string, Tensor>>;
  using NamedChildren = std::vector<std::pair<std::string, std::shared_ptr<Module>>>;
  /// Parameters of this module and (unless recurse is off) all below it, in order of registration, one that is shared
  /// once. Also gives each its path from this module as its name, for messages and reports, and marks its memory as
  /// weights.
  [[nodiscard]] Tensors parameters(bool recurse = true) const;
  [[nodiscard]] Named named_parameters(bool recurse = true) const;
  [[nodiscard]] Tensors buffers(bool recurse = true) const;
  [[nodiscard]] Named named_buffers(bool recurse = true) const;
  /// This module ("") and all below it, one that is shared once.
  [[nodiscard]] std::vector<std::pair<std::string, const Module*>> named_modules() const;
  [[nodiscard]] std::vector<Module*> modules();
  /// The modules right below this one.
  [[nodiscard]] const NamedChildren& named_children() const { return children_; }
  [[nodiscard]] std::vector<std::shared_ptr<Module>> children() const;
  /// By path, as "encoder.0.weight". Throws Error(value) naming what is not there.
  [[nodiscard]] Tensor get_parameter(std::string_view path) const;
  [[nodiscard]] Tensor get_buffer(std::string_view path) const;
  [[nodiscard]] std::shared_ptr<Module> get_submodule(std::string_view path) const;
  /// Calls f with every module below this one, children first, then with this one.
  Module& apply(const std::function<void(Module&)>& f);
  /// As register_module, from outside.
  Module& add_module(std::string name, std::shared_ptr<Module> module);

  /// Training mode (the default) or evaluation, for this module and all below it; as dropout and batch norm ask.
  Module& train(bool on = true);
  Module& eval() { return train(false); }
  [[nodiscard]] bool is_training() const { return training_; }

  /// Converts all floating parameters, their gradients and floating buffers, in place. Throws Error(type) for a dtype
  /// that is not floating.
  Module& to(DType dtype);
  Module& half() { return to(DType::float16); }
  Module& bfloat16() { return to(DType::bfloat16); }
  Module& to_float() { return to(DType::float32); }
  Module& to_double() { return to(DType::float64); }
  /// Moves parameters, gradients and buffers, in place. Throws naming the device if this build or machine has none.
  Module& to(Device device);
  Module& cpu() { return to(kCPU); }
  Module& cuda() { return to(kCUDA); }
  void zero_grad(bool set_to_none = true);
  Module& requires_grad_(bool on = true);

  /// Parameters and persistent buffers by path, one that is shared under each of its paths. The tensors share the
  /// module's memory.
  [[nodiscard]] std::map<std::string, Tensor> state_dict() const;
  struct IncompatibleKeys {  ///< what load_state_dict did not find, and what it had no place for
    std::vector<std::string> missing_keys, unexpected_keys;
  };
  /// Copies values in, converting the dtype. Throws Error(runtime) naming all missing and unexpected entries (only if
  /// strict) and all wrong shapes (always); then nothing was changed.
  IncompatibleKeys load_state_dict(const std::map<std::string, Tensor>& state, bool strict = true);

  /// Takes a hook back; the module may be gone by then.
  class HookHandle {
   public:
    void remove();  ///< the hook is not called any more

   private:
    friend class Module;
    std::weak_ptr<ModuleHooks> hooks_;
    std::uint64_t id_ = 0;
  };
  /// Called by operator() with one input before forward; a defined result replaces the input.
  using ForwardPreHook = std::function<Tensor(Module& module, const Tensor& input)>;
  HookHandle register_forward_pre_hook(ForwardPreHook hook);
  /// Called after forward; a defined result replaces the output.
  using ForwardHook = std::function<Tensor(Module& module, const Tensor& input, const Tensor& output)>;
  HookHandle register_forward_hook(ForwardHook hook);

 protected:
  /// Each returns what it registered. Names must not be empty, taken, or hold a dot: Error(value).
  Tensor register_parameter(std::string name, const Tensor& value);
  /// persistent: part of the state dict.
  Tensor register_buffer(std::string name, const Tensor& value, bool persistent = true);
  template <std::derived_from<Module> M>
  std::shared_ptr<M> register_module(std::string name, std::shared_ptr<M> module) {
    add_child(std::move(name), module);
    return module;
  }
  template <std::derived_from<Module> M>
  std::shared_ptr<M> register_module(std::string name, M&& module) {
    return register_module(std::move(name), std::make_shared<std::remove_cvref_t<M>>(std::forward<M>(module)));
  }
  /// May a state dict leave out this parameter or buffer of this module (files of earlier versions)?
  [[nodiscard]] virtual bool optional_in_state(std::string_view) const { return false; }

 private:
  void add_child(std::string name, std::shared_ptr<Module> module);
  void check_name(const std::string& name) const;
  /// Path of `wanted` below this module; false if it is not there.
  bool find_path(const Module& wanted, std::string& path) const;
  template <typename F>
  void visit(const std::string& prefix, F&& f) const;

  template <typename F>
  void visit_state(F&& f) const;
  [[nodiscard]] const Module& parent_of(std::string_view path, std::string& name) const;
  ModuleHooks& hooks();

  Named parameters_, buffers_;
  std::set<std::string> transient_;  // buffers that are not part of the state
  NamedChildren children_;
  std::shared_ptr<ModuleHooks> hooks_;
  bool training_ = true;
};

/// Modules one after the other; their names are "0", "1", ...
/// `nn::Sequential model(nn::Linear(784, 256), nn::ReLU(), nn::Linear(256, 10));`
class Sequential : public Module {
 public:
  Sequential() = default;
  template <typename First, typename... Rest>
  requires(sizeof...(Rest) > 0 ||
           !std::same_as<std::remove_cvref_t<First>, Sequential>) explicit Sequential(First&& first, Rest&&... rest) {
    append(std::forward<First>(first));
    (append(std::forward<Rest>(rest)), ...);
  }
  /// A module by value, or a shared pointer to one.
  template <typename M>
  Sequential& append(M&& module) {
    register_module(std::to_string(size()), std::forward<M>(module));
    return *this;
  }
  /// With a name of its own, as a Sequential of an OrderedDict has.
  template <typename M>
  Sequential& append(std::string name, M&& module) {
    register_module(std::move(name), std::forward<M>(module));
    return *this;
  }
  Tensor forward(const Tensor& input) override;
  [[nodiscard]] std::size_t size() const { return named_children().size(); }
  /// Throws Error(index).
  [[nodiscard]] Module& operator[](std::size_t i) const;
  using Module::operator();
};

}  // namespace amp::nn
