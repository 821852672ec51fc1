// A module: named parameters, buffers and submodules, and a call that tells reports which module an op ran in.
// torch.nn.Module in C++. Paths are those of named_modules(): names joined by dots, the root's is empty.
#pragma once
#include <concepts>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "libamp/core/tensor.h"

namespace amp::nn {

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
  /// Parameters of this module and all below it, in order of registration, one that is shared once. Also gives each
  /// its path from this module as its name, for messages and reports, and marks its memory as weights.
  [[nodiscard]] Tensors parameters() const;
  [[nodiscard]] Named named_parameters() const;
  [[nodiscard]] Named named_buffers() const;
  /// This module ("") and all below it.
  [[nodiscard]] std::vector<std::pair<std::string, const Module*>> named_modules() const;

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
  void zero_grad(bool set_to_none = true);
  Module& requires_grad_(bool on = true);

  /// Parameters and buffers by path. The tensors share the module's memory.
  [[nodiscard]] std::map<std::string, Tensor> state_dict() const;
  /// Copies values in, converting the dtype. Throws Error(runtime) naming missing and unknown entries and wrong
  /// shapes; then nothing was changed.
  void load_state_dict(const std::map<std::string, Tensor>& state);

 protected:
  /// Each returns what it registered. Names must not be empty, taken, or hold a dot: Error(value).
  Tensor register_parameter(std::string name, const Tensor& value);
  Tensor register_buffer(std::string name, const Tensor& value);
  template <std::derived_from<Module> M>
  std::shared_ptr<M> register_module(std::string name, std::shared_ptr<M> module) {
    add_child(std::move(name), module);
    return module;
  }
  template <std::derived_from<Module> M>
  std::shared_ptr<M> register_module(std::string name, M&& module) {
    return register_module(std::move(name), std::make_shared<std::remove_cvref_t<M>>(std::forward<M>(module)));
  }
  [[nodiscard]] const std::vector<std::pair<std::string, std::shared_ptr<Module>>>& children() const {
    return children_;
  }

 private:
  void add_child(std::string name, std::shared_ptr<Module> module);
  void check_name(const std::string& name) const;
  /// Path of `wanted` below this module; false if it is not there.
  bool find_path(const Module& wanted, std::string& path) const;
  template <typename F>
  void visit(const std::string& prefix, F&& f) const;

  Named parameters_, buffers_;
  std::vector<std::pair<std::string, std::shared_ptr<Module>>> children_;
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
    register_module(std::to_string(children().size()), std::forward<M>(module));
    return *this;
  }
  Tensor forward(const Tensor& input) override;
  [[nodiscard]] std::size_t size() const { return children().size(); }
  /// Throws Error(index).
  [[nodiscard]] Module& operator[](std::size_t i) const;
  using Module::operator();
};

}  // namespace amp::nn
