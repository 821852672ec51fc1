// Activation checkpointing, torch.utils.checkpoint: what a stretch of the network would keep for backward is dropped,
// and computed again when backward needs it.
//   Tensor y = amp::checkpoint([&](const Tensor& x) { return block(x); }, x);
#pragma once
#include <functional>
#include <type_traits>
#include <utility>

#include "libamp/core/tensor.h"

namespace amp {

struct CheckpointOptions {
  /// false (deviation: PyTorch wants it said): the graph is recorded, saved tensors are dropped one by one and all come
  /// back with the first that is needed. Works with grad(), in nested form, and with inputs that need no gradient.
  /// true: nothing is recorded; backward runs the function again with gradients and back-propagates inside. Then an
  /// input must require a gradient, and grad() cannot pass (Error runtime).
  bool use_reentrant = false;
  /// Dropout in the second run draws what it drew in the first.
  bool preserve_rng_state = true;
};

using CheckpointFunction = std::function<Tensors(const Tensors& inputs)>;

/// Runs `function` on `inputs`. The second run sees the autocast state of the first: enabled, dtype, rules and cache
/// flag of both device types; its ops have phase `recompute`. `function` must do the same both times: else
/// Error(runtime) names the op whose saved tensor came out differently. It must not change its inputs in place.
Tensors checkpoint_list(const CheckpointFunction& function, const Tensors& inputs,
                        const CheckpointOptions& options = {});

namespace detail {
template <typename Call>
auto checkpoint_call(Call call, const Tensors& inputs, const CheckpointOptions& options) {
  using Result = std::remove_cvref_t<decltype(call(inputs))>;
  if constexpr (std::is_same_v<Result, Tensor>)
    return Tensor(checkpoint_list([call](const Tensors& in) { return Tensors{call(in)}; }, inputs, options)[0]);
  else
    return checkpoint_list(call, inputs, options);
}
}  // namespace detail

/// `f` takes one, two or three tensors, or a list, and returns a Tensor or Tensors. What it captures by reference must
/// live until backward.
template <std::invocable<const Tensor&> F>
auto checkpoint(F f, const Tensor& input, const CheckpointOptions& options = {}) {
  return detail::checkpoint_call([f](const Tensors& in) { return f(in[0]); }, {input}, options);
}
template <std::invocable<const Tensor&, const Tensor&> F>
auto checkpoint(F f, const Tensor& a, const Tensor& b, const CheckpointOptions& options = {}) {
  return detail::checkpoint_call([f](const Tensors& in) { return f(in[0], in[1]); }, {a, b}, options);
}
template <std::invocable<const Tensor&, const Tensor&, const Tensor&> F>
auto checkpoint(F f, const Tensor& a, const Tensor& b, const Tensor& c, const CheckpointOptions& options = {}) {
  return detail::checkpoint_call([f](const Tensors& in) { return f(in[0], in[1], in[2]); }, {a, b, c}, options);
}
template <std::invocable<const Tensors&> F>
auto checkpoint(F f, const Tensors& inputs, const CheckpointOptions& options = {}) {
  return detail::checkpoint_call(f, inputs, options);
}

/// torch.utils.checkpoint.checkpoint_sequential: functions one after the other in `segments` checkpointed stretches of
/// equal number; the last stretch is run as it is. Error(value) for segments outside [1, functions].
Tensor checkpoint_sequential(const std::vector<std::function<Tensor(const Tensor&)>>& functions, std::int64_t segments,
                             const Tensor& input, const CheckpointOptions& options = {});

}  // namespace amp
