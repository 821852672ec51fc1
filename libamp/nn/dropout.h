// Dropout: zeroes elements or whole channels with probability p while training, and scales the others by 1 / (1 - p).
#pragma once
#include "libamp/nn/module.h"
#include "libamp/ops/activation.h"
#include "libamp/ops/pointwise.h"

namespace amp::nn {

/// Base of the dropouts. Throws Error(value) for a p outside [0, 1].
class DropoutBase : public Module {
 protected:
  explicit DropoutBase(double p) : p_(p) {
    if (!(p >= 0 && p <= 1))
      fail(ErrorCode::value, "Dropout",
           "p must be a probability: got " + std::to_string(p) + ", need a value in [0, 1]");
  }
  /// The probability given to the constructor.
  [[nodiscard]] double p() const { return p_; }

 private:
  double p_;
};

/// Single elements.
class Dropout : public DropoutBase {
 public:
  explicit Dropout(double p = 0.5) : DropoutBase(p) {}
  Tensor forward(const Tensor& input) override { return dropout(input, p(), is_training()); }
};

/// Whole channels of [batch, channels, length] or [channels, length].
class Dropout1d : public DropoutBase {
 public:
  explicit Dropout1d(double p = 0.5) : DropoutBase(p) {}
  Tensor forward(const Tensor& input) override { return feature_dropout(input, 1, p(), is_training()); }
};

/// Whole channels of [batch, channels, height, width] or [channels, height, width].
class Dropout2d : public DropoutBase {
 public:
  explicit Dropout2d(double p = 0.5) : DropoutBase(p) {}
  Tensor forward(const Tensor& input) override { return feature_dropout(input, 2, p(), is_training()); }
};

/// Whole channels of [batch, channels, depth, height, width] or [channels, depth, height, width].
class Dropout3d : public DropoutBase {
 public:
  explicit Dropout3d(double p = 0.5) : DropoutBase(p) {}
  Tensor forward(const Tensor& input) override { return feature_dropout(input, 3, p(), is_training()); }
};

/// Keeps mean and variance of standard normal inputs; goes with SELU.
class AlphaDropout : public DropoutBase {
 public:
  explicit AlphaDropout(double p = 0.5) : DropoutBase(p) {}
  Tensor forward(const Tensor& input) override { return alpha_dropout(input, p(), is_training()); }
};

}  // namespace amp::nn
