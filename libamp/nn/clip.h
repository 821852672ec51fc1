// Gradient clipping, as torch.nn.utils. With a GradScaler: unscale_ first, then clip.
#pragma once
#include "libamp/core/tensor.h"

namespace amp::nn::utils {

/// Scales all gradients so that their norm together is at most max_norm, and returns the norm before (float32, 0-dim;
/// 0 if there are no gradients). norm_type: any p, or infinity for the largest magnitude. Norms are float32 whatever
/// the gradients' type. Nothing waits for the device, unless error_if_nonfinite: then a norm that is not finite is an
/// Error(runtime) and no gradient is changed. Without it such a norm makes gradients NaN or zero: harmless with a
/// GradScaler, which skips that step.
Tensor clip_grad_norm_(const Tensors& parameters, double max_norm, double norm_type = 2,
                       bool error_if_nonfinite = false);
inline Tensor clip_grad_norm_(const Tensor& parameter, double max_norm, double norm_type = 2,
                              bool error_if_nonfinite = false) {
  return clip_grad_norm_(Tensors{parameter}, max_norm, norm_type, error_if_nonfinite);
}

/// The two halves of it: the norm of the tensors together, and scaling gradients down by a norm that is known.
Tensor get_total_norm(const Tensors& tensors, double norm_type = 2, bool error_if_nonfinite = false);
void clip_grads_with_norm_(const Tensors& parameters, double max_norm, const Tensor& total_norm);

/// Limits each gradient element to [-clip_value, clip_value].
void clip_grad_value_(const Tensors& parameters, double clip_value);

/// All elements of all parameters as one 1-dim tensor, and back. vector_to_parameters throws Error(runtime) unless the
/// vector has exactly as many elements; it writes the values in place.
Tensor parameters_to_vector(const Tensors& parameters);
void vector_to_parameters(const Tensor& vector, const Tensors& parameters);

}  // namespace amp::nn::utils
