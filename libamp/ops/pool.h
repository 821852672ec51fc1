// Pooling. Inputs are [batch, channels, spatial...] or [channels, spatial...]; outputs keep the input's dtype (3-dim
// forms run in float32 under the CPU's rules). stride left out: the kernel size.
#pragma once
#include <optional>
#include <utility>

#include "libamp/core/tensor.h"
#include "libamp/ops/size_list.h"

namespace amp {

Tensor max_pool1d(const Tensor& input, const SizeList& kernel_size, const SizeList& stride = {},
                  const SizeList& padding = 0, const SizeList& dilation = 1, bool ceil_mode = false);
Tensor max_pool2d(const Tensor& input, const SizeList& kernel_size, const SizeList& stride = {},
                  const SizeList& padding = 0, const SizeList& dilation = 1, bool ceil_mode = false);
Tensor max_pool3d(const Tensor& input, const SizeList& kernel_size, const SizeList& stride = {},
                  const SizeList& padding = 0, const SizeList& dilation = 1, bool ceil_mode = false);
/// The maxima and their flat positions in their planes (int64).
std::pair<Tensor, Tensor> max_pool2d_with_indices(const Tensor& input, const SizeList& kernel_size,
                                                  const SizeList& stride = {}, const SizeList& padding = 0,
                                                  const SizeList& dilation = 1, bool ceil_mode = false);

Tensor avg_pool1d(const Tensor& input, const SizeList& kernel_size, const SizeList& stride = {},
                  const SizeList& padding = 0, bool ceil_mode = false, bool count_include_pad = true);
Tensor avg_pool2d(const Tensor& input, const SizeList& kernel_size, const SizeList& stride = {},
                  const SizeList& padding = 0, bool ceil_mode = false, bool count_include_pad = true,
                  std::optional<std::int64_t> divisor_override = {});
Tensor avg_pool3d(const Tensor& input, const SizeList& kernel_size, const SizeList& stride = {},
                  const SizeList& padding = 0, bool ceil_mode = false, bool count_include_pad = true,
                  std::optional<std::int64_t> divisor_override = {});

/// Averages over output_size parts of each spatial dim.
Tensor adaptive_avg_pool1d(const Tensor& input, const SizeList& output_size);
Tensor adaptive_avg_pool2d(const Tensor& input, const SizeList& output_size);
Tensor adaptive_avg_pool3d(const Tensor& input, const SizeList& output_size);

}  // namespace amp
