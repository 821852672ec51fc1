// Upsampling (and downsampling) to a fixed size by nearest, linear or cubic interpolation over one to three dims. The
// taps of each dim are worked out once; planes are split over threads.
#include "libamp/backend/cpu/sample.h"

#include <algorithm>
#include <vector>

#include "libamp/backend/cpu/dense.h"

namespace amp::cpu {
namespace {

template <typename C>
struct Resampling {
  std::int64_t planes = 1, in[3] = {1, 1, 1}, out[3] = {1, 1, 1};
  std::vector<Taps<C>> taps[3];
  [[nodiscard]] std::int64_t in_positions() const { return in[0] * in[1] * in[2]; }
  [[nodiscard]] std::int64_t out_positions() const { return out[0] * out[1] * out[2]; }
};

template <typename C>
Taps<C> taps_of(Interpolation mode, bool align_corners, std::int64_t o, std::int64_t in, std::int64_t out,
                double given_ratio) {
  Taps<C> taps;
  const double ratio = given_ratio > 0 ? given_ratio : static_cast<double>(in) / static_cast<double>(out);
  if (mode == Interpolation::nearest || mode == Interpolation::nearest_exact) {
    const double at = static_cast<double>(o) + (mode == Interpolation::nearest ? 0 : 0.5);
    taps.index[0] = std::min<std::int64_t>(in - 1, static_cast<std::int64_t>(std::floor(at * ratio)));
    return taps;
  }
  double x = (static_cast<double>(o) + 0.5) * ratio - 0.5;
  if (align_corners)
    x = out > 1 ? static_cast<double>(o) * static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0;
  else if (mode == Interpolation::linear)
    x = std::max(0.0, x);
  const std::int64_t first = static_cast<std::int64_t>(std::floor(x));
  const C f = static_cast<C>(x - static_cast<double>(first));
  const auto inside = [in](std::int64_t i) { return std::clamp<std::int64_t>(i, 0, in - 1); };
  if (mode == Interpolation::linear) {
    taps.count = 2;
    taps.index[0] = inside(first);
    taps.index[1] = inside(first + 1);
    taps.weight[0] = 1 - f;
    taps.weight[1] = f;
    return taps;
  }
  taps.count = 4;
  cubic_weights<C>(f, taps.weight, taps.slope);
  for (int k = 0; k < 4; ++k) taps.index[k] = inside(first - 1 + k);
  return taps;
}

// Attributes output_size, align_corners, ratio0 to ratio2 (input steps per output step; 0: from the sizes).
template <typename C>
Resampling<C> resampling_of(const OpCall& call, Interpolation mode, const Shape& in_sizes) {
  const Shape out = call.attributes.list("output_size", {});
  const int spatial = out.size();
  if (in_sizes.size() != spatial + 2)
    call.fail("needs an input [batch, channels, " + std::to_string(spatial) + " spatial]: got " + to_string(in_sizes));
  constexpr std::string_view kRatios[] = {"ratio0", "ratio1", "ratio2"};
  Resampling<C> r;
  r.planes = in_sizes[0] * in_sizes[1];
  for (int d = 0; d < 3; ++d) {
    const int own = d - (3 - spatial);
    if (own < 0) {
      r.taps[d].push_back({});
      continue;
    }
    r.in[d] = in_sizes[own + 2];
    r.out[d] = out[own];
    if (r.in[d] <= 0 || r.out[d] <= 0)
      call.fail("sizes must be positive: got " + to_string(in_sizes) + " to " + to_string(out));
    for (std::int64_t o = 0; o < r.out[d]; ++o)
      r.taps[d].push_back(taps_of<C>(mode, call.attributes.flag("align_corners", false), o, r.in[d], r.out[d],
                                     call.attributes.number(kRatios[own], 0)));
  }
  return r;
}

// Calls run(output position, offset in the input plane, weight) for all taps of a plane.
template <typename C, typename F>
void for_taps(const Resampling<C>& r, F run) {
  std::int64_t o = 0;
  for (const auto& d : r.taps[0])
    for (const auto& h : r.taps[1])
      for (const auto& w : r.taps[2]) {
        for (int a = 0; a < d.count; ++a)
          for (int b = 0; b < h.count; ++b)
            for (int c = 0; c < w.count; ++c)
              run(o, (d.index[a] * r.in[1] + h.index[b]) * r.in[2] + w.index[c],
                  d.weight[a] * h.weight[b] * w.weight[c]);
        ++o;
      }
}

// from -> to through the taps; `transposed`: from outputs to inputs.
template <typename C>
void resample(const Resampling<C>& r, const Tensor& from, const Tensor& to, bool transposed) {
  const std::int64_t from_n = transposed ? r.out_positions() : r.in_positions();
  const std::int64_t to_n = transposed ? r.in_positions() : r.out_positions();
  parallel_for(
      r.planes, std::max<std::int64_t>(1, kGrain / 4 / (from_n + to_n)), [&](std::int64_t begin, std::int64_t end) {
        Slices<C> planes(from, from_n);
        const Workspace buffer(to.dtype() == kDTypeOf<C> ? 0 : static_cast<std::size_t>(to_n) * sizeof(C), false);
        for (std::int64_t plane = begin; plane < end; ++plane) {
          const C* x = planes.at(plane);
          const Piece<C> result(to, plane * to_n, to_n, buffer.data<C>());
          C* y = result.data();
          std::fill_n(y, to_n, C(0));
          if (transposed)
            for_taps<C>(r, [&](std::int64_t o, std::int64_t i, C weight) { y[i] += weight * x[o]; });
          else
            for_taps<C>(r, [&](std::int64_t o, std::int64_t i, C weight) { y[o] += weight * x[i]; });
          result.store();
        }
      });
}

Tensors upsample(const OpCall& call, Interpolation mode) {
  const Tensor input = dense(call.in(0));
  Shape sizes{input.dim() > 0 ? input.size(0) : 0, input.dim() > 1 ? input.size(1) : 0};
  for (const std::int64_t size : call.attributes.list("output_size", {})) sizes.push_back(size);
  const Tensor out = make_output(call, sizes, input.dtype());
  with_float_type(call, input.dtype(), [&]<typename C>(TypeTag<C>) {
    resample<C>(resampling_of<C>(call, mode, input.sizes()), input, out, false);
  });
  return {out};
}

}  // namespace

Tensors upsample_nearest1d(const OpCall& call) { return upsample(call, Interpolation::nearest); }
Tensors upsample_nearest2d(const OpCall& call) { return upsample(call, Interpolation::nearest); }
Tensors upsample_nearest3d(const OpCall& call) { return upsample(call, Interpolation::nearest); }
Tensors upsample_nearest_exact1d(const OpCall& call) { return upsample(call, Interpolation::nearest_exact); }
Tensors upsample_nearest_exact2d(const OpCall& call) { return upsample(call, Interpolation::nearest_exact); }
Tensors upsample_nearest_exact3d(const OpCall& call) { return upsample(call, Interpolation::nearest_exact); }
Tensors upsample_linear1d(const OpCall& call) { return upsample(call, Interpolation::linear); }
Tensors upsample_bilinear2d(const OpCall& call) { return upsample(call, Interpolation::linear); }
Tensors upsample_trilinear3d(const OpCall& call) { return upsample(call, Interpolation::linear); }
Tensors upsample_bicubic2d(const OpCall& call) { return upsample(call, Interpolation::cubic); }

// Input: gradient of the output. Attributes: those of the forward op, input_sizes, and its interpolation: 0 nearest,
// 1 linear, 2 cubic, 3 nearest by pixel centres.
Tensors upsample_backward(const OpCall& call) {
  const Tensor grad = dense(call.in(0));
  const Shape sizes = call.attributes.list("input_sizes", {});
  const auto mode = static_cast<Interpolation>(call.attributes.integer("interpolation", 0));
  const Tensor out = make_output(call, sizes, grad.dtype());
  with_float_type(call, grad.dtype(),
                  [&]<typename C>(TypeTag<C>) { resample<C>(resampling_of<C>(call, mode, sizes), grad, out, true); });
  return {out};
}

}  // namespace amp::cpu
