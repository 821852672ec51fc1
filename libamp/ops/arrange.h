// Elements in other places: flipping, rolling, repeating, padding, diagonals, windows, searching.
#pragma once
#include <optional>
#include <string_view>

#include "libamp/core/tensor.h"
#include "libamp/ops/size_list.h"

namespace amp {

/// Dims in reverse order of their elements; a copy.
Tensor flip(const Tensor& input, const Shape& dims);
/// Shifted along dims, what leaves at the end comes back at the start. Without dims: along all elements as one row.
Tensor roll(const Tensor& input, const Shape& shifts, const Shape& dims = {});
/// The tensor repeated `repeats` times along each dim; more repeats than dims make new dims in front. tile: fewer
/// repeats are filled with ones.
Tensor repeat(const Tensor& input, const Shape& repeats);
Tensor tile(const Tensor& input, const Shape& dims);
/// Each slice repeated; without dim of the flattened input. repeats: one number, or an int64 tensor of one for each
/// slice.
Tensor repeat_interleave(const Tensor& input, std::int64_t repeats, std::optional<std::int64_t> dim = {});
Tensor repeat_interleave(const Tensor& input, const Tensor& repeats, std::optional<std::int64_t> dim = {});
/// A grid for each of the 1-dim tensors, all of the shape of their product. indexing: "ij" or "xy" (the first two
/// exchanged).
Tensors meshgrid(const Tensors& tensors, std::string_view indexing = "ij");
/// Numbers rotated by k quarter turns in the plane of two dims.
Tensor rot90(const Tensor& input, std::int64_t k = 1, const Shape& dims = {0, 1});

/// A view of the diagonal of two dims, as the last dim. offset > 0: above the main diagonal.
Tensor diagonal(const Tensor& input, std::int64_t offset = 0, std::int64_t dim1 = 0, std::int64_t dim2 = 1);
/// 1-dim: a matrix with that diagonal; 2-dim: its diagonal.
Tensor diag(const Tensor& input, std::int64_t diagonal = 0);
/// Matrices in the last two dims with the input's last dim on the diagonal.
Tensor diag_embed(const Tensor& input, std::int64_t offset = 0);
/// Sum of the main diagonal of a matrix. Float32 under the CPU's rules.
Tensor trace(const Tensor& input);

/// F.pad: pairs (before, after) from the last dim on. mode: constant (negative pads cut off), reflect, replicate or
/// circular; the last three pad the last one to three dims of [batch, channels, ...] or [channels, ...].
Tensor pad(const Tensor& input, const Shape& pad, std::string_view mode = "constant", double value = 0);
Tensor constant_pad_nd(const Tensor& input, const Shape& pad, double value = 0);
// Under the CPU's rules these are float32, except reflection_pad3d, which is on no list.
Tensor reflection_pad1d(const Tensor& input, const Shape& padding);
Tensor reflection_pad2d(const Tensor& input, const Shape& padding);
Tensor reflection_pad3d(const Tensor& input, const Shape& padding);
Tensor replication_pad1d(const Tensor& input, const Shape& padding);
Tensor replication_pad2d(const Tensor& input, const Shape& padding);
Tensor replication_pad3d(const Tensor& input, const Shape& padding);

/// Windows of a [batch, channels, height, width] input as columns [batch, channels * kernel, positions], and the sum
/// back (F.unfold and F.fold).
Tensor unfold(const Tensor& input, const SizeList& kernel_size, const SizeList& dilation = 1,
              const SizeList& padding = 0, const SizeList& stride = 1);
Tensor fold(const Tensor& input, const SizeList& output_size, const SizeList& kernel_size, const SizeList& dilation = 1,
            const SizeList& padding = 0, const SizeList& stride = 1);

/// [..., channels r^2, height, width] -> [..., channels, height r, width r], and back.
Tensor pixel_shuffle(const Tensor& input, std::int64_t upscale_factor);
Tensor pixel_unshuffle(const Tensor& input, std::int64_t downscale_factor);

/// Elements at positions of the flattened input, in the index's shape.
Tensor take(const Tensor& input, const Tensor& index);
/// gather with broadcasting; without dim over the flattened input.
Tensor take_along_dim(const Tensor& input, const Tensor& indices, std::optional<std::int64_t> dim = {});
/// A copy with the slices `index` of dim set to a value.
Tensor index_fill(const Tensor& input, std::int64_t dim, const Tensor& index, double value);
/// Where `values` would be put into the sorted last dim (int64): before equal ones, or behind them with `right`.
Tensor searchsorted(const Tensor& sorted_sequence, const Tensor& values, bool right = false);
Tensor bucketize(const Tensor& input, const Tensor& boundaries, bool right = false);

}  // namespace amp
