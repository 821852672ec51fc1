// Max and average pooling over two or three spatial dims, and their gradients. Each plane (one channel of one image) is
// independent: planes are split over threads, and within a plane the loop over output columns is innermost, so that the
// compiler can vectorise it.
#include <cmath>
#include <limits>
#include <vector>

#include "libamp/backend/cpu/dense.h"

namespace amp::cpu {
namespace {

// Where the windows of one spatial dim lie: output o reads [start, end), and counts as `weight` positions.
struct Windows {
  std::int64_t in = 1, out = 1;
  std::vector<std::int64_t> start{0}, end{1}, weight{1};
};

struct PoolGeometry {
  std::int64_t planes = 1;
  std::int64_t kernel[3] = {1, 1, 1}, stride[3] = {1, 1, 1}, padding[3] = {0, 0, 0}, dilation[3] = {1, 1, 1};
  Windows dims[3];
  double divisor = 0;  // 0: the product of the windows' weights
  [[nodiscard]] std::int64_t in_positions() const { return dims[0].in * dims[1].in * dims[2].in; }
  [[nodiscard]] std::int64_t out_positions() const { return dims[0].out * dims[1].out * dims[2].out; }
};

std::int64_t pooled_size(const OpCall& call, std::int64_t in, std::int64_t kernel, std::int64_t stride,
                         std::int64_t padding, std::int64_t dilation, bool ceil_mode) {
  const std::int64_t room = in + 2 * padding - dilation * (kernel - 1) - 1;
  if (room < 0)
    call.fail("the window must not be larger than the padded input: got input size " + std::to_string(in) +
              ", kernel " + std::to_string(kernel) + ", padding " + std::to_string(padding));
  std::int64_t out = (room + (ceil_mode ? stride - 1 : 0)) / stride + 1;
  // With ceil_mode the last window must start inside the input or its left padding.
  if (ceil_mode && (out - 1) * stride >= in + padding) --out;
  return out;
}

void require_input(const OpCall& call, int spatial, const Shape& sizes) {
  if (sizes.size() != spatial + 2 && sizes.size() != spatial + 1)
    call.fail("needs an input of " + std::to_string(spatial + 1) + " or " + std::to_string(spatial + 2) +
              " dims: got " + to_string(sizes));
}

// Windows by kernel, stride, padding and dilation.
PoolGeometry window_geometry(const OpCall& call, int spatial, const Shape& in_sizes) {
  require_input(call, spatial, in_sizes);
  const Attributes& a = call.attributes;
  const Shape kernel = a.list("kernel_size", {}), stride = a.list("stride", kernel), padding = a.list("padding", {}),
              dilation = a.list("dilation", {});
  const bool ceil_mode = a.flag("ceil_mode", false), count_padding = a.flag("count_include_pad", true);
  PoolGeometry g;
  g.divisor = a.number("divisor_override", 0);
  for (int d = 0; d < in_sizes.size() - spatial; ++d) g.planes *= in_sizes[d];
  for (int d = 0; d < spatial; ++d) {
    const int at = 3 - spatial + d;
    g.kernel[at] = kernel[d];
    g.stride[at] = stride[d];
    g.padding[at] = padding.empty() ? 0 : padding[d];
    g.dilation[at] = dilation.empty() ? 1 : dilation[d];
    if (kernel[d] <= 0 || stride[d] <= 0 || g.dilation[at] <= 0 || g.padding[at] < 0 || g.padding[at] > kernel[d] / 2)
      call.fail("kernel, stride and dilation must be positive, and padding at most half of the kernel: got kernel " +
                to_string(kernel) + ", stride " + to_string(stride) + ", padding " + to_string(padding));
    Windows& w = g.dims[at];
    w.in = in_sizes[in_sizes.size() - spatial + d];
    w.out = pooled_size(call, w.in, kernel[d], stride[d], g.padding[at], g.dilation[at], ceil_mode);
    w.start.clear(), w.end.clear(), w.weight.clear();
    for (std::int64_t o = 0; o < w.out; ++o) {
      const std::int64_t start = o * stride[d] - g.padding[at];
      const std::int64_t end = std::min(start + kernel[d], w.in + g.padding[at]);
      w.start.push_back(std::max<std::int64_t>(0, start));
      w.end.push_back(std::min(end, w.in));
      w.weight.push_back(count_padding ? end - start : w.end.back() - w.start.back());
    }
  }
  return g;
}

// Windows that divide the input into output_size parts, overlapping where it does not divide evenly.
PoolGeometry adaptive_geometry(const OpCall& call, int spatial, const Shape& in_sizes) {
  require_input(call, spatial, in_sizes);
  const Shape out = call.attributes.list("output_size", {});
  PoolGeometry g;
  for (int d = 0; d < in_sizes.size() - spatial; ++d) g.planes *= in_sizes[d];
  for (int d = 0; d < spatial; ++d) {
    Windows& w = g.dims[3 - spatial + d];
    w.in = in_sizes[in_sizes.size() - spatial + d];
    w.out = out[d];
    if (w.in == 0) call.fail("needs spatial dims that are not empty: got " + to_string(in_sizes));
    w.start.clear(), w.end.clear(), w.weight.clear();
    for (std::int64_t o = 0; o < w.out; ++o) {
      w.start.push_back(o * w.in / w.out);
      w.end.push_back(((o + 1) * w.in + w.out - 1) / w.out);
      w.weight.push_back(w.end.back() - w.start.back());
    }
  }
  return g;
}

PoolGeometry average_geometry(const OpCall& call, int spatial, const Shape& in_sizes) {
  return call.attributes.has("output_size") ? adaptive_geometry(call, spatial, in_sizes)
                                            : window_geometry(call, spatial, in_sizes);
}

Shape pooled_sizes(const PoolGeometry& g, int spatial, const Shape& in_sizes) {
  Shape sizes = in_sizes;
  for (int d = 0; d < spatial; ++d) sizes[sizes.size() - spatial + d] = g.dims[3 - spatial + d].out;
  return sizes;
}

// Calls run(plane, in, out) for each plane, `in` widened to C, `out` written back; or run(plane, in, out, scratch),
// with as many bytes of its own for each thread as are asked for.
template <typename C, typename F>
void for_planes(std::int64_t planes, const Tensor& in, std::int64_t in_n, const Tensor& out, std::int64_t out_n, F run,
                std::size_t scratch_bytes = 0) {
  const std::int64_t grain = std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, in_n + out_n));
  const auto buffer_bytes = [](const Tensor& t, std::int64_t n) {
    return t.dtype() == kDTypeOf<C> ? 0 : static_cast<std::size_t>(n) * sizeof(C);
  };
  parallel_for(planes, grain, [&](std::int64_t begin, std::int64_t end) {
    const Workspace in_buffer(buffer_bytes(in, in_n), false), out_buffer(buffer_bytes(out, out_n), false);
    const Workspace scratch(scratch_bytes, true);
    for (std::int64_t plane = begin; plane < end; ++plane) {
      const C* from = load_block<C>(in, plane * in_n, 1, in_n, in_buffer.template data<C>());
      const Piece<C> to(out, plane * out_n, out_n, out_buffer.template data<C>());
      if constexpr (std::is_invocable_v<F, std::int64_t, const C*, C*, void*>)
        run(plane, from, to.data(), scratch.template data<char>());
      else
        run(plane, from, to.data());
      to.store();
    }
  });
}

