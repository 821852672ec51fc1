// Reading images between their pixels: grid_sample and interpolate.
#pragma once
#include <string_view>
#include <vector>

#include "libamp/core/tensor.h"
#include "libamp/ops/size_list.h"

namespace amp {

/// Reads `input` [batch, channels, (depth,) height, width] where `grid` [batch, (depth,) height, width, 2 or 3] points:
/// (x, y(, z)) between -1 and 1. mode: bilinear, nearest, bicubic; padding_mode: zeros, border, reflection.
/// Under CUDA's rules input and grid meet in the widest dtype, under the CPU's in float32.
Tensor grid_sample(const Tensor& input, const Tensor& grid, std::string_view mode = "bilinear",
                   std::string_view padding_mode = "zeros", bool align_corners = false);

/// Resamples the spatial dims of [batch, channels, spatial...] to `size`. mode: nearest, nearest-exact (by pixel
/// centres); linear, bilinear or trilinear for 1, 2 or 3 dims; bicubic for 2; area (adaptive average pooling).
/// antialias: bilinear and bicubic average over what shrinks. Float32 under CUDA's rules, except area.
Tensor interpolate(const Tensor& input, const SizeList& size, std::string_view mode = "nearest",
                   bool align_corners = false, bool antialias = false);
/// One factor for all spatial dims, or one for each: `interpolate(x, ScaleFactors{{1.5}})`.
struct ScaleFactors {
  std::vector<double> values;
};
/// The same to sizes multiplied by the factors, rounded down.
Tensor interpolate(const Tensor& input, const ScaleFactors& scale_factors, std::string_view mode = "nearest",
                   bool align_corners = false, bool antialias = false);

}  // namespace amp
