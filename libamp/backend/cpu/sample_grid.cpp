// grid_sampler over two or three spatial dims: output positions read the input where the grid points to. Images are
// split over threads, since the gradient for the input adds up within an image.
#include <algorithm>

#include "libamp/backend/cpu/dense.h"
#include "libamp/backend/cpu/sample.h"

namespace amp::cpu {
namespace {

struct GridSampling {
  std::int64_t batch = 0, channels = 0, in[3] = {1, 1, 1}, points = 1;
  int spatial = 2;
  Shape out_sizes;
  Interpolation mode = Interpolation::linear;
  std::string padding;
  bool align_corners = false;
  [[nodiscard]] std::int64_t positions() const { return in[0] * in[1] * in[2]; }
};

GridSampling sampling_of(const OpCall& call, const Tensor& input, const Tensor& grid) {
  GridSampling s;
  s.spatial = input.dim() - 2;
  const bool fits = (s.spatial == 2 || s.spatial == 3) && grid.dim() == input.dim() && grid.size(0) == input.size(0) &&
                    grid.size(-1) == s.spatial;
  if (!fits)
    call.fail("input and grid do not fit: got " + describe(input) + " and " + describe(grid) +
              ", need [batch, channels, 2 or 3 spatial] and [batch, spatial..., 2 or 3]");
  if (input.dtype() != grid.dtype())
    call.fail("input and grid must have the same dtype: got " + describe(input) + " and " + describe(grid));
  const std::string mode = call.attributes.text("mode", "bilinear");
  s.mode = mode == "nearest"   ? Interpolation::nearest
           : mode == "bicubic" ? Interpolation::cubic
                               : Interpolation::linear;
  if (mode == "bicubic" && s.spatial != 2) call.fail("bicubic needs two spatial dims: got " + describe(input));
  s.padding = call.attributes.text("padding_mode", "zeros");
  s.align_corners = call.attributes.flag("align_corners", false);
  s.batch = input.size(0);
  s.channels = input.size(1);
  s.out_sizes = {s.batch, s.channels};
  for (int d = 0; d < s.spatial; ++d) {
    s.in[3 - s.spatial + d] = input.size(d + 2);
    s.out_sizes.push_back(grid.size(d + 1));
    s.points *= grid.size(d + 1);
  }
  if (s.positions() == 0) call.fail("needs spatial dims that are not empty: got " + describe(input));
  return s;
}

// A position folded back into [low / 2, high / 2]; `slope` changes sign with the direction.
double reflect(double x, double twice_low, double twice_high, double& slope) {
  if (twice_low == twice_high) {
    slope = 0;
    return 0;
  }
  const double low = twice_low / 2, span = (twice_high - twice_low) / 2;
  x -= low;
  if (x < 0) {
    x = -x;
    slope = -slope;
  }
  const double extra = std::fmod(x, span);
  if (std::fmod(std::floor(x / span), 2) == 0) return extra + low;
  slope = -slope;
  return span - extra + low;
}

// What padding does to a position.
double pad(const GridSampling& s, double x, std::int64_t size, double& slope) {
  if (s.padding == "zeros") return x;
  if (s.padding == "reflection")
    x = s.align_corners ? reflect(x, 0, 2.0 * static_cast<double>(size - 1), slope)
                        : reflect(x, -1, 2.0 * static_cast<double>(size) - 1, slope);
  const double last = static_cast<double>(size - 1);
  if (x <= 0) {
    slope = 0;
    return 0;
  }
  if (x >= last) {
    slope = 0;
    return last;
  }
  return x;
}

template <typename C>
Taps<C> taps_at(const GridSampling& s, double normalized, std::int64_t size) {
  const double n = static_cast<double>(size);
  double slope = s.align_corners ? (n - 1) / 2 : n / 2;
  double x = s.align_corners ? (normalized + 1) / 2 * (n - 1) : ((normalized + 1) * n - 1) / 2;
  // Positions no integer can name, and NaN, are far outside.
  if (!(std::abs(x) < 1e9)) x = -100;
  if (s.mode != Interpolation::cubic) x = pad(s, x, size, slope);
  const auto inside = [size](double at) {
    return at >= 0 && at < static_cast<double>(size) ? static_cast<std::int64_t>(at) : -1;
  };
  Taps<C> taps;
  if (s.mode == Interpolation::nearest) {
    taps.index[0] = inside(std::nearbyint(x));
    return taps;
  }
  const double first = std::floor(x);
  const C f = static_cast<C>(x - first);
  if (s.mode == Interpolation::linear) {
    taps.count = 2;
    taps.index[0] = inside(first);
    taps.index[1] = inside(first + 1);
    taps.weight[0] = 1 - f;
    taps.weight[1] = f;
    taps.slope[0] = static_cast<C>(-slope);
    taps.slope[1] = static_cast<C>(slope);
    return taps;
  }
  taps.count = 4;
  cubic_weights<C>(f, taps.weight, taps.slope);
  for (int k = 0; k < 4; ++k) {
    double unused = 1;
    taps.index[k] = inside(pad(s, first - 1 + k, size, unused));
    taps.slope[k] *= static_cast<C>(slope);
  }
  return taps;
}

// The taps of one output point, for the three dims.
template <typename C>
struct PointTaps {
  Taps<C> dims[3];
  PointTaps(const GridSampling& s, const C* grid) {
    // The grid holds x first, which is the last dim.
    for (int d = 0; d < s.spatial; ++d) dims[2 - d] = taps_at<C>(s, static_cast<double>(grid[d]), s.in[2 - d]);
  }
  // Calls run(offset, weight, slopes) for every tap inside the image.
  template <typename F>
  void for_each(const GridSampling& s, F run) const {
    for (int a = 0; a < dims[0].count; ++a)
      for (int b = 0; b < dims[1].count; ++b)
        for (int c = 0; c < dims[2].count; ++c) {
          if (dims[0].index[a] < 0 || dims[1].index[b] < 0 || dims[2].index[c] < 0) continue;
          const C wa = dims[0].weight[a], wb = dims[1].weight[b], wc = dims[2].weight[c];
          const C slopes[3] = {dims[0].slope[a] * wb * wc, wa * dims[1].slope[b] * wc, wa * wb * dims[2].slope[c]};
          run((dims[0].index[a] * s.in[1] + dims[1].index[b]) * s.in[2] + dims[2].index[c], wa * wb * wc, slopes);
        }
  }
};

template <typename C>
std::size_t buffer_bytes(const Tensor& t, std::int64_t n) {
  return t.dtype() == kDTypeOf<C> ? 0 : static_cast<std::size_t>(n) * sizeof(C);
}

template <typename C>
void backward(const GridSampling& s, const Tensor& grad, const Tensor& input, const Tensor& grid, const Tensor& gx,
              const Tensor& gg) {
  const std::int64_t out_n = s.channels * s.points, in_n = s.channels * s.positions(), grid_n = s.points * s.spatial;
  parallel_for(s.batch, 1, [&](std::int64_t begin, std::int64_t end) {
    Slices<C> grads(grad, out_n), images(input, in_n), grids(grid, grid_n);
    const Workspace gx_buffer(buffer_bytes<C>(gx, in_n), false), gg_buffer(buffer_bytes<C>(gg, grid_n), false);
    for (std::int64_t n = begin; n < end; ++n) {
      const C *g = grads.at(n), *x = images.at(n), *at = grids.at(n);
      const Piece<C> to_input(gx, n * in_n, in_n, gx_buffer.data<C>()),
          to_grid(gg, n * grid_n, grid_n, gg_buffer.data<C>());
      std::fill_n(to_input.data(), in_n, C(0));
      for (std::int64_t p = 0; p < s.points; ++p) {
        C along[3] = {0, 0, 0};
        PointTaps<C>(s, at + p * s.spatial).for_each(s, [&](std::int64_t offset, C weight, const C* slopes) {
          for (std::int64_t c = 0; c < s.channels; ++c) {
            const C gc = g[c * s.points + p];
            to_input.data()[c * s.positions() + offset] += gc * weight;
            for (int d = 0; d < 3; ++d) along[d] += gc * x[c * s.positions() + offset] * slopes[d];
          }
        });
        for (int d = 0; d < s.spatial; ++d) to_grid.data()[p * s.spatial + d] = along[2 - d];
      }
      to_input.store();
      to_grid.store();
    }
  });
}

}  // namespace

// Inputs: input [batch, channels, spatial...], grid [batch, spatial..., 2 or 3] of positions between -1 and 1.
Tensors grid_sampler(const OpCall& call) {
  const Tensor input = dense(call.in(0)), grid = dense(call.in(1));
  const GridSampling s = sampling_of(call, input, grid);
  const Tensor out = make_output(call, s.out_sizes, input.dtype());
  with_float_type(call, input.dtype(), [&]<typename C>(TypeTag<C>) {
    const std::int64_t out_n = s.channels * s.points;
    parallel_for(s.batch, 1, [&](std::int64_t begin, std::int64_t end) {
      Slices<C> images(input, s.channels * s.positions()), grids(grid, s.points * s.spatial);
      const Workspace buffer(buffer_bytes<C>(out, out_n), false);
      for (std::int64_t n = begin; n < end; ++n) {
        const C *x = images.at(n), *at = grids.at(n);
        const Piece<C> result(out, n * out_n, out_n, buffer.data<C>());
        std::fill_n(result.data(), out_n, C(0));
        for (std::int64_t p = 0; p < s.points; ++p)
          PointTaps<C>(s, at + p * s.spatial).for_each(s, [&](std::int64_t offset, C weight, const C*) {
            for (std::int64_t c = 0; c < s.channels; ++c)
              result.data()[c * s.points + p] += weight * x[c * s.positions() + offset];
          });
        result.store();
      }
    });
  });
  return {out};
}

// Inputs: gradient, input, grid. Outputs: gradients of input and grid.
Tensors grid_sampler_backward(const OpCall& call) {
  const Tensor grad = dense(call.in(0)), input = dense(call.in(1)), grid = dense(call.in(2));
  const GridSampling s = sampling_of(call, input, grid);
  const Tensor gx = empty(input.sizes(), input.dtype()), gg = empty(grid.sizes(), grid.dtype());
  with_float_type(call, input.dtype(), [&]<typename C>(TypeTag<C>) { backward<C>(s, grad, input, grid, gx, gg); });
  return {gx, gg};
}

}  // namespace amp::cpu