// One output row from one input row and kernel column: where the value is larger, or NaN, it is taken over. kStride 0:
// any stride; known strides let the compiler vectorise the loads.
template <typename C, int kStride>
void take_larger_by(const C* __restrict line, std::int64_t line_at, std::int64_t any_stride, std::int64_t begin,
                    std::int64_t end, C* __restrict best, std::int32_t* __restrict where) {
  const std::int64_t stride = kStride > 0 ? kStride : any_stride;
  const C* from = line + line_at;
  const auto at = static_cast<std::int32_t>(line_at), step = static_cast<std::int32_t>(stride);
  for (std::int64_t o = begin; o < end; ++o) {
    const C value = from[o * stride];
    const bool take = value > best[o] || value != value;
    best[o] = take ? value : best[o];
    where[o] = take ? at + static_cast<std::int32_t>(o) * step : where[o];
  }
}

template <typename C>
void take_larger(const C* line, std::int64_t line_at, std::int64_t stride, std::int64_t begin, std::int64_t end,
                 C* best, std::int32_t* where) {
  if (stride == 1)
    take_larger_by<C, 1>(line, line_at, stride, begin, end, best, where);
  else if (stride == 2)
    take_larger_by<C, 2>(line, line_at, stride, begin, end, best, where);
  else
    take_larger_by<C, 0>(line, line_at, stride, begin, end, best, where);
}

