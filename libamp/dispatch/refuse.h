// Turns a refusal of the cast rule into PyTorch's kind of error, with the remedy.
#pragma once
#include "libamp/autocast/cast_rule.h"
#include "libamp/dispatch/op_call.h"

namespace amp {

[[noreturn]] void refuse(const OpCall& call, const CastDecision& decision, const DeviceAutocast& region);

}  // namespace amp
