// Pooling: arguments in, op calls out.
#include "libamp/ops/pool.h"

#include "libamp/dispatch/run_op.h"
#include "libamp/ops/create.h"
#include "libamp/ops/math.h"
#include "libamp/ops/pointwise.h"
#include "libamp/ops/view.h"

namespace amp {
namespace {

Attributes window_attributes(OpId op, int spatial, const SizeList& kernel, const SizeList& stride,
                             const SizeList& padding, bool ceil_mode) {
  const std::string_view where = op_info(op).name;
  const Shape sizes = kernel.expand(spatial, where);
  return {{"kernel_size", sizes},
          {"stride", stride.empty() ? sizes : stride.expand(spatial, where)},
          {"padding", padding.expand(spatial, where)},
          {"ceil_mode", ceil_mode}};
}

Tensors max_pool(OpId op, int spatial, const Tensor& input, const SizeList& kernel, const SizeList& stride,
                 const SizeList& padding, const SizeList& dilation, bool ceil_mode) {
  Attributes attributes = window_attributes(op, spatial, kernel, stride, padding, ceil_mode);
  attributes.set("dilation", dilation.expand(spatial, op_info(op).name));
  return run_op({op, {input}, attributes, {}});
}

Tensor avg_pool(OpId op, int spatial, const Tensor& input, const SizeList& kernel, const SizeList& stride,
                const SizeList& padding, bool ceil_mode, bool count_include_pad, std::optional<std::int64_t> divisor) {
  Attributes attributes = window_attributes(op, spatial, kernel, stride, padding, ceil_mode);
  attributes.set("count_include_pad", count_include_pad);
  if (divisor) {
    if (*divisor == 0) fail(ErrorCode::runtime, op_info(op).name, "divisor_override must not be zero");
    attributes.set("divisor_override", *divisor);
  }
  return run_op1({op, {input}, attributes, {}});
}

Tensor adaptive(OpId op, int spatial, const Tensor& input, const SizeList& output_size) {
  return run_op1({op, {input}, {{"output_size", output_size.expand(spatial, op_info(op).name)}}, {}});
}

// A dim of size 1 in front of the one spatial dim: the 1-dim forms are 2-dim ones.
Shape in_row(const SizeList& list, std::int64_t other, std::string_view where) {
  return {other, list.expand(1, where)[0]};
}
SizeList stride_in_row(const SizeList& stride, std::string_view where) {
  return stride.empty() ? SizeList() : SizeList(in_row(stride, 1, where));
}

}  // namespace

Tensor max_pool1d(const Tensor& input, const SizeList& kernel_size, const SizeList& stride, const SizeList& padding,
                  const SizeList& dilation, bool ceil_mode) {
  constexpr std::string_view where = "max_pool1d";
  return squeeze(max_pool2d(unsqueeze(input, -2), in_row(kernel_size, 1, where), stride_in_row(stride, where),
                            in_row(padding, 0, where), in_row(dilation, 1, where), ceil_mode),
                 -2);
}
Tensor max_pool2d(const Tensor& input, const SizeList& kernel_size, const SizeList& stride, const SizeList& padding,
                  const SizeList& dilation, bool ceil_mode) {
  return max_pool(OpId::max_pool2d, 2, input, kernel_size, stride, padding, dilation, ceil_mode)[0];
}
Tensor max_pool3d(const Tensor& input, const SizeList& kernel_size, const SizeList& stride, const SizeList& padding,
                  const SizeList& dilation, bool ceil_mode) {
  return max_pool(OpId::max_pool3d, 3, input, kernel_size, stride, padding, dilation, ceil_mode)[0];
}
std::pair<Tensor, Tensor> max_pool1d_with_indices(const Tensor& input, const SizeList& kernel_size,
                                                  const SizeList& stride, const SizeList& padding,
                                                  const SizeList& dilation, bool ceil_mode) {
  constexpr std::string_view where = "max_pool1d";
  const auto [maxima, indices] =
      max_pool2d_with_indices(unsqueeze(input, -2), in_row(kernel_size, 1, where), stride_in_row(stride, where),
                              in_row(padding, 0, where), in_row(dilation, 1, where), ceil_mode);
  return {squeeze(maxima, -2), squeeze(indices, -2)};
}
std::pair<Tensor, Tensor> max_pool3d_with_indices(const Tensor& input, const SizeList& kernel_size,
                                                  const SizeList& stride, const SizeList& padding,
                                                  const SizeList& dilation, bool ceil_mode) {
  const Tensors both = max_pool(OpId::max_pool3d, 3, input, kernel_size, stride, padding, dilation, ceil_mode);
  return {both[0], to(both[1], DType::int64)};
}
std::pair<Tensor, Tensor> max_pool2d_with_indices(const Tensor& input, const SizeList& kernel_size,
                                                  const SizeList& stride, const SizeList& padding,
                                                  const SizeList& dilation, bool ceil_mode) {
  const Tensors both = max_pool(OpId::max_pool2d, 2, input, kernel_size, stride, padding, dilation, ceil_mode);
  return {both[0], to(both[1], DType::int64)};
}

Tensor avg_pool1d(const Tensor& input, const SizeList& kernel_size, const SizeList& stride, const SizeList& padding,
                  bool ceil_mode, bool count_include_pad) {
  constexpr std::string_view where = "avg_pool1d";
  return squeeze(avg_pool2d(unsqueeze(input, -2), in_row(kernel_size, 1, where), stride_in_row(stride, where),
                            in_row(padding, 0, where), ceil_mode, count_include_pad),
                 -2);
}
Tensor avg_pool2d(const Tensor& input, const SizeList& kernel_size, const SizeList& stride, const SizeList& padding,
                  bool ceil_mode, bool count_include_pad, std::optional<std::int64_t> divisor_override) {
  return avg_pool(OpId::avg_pool2d, 2, input, kernel_size, stride, padding, ceil_mode, count_include_pad,
                  divisor_override);
}
Tensor avg_pool3d(const Tensor& input, const SizeList& kernel_size, const SizeList& stride, const SizeList& padding,
                  bool ceil_mode, bool count_include_pad, std::optional<std::int64_t> divisor_override) {
  return avg_pool(OpId::avg_pool3d, 3, input, kernel_size, stride, padding, ceil_mode, count_include_pad,
                  divisor_override);
}

Tensor adaptive_avg_pool1d(const Tensor& input, const SizeList& output_size) {
  return squeeze(adaptive_avg_pool2d(unsqueeze(input, -2), in_row(output_size, 1, "adaptive_avg_pool1d")), -2);
}
Tensor adaptive_avg_pool2d(const Tensor& input, const SizeList& output_size) {
  return adaptive(OpId::adaptive_avg_pool2d, 2, input, output_size);
}
Tensor adaptive_avg_pool3d(const Tensor& input, const SizeList& output_size) {
  return adaptive(OpId::adaptive_avg_pool3d, 3, input, output_size);
}

namespace {

std::pair<Tensor, Tensor> with_indices(OpId op, Tensors inputs, Attributes attributes) {
  const Tensors both = run_op({op, std::move(inputs), std::move(attributes), {}});
  return {both[0], to(both[1], DType::int64)};
}
std::pair<Tensor, Tensor> adaptive_max(OpId op, int spatial, const Tensor& input, const SizeList& output_size) {
  return with_indices(op, {input}, {{"output_size", output_size.expand(spatial, op_info(op).name)}});
}
std::pair<Tensor, Tensor> fractional_max(OpId op, int spatial, const Tensor& input, const SizeList& kernel,
                                         const SizeList& output_size, const Tensor& samples) {
  const std::string_view where = op_info(op).name;
  Tensor drawn = samples;
  if (!drawn.defined()) {
    Shape sizes;
    for (int d = 0; d < input.dim() - spatial; ++d) sizes.push_back(input.size(d));
    sizes.push_back(spatial);
    drawn = rand(sizes, {.dtype = input.dtype() == DType::float64 ? DType::float64 : DType::float32});
  }
  return with_indices(
      op, {input, drawn},
      {{"kernel_size", kernel.expand(spatial, where)}, {"output_size", output_size.expand(spatial, where)}});
}
Tensor max_unpool(OpId op, int spatial, const Tensor& input, const Tensor& indices, const SizeList& kernel,
                  const SizeList& stride, const SizeList& padding, const SizeList& output_size) {
  const std::string_view where = op_info(op).name;
  const Shape k = kernel.expand(spatial, where), s = stride.empty() ? k : stride.expand(spatial, where),
              p = padding.expand(spatial, where);
  Shape sizes;
  // As PyTorch, a full output_size with batch and channels is taken too.
  const Shape& given = output_size.values();
  for (int d = 0; d < spatial; ++d)
    sizes.push_back(given.empty() ? (input.size(d - spatial) - 1) * s[d] - 2 * p[d] + k[d]
                                  : given[given.size() - spatial + d]);
  return run_op1({op, {input, indices}, {{"output_size", sizes}}, {}});
}
// Averages times their count; the sign keeps odd norms of negative sums at zero, as in PyTorch.
Tensor root_of_sum(const Tensor& averages, double count, double norm_type) {
  return pow(mul(sign(averages) * relu(abs(averages)), wrapped_number(count)), 1 / norm_type);
}

}  // namespace

std::pair<Tensor, Tensor> adaptive_max_pool1d(const Tensor& input, const SizeList& output_size) {
  const auto [maxima, indices] =
      adaptive_max_pool2d(unsqueeze(input, -2), in_row(output_size, 1, "adaptive_max_pool1d"));
  return {squeeze(maxima, -2), squeeze(indices, -2)};
}
std::pair<Tensor, Tensor> adaptive_max_pool2d(const Tensor& input, const SizeList& output_size) {
  return adaptive_max(OpId::adaptive_max_pool2d, 2, input, output_size);
}
std::pair<Tensor, Tensor> adaptive_max_pool3d(const Tensor& input, const SizeList& output_size) {
  return adaptive_max(OpId::adaptive_max_pool3d, 3, input, output_size);
}
std::pair<Tensor, Tensor> fractional_max_pool2d(const Tensor& input, const SizeList& kernel_size,
                                                const SizeList& output_size, const Tensor& random_samples) {
  return fractional_max(OpId::fractional_max_pool2d, 2, input, kernel_size, output_size, random_samples);
}
std::pair<Tensor, Tensor> fractional_max_pool3d(const Tensor& input, const SizeList& kernel_size,
                                                const SizeList& output_size, const Tensor& random_samples) {
  return fractional_max(OpId::fractional_max_pool3d, 3, input, kernel_size, output_size, random_samples);
}

Tensor max_unpool1d(const Tensor& input, const Tensor& indices, const SizeList& kernel_size, const SizeList& stride,
                    const SizeList& padding, const SizeList& output_size) {
  constexpr std::string_view where = "max_unpool1d";
  const Shape& given = output_size.values();
  return squeeze(max_unpool2d(unsqueeze(input, -2), unsqueeze(indices, -2), in_row(kernel_size, 1, where),
                              stride_in_row(stride, where), in_row(padding, 0, where),
                              given.empty() ? SizeList() : SizeList(Shape{1, given.back()})),
                 -2);
}
Tensor max_unpool2d(const Tensor& input, const Tensor& indices, const SizeList& kernel_size, const SizeList& stride,
                    const SizeList& padding, const SizeList& output_size) {
  return max_unpool(OpId::max_unpool2d, 2, input, indices, kernel_size, stride, padding, output_size);
}
Tensor max_unpool3d(const Tensor& input, const Tensor& indices, const SizeList& kernel_size, const SizeList& stride,
                    const SizeList& padding, const SizeList& output_size) {
  return max_unpool(OpId::max_unpool3d, 3, input, indices, kernel_size, stride, padding, output_size);
}

Tensor lp_pool1d(const Tensor& input, double norm_type, const SizeList& kernel_size, const SizeList& stride,
                 bool ceil_mode) {
  const double count = static_cast<double>(kernel_size.expand(1, "lp_pool1d")[0]);
  return root_of_sum(avg_pool1d(pow(input, norm_type), kernel_size, stride, 0, ceil_mode), count, norm_type);
}
Tensor lp_pool2d(const Tensor& input, double norm_type, const SizeList& kernel_size, const SizeList& stride,
                 bool ceil_mode) {
  const double count = static_cast<double>(numel_of(kernel_size.expand(2, "lp_pool2d")));
  return root_of_sum(avg_pool2d(pow(input, norm_type), kernel_size, stride, 0, ceil_mode), count, norm_type);
}
Tensor lp_pool3d(const Tensor& input, double norm_type, const SizeList& kernel_size, const SizeList& stride,
                 bool ceil_mode) {
  const double count = static_cast<double>(numel_of(kernel_size.expand(3, "lp_pool3d")));
  return root_of_sum(avg_pool3d(pow(input, norm_type), kernel_size, stride, 0, ceil_mode), count, norm_type);
}

}  // namespace amp