template <typename C>
void max_row(const PoolGeometry& g, const C* plane, std::int64_t od, std::int64_t oh, C* best, std::int32_t* where) {
  const Windows& w = g.dims[2];
  const std::int64_t stride = g.stride[2];
  std::fill_n(best, w.out, -std::numeric_limits<C>::infinity());
  bool first = true;
  for (std::int64_t kd = 0; kd < g.kernel[0]; ++kd) {
    const std::int64_t id = od * g.stride[0] - g.padding[0] + kd * g.dilation[0];
    if (id < 0 || id >= g.dims[0].in) continue;
    for (std::int64_t kh = 0; kh < g.kernel[1]; ++kh) {
      const std::int64_t ih = oh * g.stride[1] - g.padding[1] + kh * g.dilation[1];
      if (ih < 0 || ih >= g.dims[1].in) continue;
      const std::int64_t row = (id * g.dims[1].in + ih) * w.in;
      if (first) {
        // All values may be -inf: then the first position of the window is the answer.
        for (std::int64_t o = 0; o < w.out; ++o) {
          std::int64_t x = o * stride - g.padding[2];
          while (x < 0) x += g.dilation[2];
          where[o] = static_cast<std::int32_t>(row + x);
        }
        first = false;
      }
      for (std::int64_t kw = 0; kw < g.kernel[2]; ++kw) {
        const std::int64_t x = kw * g.dilation[2] - g.padding[2];
        const std::int64_t begin = x >= 0 ? 0 : (-x + stride - 1) / stride;
        const std::int64_t end = x >= w.in ? 0 : std::min(w.out, (w.in - x + stride - 1) / stride);
        take_larger<C>(plane, row + x, stride, begin, end, best, where);
      }
    }
  }
}

// The usual pooling, 2 x 2 by steps of 2: the larger of neighbours over the whole plane, then the larger of two rows.
bool is_halving(const PoolGeometry& g) {
  const auto halves = [&](int d) {
    return g.kernel[d] == 2 && g.stride[d] == 2 && g.padding[d] == 0 && g.dilation[d] == 1 &&
           2 * g.dims[d].out == g.dims[d].in;
  };
  return g.dims[0].in == 1 && g.kernel[0] == 1 && halves(1) && halves(2);
}

template <typename C>
void halve_plane(const PoolGeometry& g, const C* __restrict in, C* __restrict best, std::int32_t* __restrict where,
                 C* __restrict pair_best, std::int32_t* __restrict pair_where) {
  const auto pairs = static_cast<std::int32_t>(g.in_positions() / 2);
  for (std::int32_t i = 0; i < pairs; ++i) {
    const C a = in[2 * i], b = in[2 * i + 1];
    const bool take = (b > a) | (b != b);
    pair_best[i] = take ? b : a;
    pair_where[i] = 2 * i + static_cast<std::int32_t>(take);
  }
  const std::int64_t n = g.dims[2].out;
  for (std::int64_t row = 0; row < g.dims[1].out; ++row) {
    const C *a = pair_best + 2 * row * n, *b = a + n;
    const std::int32_t *at_a = pair_where + 2 * row * n, *at_b = at_a + n;
    for (std::int64_t o = 0; o < n; ++o) {
      const bool take = (b[o] > a[o]) | (b[o] != b[o]);
      best[row * n + o] = take ? b[o] : a[o];
      where[row * n + o] = take ? at_b[o] : at_a[o];
    }
  }
}

