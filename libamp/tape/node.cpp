// Nodes: identity, and freeing graphs of any depth.
#include "libamp/tape/node.h"

#include <atomic>
#include <utility>

namespace amp {
namespace {

std::atomic<std::uint64_t> next_sequence{1};
thread_local SavedTensorHooks* saved_tensor_hooks = nullptr;

// Moves what a node keeps alive into `later`, so that a chain of a million nodes is freed in a loop.
void take_links(Node& node, std::vector<std::shared_ptr<Node>>& later) {
  for (auto& edge : node.inputs)
    if (edge.node) later.push_back(std::move(edge.node));
  for (auto* list : {&node.saved_inputs, &node.saved_outputs})
    for (auto& saved : *list)
      if (saved.impl && saved.impl.use_count() == 1 && saved.impl->autograd && saved.impl->autograd.use_count() == 1 &&
          saved.impl->autograd->node)
        later.push_back(std::move(saved.impl->autograd->node));
      else if (saved.packed && saved.packed.use_count() == 1 && saved.packed->edge.node)
        later.push_back(std::move(saved.packed->edge.node));
}

}  // namespace

Node::Node() : sequence(next_sequence.fetch_add(1, std::memory_order_relaxed)) {}

Node::~Node() {
  std::vector<std::shared_ptr<Node>> later;
  take_links(*this, later);
  while (!later.empty()) {
    const std::shared_ptr<Node> node = std::move(later.back());
    later.pop_back();
    if (node.use_count() == 1) take_links(*node, later);
  }
}

AutogradMeta& autograd_meta(const Tensor& tensor) {
  auto& meta = tensor.impl()->autograd;
  if (!meta) meta = std::make_shared<AutogradMeta>();
  return *meta;
}

bool needs_gradient(const Tensor& tensor) noexcept {
  if (!tensor.defined()) return false;
  const auto& meta = tensor.impl()->autograd;
  return meta && (meta->requires_grad || meta->node != nullptr);
}

Edge edge_of(const Tensor& tensor) {
  if (!needs_gradient(tensor)) return {};
  const AutogradMeta& meta = *tensor.impl()->autograd;
  if (meta.node) return {meta.node, meta.output, nullptr};
  return {nullptr, 0, tensor.impl_ptr()};
}

SavedTensor save_tensor(const Tensor& tensor, std::optional<std::uint32_t> own_output, OpId op) {
  if (!tensor.defined()) return {};
  const Edge edge = own_output ? Edge{} : edge_of(tensor);
  if (saved_tensor_hooks != nullptr)
    if (auto packed = saved_tensor_hooks->pack(tensor, op); packed && !edge.leaf) {  // a leaf lives on anyway
      packed->edge = edge;
      return {nullptr, 0, own_output.has_value(), own_output.value_or(0), std::move(packed)};
    }
  if (!own_output) return {tensor.impl_ptr(), tensor.version(), false, 0, nullptr};
  // Without its link to the tape: the node would keep itself alive.
  auto bare = std::make_shared<TensorImpl>(*tensor.impl());
  bare->autograd = nullptr;
  return {std::move(bare), tensor.version(), true, *own_output, nullptr};
}

std::mutex& saved_tensors_mutex(const Node& node) {
  static std::mutex mutexes[64];
  return mutexes[node.sequence % 64];
}

SavedTensorHooksScope::SavedTensorHooksScope(SavedTensorHooks* hooks) noexcept
    : before_(std::exchange(saved_tensor_hooks, hooks)) {}
SavedTensorHooksScope::~SavedTensorHooksScope() { saved_tensor_hooks = before_; }

}  // namespace amp
