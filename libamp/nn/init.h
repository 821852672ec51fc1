// Filling parameters with starting values, as torch.nn.init. All work in place, without gradients, and return the
// tensor. Fan in is what one output of a weight [out, in, kernel...] sums over, fan out what one input feeds.
#pragma once
#include <optional>
#include <string_view>

#include "libamp/core/tensor.h"

namespace amp::nn::init {

const Tensor& constant_(const Tensor& tensor, double value);  ///< one value for all, here and below; then random ones
const Tensor& zeros_(const Tensor& tensor);
const Tensor& ones_(const Tensor& tensor);
const Tensor& uniform_(const Tensor& tensor, double low = 0, double high = 1);
const Tensor& normal_(const Tensor& tensor, double mean = 0, double std = 1);
/// Normal, what falls outside [a, b] drawn from inside. Throws Error(value) unless a < b.
const Tensor& trunc_normal_(const Tensor& tensor, double mean = 0, double std = 1, double a = -2, double b = 2);
/// Ones on the diagonal of a matrix, else zeros. Throws Error(value) unless it has 2 dims.
const Tensor& eye_(const Tensor& tensor);
/// The identity for a convolution weight of 3, 4 or 5 dims, in each of `groups`. Throws Error(value) for others.
const Tensor& dirac_(const Tensor& tensor, std::int64_t groups = 1);
/// Orthonormal rows or columns (of which there are fewer), times gain; dims after the first count as one.
const Tensor& orthogonal_(const Tensor& tensor, double gain = 1);
/// Normal with mean 0; in each column the share `sparsity` of elements is zero. Throws Error(value) unless 2 dims.
const Tensor& sparse_(const Tensor& tensor, double sparsity, double std = 0.01);

/// Uniform in +-gain sqrt(3 / fan) with the gain of `nonlinearity`; a: negative slope of the leaky ReLU that follows.
/// mode: "fan_in" or "fan_out".
const Tensor& kaiming_uniform_(const Tensor& tensor, double a = 0, std::string_view mode = "fan_in",
                               std::string_view nonlinearity = "leaky_relu");
/// Normal with standard deviation gain / sqrt(fan).
const Tensor& kaiming_normal_(const Tensor& tensor, double a = 0, std::string_view mode = "fan_in",
                              std::string_view nonlinearity = "leaky_relu");
/// Uniform in +-gain sqrt(6 / (fan_in + fan_out)).
const Tensor& xavier_uniform_(const Tensor& tensor, double gain = 1);
/// Normal with standard deviation gain sqrt(2 / (fan_in + fan_out)).
const Tensor& xavier_normal_(const Tensor& tensor, double gain = 1);

/// linear, conv1d to conv_transpose3d, sigmoid: 1; tanh: 5/3; relu: sqrt 2; leaky_relu: sqrt(2 / (1 + param^2)), param
/// 0.01 if left out; selu: 3/4. Throws Error(value) for others.
double calculate_gain(std::string_view nonlinearity, std::optional<double> param = {});

struct Fans {  ///< of a weight [out, in, kernel...]
  std::int64_t in, out;
};
/// Throws Error(value) below 2 dims.
Fans fans(const Tensor& weight);

}  // namespace amp::nn::init
