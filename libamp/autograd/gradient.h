// Gradient formulas: one function per differentiable op, amp::gradients::<id>, written with ops so that gradients can
// be differentiated again. An op declared differentiable whose formula is missing does not link.
#pragma once
#include "libamp/ops/ops.h"
#include "libamp/tape/node.h"

namespace amp {

/// What a formula may look at: the node it differentiates and the gradients of its outputs.
class GradCall {
 public:
  GradCall(std::shared_ptr<Node> node, Tensors output_grads)
      : node_(std::move(node)), grads_(std::move(output_grads)) {}

  /// Gradient of output i; zeros of its shape if nothing flowed into it.
  [[nodiscard]] Tensor grad(std::size_t i = 0) const;
  [[nodiscard]] bool has_grad(std::size_t i) const { return i < grads_.size() && grads_[i].defined(); }
  /// Saved input or output (the row's `saves` column); undefined if the argument was left out. Throws if it was
  /// changed in place since, or was freed by an earlier backward.
  [[nodiscard]] Tensor in(std::size_t i) const;
  [[nodiscard]] Tensor out(std::size_t i = 0) const;
  [[nodiscard]] bool needs(std::size_t i) const { return i < node_->inputs.size() && node_->inputs[i].valid(); }
  [[nodiscard]] std::size_t input_count() const { return node_->inputs.size(); }
  [[nodiscard]] const Shape& input_sizes(std::size_t i) const { return node_->input_sizes[i]; }
  [[nodiscard]] DType input_dtype(std::size_t i) const { return node_->input_dtypes[i]; }
  [[nodiscard]] const Attributes& attributes() const { return node_->attributes; }
  [[nodiscard]] const Node& node() const { return *node_; }

 private:
  std::shared_ptr<Node> node_;
  Tensors grads_;
};

/// A saved tensor with its history. `node`: the one that holds it; null for tensors saved outside nodes. Throws if it
/// was changed in place since; `what` and i name it then. Undefined if it was not kept.
Tensor unpack_saved(const std::shared_ptr<Node>& node, const SavedTensor& saved, std::string_view what, std::size_t i);
/// Saved tensor i of a custom function's node. Throws if it was freed.
Tensor unpack_saved(const std::shared_ptr<Node>& node, std::size_t i);
/// The name of what a node differentiates, for messages.
std::string_view name_of(const Node& node);

/// Returns one gradient per input, undefined where none flows or none is needed. A gradient may have the broadcast
/// shape of the output and any floating dtype: the engine sums it to the input's shape and casts it to its dtype.
using GradientFormula = Tensors (*)(const GradCall&);

/// The formula of an op; null if it has none.
GradientFormula gradient_formula(OpId op);

}  // namespace amp
