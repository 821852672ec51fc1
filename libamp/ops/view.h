// Other shapes over the same data.
#pragma once
#include "libamp/core/tensor.h"

namespace amp {

/// -1 once for "what is left". Throws if the strides do not allow a view; reshape copies then.
Tensor view(const Tensor& input, const Shape& sizes);
Tensor reshape(const Tensor& input, const Shape& sizes);
Tensor flatten(const Tensor& input, std::int64_t start_dim = 0, std::int64_t end_dim = -1);
Tensor expand(const Tensor& input, const Shape& sizes);
Tensor permute(const Tensor& input, const Shape& dims);
Tensor transpose(const Tensor& input, std::int64_t dim0, std::int64_t dim1);
Tensor unsqueeze(const Tensor& input, std::int64_t dim);
Tensor squeeze(const Tensor& input);
Tensor squeeze(const Tensor& input, std::int64_t dim);
Tensor narrow(const Tensor& input, std::int64_t dim, std::int64_t start, std::int64_t length);
Tensor select(const Tensor& input, std::int64_t dim, std::int64_t index);
/// Dims moved to other places, the rest in order.
Tensor movedim(const Tensor& input, const Shape& source, const Shape& destination);
Tensor movedim(const Tensor& input, std::int64_t source, std::int64_t destination);
inline Tensor swapaxes(const Tensor& input, std::int64_t axis0, std::int64_t axis1) {
  return transpose(input, axis0, axis1);
}
/// One dim as several; -1 once for "what is left".
Tensor unflatten(const Tensor& input, std::int64_t dim, const Shape& sizes);
/// Broadcasts all to one shape.
Tensors broadcast_tensors(const Tensors& tensors);
inline Tensor broadcast_to(const Tensor& input, const Shape& sizes) { return expand(input, sizes); }
/// Every `step`-th slice of [start, end) of a dim; negative ends count from the back, and are cut to the dim. A view
/// for step 1, else a copy.
Tensor slice(const Tensor& input, std::int64_t dim, std::int64_t start, std::int64_t end, std::int64_t step = 1);
Tensor contiguous(const Tensor& input);
Tensor clone(const Tensor& input);

}  // namespace amp
