// Convolutions: arguments in, op calls out. Shapes are checked by the bodies.
#include "libamp/ops/conv.h"

#include "libamp/dispatch/run_op.h"
#include "libamp/ops/create.h"
#include "libamp/ops/view.h"

namespace amp {
namespace {

constexpr OpId kConv[] = {OpId::conv1d, OpId::conv2d, OpId::conv3d};
constexpr OpId kTranspose[] = {OpId::conv_transpose1d, OpId::conv_transpose2d, OpId::conv_transpose3d};

Attributes attributes_of(const ConvOptions& o) {
  return {{"stride", o.stride}, {"padding", o.padding}, {"dilation", o.dilation}, {"groups", o.groups}};
}

// Runs `call` on a batched input; an input without a batch dim gets one for the time of the call.
template <typename F>
Tensor with_batch(const Tensor& input, int spatial, F run) {
  if (!input.defined() || input.dim() != spatial + 1) return run(input);
  return squeeze(run(unsqueeze(input, 0)), 0);
}

// Padding "same" with an odd total has the odd one at the end. The convolution pads both sides alike, so it pads one
// more on each, and the first output in such a dim is dropped.
struct SamePadding {
  Shape each_side, drop;
};
SamePadding same_padding(OpId op, const Tensor& weight, const Shape& stride, const Shape& dilation) {
  SamePadding padding;
  for (int d = 0; d < stride.size(); ++d) {
    if (stride[d] != 1)
      fail(ErrorCode::runtime, op_info(op).name, "padding='same' needs stride 1: got " + to_string(stride));
    const std::int64_t total = dilation[d] * (weight.size(d + 2) - 1);
    padding.each_side.push_back((total + 1) / 2);
    padding.drop.push_back(total % 2);
  }
  return padding;
}

Tensor drop_first(Tensor output, const Shape& drop) {
  for (int d = 0; d < drop.size(); ++d)
    if (drop[d] > 0) output = narrow(output, d + 2, drop[d], output.size(d + 2) - drop[d]);
  return output;
}

Tensor conv(int spatial, const Tensor& input, const Tensor& weight, const Tensor& bias, const SizeList& stride,
            const ConvPadding& padding, const SizeList& dilation, std::int64_t groups) {
  const OpId op = kConv[spatial - 1];
  const std::string_view where = op_info(op).name;
  ConvOptions options{stride.expand(spatial, where), {}, dilation.expand(spatial, where), groups};
  Shape drop;
  if (padding.mode() == "same") {
    const SamePadding same = same_padding(op, weight, options.stride, options.dilation);
    options.padding = same.each_side;
    drop = same.drop;
  } else if (padding.mode() == "valid") {
    options.padding = SizeList(0).expand(spatial, where);
  } else if (!padding.mode().empty()) {
    fail(ErrorCode::runtime, where,
         "unknown padding: got '" + std::string(padding.mode()) + "', need 'valid', 'same' or numbers");
  } else {
    options.padding = padding.expand(spatial, where);
  }
  return with_batch(input, spatial, [&](const Tensor& batched) {
    return drop_first(run_op1({op, {batched, weight, bias}, attributes_of(options), {}}), drop);
  });
}

Tensor conv_transpose(int spatial, const Tensor& input, const Tensor& weight, const Tensor& bias,
                      const SizeList& stride, const SizeList& padding, const SizeList& output_padding,
                      std::int64_t groups, const SizeList& dilation) {
  const OpId op = kTranspose[spatial - 1];
  const std::string_view where = op_info(op).name;
  Attributes attributes = attributes_of(
      {stride.expand(spatial, where), padding.expand(spatial, where), dilation.expand(spatial, where), groups});
  attributes.set("output_padding", output_padding.expand(spatial, where));
  return with_batch(input, spatial, [&](const Tensor& batched) {
    return run_op1({op, {batched, weight, bias}, attributes, {}});
  });
}

}  // namespace

Tensor conv1d(const Tensor& input, const Tensor& weight, const Tensor& bias, const SizeList& stride,
              const ConvPadding& padding, const SizeList& dilation, std::int64_t groups) {
  return conv(1, input, weight, bias, stride, padding, dilation, groups);
}
Tensor conv2d(const Tensor& input, const Tensor& weight, const Tensor& bias, const SizeList& stride,
              const ConvPadding& padding, const SizeList& dilation, std::int64_t groups) {
  return conv(2, input, weight, bias, stride, padding, dilation, groups);
}
Tensor conv3d(const Tensor& input, const Tensor& weight, const Tensor& bias, const SizeList& stride,
              const ConvPadding& padding, const SizeList& dilation, std::int64_t groups) {
  return conv(3, input, weight, bias, stride, padding, dilation, groups);
}

Tensor conv_transpose1d(const Tensor& input, const Tensor& weight, const Tensor& bias, const SizeList& stride,
                        const SizeList& padding, const SizeList& output_padding, std::int64_t groups,
                        const SizeList& dilation) {
  return conv_transpose(1, input, weight, bias, stride, padding, output_padding, groups, dilation);
}
Tensor conv_transpose2d(const Tensor& input, const Tensor& weight, const Tensor& bias, const SizeList& stride,
                        const SizeList& padding, const SizeList& output_padding, std::int64_t groups,
                        const SizeList& dilation) {
  return conv_transpose(2, input, weight, bias, stride, padding, output_padding, groups, dilation);
}
Tensor conv_transpose3d(const Tensor& input, const Tensor& weight, const Tensor& bias, const SizeList& stride,
                        const SizeList& padding, const SizeList& output_padding, std::int64_t groups,
                        const SizeList& dilation) {
  return conv_transpose(3, input, weight, bias, stride, padding, output_padding, groups, dilation);
}

Tensor convolution(const Tensor& input, const Tensor& weight, const Tensor& bias, const SizeList& stride,
                   const SizeList& padding, const SizeList& dilation, bool transposed, const SizeList& output_padding,
                   std::int64_t groups) {
  const int spatial = weight.dim() - 2;
  if (spatial < 1 || spatial > 3 || input.dim() != weight.dim())
    fail(ErrorCode::runtime, "convolution",
         "needs one to three spatial dims, and a batch: got " + describe(input) + " and weight " + describe(weight));
  if (transposed)
    return conv_transpose(spatial, input, weight, bias, stride, padding, output_padding, groups, dilation);
  return conv(spatial, input, weight, bias, stride, padding.values(), dilation, groups);
}
Tensor conv_tbc(const Tensor& input, const Tensor& weight, const Tensor& bias, std::int64_t pad) {
  return run_op1({OpId::conv_tbc, {input, weight, bias}, {{"pad", pad}}, {}});
}

Tensor convolution(const Tensor& input, const Tensor& weight, const Tensor& bias, const ConvOptions& options) {
  return run_op1({kConv[weight.dim() - 3], {input, weight, bias}, attributes_of(options), {}});
}

Tensor conv_backward_input(const Tensor& grad, const Tensor& weight, const Shape& input_sizes,
                           const ConvOptions& options) {
  Attributes attributes = attributes_of(options);
  attributes.set("input_sizes", input_sizes);
  return run_op1({OpId::conv_backward_input, {grad, weight}, attributes, {}});
}

Tensor conv_backward_weight(const Tensor& grad, const Tensor& input, const Shape& weight_sizes,
                            const ConvOptions& options) {
  Attributes attributes = attributes_of(options);
  attributes.set("weight_sizes", weight_sizes);
  return run_op1({OpId::conv_backward_weight, {grad, input}, attributes, {}});
}

}  // namespace amp
