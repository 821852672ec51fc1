// The convolution layers: initial values, padding other than zeros, and the op each calls.
#include "libamp/nn/conv.h"

#include "libamp/nn/new_parameter.h"
#include "libamp/ops/arrange.h"

namespace amp::nn {
namespace {

constexpr const char* kConv[] = {"Conv1d", "Conv2d", "Conv3d"};
constexpr const char* kTranspose[] = {"ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"};

Shape weight_sizes(std::int64_t first, std::int64_t second, const Shape& kernel) {
  Shape sizes{first, second};
  for (const std::int64_t k : kernel) sizes.push_back(k);
  return sizes;
}

void check_padding(const ConvArguments& arguments, int spatial, const char* where) {
  const std::string text(arguments.padding.mode());
  if (!text.empty() && text != "same" && text != "valid")
    fail(ErrorCode::value, where, "padding: got '" + text + "', need 'valid', 'same' or numbers");
  if (text != "same") return;
  for (const std::int64_t s : arguments.stride.expand(spatial, where))
    if (s != 1)
      fail(ErrorCode::value, where,
           "padding='same' needs stride 1: got " + to_string(arguments.stride.expand(spatial, where)));
}

void check_channels(std::int64_t in, std::int64_t out, std::int64_t groups, const char* where) {
  if (groups < 1 || in % groups != 0 || out % groups != 0)
    fail(ErrorCode::value, where,
         "channels must be divisible by groups: got " + std::to_string(in) + " in, " + std::to_string(out) + " out, " +
             std::to_string(groups) + " groups");
}

}  // namespace

Conv::Conv(int spatial, std::int64_t in_channels, std::int64_t out_channels, const SizeList& kernel_size,
           const ConvArguments& arguments)
    : spatial_(spatial), arguments_(arguments) {
  const char* where = kConv[spatial - 1];
  check_channels(in_channels, out_channels, arguments.groups, where);
  const std::string& mode = arguments.padding_mode;
  if (mode != "zeros" && mode != "reflect" && mode != "replicate" && mode != "circular")
    fail(ErrorCode::value, where,
         "padding_mode: got '" + mode + "', need 'zeros', 'reflect', 'replicate' or 'circular'");
  check_padding(arguments, spatial, where);
  const Shape sizes = weight_sizes(out_channels, in_channels / arguments.groups, kernel_size.expand(spatial, where));
  weight = register_parameter("weight", new_weight(sizes));
  if (arguments.bias) bias = register_parameter("bias", new_bias(out_channels, weight));
}

// The input with what the mode puts outside it. "same" has an odd one at the end.
Tensor Conv::padded(const Tensor& input) const {
  const char* where = kConv[spatial_ - 1];
  if (arguments_.padding.mode() == "valid") return input;
  const bool same = arguments_.padding.mode() == "same";
  const Shape dilation = arguments_.dilation.expand(spatial_, where);
  const Shape padding = same ? Shape() : arguments_.padding.expand(spatial_, where);
  Shape pairs;
  for (int d = spatial_ - 1; d >= 0; --d) {
    const std::int64_t total = same ? dilation[d] * (weight.size(d + 2) - 1) : 2 * padding[d];
    pairs.push_back(total / 2);
    pairs.push_back(total - total / 2);
  }
  return pad(input, pairs, arguments_.padding_mode);
}

Tensor Conv::forward(const Tensor& input) {
  const bool pads = arguments_.padding_mode != "zeros";
  const Tensor x = pads ? padded(input) : input;
  const ConvPadding padding = pads ? ConvPadding(std::int64_t{0}) : arguments_.padding;
  const auto run = spatial_ == 1 ? conv1d : spatial_ == 2 ? conv2d : conv3d;
  return run(x, weight, bias, arguments_.stride, padding, arguments_.dilation, arguments_.groups);
}

ConvTranspose::ConvTranspose(int spatial, std::int64_t in_channels, std::int64_t out_channels,
                             const SizeList& kernel_size, const ConvTransposeArguments& arguments)
    : spatial_(spatial), arguments_(arguments) {
  const char* where = kTranspose[spatial - 1];
  check_channels(in_channels, out_channels, arguments.groups, where);
  const Shape sizes = weight_sizes(in_channels, out_channels / arguments.groups, kernel_size.expand(spatial, where));
  weight = register_parameter("weight", new_weight(sizes));
  if (arguments.bias) bias = register_parameter("bias", new_bias(out_channels, weight));
}

Shape ConvTranspose::output_padding_for(const Tensor& input, Shape output_size) const {
  const char* where = kTranspose[spatial_ - 1];
  const int leading = input.dim() - spatial_;
  // Batch and channels may be given along with the spatial sizes.
  if (output_size.size() == input.dim())
    for (int d = 0; d < leading; ++d) output_size.erase(0);
  if (output_size.size() != spatial_)
    fail(ErrorCode::value, where,
         "output_size needs " + std::to_string(spatial_) + " numbers: got " + to_string(output_size));
  const Shape stride = arguments_.stride.expand(spatial_, where), padding = arguments_.padding.expand(spatial_, where);
  const Shape dilation = arguments_.dilation.expand(spatial_, where);
  Shape extra;
  for (int d = 0; d < spatial_; ++d) {
    const std::int64_t least =
        (input.size(leading + d) - 1) * stride[d] - 2 * padding[d] + dilation[d] * (weight.size(d + 2) - 1) + 1;
    extra.push_back(output_size[d] - least);
    if (extra[d] < 0 || extra[d] > stride[d] - 1)
      fail(ErrorCode::value, where,
           "output_size is not possible: got " + to_string(output_size) + ", need dim " + std::to_string(d) + " from " +
               std::to_string(least) + " to " + std::to_string(least + stride[d] - 1));
  }
  return extra;
}

Tensor ConvTranspose::forward(const Tensor& input, const Shape& output_size) {
  const SizeList extra =
      output_size.empty() ? arguments_.output_padding : SizeList(output_padding_for(input, output_size));
  const auto run = spatial_ == 1 ? conv_transpose1d : spatial_ == 2 ? conv_transpose2d : conv_transpose3d;
  return run(input, weight, bias, arguments_.stride, arguments_.padding, extra, arguments_.groups, arguments_.dilation);
}
Tensor ConvTranspose::operator()(const Tensor& input, const Shape& output_size) {
  const Scope scope(*this);
  return forward(input, output_size);
}

}  // namespace amp::nn
