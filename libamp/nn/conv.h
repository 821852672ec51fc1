// Convolutions with PyTorch's arguments, defaults and initial values: weight and bias start uniform in
// +-1/sqrt(fan_in). Shapes are those of ops/conv.h; a batch dim may be left out.
#pragma once
#include <optional>
#include <string>

#include "libamp/nn/module.h"
#include "libamp/ops/conv.h"

namespace amp::nn {

struct ConvArguments {
  SizeList stride = 1;
  ConvPadding padding = 0;
  SizeList dilation = 1;
  std::int64_t groups = 1;
  bool bias = true;
  /// What stands outside the input: "zeros", "reflect", "replicate" or "circular".
  std::string padding_mode = "zeros";
};

/// Base of Conv1d, Conv2d and Conv3d. Throws Error(value) for channels that groups do not divide, and an unknown
/// padding_mode.
class Conv : public Module {
 public:
  Tensor forward(const Tensor& input) override;
  Tensor weight, bias;

 protected:
  Conv(int spatial, std::int64_t in_channels, std::int64_t out_channels, const SizeList& kernel_size,
       const ConvArguments& arguments);

 private:
  [[nodiscard]] Tensor padded(const Tensor& input) const;

  int spatial_;
  ConvArguments arguments_;
};

/// input [batch, in_channels, length]
class Conv1d : public Conv {
 public:
  Conv1d(std::int64_t in_channels, std::int64_t out_channels, const SizeList& kernel_size,
         const ConvArguments& arguments = {})
      : Conv(1, in_channels, out_channels, kernel_size, arguments) {}
};

/// input [batch, in_channels, height, width]; `nn::Conv2d(1, 16, 3, {.padding = 1})`
class Conv2d : public Conv {
 public:
  Conv2d(std::int64_t in_channels, std::int64_t out_channels, const SizeList& kernel_size,
         const ConvArguments& arguments = {})
      : Conv(2, in_channels, out_channels, kernel_size, arguments) {}
};

/// input [batch, in_channels, depth, height, width]
class Conv3d : public Conv {
 public:
  Conv3d(std::int64_t in_channels, std::int64_t out_channels, const SizeList& kernel_size,
         const ConvArguments& arguments = {})
      : Conv(3, in_channels, out_channels, kernel_size, arguments) {}
};

struct ConvTransposeArguments {
  SizeList stride = 1;
  SizeList padding = 0;
  SizeList output_padding = 0;
  std::int64_t groups = 1;
  bool bias = true;
  SizeList dilation = 1;
};

/// Base of ConvTranspose1d, ConvTranspose2d and ConvTranspose3d; weight [in_channels, out_channels / groups,
/// kernel...].
class ConvTranspose : public Module {
 public:
  Tensor forward(const Tensor& input) override { return forward(input, {}); }
  /// output_size: the spatial sizes wanted, where stride leaves a choice; it takes the place of output_padding.
  /// Throws Error(value) naming the sizes that are possible.
  Tensor forward(const Tensor& input, const Shape& output_size);
  using Module::operator();
  Tensor operator()(const Tensor& input, const Shape& output_size);
  Tensor weight, bias;

 protected:
  ConvTranspose(int spatial, std::int64_t in_channels, std::int64_t out_channels, const SizeList& kernel_size,
                const ConvTransposeArguments& arguments);

 private:
  [[nodiscard]] Shape output_padding_for(const Tensor& input, Shape output_size) const;

  int spatial_;
  ConvTransposeArguments arguments_;
};

/// input [batch, in_channels, length]
class ConvTranspose1d : public ConvTranspose {
 public:
  ConvTranspose1d(std::int64_t in_channels, std::int64_t out_channels, const SizeList& kernel_size,
                  const ConvTransposeArguments& arguments = {})
      : ConvTranspose(1, in_channels, out_channels, kernel_size, arguments) {}
};

/// input [batch, in_channels, height, width]
class ConvTranspose2d : public ConvTranspose {
 public:
  ConvTranspose2d(std::int64_t in_channels, std::int64_t out_channels, const SizeList& kernel_size,
                  const ConvTransposeArguments& arguments = {})
      : ConvTranspose(2, in_channels, out_channels, kernel_size, arguments) {}
};

/// input [batch, in_channels, depth, height, width]
class ConvTranspose3d : public ConvTranspose {
 public:
  ConvTranspose3d(std::int64_t in_channels, std::int64_t out_channels, const SizeList& kernel_size,
                  const ConvTransposeArguments& arguments = {})
      : ConvTranspose(3, in_channels, out_channels, kernel_size, arguments) {}
};

}  // namespace amp::nn
