// Error texts of refused calls.
#include "libamp/dispatch/refuse.h"

namespace amp {
namespace {

std::string operands_text(const OpCall& call) {
  std::string text;
  for (const auto& t : call.inputs) {
    if (!text.empty()) text += ", ";
    text += describe(t);
  }
  return text;
}

}  // namespace

void refuse(const OpCall& call, const CastDecision& decision, const DeviceAutocast& region) {
  if (decision.refusal == Refusal::banned) {
    std::string remedy = "run it in a nested region with enabled = false, on float32 inputs";
    if (call.op == find_op("binary_cross_entropy"))
      remedy =
          "merge the sigmoid before it into binary_cross_entropy_with_logits (BCEWithLogitsLoss), which is safe, or " +
          remedy;
    call.fail("is unsafe to autocast: its gradient cannot be represented in " + std::string(name(region.dtype)) +
              ": got " + operands_text(call) + "; " + remedy);
  }
  call.fail("unexpected floating scalar type under autocast to " + std::string(name(region.dtype)) + ": got " +
            operands_text(call) + ", argument " + std::to_string(decision.mismatched) + " is at fault; need " +
            std::string(name(region.dtype)) + " or float32: cast it with .to() first");
}

}  // namespace amp
