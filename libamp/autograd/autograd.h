// Reverse-mode differentiation over the tape.
#pragma once
#include "libamp/core/grad_mode.h"
#include "libamp/tape/node.h"

namespace amp {

/// Back-propagates `grad_tensors` (undefined: ones, for one-element tensors) from `tensors` into the leaves' .grad.
/// The formulas run in the caller's autocast state. Without retain_graph saved tensors are freed on the way, and a
/// second backward through them is an error. create_graph records the formulas themselves, for higher derivatives.
void backward(const Tensors& tensors, const Tensors& grad_tensors = {}, bool retain_graph = false,
              bool create_graph = false);

/// The gradients of the sum of outputs x grad_outputs with respect to `inputs`, without touching any .grad.
/// An input the outputs do not depend on is an error, or an undefined gradient with allow_unused.
Tensors grad(const Tensors& outputs, const Tensors& inputs, const Tensors& grad_outputs = {}, bool retain_graph = false,
             bool create_graph = false, bool allow_unused = false);

/// Calls `hook` with the gradient of `tensor` whenever it is computed; a defined result replaces it.
void register_hook(const Tensor& tensor, TensorHook hook);
/// Calls `hook` with a leaf each time a gradient has been added to its .grad. Error(runtime) for tensors that are no
/// leaves.
void register_post_accumulate_grad_hook(const Tensor& leaf, PostAccumulateHook hook);

/// Calls `callback` when the backward that runs in this thread is over, also if it fails; then what the callback throws
/// is lost.
/// Error(runtime) outside a backward.
void queue_callback(std::function<void()> callback);
/// Is a grad() running in this thread, so that leaves get nothing?
bool is_capturing() noexcept;

}  // namespace amp