// Outputs: the maxima, and where they are in their plane (int32).
Tensors max_pool(const OpCall& call, int spatial) {
  const Tensor& input = call.in(0);
  const PoolGeometry g = window_geometry(call, spatial, input.sizes());
  if (g.in_positions() > std::numeric_limits<std::int32_t>::max())
    call.fail("planes of 2^31 or more elements are not supported: got " + describe(input), ErrorCode::not_implemented);
  const Tensor source = dense(input);
  const Tensor out = make_output(call, pooled_sizes(g, spatial, input.sizes()), input.dtype());
  const Tensor indices = empty(out.sizes(), DType::int32);
  const std::int64_t out_n = g.out_positions(), row = g.dims[2].out;
  const bool halving = is_halving(g);
  with_float_type(call, input.dtype(), [&]<typename C>(TypeTag<C>) {
    const auto plane_maxima = [&](std::int64_t plane, const C* in, C* to, void* scratch) {
      std::int32_t* where = indices.data<std::int32_t>() + plane * out_n;
      if (halving) {
        C* pair_best = static_cast<C*>(scratch);
        halve_plane<C>(g, in, to, where, pair_best, reinterpret_cast<std::int32_t*>(pair_best + g.in_positions() / 2));
        return;
      }
      for (std::int64_t od = 0; od < g.dims[0].out; ++od)
        for (std::int64_t oh = 0; oh < g.dims[1].out; ++oh) {
          const std::int64_t at = (od * g.dims[1].out + oh) * row;
          max_row<C>(g, in, od, oh, to + at, where + at);
        }
    };
    const auto pairs = static_cast<std::size_t>(g.in_positions() / 2);
    for_planes<C>(g.planes, source, g.in_positions(), out, out_n, plane_maxima,
                  halving ? pairs * (sizeof(C) + sizeof(std::int32_t)) : 0);
  });
  return {out, indices};
}

std::int64_t plane_positions(const Shape& sizes, int spatial) {
  std::int64_t n = 1;
  for (int d = sizes.size() - spatial; d < sizes.size(); ++d) n *= sizes[d];
  return n;
}

// Calls run(d, h, w, divisor) for each output position, row-major.
template <typename F>
void for_windows(const PoolGeometry& g, F run) {
  for (std::int64_t d = 0; d < g.dims[0].out; ++d)
    for (std::int64_t h = 0; h < g.dims[1].out; ++h)
      for (std::int64_t w = 0; w < g.dims[2].out; ++w) {
        const auto i = [](std::int64_t at) { return static_cast<std::size_t>(at); };
        const double weight =
            static_cast<double>(g.dims[0].weight[i(d)] * g.dims[1].weight[i(h)] * g.dims[2].weight[i(w)]);
        run(i(d), i(h), i(w), g.divisor != 0 ? g.divisor : weight);
      }
}
// Calls run(offset, n) for the rows of one window within its plane.
template <typename F>
void for_window_rows(const PoolGeometry& g, std::size_t d, std::size_t h, std::size_t w, F run) {
  for (std::int64_t id = g.dims[0].start[d]; id < g.dims[0].end[d]; ++id)
    for (std::int64_t ih = g.dims[1].start[h]; ih < g.dims[1].end[h]; ++ih)
      run((id * g.dims[1].in + ih) * g.dims[2].in + g.dims[2].start[w], g.dims[2].end[w] - g.dims[2].start[w]);
}

Tensors average(const OpCall& call, int spatial) {
  const Tensor& input = call.in(0);
  const PoolGeometry g = average_geometry(call, spatial, input.sizes());
  const Tensor source = dense(input);
  const Tensor out = make_output(call, pooled_sizes(g, spatial, input.sizes()), input.dtype());
  with_float_type(call, input.dtype(), [&]<typename C>(TypeTag<C>) {
    for_planes<C>(g.planes, source, g.in_positions(), out, g.out_positions(), [&](std::int64_t, const C* in, C* to) {
      for_windows(g, [&](std::size_t d, std::size_t h, std::size_t w, double divisor) {
        C sum = 0;
        for_window_rows(g, d, h, w, [&](std::int64_t at, std::int64_t n) {
          for (std::int64_t i = 0; i < n; ++i) sum += in[at + i];
        });
        *to++ = sum / static_cast<C>(divisor);
      });
    });
  });
  return {out};
}

}  // namespace

