// Gradient clipping, as torch.nn.utils. With a GradScaler: unscale_ first, then clip.
#pragma once
#include "libamp/core/tensor.h"

namespace amp::nn::utils {

/// Scales all gradients so that their norm together is at most max_norm, and returns the norm before (float32, 0-dim).
/// Nothing waits for the device. A norm that is not finite makes gradients NaN: harmless with a GradScaler, which skips
/// that step.
Tensor clip_grad_norm_(const Tensors& parameters, double max_norm, double norm_type = 2);
/// Limits each gradient element to [-clip_value, clip_value].
void clip_grad_value_(const Tensors& parameters, double clip_value);

}  // namespace amp::nn::utils
