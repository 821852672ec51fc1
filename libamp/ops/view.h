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
Tensor contiguous(const Tensor& input);
Tensor clone(const Tensor& input);

}  // namespace amp
