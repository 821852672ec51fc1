// The autograd half of Tensor's methods, saved-tensor unpacking, and hooks.
#include "libamp/autograd/autograd.h"
#include "libamp/autograd/gradient.h"
#include "libamp/core/observer.h"

namespace amp {

bool Tensor::requires_grad() const { return needs_gradient(*this); }

const Tensor& Tensor::requires_grad_(bool on) const {
  if (on && !is_floating_point())
    fail(ErrorCode::runtime, "requires_grad_", "only floating tensors can require gradients: got " + describe(*this));
  if (!is_leaf()) {
    if (!on)
      fail(ErrorCode::runtime, "requires_grad_", "can only be changed on leaves; use detach(): got " + describe(*this));
    return *this;
  }
  if (on || need().autograd) autograd_meta(*this).requires_grad = on;
  return *this;
}

bool Tensor::is_leaf() const { return !need().autograd || !need().autograd->node; }
Tensor Tensor::grad() const { return need().autograd ? need().autograd->grad : Tensor(); }

void Tensor::set_grad(const Tensor& gradient) const {
  const Shape& own = sizes();
  if (gradient.defined() && !(gradient.sizes() == own))
    fail(ErrorCode::runtime, "set_grad",
         "gradient has the wrong shape: got " + describe(gradient) + ", need " + to_string(own));
  if (gradient.defined() && gradient.dtype() != dtype())
    fail(ErrorCode::runtime, "set_grad",
         "gradient has the wrong dtype: got " + describe(gradient) + ", need " + std::string(amp::name(dtype())));
  autograd_meta(*this).grad = gradient;
}

void Tensor::retain_grad() const {
  if (is_leaf()) return;
  AutogradMeta& meta = autograd_meta(*this);
  if (meta.retains_grad) return;
  meta.retains_grad = true;
  const std::weak_ptr<AutogradMeta> weak = impl_->autograd;
  meta.node->hooks.emplace_back(meta.output, [weak](const Tensor& gradient) {
    if (const auto alive = weak.lock())
      alive->grad = alive->grad.defined() ? alive->grad + gradient : gradient.detach();
    return Tensor();
  });
}

void Tensor::backward(const Tensor& gradient, bool retain_graph, bool create_graph) const {
  amp::backward({*this}, {gradient}, retain_graph, create_graph);
}

Tensor Tensor::detach() const {
  auto impl = std::make_shared<TensorImpl>(need());
  impl->autograd = nullptr;
  return Tensor(std::move(impl));
}

const Tensor& Tensor::detach_() const {
  if (need().is_view && !is_leaf())
    fail(ErrorCode::runtime, "detach_",
         "a view cannot be detached in place: got " + describe(*this) + "; need detach()");
  if (!need().autograd) return *this;
  AutogradMeta& meta = autograd_meta(*this);
  meta.node = nullptr;
  meta.output = 0;
  meta.requires_grad = false;
  return *this;
}

StringId Tensor::name() const { return need().autograd ? need().autograd->name : 0; }
void Tensor::set_name(StringId name) const {
  if (!defined()) fail_undefined();
  autograd_meta(*this).name = name;
}

void register_hook(const Tensor& tensor, TensorHook hook) {
  if (!needs_gradient(tensor))
    fail(ErrorCode::runtime, "register_hook", "the tensor does not require a gradient: got " + describe(tensor));
  AutogradMeta& meta = autograd_meta(tensor);
  if (meta.node)
    meta.node->hooks.emplace_back(meta.output, std::move(hook));
  else
    meta.leaf_hooks.push_back(std::move(hook));
}

void register_post_accumulate_grad_hook(const Tensor& leaf, PostAccumulateHook hook) {
  if (!needs_gradient(leaf) || !leaf.is_leaf())
    fail(ErrorCode::runtime, "register_post_accumulate_grad_hook",
         "need a leaf that requires a gradient: got " + describe(leaf));
  autograd_meta(leaf).post_accumulate_hooks.push_back(std::move(hook));
}

Tensor GradCall::grad(std::size_t i) const {
  if (has_grad(i)) return grads_[i];
  const OutputMeta& meta = node_->outputs[i];
  return full(meta.sizes, 0, {.dtype = meta.dtype, .device = meta.device});
}

Tensor GradCall::in(std::size_t i) const {
  if (i >= node_->saved_inputs.size()) return {};
  return unpack_saved(node_, node_->saved_inputs[i], "input", i);
}
Tensor GradCall::out(std::size_t i) const { return unpack_saved(node_, node_->saved_outputs[i], "output", i); }

std::string_view name_of(const Node& node) { return node.name != 0 ? observe::text(node.name) : op_info(node.op).name; }

Tensor unpack_saved(const std::shared_ptr<Node>& node, const SavedTensor& saved, std::string_view what, std::size_t i) {
  SavedTensor held;
  if (node) {
    const std::lock_guard lock(saved_tensors_mutex(*node));
    held = saved;
  } else {
    held = saved;
  }
  Tensor result;
  if (held.packed) {
    result = held.packed->unpack().detach();
  } else if (held.impl) {
    if (held.impl->storage->version() != held.version)
      fail(ErrorCode::runtime, node ? name_of(*node) : what,
           "one of the tensors needed for the gradient was changed in place: " + std::string(what) + " " +
               std::to_string(i) + ", " + describe(Tensor(held.impl)) + ", is at version " +
               std::to_string(held.impl->storage->version()) + ", need version " + std::to_string(held.version));
    if (!held.is_own_output) return Tensor(held.impl);
    result = Tensor(std::make_shared<TensorImpl>(*held.impl));
  } else {
    return {};
  }
  if (held.is_own_output || held.packed->edge.node) {
    AutogradMeta& meta = autograd_meta(result);
    meta.node = held.is_own_output ? node : held.packed->edge.node;
    meta.output = held.is_own_output ? held.output : held.packed->edge.output;
  }
  return result;
}

Tensor unpack_saved(const std::shared_ptr<Node>& node, std::size_t i) {
  if (node->released)
    fail(ErrorCode::runtime, name_of(*node),
         "saved tensors are asked for a second time after they were freed; need retain_graph = true in the first "
         "backward");
  return unpack_saved(node, node->saved_inputs[i], "saved tensor", i);
}

}  // namespace amp
