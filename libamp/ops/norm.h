// Normalisations. Weights and biases are optional. layer_norm and group_norm are float32 under CUDA's rules; the others
// run in the input's dtype everywhere. A half precision input may have float32 parameters.
#pragma once
#include <optional>
#include <tuple>

#include "libamp/core/tensor.h"

namespace amp {

/// Over the last dims, which have sizes normalized_shape; weight and bias have that shape.
Tensor layer_norm(const Tensor& input, const Shape& normalized_shape, const Tensor& weight = {},
                  const Tensor& bias = {}, double eps = 1e-5);
/// torch.native_layer_norm: also the mean and 1 / deviation of each row.
std::tuple<Tensor, Tensor, Tensor> native_layer_norm(const Tensor& input, const Shape& normalized_shape,
                                                     const Tensor& weight = {}, const Tensor& bias = {},
                                                     double eps = 1e-5);
/// input / root mean square over the last dims. eps left out: the machine epsilon of the input's dtype. The result has
/// the type input and weight promote to. Listed only from PyTorch 2.12 on, so not here.
Tensor rms_norm(const Tensor& input, const Shape& normalized_shape, const Tensor& weight = {},
                std::optional<double> eps = {});
/// input [batch, channels, ...]: over each of num_groups groups of channels; weight and bias [channels].
Tensor group_norm(const Tensor& input, std::int64_t num_groups, const Tensor& weight = {}, const Tensor& bias = {},
                  double eps = 1e-5);
/// input [batch, channels, ...]: over all but channels. Training: with the batch's own statistics, which also move
/// running_mean and running_var (if given) by `momentum`, the variance unbiased. Else with the running statistics.
Tensor batch_norm(const Tensor& input, const Tensor& running_mean, const Tensor& running_var, const Tensor& weight = {},
                  const Tensor& bias = {}, bool training = false, double momentum = 0.1, double eps = 1e-5);
/// batch_norm of each image by itself.
Tensor instance_norm(const Tensor& input, const Tensor& running_mean = {}, const Tensor& running_var = {},
                     const Tensor& weight = {}, const Tensor& bias = {}, bool use_input_stats = true,
                     double momentum = 0.1, double eps = 1e-5);

}  // namespace amp
