// Filling parameters with starting values, as torch.nn.init. All work in place, without gradients, and return the
// tensor.
#pragma once
#include "libamp/core/tensor.h"

namespace amp::nn::init {

const Tensor& constant_(const Tensor& tensor, double value);
const Tensor& uniform_(const Tensor& tensor, double low = 0, double high = 1);
const Tensor& normal_(const Tensor& tensor, double mean = 0, double std = 1);
/// Uniform in +-sqrt(6 / ((1 + a^2) fan_in)); a: negative slope of the leaky ReLU that follows.
const Tensor& kaiming_uniform_(const Tensor& tensor, double a = 0);
/// Uniform in +-sqrt(6 / (fan_in + fan_out)).
const Tensor& xavier_uniform_(const Tensor& tensor, double gain = 1);
/// What one output of a weight [out, in, kernel...] sums over, and what one input feeds. Throws below 2 dims.
struct Fans {
  std::int64_t in, out;
};
Fans fans(const Tensor& weight);

}  // namespace amp::nn::init
