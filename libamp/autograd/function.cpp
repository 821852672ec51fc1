// Custom functions on the tape: a node without an op, whose gradient is user code.
#include "libamp/autograd/function.h"

#include <algorithm>

#include "libamp/autograd/gradient.h"
#include "libamp/core/observer.h"
#include "libamp/dispatch/run_op.h"

namespace amp::autograd {
namespace {

bool contains(const Tensors& list, const Tensor& tensor) {
  return std::any_of(list.begin(), list.end(), [&](const Tensor& t) { return t.is_same(tensor); });
}

void link(const Tensor& output, const std::shared_ptr<Node>& node, std::size_t i) {
  AutogradMeta& meta = autograd_meta(output);
  meta.requires_grad = false;
  meta.node = node;
  meta.output = static_cast<std::uint32_t>(i);
}

Tensors materialize(Tensors grads, const Node& node) {
  for (std::size_t i = 0; i < grads.size(); ++i) {
    const OutputMeta& meta = node.outputs[i];
    if (!grads[i].defined()) grads[i] = zeros(meta.sizes, {.dtype = meta.dtype, .device = meta.device});
  }
  return grads;
}

}  // namespace

Tensors AutogradContext::get_saved_variables() const {
  const std::shared_ptr<Node> node = node_.lock();
  if (!node)
    fail(ErrorCode::runtime, "Function", "saved tensors are asked for outside backward: need a call from backward");
  Tensors saved;
  for (std::size_t i = 0; i < node->saved_inputs.size(); ++i) saved.push_back(unpack_saved(node, i));
  return saved;
}

FunctionCall::FunctionCall(const char* name, Tensors arguments)
    : name_(name), arguments_(std::move(arguments)), context_(std::make_shared<AutogradContext>()) {
  const bool recording = grad_mode().enabled && !grad_mode().inference;
  recorded_ = false;
  for (const Tensor& t : arguments_) {
    context_->needs_.push_back(recording && needs_gradient(t));
    recorded_ = recorded_ || context_->needs_.back();
  }
}

Tensors FunctionCall::finish(Tensors outputs, std::function<Tensors(AutogradContext*, const Tensors&)> backward) {
  AutogradContext& ctx = *context_;
  for (Tensor& output : outputs) {
    if (!output.defined() || !contains(arguments_, output)) continue;
    if (!contains(ctx.dirty_, output)) {
      // An argument that is handed through is an output of its own, or its history would be lost.
      output = output.detach();
    } else if (recorded_ && output.is_leaf() && output.requires_grad()) {
      fail(ErrorCode::runtime, name_, "a leaf that requires a gradient was changed in place: got " + describe(output));
    }
  }
  for (const Tensor& t : ctx.dirty_)
    if (t.defined()) t.bump_version();
  if (!recorded_) {
    ctx.to_save_.clear();
    return outputs;
  }
  auto node = std::make_shared<Node>();
  node->module_path = amp::context().module_path;
  node->name = observe::intern(name_);
  for (const Tensor& t : arguments_) {
    const bool differentiable = t.defined() && t.is_floating_point();
    node->inputs.push_back(differentiable ? edge_of(t) : Edge{});
    node->input_sizes.push_back(t.defined() ? t.sizes() : Shape{});
    node->input_dtypes.push_back(t.defined() ? t.dtype() : DType::count_);
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Tensor& t = outputs[i];
    node->outputs.push_back(t.defined() ? OutputMeta{t.sizes(), t.dtype(), t.device()} : OutputMeta{});
  }
  for (const Tensor& t : ctx.to_save_) {
    std::optional<std::uint32_t> own;
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (outputs[i].is_same(t)) own = static_cast<std::uint32_t>(i);
    node->saved_inputs.push_back(save_tensor(t, own, OpId::none));
  }
  ctx.to_save_.clear();
  ctx.node_ = node;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Tensor& t = outputs[i];
    if (t.defined() && t.is_floating_point() && !contains(ctx.non_differentiable_, t)) link(t, node, i);
  }
  ctx.non_differentiable_.clear();
  ctx.dirty_.clear();
  node->custom = [context = context_, name = name_, backward = std::move(backward)](const Tensors& grads) {
    const std::shared_ptr<Node> self = context->node_.lock();
    Tensors results = backward(context.get(), context->materialize_grads_ ? materialize(grads, *self) : grads);
    if (results.size() != self->inputs.size())
      fail(ErrorCode::runtime, name,
           "backward returned a wrong number of gradients: got " + std::to_string(results.size()) + ", need " +
               std::to_string(self->inputs.size()) + ", one for each argument of forward");
    return results;
  };
  return outputs;
}

Tensors once_differentiable(AutogradContext* ctx, const Tensors& grads,
                            const std::function<Tensors(AutogradContext*, const Tensors&)>& backward) {
  Tensors results;
  {
    const no_grad quiet;
    results = backward(ctx, grads);
  }
  const bool tracked = grad_mode().enabled && std::any_of(grads.begin(), grads.end(), needs_gradient);
  if (!tracked) return results;
  auto node = std::make_shared<Node>();
  node->name = observe::intern("once_differentiable");
  for (const Tensor& g : grads) {
    node->inputs.push_back(edge_of(g));
    node->input_sizes.push_back(g.defined() ? g.sizes() : Shape{});
    node->input_dtypes.push_back(g.defined() ? g.dtype() : DType::count_);
  }
  node->custom = [](const Tensors&) -> Tensors {
    fail(ErrorCode::runtime, "once_differentiable",
         "trying to differentiate twice a function whose backward was marked as differentiable once");
  };
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].defined()) results[i] = results[i].detach();
    const Tensor& t = results[i];
    node->outputs.push_back(t.defined() ? OutputMeta{t.sizes(), t.dtype(), t.device()} : OutputMeta{});
    if (t.defined() && t.is_floating_point()) link(t, node, i);
  }
  return results;
}

}  // namespace amp::autograd
