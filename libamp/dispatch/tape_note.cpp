// Nodes, saved tensors, in-place rules.
#include "libamp/dispatch/tape_note.h"

#include <algorithm>

#include "libamp/core/grad_mode.h"
#include "libamp/core/observer.h"
#include "libamp/core/step_clock.h"
#include "libamp/dispatch/announce.h"
#include "libamp/dispatch/run_op.h"

namespace amp {
namespace {

bool any_needs_gradient(const OpCall& call) {
  for (const auto& t : call.inputs)
    if (needs_gradient(t) && t.is_floating_point()) return true;
  return false;
}

bool saves_input(const OpCall& call, std::size_t i) {
  return (call.info().saves & (1u << std::min<std::size_t>(i, 15))) != 0;
}

// A copy of what is about to be overwritten, with its place on the tape.
SavedTensor save_copy(const Tensor& t, OpId op) {
  const no_grad quiet;
  const Tensor copy = run_op1({OpId::clone, {t}, {}, {}});
  if (const auto& meta = t.impl()->autograd) {
    AutogradMeta& of_copy = autograd_meta(copy);
    of_copy.requires_grad = meta->requires_grad;
    of_copy.node = meta->node;
    of_copy.output = meta->output;
  }
  return save_tensor(copy, {}, op);
}

void save_tensors(Node& node, const OpCall& call, const Tensors& outputs, const std::vector<SavedTensor>& overwritten) {
  const std::uint32_t saves = call.info().saves;
  node.saved_inputs.resize(call.inputs.size());
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    if (!saves_input(call, i)) continue;
    const bool is_kept = i < overwritten.size() && (overwritten[i].impl || overwritten[i].packed);
    node.saved_inputs[i] = is_kept ? overwritten[i] : save_tensor(call.inputs[i], {}, call.op);
  }
  node.saved_outputs.resize(outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (saves & (kSaveOut0 << i))
      node.saved_outputs[i] = save_tensor(outputs[i], static_cast<std::uint32_t>(i), call.op);
}

bool shares_elements(const Tensor& tensor) {
  if (tensor.numel() == 0) return false;
  for (int d = 0; d < tensor.dim(); ++d)
    if (tensor.sizes()[d] > 1 && tensor.strides()[d] == 0) return true;
  return false;
}

}  // namespace

bool records_gradient(const OpCall& call) {
  return grad_mode().enabled && !grad_mode().inference &&
         (call.info().differentiable || call.info().body == BodyKind::composite) && any_needs_gradient(call);
}

void check_in_place(const OpCall& call) {
  if (!call.out.defined()) return;
  // Ops without a gradient, such as fill_, write the same value however often.
  if (call.info().differentiable && shares_elements(call.out))
    call.fail("several elements of the tensor that is changed in place are one in memory: got " + describe(call.out) +
              ", expanded; need clone() first");
  if (!grad_mode().enabled) return;
  const auto& meta = call.out.impl()->autograd;
  if (meta && meta->requires_grad && !meta->node)
    call.fail("a leaf that requires a gradient is changed in place: got " + describe(call.out) +
              "; need no_grad around it, or the out-of-place form");
  if (call.out.impl()->is_view && (needs_gradient(call.out) || any_needs_gradient(call)))
    call.fail("a view is changed in place while gradients are recorded: got " + describe(call.out) +
              "; need the out-of-place form, or no_grad around it");
}

std::vector<SavedTensor> save_overwritten(const OpCall& call) {
  if (!call.out.defined() || !call.info().differentiable || !records_gradient(call)) return {};
  std::vector<SavedTensor> kept(call.inputs.size());
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    if (!saves_input(call, i) || !call.inputs[i].is_same(call.out)) continue;
    // With operands it goes with, their gradients need the old values. Else they can only be needed by its own
    // gradient, which most formulas compute from the result: then reading them is an error, as of any changed tensor.
    bool is_needed = call.inputs.size() == 1;
    for (const Tensor& other : call.inputs) is_needed |= !other.is_same(call.out) && needs_gradient(other);
    is_needed |= std::count_if(call.inputs.begin(), call.inputs.end(),
                               [&call](const Tensor& t) { return t.is_same(call.out); }) > 1;
    if (is_needed) {
      kept[i] = save_copy(call.inputs[i], call.op);
    } else {
      kept[i] = save_tensor(call.inputs[i], 0, call.op);  // bare, not in a cycle through the result
      kept[i].is_own_output = false;
    }
  }
  return kept;
}

void note_on_tape(const OpCall& call, Tensors& outputs, OpId cast_cause, const std::vector<SavedTensor>& overwritten) {
  if (call.out.defined()) call.out.bump_version();
  if (!call.info().differentiable || !records_gradient(call)) return;
  auto node = std::make_shared<Node>();
  node->op = call.op;
  node->attributes = call.attributes;
  node->module_path = context().module_path;
  node->cast_cause = cast_cause;
  node->inputs.reserve(call.inputs.size());
  for (const auto& t : call.inputs) {
    node->inputs.push_back(t.defined() && t.is_floating_point() ? edge_of(t) : Edge{});
    node->input_sizes.push_back(t.defined() ? t.sizes() : Shape{});
    node->input_dtypes.push_back(t.defined() ? t.dtype() : DType::count_);
  }
  save_tensors(*node, call, outputs, overwritten);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Tensor& t = outputs[i];
    node->outputs.push_back(t.defined() ? OutputMeta{t.sizes(), t.dtype(), t.device()} : OutputMeta{});
    if (!t.defined() || !t.is_floating_point()) continue;
    AutogradMeta& meta = autograd_meta(t);
    meta.requires_grad = false;
    meta.node = node;
    meta.output = static_cast<std::uint32_t>(i);
  }
}

StringId output_name(StringId module_path, OpId op) {
  const std::string path = observe::text(module_path);
  const std::string_view op_name = op_info(op).name;
  return observe::intern(path.empty() ? std::string(op_name) : path + "." + std::string(op_name));
}

void note_statistics(const OpCall& call, const Tensors& outputs) {
  if (!step_clock::sampled() || context().phase != Phase::forward || context().op_depth > 0) return;
  if (call.out.defined() || outputs.empty() || !outputs[0].defined() || !outputs[0].is_floating_point()) return;
  if (!needs_gradient(outputs[0]) || outputs[0].impl()->is_view) return;
  announce::tensor_stats(outputs[0], output_name(context().module_path, call.op), TensorRole::activation, call.op);
}

}  // namespace amp
