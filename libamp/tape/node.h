// What happened: one Node per op call that a gradient may flow through. Knows ops and saved tensors, but no gradient
// formula; autograd/ reads the tape and finds the formula by the op's id.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "libamp/base/op.h"
#include "libamp/core/tensor.h"
#include "libamp/tape/attributes.h"

namespace amp {

struct Node;

/// Where the gradient of one input goes: to an output of another node, or into a leaf's .grad, or nowhere.
struct Edge {
  std::shared_ptr<Node> node;
  std::uint32_t output = 0;
  std::shared_ptr<TensorImpl> leaf;
  [[nodiscard]] bool valid() const { return node != nullptr || leaf != nullptr; }
};

/// Stands in for a tensor that is not kept, but made again when the gradient asks for it (checkpointing).
class PackedTensor {
 public:
  PackedTensor() = default;
  virtual ~PackedTensor() = default;
  PackedTensor(const PackedTensor&) = delete;
  PackedTensor& operator=(const PackedTensor&) = delete;
  /// The tensor, without history.
  virtual Tensor unpack() = 0;
  Edge edge;  // its history
};

/// A tensor kept for the gradient, with the version it had: using it after an in-place change is an error.
struct SavedTensor {
  std::shared_ptr<TensorImpl> impl;  // null: was undefined, or not kept
  std::uint32_t version = 0;
  bool is_own_output = false;  // then autograd is re-linked to the node on unpacking, to avoid a reference cycle
  std::uint32_t output = 0;
  std::shared_ptr<PackedTensor> packed;  // instead of impl
};

/// What is asked before a tensor is kept, in the thread where it is installed.
/// torch.autograd.graph.saved_tensors_hooks.
class SavedTensorHooks {
 public:
  virtual ~SavedTensorHooks() = default;
  /// `op` saves this tensor. Null: keep it as usual.
  virtual std::shared_ptr<PackedTensor> pack(const Tensor& tensor, OpId op) = 0;
};
/// Installs hooks for a scope; the innermost ones are asked.
class SavedTensorHooksScope {
 public:
  explicit SavedTensorHooksScope(SavedTensorHooks* hooks) noexcept;
  ~SavedTensorHooksScope();
  SavedTensorHooksScope(const SavedTensorHooksScope&) = delete;
  SavedTensorHooksScope& operator=(const SavedTensorHooksScope&) = delete;

 private:
  SavedTensorHooks* before_;
};

/// Shape and dtype of an output: gradients are brought to it.
struct OutputMeta {
  Shape sizes;
  DType dtype;
  Device device;
};

/// Called with the gradient of an output; a returned defined tensor replaces it.
using TensorHook = std::function<Tensor(const Tensor&)>;

/// Called with a leaf after a gradient was added to its .grad.
using PostAccumulateHook = std::function<void(const Tensor&)>;

/// Gradients from user code (custom functions, checkpointing): called instead of the op's formula.
using CustomBackward = std::function<Tensors(const Tensors& output_grads)>;

struct Node {
  OpId op = OpId::none;
  std::uint64_t sequence = 0;  // order of creation; backward runs the highest first
  Attributes attributes;
  std::vector<Edge> inputs;
  std::vector<SavedTensor> saved_inputs, saved_outputs;
  std::vector<OutputMeta> outputs;
  std::vector<Shape> input_sizes;
  std::vector<DType> input_dtypes;
  StringId module_path = 0;
  OpId cast_cause = OpId::none;  // for casts made by autocast: the op that forced it
  bool released = false;         // saved tensors were freed by a backward without retain_graph
  CustomBackward custom;
  StringId name = 0;                                        // of a custom function, for messages
  std::vector<std::pair<std::uint32_t, TensorHook>> hooks;  // output index, hook

  Node();
  ~Node();  // frees long chains without recursion
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
};

/// What autograd knows of a tensor.
struct AutogradMeta {
  bool requires_grad = false;  // for leaves; non-leaves have a node
  std::shared_ptr<Node> node;  // the node that made it; null for leaves
  std::uint32_t output = 0;
  Tensor grad;
  bool retains_grad = false;
  StringId name = 0;
  std::vector<TensorHook> leaf_hooks;
  std::vector<PostAccumulateHook> post_accumulate_hooks;
};

/// The meta of a tensor, made if it has none.
AutogradMeta& autograd_meta(const Tensor& tensor);
/// Does a gradient flow to this tensor?
bool needs_gradient(const Tensor& tensor) noexcept;
/// The edge along which the gradient of `tensor` flows on.
Edge edge_of(const Tensor& tensor);
/// Keeps a tensor for the gradient of `op`. own_output: it is that output of the node that will hold it.
SavedTensor save_tensor(const Tensor& tensor, std::optional<std::uint32_t> own_output, OpId op);
/// Guards the saved tensors of a node, which two threads may ask for while a third frees them.
std::mutex& saved_tensors_mutex(const Node& node);

}  // namespace amp
