// Convolutions of one to three spatial dims, all computed as three (missing leading ones have size 1).
// Three bodies make a closed system: the convolution, its gradient for the input (which is the transposed
// convolution) and its gradient for the weight; the gradient of each is made of the other two.
#pragma once
#include "libamp/backend/cpu/dense.h"
#include "libamp/backend/cpu/gemm.h"

namespace amp::cpu {

/// Sizes of one convolution. `in` is the side the kernel reads, `out` the side with one position per kernel placement;
/// a transposed convolution goes from `out` to `in`.
struct ConvGeometry {
  std::int64_t batch = 0, groups = 1, in_channels = 0, out_channels = 0;
  std::int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1}, kernel[3] = {1, 1, 1};
  std::int64_t stride[3] = {1, 1, 1}, padding[3] = {0, 0, 0}, dilation[3] = {1, 1, 1};

  [[nodiscard]] std::int64_t in_positions() const { return in[0] * in[1] * in[2]; }
  [[nodiscard]] std::int64_t out_positions() const { return out[0] * out[1] * out[2]; }
  [[nodiscard]] std::int64_t kernel_positions() const { return kernel[0] * kernel[1] * kernel[2]; }
  [[nodiscard]] std::int64_t in_per_group() const { return in_channels / groups; }
  [[nodiscard]] std::int64_t out_per_group() const { return out_channels / groups; }
  /// Rows of the column matrix of one group.
  [[nodiscard]] std::int64_t column_rows() const { return in_per_group() * kernel_positions(); }
  /// Kernel 1, stride 1, no padding: the image is its own column matrix.
  [[nodiscard]] bool is_pointwise() const;
};

/// Reads stride, padding, dilation and groups of the call and checks that the shapes fit each other.
/// weight_sizes: [out_channels, in_channels / groups, kernel...]
ConvGeometry conv_geometry(const OpCall& call, int spatial, const Shape& in_sizes, const Shape& weight_sizes);
/// Throws unless both operands (and the bias, if any) have one floating dtype.
void require_conv_dtypes(const OpCall& call, const Tensor& a, const Tensor& b, const Tensor& bias);

/// Columns [first, last) of the column matrix of one group's image: row (channel, kernel position), column = output
/// position. im2col + gemm is what this backend uses for every convolution: it turns all shapes, strides and groups
/// into the one product BLAS is tuned for, at the price of copying the input kernel-size times; the copy is made in
/// tiles that stay in the L2 cache.
template <typename C>
void im2col(const ConvGeometry& g, const C* image, std::int64_t first, std::int64_t last, C* columns);
/// The transpose of im2col: adds the columns back into the image.
template <typename C>
void col2im_add(const ConvGeometry& g, const C* columns, std::int64_t first, std::int64_t last, C* image);

/// Columns of one tile: as many as keep the tile within half an L2 cache.
std::int64_t conv_tile_columns(const ConvGeometry& g, std::size_t element_bytes);

}  // namespace amp::cpu
