// The autograd half of Tensor's methods, saved-tensor unpacking, and hooks.
#include "libamp/autograd/autograd.h"
#include "libamp/autograd/gradient.h"

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

Tensor GradCall::grad(std::size_t i) const {
  if (has_grad(i)) return grads_[i];
  const OutputMeta& meta = node_->outputs[i];
  return full(meta.sizes, 0, {.dtype = meta.dtype, .device = meta.device});
}

Tensor GradCall::in(std::size_t i) const {
  if (i >= node_->saved_inputs.size()) return {};
  return unpack(node_->saved_inputs[i], "input", i);
}
Tensor GradCall::out(std::size_t i) const { return unpack(node_->saved_outputs[i], "output", i); }

Tensor GradCall::unpack(const SavedTensor& saved, const char* what, std::size_t i) const {
  if (!saved.impl) return {};
  if (saved.impl->storage->version() != saved.version)
    fail(ErrorCode::runtime, op_info(node_->op).name,
         std::string("one of the tensors needed for the gradient was changed in place: ") + what + " " +
             std::to_string(i) + ", " + describe(Tensor(saved.impl)) + ", is at version " +
             std::to_string(saved.impl->storage->version()) + ", need version " + std::to_string(saved.version));
  if (!saved.is_own_output) return Tensor(saved.impl);
  Tensor linked(std::make_shared<TensorImpl>(*saved.impl));
  AutogradMeta& meta = autograd_meta(linked);
  meta.node = node_;
  meta.output = saved.output;
  return linked;
}

}  // namespace amp
