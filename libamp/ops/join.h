// Joining and splitting. Inputs of different dtypes meet in their common type; under the CPU's rules in the widest.
#pragma once
#include "libamp/core/tensor.h"

namespace amp {

/// Joins along an existing dim. One-dim tensors without elements are skipped, as in PyTorch.
Tensor cat(const Tensors& tensors, std::int64_t dim = 0);
/// Joins equal shapes along a new dim.
Tensor stack(const Tensors& tensors, std::int64_t dim = 0);
/// Views of `size` slices each along dim, the last one perhaps smaller; or of the given sizes.
Tensors split(const Tensor& input, std::int64_t size, std::int64_t dim = 0);
Tensors split(const Tensor& input, const Shape& sizes, std::int64_t dim = 0);
/// Views of about equal size; fewer than `chunks` if there are too few slices.
Tensors chunk(const Tensor& input, std::int64_t chunks, std::int64_t dim = 0);
/// One view for each slice, without that dim.
Tensors unbind(const Tensor& input, std::int64_t dim = 0);

}  // namespace amp
