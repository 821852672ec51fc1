// Nodes: identity, and freeing graphs of any depth.
#include "libamp/tape/node.h"

#include <atomic>

namespace amp {
namespace {

std::atomic<std::uint64_t> next_sequence{1};

// Moves what a node keeps alive into `later`, so that a chain of a million nodes is freed in a loop.
void take_links(Node& node, std::vector<std::shared_ptr<Node>>& later) {
  for (auto& edge : node.inputs)
    if (edge.node) later.push_back(std::move(edge.node));
  for (auto* list : {&node.saved_inputs, &node.saved_outputs})
    for (auto& saved : *list)
      if (saved.impl && saved.impl.use_count() == 1 && saved.impl->autograd && saved.impl->autograd.use_count() == 1 &&
          saved.impl->autograd->node)
        later.push_back(std::move(saved.impl->autograd->node));
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

}  // namespace amp
