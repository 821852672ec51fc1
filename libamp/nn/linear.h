// Linear layers, and layers that only change shapes. PyTorch's arguments, defaults and initial values.
#pragma once
#include <optional>

#include "libamp/nn/module.h"
#include "libamp/ops/sample.h"

namespace amp::nn {

/// input [..., in_features] -> [..., out_features]. Weight and bias start uniform in +-1/sqrt(in_features).
class Linear : public Module {
 public:
  Linear(std::int64_t in_features, std::int64_t out_features, bool bias = true);
  Tensor forward(const Tensor& input) override;
  Tensor weight, bias;
};

/// [..., in1], [..., in2] -> [..., out]: sums over weight [out, in1, in2]. All start uniform in +-1/sqrt(in1_features).
class Bilinear : public Module {
 public:
  Bilinear(std::int64_t in1_features, std::int64_t in2_features, std::int64_t out_features, bool bias = true);
  using Module::forward;
  Tensor forward(const Tensor& input1, const Tensor& input2);
  Tensor operator()(const Tensor& input1, const Tensor& input2);
  Tensor weight, bias;
};

/// Gives back its input; a place to put something else later.
class Identity : public Module {
 public:
  Tensor forward(const Tensor& input) override { return input; }
};

/// Dims start_dim to end_dim as one.
class Flatten : public Module {
 public:
  explicit Flatten(std::int64_t start_dim = 1, std::int64_t end_dim = -1) : start_dim_(start_dim), end_dim_(end_dim) {}
  Tensor forward(const Tensor& input) override;

 private:
  std::int64_t start_dim_, end_dim_;
};

/// One dim as several; -1 once for what is left.
class Unflatten : public Module {
 public:
  Unflatten(std::int64_t dim, const Shape& unflattened_size) : dim_(dim), sizes_(unflattened_size) {}
  Tensor forward(const Tensor& input) override;

 private:
  std::int64_t dim_;
  Shape sizes_;
};

/// Resizes the spatial dims to a size, or by a factor: `nn::Upsample(nn::ScaleFactors{{2}}, "bilinear")`. Modes as in
/// interpolate().
class Upsample : public Module {
 public:
  explicit Upsample(const SizeList& size, std::string mode = "nearest", bool align_corners = false)
      : size_(size), mode_(std::move(mode)), align_corners_(align_corners) {}
  explicit Upsample(const ScaleFactors& scale_factor, std::string mode = "nearest", bool align_corners = false)
      : scale_factor_(scale_factor), mode_(std::move(mode)), align_corners_(align_corners) {}
  Tensor forward(const Tensor& input) override;

 private:
  SizeList size_;
  std::optional<ScaleFactors> scale_factor_;
  std::string mode_;
  bool align_corners_;
};

/// [..., channels r^2, height, width] -> [..., channels, height r, width r]
class PixelShuffle : public Module {
 public:
  explicit PixelShuffle(std::int64_t upscale_factor) : factor_(upscale_factor) {}
  Tensor forward(const Tensor& input) override;

 private:
  std::int64_t factor_;
};

/// Cosine of the angle between x1 and x2 along dim: `similarity(x1, x2)`.
class CosineSimilarity : public Module {
 public:
  explicit CosineSimilarity(std::int64_t dim = 1, double eps = 1e-8) : dim_(dim), eps_(eps) {}
  using Module::forward;
  Tensor forward(const Tensor& x1, const Tensor& x2);
  Tensor operator()(const Tensor& x1, const Tensor& x2);

 private:
  std::int64_t dim_;
  double eps_;
};

}  // namespace amp::nn
