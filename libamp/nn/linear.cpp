// Linear layers and those that change shapes: initial values, and the function each calls.
#include "libamp/nn/linear.h"

#include "libamp/nn/new_parameter.h"
#include "libamp/ops/arrange.h"
#include "libamp/ops/distance.h"
#include "libamp/ops/math.h"
#include "libamp/ops/product.h"
#include "libamp/ops/view.h"

namespace amp::nn {

Linear::Linear(std::int64_t in_features, std::int64_t out_features, bool with_bias) {
  weight = register_parameter("weight", new_weight({out_features, in_features}));
  if (with_bias) bias = register_parameter("bias", new_bias(out_features, weight));
}
Tensor Linear::forward(const Tensor& input) { return linear(input, weight, bias); }

Bilinear::Bilinear(std::int64_t in1_features, std::int64_t in2_features, std::int64_t out_features, bool with_bias) {
  if (in1_features < 1)
    fail(ErrorCode::value, "Bilinear", "in1_features must be at least 1: got " + std::to_string(in1_features));
  const double bound = 1 / std::sqrt(static_cast<double>(in1_features));
  weight = register_parameter("weight", new_uniform({out_features, in1_features, in2_features}, bound));
  if (with_bias) bias = register_parameter("bias", new_uniform({out_features}, bound));
}
Tensor Bilinear::forward(const Tensor& input1, const Tensor& input2) { return bilinear(input1, input2, weight, bias); }
Tensor Bilinear::operator()(const Tensor& input1, const Tensor& input2) {
  const Scope scope(*this);
  return forward(input1, input2);
}

Tensor Flatten::forward(const Tensor& input) { return flatten(input, start_dim_, end_dim_); }

Tensor Unflatten::forward(const Tensor& input) {
  const int dim = wrap_dim(dim_, input.dim(), "Unflatten");
  Shape sizes;
  for (int d = 0; d < input.dim(); ++d) {
    if (d != dim) {
      sizes.push_back(input.size(d));
      continue;
    }
    std::int64_t known = 1;
    for (const std::int64_t size : sizes_)
      if (size != -1) known *= size;
    for (const std::int64_t size : sizes_) sizes.push_back(size == -1 && known > 0 ? input.size(d) / known : size);
    if (known <= 0 || input.size(d) % known != 0)
      fail(ErrorCode::runtime, "Unflatten",
           "sizes do not fit: got " + to_string(sizes_) + " for dim " + std::to_string(dim) + " of " + describe(input));
  }
  return reshape(input, sizes);
}

Tensor Upsample::forward(const Tensor& input) {
  return scale_factor_ ? interpolate(input, *scale_factor_, mode_, align_corners_)
                       : interpolate(input, size_, mode_, align_corners_);
}

Tensor PixelShuffle::forward(const Tensor& input) { return pixel_shuffle(input, factor_); }

Tensor CosineSimilarity::forward(const Tensor& x1, const Tensor& x2) { return cosine_similarity(x1, x2, dim_, eps_); }
Tensor CosineSimilarity::operator()(const Tensor& x1, const Tensor& x2) {
  const Scope scope(*this);
  return forward(x1, x2);
}

}  // namespace amp::nn
