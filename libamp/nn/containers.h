// Lists and dictionaries of modules and parameters: what is in them belongs to the module that holds them. They compute
// nothing themselves.
#pragma once
#include "libamp/nn/module.h"

namespace amp::nn {

/// Modules named "0", "1", ...: `for (auto& layer : *layers) x = (*layer)(x);`
class ModuleList : public Module {
 public:
  ModuleList() = default;
  explicit ModuleList(const std::vector<std::shared_ptr<Module>>& modules) { extend(modules); }
  /// A module by value, or a shared pointer to one.
  template <typename M>
  ModuleList& append(M&& module) {
    register_module(std::to_string(size()), std::forward<M>(module));
    return *this;
  }
  ModuleList& extend(const std::vector<std::shared_ptr<Module>>& modules);
  [[nodiscard]] std::size_t size() const { return named_children().size(); }
  /// Throws Error(index).
  [[nodiscard]] const std::shared_ptr<Module>& operator[](std::size_t i) const;
  /// The same as what it is. Throws Error(type) if it is no M.
  template <typename M>
  [[nodiscard]] M& at(std::size_t i) const {
    M* module = dynamic_cast<M*>((*this)[i].get());
    if (module == nullptr) fail(ErrorCode::type, "ModuleList", "module " + std::to_string(i) + " is of another class");
    return *module;
  }

  /// Over the modules, as shared pointers.
  class Iterator {
   public:
    explicit Iterator(NamedChildren::const_iterator at) : at_(at) {}
    const std::shared_ptr<Module>& operator*() const { return at_->second; }
    Iterator& operator++() { return ++at_, *this; }
    bool operator!=(const Iterator& other) const { return at_ != other.at_; }

   private:
    NamedChildren::const_iterator at_;
  };
  [[nodiscard]] Iterator begin() const { return Iterator(named_children().begin()); }  ///< over the modules, in order
  [[nodiscard]] Iterator end() const { return Iterator(named_children().end()); }
};

/// Modules by name, in order of insertion.
class ModuleDict : public Module {
 public:
  /// A module by value, or a shared pointer to one. Throws Error(value) for a name that is taken, empty or has a dot.
  template <typename M>
  ModuleDict& insert(std::string name, M&& module) {
    register_module(std::move(name), std::forward<M>(module));
    return *this;
  }
  [[nodiscard]] std::size_t size() const { return named_children().size(); }
  [[nodiscard]] bool contains(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> keys() const;
  /// Throws Error(value) naming what is not there.
  [[nodiscard]] std::shared_ptr<Module> operator[](std::string_view name) const { return get_submodule(name); }
};

/// Parameters named "0", "1", ...
class ParameterList : public Module {
 public:
  ParameterList() = default;
  explicit ParameterList(const Tensors& values);
  ParameterList& append(const Tensor& value);  ///< at the end
  [[nodiscard]] std::size_t size() const { return values_.size(); }
  /// Throws Error(index).
  [[nodiscard]] const Tensor& operator[](std::size_t i) const;
  [[nodiscard]] Tensors::const_iterator begin() const { return values_.begin(); }
  [[nodiscard]] Tensors::const_iterator end() const { return values_.end(); }

 private:
  Tensors values_;
};

/// Parameters by name, in order of insertion.
class ParameterDict : public Module {
 public:
  ParameterDict& insert(std::string name, const Tensor& value);  ///< the name must be new
  [[nodiscard]] std::size_t size() const { return named_parameters(false).size(); }
  [[nodiscard]] bool contains(std::string_view name) const;
  /// Throws Error(value) naming what is not there.
  [[nodiscard]] Tensor operator[](std::string_view name) const { return get_parameter(name); }
};

}  // namespace amp::nn
