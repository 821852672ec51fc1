// An optimizer whose groups each have a struct of options: what SGD, Adam, Adagrad and RMSprop have in common.
// A struct O with a member `bool fused` makes an optimizer that can take over from the scaler.
#pragma once
#include <algorithm>

#include "libamp/optim/optimizer.h"

namespace amp {

/// Base of the optimizers whose groups have an O of options each: `optimizer.group(0).lr = 0.1`.
template <typename O>
class GroupedOptimizer : public Optimizer {
 public:
  /// One more group, with its own options, or with those of the constructor. Throws as the constructor does.
  /// What `{.lr = 0.01}` does not name has O's defaults, not the constructor's values: to keep these, copy group(0),
  /// change the copy and hand it over.
  void add_param_group(const Tensors& params, const O& options) {
    check(options);
    if constexpr (kCanFuse)
      if (!options_.empty() && options.fused != options_[0].fused)
        fail(ErrorCode::value, name_, "fused differs between groups: need the same in all");
    add_group(params);
    options_.push_back(options);
  }
  void add_param_group(const Tensors& params) { add_param_group(params, defaults_); }
  /// The options of a group: change lr here between steps. Throws Error(index).
  O& group(std::size_t i = 0) {
    if (i >= options_.size())
      fail(ErrorCode::index, name_,
           "no such group: got " + std::to_string(i) + ", need less than " + std::to_string(options_.size()));
    return options_[i];
  }
  /// The options given to the constructor.
  [[nodiscard]] const O& defaults() const { return defaults_; }
  [[nodiscard]] bool supports_amp_scaling() const override {
    if constexpr (kCanFuse)
      return std::any_of(options_.begin(), options_.end(), [](const O& o) { return o.fused; });
    else
      return false;
  }

 protected:
  GroupedOptimizer(const char* name, const O& defaults) : name_(name), defaults_(defaults) {}
  /// Throws Error(value) naming an option that is out of range.
  virtual void check(const O& options) const = 0;
  [[nodiscard]] const char* name() const { return name_; }
  void update_sparse(std::size_t, const Tensor& param, const Tensor& gradient, State&) override {
    fail(ErrorCode::runtime, name_,
         "sparse gradients are not supported: got " + describe(gradient) + " for " + describe(param) +
             ", need SGD, Adagrad or SparseAdam");
  }

 private:
  static constexpr bool kCanFuse = requires(const O& o) { o.fused; };

  const char* name_;
  O defaults_;
  std::vector<O> options_;
};

}  // namespace amp
