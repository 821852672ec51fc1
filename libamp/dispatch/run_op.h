// The heart: every op of libamp goes through run_op. decide -> cast -> announce -> run -> announce -> note on the tape.
#pragma once
#include "libamp/dispatch/op_call.h"

namespace amp {

/// Runs one op call and returns its outputs. Throws Error; then nothing was noted.
Tensors run_op(OpCall call);
/// The same for ops with one output.
Tensor run_op1(OpCall call);

/// Converts a tensor and notes the conversion on the tape. Returns `tensor` itself if it has that dtype already.
/// cause: the op that forced it, named in reports.
Tensor cast(const Tensor& tensor, DType dtype, CastKind kind, OpId cause);

}  // namespace amp
