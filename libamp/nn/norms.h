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

/// Over the last dims, by the root of the mean square: no mean is taken off, no bias added.
class RMSNorm : public Module {
 public:
  /// eps left out: the machine epsilon of the input's dtype
  explicit RMSNorm(const Shape& normalized_shape, std::optional<double> eps = {}, bool elementwise_affine = true);
  Tensor forward(const Tensor& input) override;
  Tensor weight;

 private:
  Shape normalized_shape_;
  std::optional<double> eps_;
};

struct BatchNormArguments {
  double eps = 1e-5;
  /// Weight of a batch in the running statistics; nothing (`std::nullopt`): their plain mean over all batches.
  std::optional<double> momentum = 0.1;
  bool affine = true;
  /// Keep running statistics for evaluation; without them the batch's own are used there too.
  bool track_running_stats = true;
};

/// Base of the batch norms. A skipped optimizer step has moved the running statistics all the same, as in PyTorch.
class BatchNorm : public Module {
 public:
  Tensor forward(const Tensor& input) override;
  Tensor weight, bias, running_mean, running_var, num_batches_tracked;

 protected:
  BatchNorm(std::int64_t num_features, const BatchNormArguments& arguments);
  /// Throws Error(value) for a number of dims the layer does not take.
  virtual void check(const Tensor& input) const = 0;
  /// Files of PyTorch before 0.4.1 do not have it.
  [[nodiscard]] bool optional_in_state(std::string_view name) const override { return name == "num_batches_tracked"; }

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

/// input [batch, features, depth, height, width]
class BatchNorm3d : public BatchNorm {
 public:
  explicit BatchNorm3d(std::int64_t num_features, const BatchNormArguments& arguments = {})
      : BatchNorm(num_features, arguments) {}

 protected:
  void check(const Tensor& input) const override;
};

struct InstanceNormArguments {
  double eps = 1e-5;
  double momentum = 0.1;
  bool affine = false;
  /// Keep running statistics for evaluation.
  bool track_running_stats = false;
};

/// Base of the instance norms: each channel of each image by itself; a batch dim may be left out.
class InstanceNorm : public Module {
 public:
  Tensor forward(const Tensor& input) override;
  Tensor weight, bias, running_mean, running_var, num_batches_tracked;

 protected:
  InstanceNorm(int spatial, std::int64_t num_features, const InstanceNormArguments& arguments);
  [[nodiscard]] bool optional_in_state(std::string_view name) const override { return name == "num_batches_tracked"; }

 private:
  int spatial_;
  std::int64_t num_features_;
  InstanceNormArguments arguments_;
};

/// input [batch, features, length]
class InstanceNorm1d : public InstanceNorm {
 public:
  explicit InstanceNorm1d(std::int64_t num_features, const InstanceNormArguments& arguments = {})
      : InstanceNorm(1, num_features, arguments) {}
};

/// input [batch, features, height, width]
class InstanceNorm2d : public InstanceNorm {
 public:
  explicit InstanceNorm2d(std::int64_t num_features, const InstanceNormArguments& arguments = {})
      : InstanceNorm(2, num_features, arguments) {}
};

/// input [batch, features, depth, height, width]
class InstanceNorm3d : public InstanceNorm {
 public:
  explicit InstanceNorm3d(std::int64_t num_features, const InstanceNormArguments& arguments = {})
      : InstanceNorm(3, num_features, arguments) {}
};

}  // namespace amp::nn
