// Differentiable functions written by the user, as torch::autograd::Function: a struct with static forward and
// backward.
//
//   struct Square : amp::autograd::Function<Square> {
//     static Tensor forward(AutogradContext* ctx, const Tensor& x) {
//       ctx->save_for_backward({x});
//       return x * x;
//     }
//     static Tensors backward(AutogradContext* ctx, const Tensors& grads) {
//       return {grads[0] * ctx->get_saved_variables()[0] * 2.0};
//     }
//   };
//   Tensor y = Square::apply(x);
//
// forward runs without recording. backward is recorded if gradients of gradients are asked for, so it can be
// differentiated again if it is written with ops; see once_differentiable. For autocast see custom_fwd.h.
#pragma once
#include <any>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "libamp/core/grad_mode.h"
#include "libamp/tape/node.h"

namespace amp::autograd {

/// What forward hands to backward. One for each apply().
class AutogradContext {
 public:
  /// Keeps arguments or outputs (others too) for backward, with a check that they are not changed in place until then.
  void save_for_backward(Tensors tensors) { to_save_ = std::move(tensors); }
  /// What was saved, in order. Error(runtime) if one was changed in place, or was freed by a backward without
  /// retain_graph.
  [[nodiscard]] Tensors get_saved_variables() const;
  /// Values that are no tensors: `ctx->saved_data["scale"] = 2.0`, `std::any_cast<double>(ctx->saved_data["scale"])`.
  std::map<std::string, std::any> saved_data;

  /// Outputs without a gradient, such as indices.
  void mark_non_differentiable(Tensors outputs) { non_differentiable_ = std::move(outputs); }
  /// Arguments that forward changed in place and returns.
  void mark_dirty(Tensors inputs) { dirty_ = std::move(inputs); }
  /// Whether backward gets zeros (default) or undefined tensors for outputs into which no gradient flows.
  void set_materialize_grads(bool on) { materialize_grads_ = on; }
  /// Does argument i of forward (counted after ctx, tensor or not) need a gradient?
  [[nodiscard]] bool needs_input_grad(std::size_t i) const { return i < needs_.size() && needs_[i]; }

  // -- set by custom_fwd, read by custom_bwd
  DType autocast_dtype = DType::count_;  ///< the fast dtype forward was called under; count_: no custom_fwd ran
  Policy autocast_policy = Policy::none;
  bool used_autocast = false;  ///< was forward itself autocast?

 private:
  friend class FunctionCall;
  Tensors to_save_, non_differentiable_, dirty_;
  std::vector<bool> needs_;
  bool materialize_grads_ = true;
  std::weak_ptr<Node> node_;  // the node owns this context
};

/// The part of apply() that does not depend on the function's type.
class FunctionCall {
 public:
  using Backward = Tensors (*)(AutogradContext*, const Tensors&);

  /// One entry an argument; undefined for arguments that are no tensors.
  FunctionCall(const char* name, Tensors arguments);
  [[nodiscard]] AutogradContext* context() const { return context_.get(); }
  /// Links the outputs to a node that calls `backward`, if an argument needs a gradient.
  Tensors finish(Tensors outputs, std::function<Tensors(AutogradContext*, const Tensors&)> backward);

 private:
  const char* name_;
  Tensors arguments_;
  bool recorded_;
  std::shared_ptr<AutogradContext> context_;
};

namespace detail {
inline Tensor argument_tensor(const Tensor& tensor) { return tensor; }
template <typename T>
Tensor argument_tensor(const T&) {
  return {};
}
}  // namespace detail

/// Base of a function, see the head of this file. forward takes the context and any arguments, and returns a Tensor or
/// Tensors; backward gets one gradient for each output and returns one for each argument of forward, undefined where
/// there is none. Gradients are brought to the arguments' shapes (by summing what was broadcast) and dtypes.
/// As in PyTorch gradients flow to arguments that are tensors, not to tensors inside containers.
/// forward and backward may also be static callables, as custom_fwd and custom_bwd make them.
template <typename T>
class Function {
 public:
  /// Runs forward with these arguments and links what it returns, a Tensor or Tensors, to backward.
  template <typename... Args>
  static auto apply(const Args&... args) {
    FunctionCall call(T::name(), Tensors{detail::argument_tensor(args)...});
    using Result = std::remove_cvref_t<decltype(T::forward(call.context(), args...))>;
    Result result;
    {
      const no_grad quiet;
      result = T::forward(call.context(), args...);
    }
    const auto backward = [](AutogradContext* ctx, const Tensors& grads) { return T::backward(ctx, grads); };
    if constexpr (std::is_same_v<Result, Tensor>)
      return Tensor(call.finish({std::move(result)}, backward)[0]);
    else
      return call.finish(std::move(result), backward);
  }
  /// For messages; a function may have its own.
  static const char* name() { return "Function"; }
};

/// For a backward whose result must not be differentiated again: `once_differentiable(ctx, grads, f)` in backward runs
/// f without recording, and differentiating what it returns is an Error(runtime).
Tensors once_differentiable(AutogradContext* ctx, const Tensors& grads,
                            const std::function<Tensors(AutogradContext*, const Tensors&)>& backward);

}  // namespace amp::autograd
