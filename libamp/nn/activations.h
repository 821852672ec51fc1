// Activations as modules, with PyTorch's arguments. Each calls the function of the same name.
#pragma once
#include <string>

#include "libamp/nn/module.h"
#include "libamp/ops/activation.h"
#include "libamp/ops/pointwise.h"
#include "libamp/ops/softmax.h"

namespace amp::nn {

/// max(x, 0); inplace: in the input's own memory.
class ReLU : public Module {
 public:
  explicit ReLU(bool inplace = false) : inplace_(inplace) {}
  Tensor forward(const Tensor& input) override { return inplace_ ? relu_(input) : relu(input); }

 private:
  bool inplace_;
};

/// x between 0 and 6
class ReLU6 : public Module {
 public:
  Tensor forward(const Tensor& input) override { return relu6(input); }
};

/// 1 / (1 + exp(-x))
class Sigmoid : public Module {
 public:
  Tensor forward(const Tensor& input) override { return sigmoid(input); }
};

/// log(sigmoid(x))
class LogSigmoid : public Module {
 public:
  Tensor forward(const Tensor& input) override { return log_sigmoid(input); }
};

/// hyperbolic tangent
class Tanh : public Module {
 public:
  Tensor forward(const Tensor& input) override { return tanh(input); }
};

/// x - tanh(x)
class Tanhshrink : public Module {
 public:
  Tensor forward(const Tensor& input) override { return tanhshrink(input); }
};

/// x sigmoid(x)
class SiLU : public Module {
 public:
  Tensor forward(const Tensor& input) override { return silu(input); }
};

/// x tanh(softplus(x))
class Mish : public Module {
 public:
  Tensor forward(const Tensor& input) override { return mish(input); }
};

/// elu with the constants of self-normalising networks
class SELU : public Module {
 public:
  Tensor forward(const Tensor& input) override { return selu(input); }
};

/// x / (1 + |x|)
class Softsign : public Module {
 public:
  Tensor forward(const Tensor& input) override { return softsign(input); }
};

/// relu6(x + 3) / 6
class Hardsigmoid : public Module {
 public:
  Tensor forward(const Tensor& input) override { return hardsigmoid(input); }
};

/// x relu6(x + 3) / 6
class Hardswish : public Module {
 public:
  Tensor forward(const Tensor& input) override { return hardswish(input); }
};

/// x Phi(x), Phi the normal distribution function
class GELU : public Module {
 public:
  /// approximate: "none" or "tanh"
  explicit GELU(std::string approximate = "none") : approximate_(std::move(approximate)) {}
  Tensor forward(const Tensor& input) override { return gelu(input, approximate_); }

 private:
  std::string approximate_;
};

/// x, times negative_slope where negative
class LeakyReLU : public Module {
 public:
  explicit LeakyReLU(double negative_slope = 0.01) : negative_slope_(negative_slope) {}
  Tensor forward(const Tensor& input) override { return leaky_relu(input, negative_slope_); }

 private:
  double negative_slope_;
};

/// x, alpha (exp(x) - 1) where negative
class ELU : public Module {
 public:
  explicit ELU(double alpha = 1) : alpha_(alpha) {}
  Tensor forward(const Tensor& input) override { return elu(input, alpha_); }

 private:
  double alpha_;
};

/// x, alpha (exp(x / alpha) - 1) where negative
class CELU : public Module {
 public:
  explicit CELU(double alpha = 1) : alpha_(alpha) {}
  Tensor forward(const Tensor& input) override { return celu(input, alpha_); }

 private:
  double alpha_;
};

/// log(1 + exp(beta x)) / beta
class Softplus : public Module {
 public:
  explicit Softplus(double beta = 1, double threshold = 20) : beta_(beta), threshold_(threshold) {}
  Tensor forward(const Tensor& input) override { return softplus(input, beta_, threshold_); }

 private:
  double beta_, threshold_;
};

/// x between min_val and max_val
class Hardtanh : public Module {
 public:
  explicit Hardtanh(double min_val = -1, double max_val = 1) : min_val_(min_val), max_val_(max_val) {}
  Tensor forward(const Tensor& input) override { return hardtanh(input, min_val_, max_val_); }

 private:
  double min_val_, max_val_;
};

/// x where |x| > lambd, else 0
class Hardshrink : public Module {
 public:
  explicit Hardshrink(double lambd = 0.5) : lambd_(lambd) {}
  Tensor forward(const Tensor& input) override { return hardshrink(input, lambd_); }

 private:
  double lambd_;
};

/// x brought nearer to 0 by lambd
class Softshrink : public Module {
 public:
  explicit Softshrink(double lambd = 0.5) : lambd_(lambd) {}
  Tensor forward(const Tensor& input) override { return softshrink(input, lambd_); }

 private:
  double lambd_;
};

/// x where x > threshold, else value
class Threshold : public Module {
 public:
  Threshold(double threshold, double value) : threshold_(threshold), value_(value) {}
  Tensor forward(const Tensor& input) override { return amp::threshold(input, threshold_, value_); }

 private:
  double threshold_, value_;
};

/// exp(x) over its sum along dim
class Softmax : public Module {
 public:
  explicit Softmax(std::int64_t dim) : dim_(dim) {}
  Tensor forward(const Tensor& input) override { return softmax(input, dim_); }

 private:
  std::int64_t dim_;
};

/// log of softmax along dim
class LogSoftmax : public Module {
 public:
  explicit LogSoftmax(std::int64_t dim) : dim_(dim) {}
  Tensor forward(const Tensor& input) override { return log_softmax(input, dim_); }

 private:
  std::int64_t dim_;
};

/// softmax(-x) along dim
class Softmin : public Module {
 public:
  explicit Softmin(std::int64_t dim) : dim_(dim) {}
  Tensor forward(const Tensor& input) override { return softmin(input, dim_); }

 private:
  std::int64_t dim_;
};

/// the first half of dim times the sigmoid of the second
class GLU : public Module {
 public:
  explicit GLU(std::int64_t dim = -1) : dim_(dim) {}
  Tensor forward(const Tensor& input) override { return glu(input, dim_); }

 private:
  std::int64_t dim_;
};

/// Softmax over the channels of [batch, channels, height, width] or [channels, height, width].
class Softmax2d : public Module {
 public:
  Tensor forward(const Tensor& input) override {
    if (input.dim() != 3 && input.dim() != 4)
      fail(ErrorCode::value, "Softmax2d", "input must have 3 or 4 dims: got " + describe(input));
    return softmax(input, -3);
  }
};

/// Negative elements times a slope, drawn while training.
class RReLU : public Module {
 public:
  explicit RReLU(double lower = 1.0 / 8, double upper = 1.0 / 3) : lower_(lower), upper_(upper) {}
  Tensor forward(const Tensor& input) override { return rrelu(input, lower_, upper_, is_training()); }

 private:
  double lower_, upper_;
};

/// x, times a learnt weight where negative: one weight for all, or one for each channel (dim 1). They start as `init`.
class PReLU : public Module {
 public:
  explicit PReLU(std::int64_t num_parameters = 1, double init = 0.25)
      : weight(register_parameter("weight", full({num_parameters}, init))) {}
  Tensor forward(const Tensor& input) override { return prelu(input, weight); }
  Tensor weight;
};

}  // namespace amp::nn
