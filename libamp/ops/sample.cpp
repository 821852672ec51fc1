// grid_sample and interpolate: arguments in, op calls out.
#include "libamp/ops/sample.h"

#include <cmath>

#include "libamp/dispatch/run_op.h"
#include "libamp/ops/pool.h"

namespace amp {
namespace {

OpId upsample_op(std::string_view mode, int spatial, bool antialias) {
  constexpr OpId kExact[] = {OpId::upsample_nearest_exact1d, OpId::upsample_nearest_exact2d,
                             OpId::upsample_nearest_exact3d};
  if (antialias) {
    if (mode == "bilinear" && spatial == 2) return OpId::upsample_bilinear2d_aa;
    if (mode == "bicubic" && spatial == 2) return OpId::upsample_bicubic2d_aa;
    fail(ErrorCode::value, "interpolate",
         "antialias is for bilinear and bicubic: got mode '" + std::string(mode) + "' and " + std::to_string(spatial) +
             " spatial dims");
  }
  if (mode == "nearest-exact" && spatial >= 1 && spatial <= 3) return kExact[spatial - 1];
  constexpr OpId kNearest[] = {OpId::upsample_nearest1d, OpId::upsample_nearest2d, OpId::upsample_nearest3d};
  if (mode == "nearest" && spatial >= 1 && spatial <= 3) return kNearest[spatial - 1];
  if (mode == "linear" && spatial == 1) return OpId::upsample_linear1d;
  if (mode == "bilinear" && spatial == 2) return OpId::upsample_bilinear2d;
  if (mode == "bicubic" && spatial == 2) return OpId::upsample_bicubic2d;
  if (mode == "trilinear" && spatial == 3) return OpId::upsample_trilinear3d;
  fail(ErrorCode::not_implemented, "interpolate",
       "no such mode for these dims: got '" + std::string(mode) + "' and " + std::to_string(spatial) + " spatial dims");
}

Tensor resample(const Tensor& input, const Shape& size, std::string_view mode, bool align_corners,
                const std::vector<double>& factors, bool antialias) {
  const int spatial = input.dim() - 2;
  if (align_corners && (mode == "nearest" || mode == "nearest-exact" || mode == "area"))
    fail(ErrorCode::value, "interpolate", "align_corners has no meaning for mode '" + std::string(mode) + "'");
  if (mode == "area" && !antialias) {
    if (spatial == 1) return adaptive_avg_pool1d(input, size);
    if (spatial == 2) return adaptive_avg_pool2d(input, size);
    return adaptive_avg_pool3d(input, size);
  }
  Attributes attributes{{"output_size", size}, {"align_corners", align_corners}};
  constexpr std::string_view kRatios[] = {"ratio0", "ratio1", "ratio2"};
  for (std::size_t d = 0; d < factors.size(); ++d) attributes.set(kRatios[d], 1 / factors[d]);
  return run_op1({upsample_op(mode, spatial, antialias), {input}, attributes, {}});
}

void require_spatial(const Tensor& input) {
  if (input.dim() < 3 || input.dim() > 5)
    fail(ErrorCode::not_implemented, "interpolate", "needs one to three spatial dims: got " + describe(input));
}

}  // namespace

Tensor grid_sample(const Tensor& input, const Tensor& grid, std::string_view mode, std::string_view padding_mode,
                   bool align_corners) {
  if (mode != "bilinear" && mode != "nearest" && mode != "bicubic")
    fail(ErrorCode::value, "grid_sample",
         "unknown mode: got '" + std::string(mode) + "', need bilinear, nearest or bicubic");
  if (padding_mode != "zeros" && padding_mode != "border" && padding_mode != "reflection")
    fail(ErrorCode::value, "grid_sample",
         "unknown padding_mode: got '" + std::string(padding_mode) + "', need zeros, border or reflection");
  return run_op1(
      {OpId::grid_sampler,
       {input, grid},
       {{"mode", std::string(mode)}, {"padding_mode", std::string(padding_mode)}, {"align_corners", align_corners}},
       {}});
}

Tensor interpolate(const Tensor& input, const SizeList& size, std::string_view mode, bool align_corners,
                   bool antialias) {
  require_spatial(input);
  return resample(input, size.expand(input.dim() - 2, "interpolate"), mode, align_corners, {}, antialias);
}

Tensor interpolate(const Tensor& input, const ScaleFactors& scale_factors, std::string_view mode, bool align_corners,
                   bool antialias) {
  require_spatial(input);
  const auto spatial = static_cast<std::size_t>(input.dim() - 2);
  std::vector<double> factors = scale_factors.values;
  if (factors.size() == 1) factors.resize(spatial, factors[0]);
  if (factors.size() != spatial)
    fail(ErrorCode::value, "interpolate",
         "wrong number of scale factors: got " + std::to_string(scale_factors.values.size()) + ", need 1 or " +
             std::to_string(spatial));
  Shape size;
  for (std::size_t d = 0; d < spatial; ++d)
    size.push_back(static_cast<std::int64_t>(
        std::floor(static_cast<double>(input.size(static_cast<std::int64_t>(d) + 2)) * factors[d])));
  return resample(input, size, mode, align_corners, factors, antialias);
}

}  // namespace amp
