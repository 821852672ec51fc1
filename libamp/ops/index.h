// Reading and writing elements by index. Indices are int64; negative ones count from the end where said. What lies
// outside is an index error.
#pragma once
#include "libamp/core/tensor.h"

namespace amp {

/// Advanced indexing, input[i0, i1, ...]: one index tensor for each leading dim, undefined for "all of this dim". They
/// broadcast together, and their shape takes the place of the indexed dims (in front if these are not neighbours).
/// A bool index is a mask over as many dims as it has. Negative indices count from the end.
Tensor index(const Tensor& input, const Tensors& indices);
/// A copy of input with input[indices] = values, or += values. values broadcasts to the indexed shape.
/// Promoted to the widest type under CUDA's rules.
Tensor index_put(const Tensor& input, const Tensors& indices, const Tensor& values, bool accumulate = false);
const Tensor& index_put_(const Tensor& input, const Tensors& indices, const Tensor& values, bool accumulate = false);

/// out[i][j][k] = input[index[i][j][k]][j][k] for dim 0. index has input's number of dims.
Tensor gather(const Tensor& input, std::int64_t dim, const Tensor& index);
/// The reverse of gather: a copy of input with src written (scatter) or added (scatter_add) at index.
Tensor scatter(const Tensor& input, std::int64_t dim, const Tensor& index, const Tensor& src);
Tensor scatter(const Tensor& input, std::int64_t dim, const Tensor& index, double value);
Tensor scatter_add(const Tensor& input, std::int64_t dim, const Tensor& index, const Tensor& src);

/// The slices `index` (1-dim) of dim.
Tensor index_select(const Tensor& input, std::int64_t dim, const Tensor& index);
/// A copy of input with the slices `index` of dim replaced by, or increased by, source.
Tensor index_copy(const Tensor& input, std::int64_t dim, const Tensor& index, const Tensor& source);
Tensor index_add(const Tensor& input, std::int64_t dim, const Tensor& index, const Tensor& source);

/// Rows of weight [n, width] at `indices` (any shape). The row padding_idx (-1: none) gets no gradient.
/// sparse: weight's gradient is a sparse tensor of the rows that were read (see ops/sparse.h), which cannot be
/// differentiated again.
Tensor embedding(const Tensor& weight, const Tensor& indices, std::int64_t padding_idx = -1, bool sparse = false);
/// Sums grad's rows into a [num_weights, width] table of zeros.
Tensor embedding_dense_backward(const Tensor& grad, const Tensor& indices, std::int64_t num_weights,
                                std::int64_t padding_idx = -1);

/// int64, with a new last dim of num_classes (-1: the largest + 1).
Tensor one_hot(const Tensor& indices, std::int64_t num_classes = -1);
/// Upper / lower triangle of the last two dims, other elements zero.
Tensor triu(const Tensor& input, std::int64_t diagonal = 0);
Tensor tril(const Tensor& input, std::int64_t diagonal = 0);
/// Positions of non-zero elements, [count, dim], row-major.
Tensor nonzero(const Tensor& input);
/// 1-dim: the elements where the bool mask holds. They broadcast.
Tensor masked_select(const Tensor& input, const Tensor& mask);

}  // namespace amp
