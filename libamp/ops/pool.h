// Pooling. Inputs are [batch, channels, spatial...] or [channels, spatial...]; outputs keep the input's dtype (3-dim
// forms run in float32 under the CPU's rules). stride left out: the kernel size.
#pragma once
#include <optional>
#include <utility>

#include "libamp/core/tensor.h"
#include "libamp/ops/size_list.h"

namespace amp {

/// The largest element of each window.
Tensor max_pool1d(const Tensor& input, const SizeList& kernel_size, const SizeList& stride = {},
                  const SizeList& padding = 0, const SizeList& dilation = 1, bool ceil_mode = false);
Tensor max_pool2d(const Tensor& input, const SizeList& kernel_size, const SizeList& stride = {},
                  const SizeList& padding = 0, const SizeList& dilation = 1, bool ceil_mode = false);
Tensor max_pool3d(const Tensor& input, const SizeList& kernel_size, const SizeList& stride = {},
                  const SizeList& padding = 0, const SizeList& dilation = 1, bool ceil_mode = false);
// The maxima and their flat positions in their planes (int64).
std::pair<Tensor, Tensor> max_pool1d_with_indices(const Tensor& input, const SizeList& kernel_size,
                                                  const SizeList& stride = {}, const SizeList& padding = 0,
                                                  const SizeList& dilation = 1, bool ceil_mode = false);
std::pair<Tensor, Tensor> max_pool3d_with_indices(const Tensor& input, const SizeList& kernel_size,
                                                  const SizeList& stride = {}, const SizeList& padding = 0,
                                                  const SizeList& dilation = 1, bool ceil_mode = false);
std::pair<Tensor, Tensor> max_pool2d_with_indices(const Tensor& input, const SizeList& kernel_size,
                                                  const SizeList& stride = {}, const SizeList& padding = 0,
                                                  const SizeList& dilation = 1, bool ceil_mode = false);

/// The mean of each window.
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
/// Maxima of output_size parts of each spatial dim, and where they are (int64).
std::pair<Tensor, Tensor> adaptive_max_pool1d(const Tensor& input, const SizeList& output_size);
std::pair<Tensor, Tensor> adaptive_max_pool2d(const Tensor& input, const SizeList& output_size);
std::pair<Tensor, Tensor> adaptive_max_pool3d(const Tensor& input, const SizeList& output_size);

/// Maxima of windows at random steps that lead to output_size, and where they are (int64). random_samples
/// [batch, channels, 2 or 3] in [0, 1), or undefined: drawn. Float32 under the CPU's rules.
std::pair<Tensor, Tensor> fractional_max_pool2d(const Tensor& input, const SizeList& kernel_size,
                                                const SizeList& output_size, const Tensor& random_samples = {});
std::pair<Tensor, Tensor> fractional_max_pool3d(const Tensor& input, const SizeList& kernel_size,
                                                const SizeList& output_size, const Tensor& random_samples = {});

/// The reverse of max pooling: values put at `indices` of planes of size output_size, zeros elsewhere. output_size left
/// out: what a pooling with these sizes came from. Float32 under the CPU's rules.
Tensor max_unpool1d(const Tensor& input, const Tensor& indices, const SizeList& kernel_size,
                    const SizeList& stride = {}, const SizeList& padding = 0, const SizeList& output_size = {});
Tensor max_unpool2d(const Tensor& input, const Tensor& indices, const SizeList& kernel_size,
                    const SizeList& stride = {}, const SizeList& padding = 0, const SizeList& output_size = {});
Tensor max_unpool3d(const Tensor& input, const Tensor& indices, const SizeList& kernel_size,
                    const SizeList& stride = {}, const SizeList& padding = 0, const SizeList& output_size = {});

/// (sum x^norm_type over the window)^(1 / norm_type)
Tensor lp_pool1d(const Tensor& input, double norm_type, const SizeList& kernel_size, const SizeList& stride = {},
                 bool ceil_mode = false);
Tensor lp_pool2d(const Tensor& input, double norm_type, const SizeList& kernel_size, const SizeList& stride = {},
                 bool ceil_mode = false);
Tensor lp_pool3d(const Tensor& input, double norm_type, const SizeList& kernel_size, const SizeList& stride = {},
                 bool ceil_mode = false);

}  // namespace amp
