// One op call, from the user's tensors to the tape. Names no op but `to`, which is how tensors are cast.
#include "libamp/dispatch/run_op.h"

#include "libamp/autocast/cast_cache.h"
#include "libamp/autocast/scope.h"
#include "libamp/core/grad_mode.h"
#include "libamp/core/observer.h"
#include "libamp/core/step_clock.h"
#include "libamp/dispatch/announce.h"
#include "libamp/dispatch/backend.h"
#include "libamp/dispatch/refuse.h"
#include "libamp/dispatch/tape_note.h"

namespace amp {
namespace {

struct Decided {
  CastDecision decision;
  Policy policy = Policy::none;
  bool listed = false;  // autocast is off for what the op does inside
};

DeviceType device_of(const OpCall& call) {
  for (const auto& t : call.inputs)
    if (t.defined()) return t.device().type;
  return DeviceType::cpu;
}

Tensor cast_operand(const Tensor& tensor, DType target, const DeviceAutocast& state, OpId cause) {
  if (tensor.dtype() == target) return tensor;
  if (!cast_cache::is_cacheable(tensor, target, state.dtype)) return cast(tensor, target, CastKind::autocast, cause);
  if (Tensor cached = cast_cache::find(tensor, target); cached.defined()) {
    if (observe::active()) announce::cached_cast(tensor, target, cause);
    return cached;
  }
  // Gradients on, so that a cast first needed under no_grad still carries gradients when it is used again.
  const enable_grad with_graph;
  const CauseScope cause_scope(&Context::cause, MemoryCause::cast_cache);
  Tensor made = cast(tensor, target, CastKind::autocast, cause);
  cast_cache::insert(tensor, target, made);
  return made;
}

// Decides for each device type whose autocast is on (CUDA first, as PyTorch) and casts that device's operands.
Decided autocast_inputs(OpCall& call) {
  const AutocastState& state = autocast_state();
  const DeviceType home = device_of(call);
  CallForm form;
  form.in_place_or_out = call.out.defined();
  form.dtype_given = call.attributes.has("dtype");
  form.inside_listed_op = state.suspended;
  form.in_backward = context().phase == Phase::backward;
  Decided result;
  if (!state.cpu.enabled && !state.cuda.enabled) {
    result.decision = decide(call.info(), {}, home, state.of(home), form);
    return result;
  }
  std::vector<Operand> operands(call.inputs.size());
  for (const DeviceType type : {DeviceType::cuda, DeviceType::cpu}) {
    const DeviceAutocast& region = state.of(type);
    if (!region.enabled && type != home) continue;
    for (std::size_t i = 0; i < operands.size(); ++i)
      if (const Tensor& t = call.inputs[i]; t.defined()) operands[i] = {true, t.dtype(), t.device().type};
    const CastDecision decision = decide(call.info(), operands, type, region, form);
    if (decision.refusal != Refusal::none) refuse(call, decision, region);
    if (type == home) result = {decision, region.enabled ? region.policy : Policy::none, false};
    if (decision.rule != CastRule::none) result.listed = true;
    if (decision.dtype_attribute != DType::count_) call.attributes.set("dtype", decision.dtype_attribute);
    if (decision.target == DType::count_) continue;
    for (std::size_t i = 0; i < operands.size(); ++i)
      if (is_eligible(operands[i], type))
        call.inputs[i] = cast_operand(call.inputs[i], decision.target, region, call.op);
  }
  return result;
}

Tensors run_body(const OpCall& call) {
  const ContextScope<int> depth(&Context::op_depth, context().op_depth + 1);
  const ContextScope<OpId> op(&Context::op, call.op);
  if (call.info().body == BodyKind::composite) return composite_body(call.op)(call);
  const DeviceType device = device_of(call);
  const Body body = backend(device, call.info().name).bodies[static_cast<std::size_t>(call.op)];
  if (body == nullptr) call.fail("no body for device '" + std::string(name(device)) + "'", ErrorCode::not_implemented);
  return body(call);
}

void check_call(const OpCall& call) {
  const OpInfo& info = call.info();
  if (info.max_inputs != kAny && static_cast<int>(call.inputs.size()) > info.max_inputs)
    call.fail("too many tensor arguments: got " + std::to_string(call.inputs.size()));
  for (const Tensor& t : call.inputs)
    if (t.defined() && t.impl()->sparse) [[unlikely]]
      call.fail("has no form for sparse tensors: got " + describe(t) + "; need to_dense()", ErrorCode::not_implemented);
  for (int i = 0; i < info.min_inputs; ++i)
    if (!call.has(static_cast<std::size_t>(i)))
      call.fail("tensor argument " + std::to_string(i) + " is missing: got none, need a tensor", ErrorCode::type);
}

}  // namespace

Tensors run_op(OpCall call) {
  check_call(call);
  const bool observed = observe::active();
  announce::Before before;
  if (observed) {
    if (context().phase == Phase::forward && context().op_depth == 0)
      step_clock::note_forward_op(records_gradient(call));
    for (const auto& t : call.inputs)
      if (before.count < kMaxEventInputs && t.defined()) before.dtypes[before.count++] = t.dtype();
  }
  const Decided decided = autocast_inputs(call);
  check_in_place(call);
  const std::vector<SavedTensor> overwritten = save_overwritten(call);
  Tensors outputs;
  {
    std::optional<AutocastSuspended> suspended;
    if (decided.listed) suspended.emplace();
    std::optional<announce::OpScope> scope;
    if (observed) scope.emplace(call, decided.decision, decided.policy, before);
    outputs = run_body(call);
    if (scope) announce::note_rounding(outputs);
  }
  note_on_tape(call, outputs, OpId::none, overwritten);
  if (observed) note_statistics(call, outputs);
  return outputs;
}

Tensor run_op1(OpCall call) { return std::move(run_op(std::move(call))[0]); }

Tensor cast(const Tensor& tensor, DType dtype, CastKind kind, OpId cause) {
  if (tensor.dtype() == dtype) return tensor;
  OpCall call{OpId::to, {tensor}, {{"dtype", dtype}}, {}};
  Tensors outputs;
  {
    // float64 stays what it is in a float32 run, so casts from and to it would still be made there.
    const bool same_in_fp32 = is_floating(tensor.dtype()) && is_floating(dtype) && tensor.dtype() != DType::float64 &&
                              dtype != DType::float64;
    const ContextScope<std::uint64_t> alias(&Context::alias_of,
                                            same_in_fp32 ? tensor.impl()->storage->allocation() : 0);
    std::optional<announce::CastScope> scope;
    if (observe::active()) scope.emplace(tensor, dtype, kind, cause);
    outputs = run_body(call);
    if (scope) announce::note_rounding(outputs);
  }
  note_on_tape(call, outputs, cause);
  return outputs[0];
}

}  // namespace amp
