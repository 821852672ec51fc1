// The tape's side of an op call: what in-place calls may not do, and the node that a call leaves.
#pragma once
#include "libamp/dispatch/op_call.h"
#include "libamp/tape/node.h"

namespace amp {

/// Will this call leave a node? (gradients on, differentiable, an input needs one)
bool records_gradient(const OpCall& call);
/// Throws for in-place calls on leaves that require a gradient and on views of graph tensors.
void check_in_place(const OpCall& call);
/// What the gradient needs of the operands that an in-place call overwrites, one for each input; empty if it overwrites
/// none. Taken before the body runs.
std::vector<SavedTensor> save_overwritten(const OpCall& call);
/// Makes the node and links the outputs to it. cast_cause: for casts, the op that forced it.
void note_on_tape(const OpCall& call, Tensors& outputs, OpId cast_cause = OpId::none,
                  const std::vector<SavedTensor>& overwritten = {});
/// Announces statistics of the outputs on sampled steps.
void note_statistics(const OpCall& call, const Tensors& outputs);
/// "encoder.0.linear1.matmul": the name of an op's output in reports.
StringId output_name(StringId module_path, OpId op);

}  // namespace amp
