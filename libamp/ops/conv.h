// Convolutions. Listed low precision.
#pragma once
#include "libamp/core/tensor.h"
#include "libamp/ops/size_list.h"

namespace amp {

// input [batch, in, spatial...] or [in, spatial...], weight [out, in / groups, kernel...], bias [out] or undefined
// -> [batch, out, (spatial + 2 padding - dilation (kernel - 1) - 1) / stride + 1 ...]
Tensor conv1d(const Tensor& input, const Tensor& weight, const Tensor& bias = {}, const SizeList& stride = 1,
              const ConvPadding& padding = 0, const SizeList& dilation = 1, std::int64_t groups = 1);
Tensor conv2d(const Tensor& input, const Tensor& weight, const Tensor& bias = {}, const SizeList& stride = 1,
              const ConvPadding& padding = 0, const SizeList& dilation = 1, std::int64_t groups = 1);
Tensor conv3d(const Tensor& input, const Tensor& weight, const Tensor& bias = {}, const SizeList& stride = 1,
              const ConvPadding& padding = 0, const SizeList& dilation = 1, std::int64_t groups = 1);

// input [batch, in, spatial...] or [in, spatial...], weight [in, out / groups, kernel...], bias [out] or undefined
// -> [batch, out, (spatial - 1) stride - 2 padding + dilation (kernel - 1) + output_padding + 1 ...]
Tensor conv_transpose1d(const Tensor& input, const Tensor& weight, const Tensor& bias = {}, const SizeList& stride = 1,
                        const SizeList& padding = 0, const SizeList& output_padding = 0, std::int64_t groups = 1,
                        const SizeList& dilation = 1);
Tensor conv_transpose2d(const Tensor& input, const Tensor& weight, const Tensor& bias = {}, const SizeList& stride = 1,
                        const SizeList& padding = 0, const SizeList& output_padding = 0, std::int64_t groups = 1,
                        const SizeList& dilation = 1);
Tensor conv_transpose3d(const Tensor& input, const Tensor& weight, const Tensor& bias = {}, const SizeList& stride = 1,
                        const SizeList& padding = 0, const SizeList& output_padding = 0, std::int64_t groups = 1,
                        const SizeList& dilation = 1);

/// torch.convolution: any of the six, by the weight's dims. Batched input.
Tensor convolution(const Tensor& input, const Tensor& weight, const Tensor& bias, const SizeList& stride,
                   const SizeList& padding, const SizeList& dilation, bool transposed, const SizeList& output_padding,
                   std::int64_t groups);
/// Over the first of [time, batch, in] with weight [kernel, in, out] and bias [out] -> [time', batch, out]
Tensor conv_tbc(const Tensor& input, const Tensor& weight, const Tensor& bias, std::int64_t pad = 0);

/// What the gradients of convolutions are made of. All lists have one number per spatial dim.
struct ConvOptions {
  Shape stride, padding, dilation;
  std::int64_t groups = 1;
};
/// The convolution of a batched input with as many spatial dims as the weight has.
Tensor convolution(const Tensor& input, const Tensor& weight, const Tensor& bias, const ConvOptions& options);
/// Its gradient for the input, of size input_sizes.
Tensor conv_backward_input(const Tensor& grad, const Tensor& weight, const Shape& input_sizes,
                           const ConvOptions& options);
/// Its gradient for the weight, of size weight_sizes.
Tensor conv_backward_weight(const Tensor& grad, const Tensor& input, const Shape& weight_sizes,
                            const ConvOptions& options);

}  // namespace amp
