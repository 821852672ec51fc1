// Activations as modules, with PyTorch's arguments. Each calls the function of the same name.
#pragma once
#include <string>

#include "libamp/nn/module.h"
#include "libamp/ops/pointwise.h"
#include "libamp/ops/softmax.h"

namespace amp::nn {

class ReLU : public Module {
 public:
  Tensor forward(const Tensor& input) override { return relu(input); }
};

class Sigmoid : public Module {
 public:
  Tensor forward(const Tensor& input) override { return sigmoid(input); }
};

class Tanh : public Module {
 public:
  Tensor forward(const Tensor& input) override { return tanh(input); }
};

class SiLU : public Module {
 public:
  Tensor forward(const Tensor& input) override { return silu(input); }
};

class GELU : public Module {
 public:
  /// approximate: "none" or "tanh"
  explicit GELU(std::string approximate = "none") : approximate_(std::move(approximate)) {}
  Tensor forward(const Tensor& input) override { return gelu(input, approximate_); }

 private:
  std::string approximate_;
};

class LeakyReLU : public Module {
 public:
  explicit LeakyReLU(double negative_slope = 0.01) : slope_(negative_slope) {}
  Tensor forward(const Tensor& input) override { return leaky_relu(input, slope_); }

 private:
  double slope_;
};

class ELU : public Module {
 public:
  explicit ELU(double alpha = 1) : alpha_(alpha) {}
  Tensor forward(const Tensor& input) override { return elu(input, alpha_); }

 private:
  double alpha_;
};

class Softplus : public Module {
 public:
  explicit Softplus(double beta = 1, double threshold = 20) : beta_(beta), threshold_(threshold) {}
  Tensor forward(const Tensor& input) override { return softplus(input, beta_, threshold_); }

 private:
  double beta_, threshold_;
};

class Softmax : public Module {
 public:
  explicit Softmax(std::int64_t dim) : dim_(dim) {}
  Tensor forward(const Tensor& input) override { return softmax(input, dim_); }

 private:
  std::int64_t dim_;
};

class LogSoftmax : public Module {
 public:
  explicit LogSoftmax(std::int64_t dim) : dim_(dim) {}
  Tensor forward(const Tensor& input) override { return log_softmax(input, dim_); }

 private:
  std::int64_t dim_;
};

}  // namespace amp::nn
