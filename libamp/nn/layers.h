// Layers with PyTorch's arguments, defaults and initial values. Shapes are those of the functions in ops/.
#pragma once
#include "libamp/nn/module.h"
#include "libamp/ops/size_list.h"

namespace amp::nn {

/// input [..., in_features] -> [..., out_features]. Weight and bias start uniform in +-1/sqrt(in_features).
class Linear : public Module {
 public:
  Linear(std::int64_t in_features, std::int64_t out_features, bool bias = true);
  Tensor forward(const Tensor& input) override;
  Tensor weight, bias;
};

struct ConvArguments {
  SizeList stride = 1;
  ConvPadding padding = 0;
  SizeList dilation = 1;
  std::int64_t groups = 1;
  bool bias = true;
};

/// input [batch, in_channels, height, width]. Weight and bias start uniform in +-1/sqrt(fan_in).
/// `nn::Conv2d(1, 16, 3, {.padding = 1})`
class Conv2d : public Module {
 public:
  Conv2d(std::int64_t in_channels, std::int64_t out_channels, const SizeList& kernel_size,
         const ConvArguments& arguments = {});
  Tensor forward(const Tensor& input) override;
  Tensor weight, bias;

 private:
  ConvArguments arguments_;
};

class MaxPool2d : public Module {
 public:
  /// stride left out: the kernel size
  explicit MaxPool2d(const SizeList& kernel_size, const SizeList& stride = {}, const SizeList& padding = 0)
      : kernel_size_(kernel_size), stride_(stride), padding_(padding) {}
  Tensor forward(const Tensor& input) override;

 private:
  SizeList kernel_size_, stride_, padding_;
};

class AvgPool2d : public Module {
 public:
  /// stride left out: the kernel size
  explicit AvgPool2d(const SizeList& kernel_size, const SizeList& stride = {}, const SizeList& padding = 0)
      : kernel_size_(kernel_size), stride_(stride), padding_(padding) {}
  Tensor forward(const Tensor& input) override;

 private:
  SizeList kernel_size_, stride_, padding_;
};

class AdaptiveAvgPool2d : public Module {
 public:
  explicit AdaptiveAvgPool2d(const SizeList& output_size) : output_size_(output_size) {}
  Tensor forward(const Tensor& input) override;

 private:
  SizeList output_size_;
};

class Flatten : public Module {
 public:
  explicit Flatten(std::int64_t start_dim = 1, std::int64_t end_dim = -1) : start_dim_(start_dim), end_dim_(end_dim) {}
  Tensor forward(const Tensor& input) override;

 private:
  std::int64_t start_dim_, end_dim_;
};

/// Rows of a table [num_embeddings, embedding_dim] that starts normal(0, 1). input: int64 of any shape.
class Embedding : public Module {
 public:
  /// padding_idx: a row that starts as zeros and gets no gradient; -1: none
  Embedding(std::int64_t num_embeddings, std::int64_t embedding_dim, std::int64_t padding_idx = -1);
  Tensor forward(const Tensor& input) override;
  Tensor weight;

 private:
  std::int64_t padding_idx_;
};

/// Zeroes elements with probability p while training, and scales the others by 1 / (1 - p).
class Dropout : public Module {
 public:
  /// Throws Error(value) for a p outside [0, 1].
  explicit Dropout(double p = 0.5);
  Tensor forward(const Tensor& input) override;

 private:
  double p_;
};

}  // namespace amp::nn
