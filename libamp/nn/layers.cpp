// The layers: initial values, and the op each calls.
#include "libamp/nn/layers.h"

#include <cmath>

#include "libamp/nn/init.h"
#include "libamp/ops/conv.h"
#include "libamp/ops/index.h"
#include "libamp/ops/math.h"
#include "libamp/ops/pointwise.h"
#include "libamp/ops/pool.h"
#include "libamp/ops/view.h"

namespace amp::nn {
namespace {

Tensor new_weight(const Shape& sizes) {
  const CauseScope cause(&Context::cause, MemoryCause::weights);
  Tensor weight = empty(sizes);
  init::kaiming_uniform_(weight, std::sqrt(5.0));
  return weight;
}

Tensor new_bias(std::int64_t size, const Tensor& weight) {
  const CauseScope cause(&Context::cause, MemoryCause::weights);
  const std::int64_t fan_in = init::fans(weight).in;
  const double bound = fan_in > 0 ? 1 / std::sqrt(static_cast<double>(fan_in)) : 0;
  Tensor bias = empty({size});
  init::uniform_(bias, -bound, bound);
  return bias;
}

}  // namespace

Linear::Linear(std::int64_t in_features, std::int64_t out_features, bool with_bias) {
  weight = register_parameter("weight", new_weight({out_features, in_features}));
  if (with_bias) bias = register_parameter("bias", new_bias(out_features, weight));
}
Tensor Linear::forward(const Tensor& input) { return linear(input, weight, bias); }

Conv2d::Conv2d(std::int64_t in_channels, std::int64_t out_channels, const SizeList& kernel_size,
               const ConvArguments& arguments)
    : arguments_(arguments) {
  if (arguments.groups < 1 || in_channels % arguments.groups != 0 || out_channels % arguments.groups != 0)
    fail(ErrorCode::value, "Conv2d",
         "channels must be divisible by groups: got " + std::to_string(in_channels) + " in, " +
             std::to_string(out_channels) + " out, " + std::to_string(arguments.groups) + " groups");
  const Shape kernel = kernel_size.expand(2, "Conv2d kernel_size");
  weight =
      register_parameter("weight", new_weight({out_channels, in_channels / arguments.groups, kernel[0], kernel[1]}));
  if (arguments.bias) bias = register_parameter("bias", new_bias(out_channels, weight));
}
Tensor Conv2d::forward(const Tensor& input) {
  return conv2d(input, weight, bias, arguments_.stride, arguments_.padding, arguments_.dilation, arguments_.groups);
}

Tensor MaxPool2d::forward(const Tensor& input) { return max_pool2d(input, kernel_size_, stride_, padding_); }
Tensor AvgPool2d::forward(const Tensor& input) { return avg_pool2d(input, kernel_size_, stride_, padding_); }
Tensor AdaptiveAvgPool2d::forward(const Tensor& input) { return adaptive_avg_pool2d(input, output_size_); }
Tensor Flatten::forward(const Tensor& input) { return flatten(input, start_dim_, end_dim_); }

Embedding::Embedding(std::int64_t num_embeddings, std::int64_t embedding_dim, std::int64_t padding_idx)
    : padding_idx_(padding_idx) {
  if (padding_idx < -1 || padding_idx >= num_embeddings)
    fail(ErrorCode::value, "Embedding",
         "padding_idx must be a row of the table: got " + std::to_string(padding_idx) + " of " +
             std::to_string(num_embeddings));
  const CauseScope cause(&Context::cause, MemoryCause::weights);
  const Tensor table = empty({num_embeddings, embedding_dim});
  init::normal_(table);
  if (padding_idx >= 0) init::constant_(table.select(0, padding_idx), 0);
  weight = register_parameter("weight", table);
}
Tensor Embedding::forward(const Tensor& input) { return embedding(weight, input, padding_idx_); }

Dropout::Dropout(double p) : p_(p) {
  if (!(p >= 0 && p <= 1))
    fail(ErrorCode::value, "Dropout", "p must be a probability: got " + std::to_string(p) + ", need a value in [0, 1]");
}
Tensor Dropout::forward(const Tensor& input) { return dropout(input, p_, is_training()); }

}  // namespace amp::nn
