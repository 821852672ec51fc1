// Normalisation layers with PyTorch's arguments: weights start as ones, biases as zeros.
#pragma once
#include <optional>

#include "libamp/nn/module.h"

namespace amp::nn {

/// Over the last dims, of sizes normalized_shape.
class LayerNorm : public Module {
 public:
  explicit LayerNorm(const Shape& normalized_shape, double eps = 1e-5, bool elementwise_affine = true,
                     bool bias = true);
  Tensor forward(const Tensor& input) override;
  Tensor weight, bias;

 private:
  Shape normalized_shape_;
  double eps_;
};

/// Over groups of channels; input [batch, channels, ...].
class GroupNorm : public Module {
 public:
  /// Throws Error(value) if the channels cannot be divided into the groups.
  GroupNorm(std::int64_t num_groups, std::int64_t num_channels, double eps = 1e-5, bool affine = true);
  Tensor forward(const Tensor& input) override;
  Tensor weight, bias;

 private:
  std::int64_t num_groups_;
  double eps_;
};

struct BatchNormArguments {
  double eps = 1e-5;
  double momentum = 0.1;
  bool affine = true;
  /// Keep running statistics for evaluation; without them the batch's own are used there too.
  bool track_running_stats = true;
};

/// Base of BatchNorm1d and BatchNorm2d. A skipped optimizer step has moved the running statistics all the same, as in
/// PyTorch.
class BatchNorm : public Module {
 public:
  Tensor forward(const Tensor& input) override;
  Tensor weight, bias, running_mean, running_var, num_batches_tracked;

 protected:
  BatchNorm(std::int64_t num_features, const BatchNormArguments& arguments);
  /// Throws Error(value) for a number of dims the layer does not take.
  virtual void check(const Tensor& input) const = 0;

 private:
  BatchNormArguments arguments_;
};

/// input [batch, features] or [batch, features, length]
class BatchNorm1d : public BatchNorm {
 public:
  explicit BatchNorm1d(std::int64_t num_features, const BatchNormArguments& arguments = {})
      : BatchNorm(num_features, arguments) {}

 protected:
  void check(const Tensor& input) const override;
};

/// input [batch, features, height, width]
class BatchNorm2d : public BatchNorm {
 public:
  explicit BatchNorm2d(std::int64_t num_features, const BatchNormArguments& arguments = {})
      : BatchNorm(num_features, arguments) {}

 protected:
  void check(const Tensor& input) const override;
};

}  // namespace amp::nn