Tensors max_pool2d(const OpCall& call) { return max_pool(call, 2); }
Tensors max_pool3d(const OpCall& call) { return max_pool(call, 3); }
Tensors avg_pool2d(const OpCall& call) { return average(call, 2); }
Tensors avg_pool3d(const OpCall& call) { return average(call, 3); }
Tensors adaptive_avg_pool2d(const OpCall& call) { return average(call, 2); }
Tensors adaptive_avg_pool3d(const OpCall& call) { return average(call, 3); }

// Inputs: gradient of the maxima, indices. Attributes input_sizes, spatial. Adds each gradient where its maximum was.
Tensors max_pool_backward(const OpCall& call) {
  const Tensor &grad = call.in(0), &indices = call.in(1);
  const Shape sizes = call.attributes.list("input_sizes", {});
  const int spatial = static_cast<int>(call.attributes.integer("spatial", 2));
  const std::int64_t in_n = plane_positions(sizes, spatial), out_n = plane_positions(grad.sizes(), spatial);
  const Tensor source = dense(grad);
  const Tensor out = make_output(call, sizes, grad.dtype());
  const std::int64_t planes = in_n == 0 ? 0 : out.numel() / in_n;
  with_float_type(call, grad.dtype(), [&]<typename C>(TypeTag<C>) {
    for_planes<C>(planes, source, out_n, out, in_n, [&](std::int64_t plane, const C* from, C* to) {
      std::fill_n(to, in_n, C(0));
      const std::int32_t* where = indices.data<std::int32_t>() + plane * out_n;
      for (std::int64_t o = 0; o < out_n; ++o) to[where[o]] += from[o];
    });
  });
  return {out};
}

// Inputs: a tensor of the pooling's input sizes, indices. Picks the elements the indices name: what max_pool2d is as a
// linear map, and so the gradient of max_pool_backward.
Tensors max_pool_pick(const OpCall& call) {
  const Tensor &input = call.in(0), &indices = call.in(1);
  const int spatial = static_cast<int>(call.attributes.integer("spatial", 2));
  const std::int64_t in_n = plane_positions(input.sizes(), spatial), out_n = plane_positions(indices.sizes(), spatial);
  const Tensor source = dense(input);
  const Tensor out = make_output(call, indices.sizes(), input.dtype());
  const std::int64_t planes = out_n == 0 ? 0 : out.numel() / out_n;
  with_float_type(call, input.dtype(), [&]<typename C>(TypeTag<C>) {
    for_planes<C>(planes, source, in_n, out, out_n, [&](std::int64_t plane, const C* from, C* to) {
      const std::int32_t* where = indices.data<std::int32_t>() + plane * out_n;
      for (std::int64_t o = 0; o < out_n; ++o) to[o] = from[where[o]];
    });
  });
  return {out};
}

// Input: gradient of the averages. Attributes input_sizes, spatial, and those of the forward op.
Tensors avg_pool_backward(const OpCall& call) {
  const Tensor& grad = call.in(0);
  const Shape sizes = call.attributes.list("input_sizes", {});
  const int spatial = static_cast<int>(call.attributes.integer("spatial", 2));
  const PoolGeometry g = average_geometry(call, spatial, sizes);
  const Tensor source = dense(grad);
  const Tensor out = make_output(call, sizes, grad.dtype());
  with_float_type(call, grad.dtype(), [&]<typename C>(TypeTag<C>) {
    for_planes<C>(g.planes, source, g.out_positions(), out, g.in_positions(), [&](std::int64_t, const C* from, C* to) {
      std::fill_n(to, g.in_positions(), C(0));
      for_windows(g, [&](std::size_t d, std::size_t h, std::size_t w, double divisor) {
        const C share = *from++ / static_cast<C>(divisor);
        for_window_rows(g, d, h, w, [&](std::int64_t at, std::int64_t n) {
          for (std::int64_t i = 0; i < n; ++i) to[at + i] += share;
        });
      });
    });
  });
  return {out};
}

}  // namespace amp::cpu
