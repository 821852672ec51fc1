// Sparse tensors in coordinate form, as far as training needs them: gradients of embeddings with sparse = true. A
// tensor's facts (sizes, dtype, device) are those of the whole; its data are `indices` and `values`. Ops that have no
// sparse form refuse such a tensor and ask for to_dense(). No history: to_dense() and coalesce() are not
// differentiable.
#pragma once
#include "libamp/core/tensor.h"

namespace amp {

/// indices: int64 [sparse_dim, nnz]; values: [nnz, the sizes of the other dims...]. Equal indices are allowed: what is
/// at them adds up. Error(runtime) if shapes do not fit, Error(index) for an index outside `sizes`.
Tensor sparse_coo_tensor(const Tensor& indices, const Tensor& values, const Shape& sizes);
/// The same without looking at the indices, for gradients made from indices that were checked before.
Tensor sparse_unchecked(const Tensor& indices, const Tensor& values, const Shape& sizes, bool coalesced = false);
/// Indices sorted and each once, values at equal indices summed. The tensor itself if it is so already.
Tensor coalesce(const Tensor& input);
Tensor to_dense(const Tensor& input);
/// input + alpha * other, where one of them is sparse. Both: sparse, the entries of both. One: dense. A dense `other`
/// on a sparse `input` is refused, as in PyTorch: Error(runtime).
Tensor sparse_add(const Tensor& input, const Tensor& other, double alpha = 1);
/// The sparse tensor with the same indices and other values; values may have another dtype.
Tensor with_values(const Tensor& sparse, const Tensor& values);
/// dense += alpha * sparse, in place, row by row: no dense copy of the sparse tensor is made.
void add_sparse_(const Tensor& dense, const Tensor& sparse, double alpha = 1);
/// dense[indices of sparse]: shaped as the values.
Tensor gather_rows(const Tensor& dense, const Tensor& sparse);
/// dense[indices of sparse] = values. The sparse tensor must be coalesced.
void set_rows_(const Tensor& dense, const Tensor& sparse, const Tensor& values);

}  // namespace amp
