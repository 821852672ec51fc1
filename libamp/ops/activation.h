// Activations that are made of other ops. Output in the input's dtype, autocast or not: half inputs are computed in
// float32 and the result rounded once, as one kernel would. Those with a row of their own are in pointwise.h.
#pragma once
#include "libamp/core/tensor.h"

namespace amp {

/// Limits to [min_val, max_val]. Unlike clamp it has no gradient at the limits themselves, as in PyTorch.
Tensor hardtanh(const Tensor& input, double min_val = -1, double max_val = 1);
Tensor relu6(const Tensor& input);        ///< hardtanh from 0 to 6
Tensor hardsigmoid(const Tensor& input);  ///< relu6(x + 3) / 6
Tensor hardswish(const Tensor& input);    ///< x relu6(x + 3) / 6
/// scale (max(x, 0) + min(0, alpha (exp(x) - 1))) with the two constants of self-normalising networks.
Tensor selu(const Tensor& input);
/// max(x, 0) + min(0, alpha (exp(x / alpha) - 1)). Throws Error(runtime) for alpha 0.
Tensor celu(const Tensor& input, double alpha = 1);
Tensor mish(const Tensor& input);        ///< x tanh(log(1 + exp(x)))
Tensor softsign(const Tensor& input);    ///< x / (1 + |x|)
Tensor tanhshrink(const Tensor& input);  ///< x - tanh(x)
/// x where |x| > lambd, else 0.
Tensor hardshrink(const Tensor& input, double lambd = 0.5);
/// x brought nearer to 0 by lambd, 0 where it is nearer than that. Throws Error(runtime) for a negative lambd.
Tensor softshrink(const Tensor& input, double lambd = 0.5);
/// x where x > threshold, else value.
Tensor threshold(const Tensor& input, double threshold, double value);
/// The first half of dim times the sigmoid of the second. Throws Error(runtime) for an odd size.
Tensor glu(const Tensor& input, std::int64_t dim = -1);
/// Negative elements times a slope: drawn from [lower, upper] for each while training, else the middle of the two.
Tensor rrelu(const Tensor& input, double lower = 1.0 / 8, double upper = 1.0 / 3, bool training = false);
/// The name torch.nn.functional has for log_sigmoid.
Tensor logsigmoid(const Tensor& input);

/// dropout of whole channels: input [batch, channels, ...], or [channels, ...] of `spatial` more dims.
Tensor feature_dropout(const Tensor& input, int spatial, double p = 0.5, bool training = true);
/// dropout that keeps mean and variance of standard normal inputs, for networks with selu.
Tensor alpha_dropout(const Tensor& input, double p = 0.5, bool training = false);

}  // namespace amp
