// The rules of cast_rule.h.
#include "libamp/autocast/cast_rule.h"

#include <algorithm>

namespace amp {
namespace {

bool any_eligible(std::span<const Operand> operands, DeviceType device) {
  return std::any_of(operands.begin(), operands.end(), [&](const Operand& o) { return is_eligible(o, device); });
}

// PyTorch walks the arguments in signature order, so which of two unfit dtypes is met first matters.
void decide_promote(CastDecision& decision, const OpInfo& op, std::span<const Operand> operands, DeviceType device,
                    DType fast) {
  DType widest = fast;
  const std::size_t voters =
      op.max_inputs == kAny ? operands.size() : std::min(operands.size(), static_cast<std::size_t>(op.min_inputs));
  for (std::size_t i = 0; i < voters; ++i) {
    if (!is_eligible(operands[i], device)) continue;
    const DType dtype = operands[i].dtype;
    if (widest == DType::float32 || dtype == DType::float32) {
      widest = DType::float32;
    } else if (dtype != widest || widest != fast) {
      decision.refusal = Refusal::promote_mismatch;
      decision.mismatched = i;
      return;
    }
  }
  decision.target = widest;
  decision.reason = Reason::promoted_widest;
}

}  // namespace

CastDecision decide(const OpInfo& op, std::span<const Operand> operands, DeviceType device, const DeviceAutocast& state,
                    CallForm form) {
  CastDecision decision;
  if (!state.enabled) {
    decision.reason = form.inside_listed_op ? Reason::inside_listed_op
                      : form.in_backward    ? Reason::gradient_formula
                      : state.nested_off    ? Reason::nested_off
                                            : Reason::autocast_off;
    return decision;
  }
  decision.rule = op.rule(state.policy);
  if (form.in_place_or_out) {
    decision.rule = CastRule::none;
    decision.reason = Reason::in_place_or_out;
    return decision;
  }
  const bool has_operand_here =
      std::any_of(operands.begin(), operands.end(), [&](const Operand& o) { return o.defined && o.device == device; });
  switch (decision.rule) {
    case CastRule::none:
    case CastRule::count_:
      decision.reason = Reason::not_listed;
      break;
    case CastRule::banned:
      if (has_operand_here) decision.refusal = Refusal::banned;
      break;
    case CastRule::lower_precision:
    case CastRule::fp32: {
      const bool lower = decision.rule == CastRule::lower_precision;
      decision.target = lower ? state.dtype : DType::float32;
      decision.reason = !any_eligible(operands, device) ? Reason::left_alone
                        : lower                         ? Reason::listed_lower
                                                        : Reason::listed_fp32;
      break;
    }
    case CastRule::fp32_set_opt_dtype:
      if (form.dtype_given) {
        decision.reason = Reason::explicit_dtype;
      } else if (!operands.empty() && is_eligible(operands[0], device)) {
        decision.dtype_attribute = DType::float32;
        decision.reason = Reason::listed_fp32;
      } else {
        decision.reason = Reason::left_alone;
      }
      break;
    case CastRule::fp32_append_dtype:
      if (form.dtype_given) {
        decision.reason = Reason::explicit_dtype;
      } else if (!operands.empty() && operands[0].defined) {
        const bool eligible = is_eligible(operands[0], device);
        decision.dtype_attribute = eligible ? DType::float32 : operands[0].dtype;
        decision.reason = eligible ? Reason::listed_fp32 : Reason::left_alone;
      }
      break;
    case CastRule::promote:
      decide_promote(decision, op, operands, device, state.dtype);
      if (decision.refusal == Refusal::none && !any_eligible(operands, device)) decision.reason = Reason::left_alone;
      break;
  }
  return decision;
}

}  // namespace amp
