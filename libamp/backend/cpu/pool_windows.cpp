// Maxima over windows that do not lie on a regular grid: adaptive pooling, whose windows divide the input evenly, and
// fractional pooling, whose windows are drawn at random for each plane. Outputs are the maxima and, as in pool.cpp,
// where they are in their plane (int32), so that the gradients are the same.
#include <cmath>
#include <limits>

#include "libamp/backend/cpu/dense.h"

namespace amp::cpu {
namespace {

// Windows of one dim: output o reads [start[o], end[o]).
struct Ranges {
  std::vector<std::int64_t> start, end;
};

Ranges whole() { return {{0}, {1}}; }

Ranges adaptive_ranges(std::int64_t in, std::int64_t out) {
  Ranges r;
  for (std::int64_t o = 0; o < out; ++o) {
    r.start.push_back(o * in / out);
    r.end.push_back(((o + 1) * in + out - 1) / out);
  }
  return r;
}

// Graham, "Fractional Max-Pooling" (2014): steps of alpha = (in - kernel) / (out - 1) from a random offset, rounded
// down; the last window ends with the input.
Ranges fractional_ranges(double sample, std::int64_t in, std::int64_t out, std::int64_t kernel) {
  Ranges r;
  const double alpha = out > 1 ? static_cast<double>(in - kernel) / static_cast<double>(out - 1) : 0;
  for (std::int64_t o = 0; o < out; ++o) {
    const auto step = static_cast<std::int64_t>(std::floor((static_cast<double>(o) + sample) * alpha)) -
                      static_cast<std::int64_t>(std::floor(sample * alpha));
    r.start.push_back(o == out - 1 ? in - kernel : step);
    r.end.push_back(r.start.back() + kernel);
  }
  return r;
}

struct Plane {
  std::int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1}, count = 1;
  [[nodiscard]] std::int64_t in_positions() const { return in[0] * in[1] * in[2]; }
  [[nodiscard]] std::int64_t out_positions() const { return out[0] * out[1] * out[2]; }
};

Plane plane_of(const OpCall& call, int spatial, const Shape& output_size) {
  const Shape& sizes = call.in(0).sizes();
  if (sizes.size() != spatial + 2 && sizes.size() != spatial + 1)
    call.fail("needs an input of " + std::to_string(spatial + 1) + " or " + std::to_string(spatial + 2) +
              " dims: got " + describe(call.in(0)));
  Plane p;
  for (int d = 0; d < sizes.size() - spatial; ++d) p.count *= sizes[d];
  for (int d = 0; d < spatial; ++d) {
    p.in[3 - spatial + d] = sizes[sizes.size() - spatial + d];
    p.out[3 - spatial + d] = output_size[d];
    if (p.in[3 - spatial + d] == 0 || output_size[d] <= 0)
      call.fail("needs spatial dims that are not empty: got " + describe(call.in(0)) + " and output size " +
                to_string(output_size));
  }
  if (p.in_positions() > std::numeric_limits<std::int32_t>::max())
    call.fail("planes of 2^31 or more elements are not supported: got " + describe(call.in(0)),
              ErrorCode::not_implemented);
  return p;
}

// The largest of one window, NaN above all, and the first position that has it.
template <typename C>
std::int64_t largest_in(const Plane& p, const C* in, const Ranges (&r)[3], std::size_t d, std::size_t h,
                        std::size_t w) {
  std::int64_t best = (r[0].start[d] * p.in[1] + r[1].start[h]) * p.in[2] + r[2].start[w];
  for (std::int64_t id = r[0].start[d]; id < r[0].end[d]; ++id)
    for (std::int64_t ih = r[1].start[h]; ih < r[1].end[h]; ++ih)
      for (std::int64_t iw = r[2].start[w]; iw < r[2].end[w]; ++iw) {
        const std::int64_t at = (id * p.in[1] + ih) * p.in[2] + iw;
        if (in[at] > in[best] || (in[at] != in[at] && in[best] == in[best])) best = at;
      }
  return best;
}

// ranges_of(plane, dim): the windows of a spatial dim (0 to 2) for that plane.
template <typename F>
Tensors max_over(const OpCall& call, int spatial, const Shape& output_size, F ranges_of) {
  const Tensor source = dense(call.in(0));
  const Plane p = plane_of(call, spatial, output_size);
  Shape sizes = source.sizes();
  for (int d = 0; d < spatial; ++d) sizes[sizes.size() - spatial + d] = output_size[d];
  const Tensor out = make_output(call, sizes, source.dtype()), indices = empty(sizes, DType::int32);
  const std::int64_t in_n = p.in_positions(), out_n = p.out_positions();
  with_float_type(call, source.dtype(), [&]<typename C>(TypeTag<C>) {
    parallel_for(p.count, std::max<std::int64_t>(1, kGrain / in_n), [&](std::int64_t begin, std::int64_t end) {
      Slices<C> planes(source, in_n);
      std::vector<C> maxima(static_cast<std::size_t>(out_n));
      for (std::int64_t plane = begin; plane < end; ++plane) {
        const C* in = planes.at(plane);
        const Ranges r[3] = {ranges_of(plane, 0), ranges_of(plane, 1), ranges_of(plane, 2)};
        std::int32_t* where = indices.data<std::int32_t>() + plane * out_n;
        std::size_t o = 0;
        for (std::size_t d = 0; d < r[0].start.size(); ++d)
          for (std::size_t h = 0; h < r[1].start.size(); ++h)
            for (std::size_t w = 0; w < r[2].start.size(); ++w, ++o) {
              const std::int64_t best = largest_in<C>(p, in, r, d, h, w);
              maxima[o] = in[best];
              where[o] = static_cast<std::int32_t>(best);
            }
        store_from<C>(out.raw(), out.dtype(), plane * out_n, 1, out_n, maxima.data());
      }
    });
  });
  return {out, indices};
}

Tensors adaptive(const OpCall& call, int spatial) {
  const Shape output_size = call.attributes.list("output_size", {});
  const Plane p = plane_of(call, spatial, output_size);
  return max_over(call, spatial, output_size, [&](std::int64_t, int dim) {
    return dim < 3 - spatial ? whole() : adaptive_ranges(p.in[dim], p.out[dim]);
  });
}

// Inputs: input, random samples [batch, channels, spatial] in [0, 1), the last dim first in a sample, as PyTorch.
Tensors fractional(const OpCall& call, int spatial) {
  const Shape output_size = call.attributes.list("output_size", {}), kernel = call.attributes.list("kernel_size", {});
  const Plane p = plane_of(call, spatial, output_size);
  const Wide<double> samples(call.in(1));
  if (call.in(1).numel() != p.count * spatial)
    call.fail("needs " + std::to_string(spatial) + " random samples for each plane: got " + describe(call.in(1)) +
              " for " + describe(call.in(0)));
  for (int d = 0; d < spatial; ++d)
    if (kernel[d] <= 0 || output_size[d] + kernel[d] - 1 > p.in[3 - spatial + d])
      call.fail("the windows do not fit: got kernel " + to_string(kernel) + " and output size " +
                to_string(output_size) + " for " + describe(call.in(0)));
  return max_over(call, spatial, output_size, [&](std::int64_t plane, int dim) {
    if (dim < 3 - spatial) return whole();
    const int own = dim - (3 - spatial);
    // A sample starts with the width in two dims, and with the depth in three.
    const int at = spatial == 2 ? 1 - own : own;
    return fractional_ranges(samples[plane * spatial + at], p.in[dim], p.out[dim], kernel[own]);
  });
}

}  // namespace

Tensors adaptive_max_pool2d(const OpCall& call) { return adaptive(call, 2); }
Tensors adaptive_max_pool3d(const OpCall& call) { return adaptive(call, 3); }
Tensors fractional_max_pool2d(const OpCall& call) { return fractional(call, 2); }
Tensors fractional_max_pool3d(const OpCall& call) { return fractional(call, 3); }

}  // namespace amp::cpu
