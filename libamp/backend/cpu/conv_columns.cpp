// Geometry of convolutions, im2col and its transpose.
#include <algorithm>

#include "libamp/backend/cpu/conv.h"

namespace amp::cpu {

bool ConvGeometry::is_pointwise() const {
  for (int d = 0; d < 3; ++d)
    if (kernel[d] != 1 || stride[d] != 1 || padding[d] != 0) return false;
  return true;
}

void require_conv_dtypes(const OpCall& call, const Tensor& a, const Tensor& b, const Tensor& bias) {
  if (a.dtype() != b.dtype() || (bias.defined() && bias.dtype() != a.dtype()))
    call.fail("input, weight and bias must have the same dtype: got " + describe(a) + ", " + describe(b) + " and " +
              describe(bias) + "; cast them with .to(), or run the op out of place inside an autocast region");
}

ConvGeometry conv_geometry(const OpCall& call, int spatial, const Shape& in_sizes, const Shape& weight_sizes) {
  const Attributes& attributes = call.attributes;
  const auto wrong = [&](const std::string& what) {
    call.fail(what + ": got input " + to_string(in_sizes) + " and weight " + to_string(weight_sizes));
  };
  if (in_sizes.size() != spatial + 2 || weight_sizes.size() != spatial + 2)
    wrong("needs input [batch, channels, " + std::to_string(spatial) +
          " spatial] and weight [out, in / groups, kernel]");
  const Shape ones(std::vector<std::int64_t>(static_cast<std::size_t>(spatial), 1));
  const Shape zeros(std::vector<std::int64_t>(static_cast<std::size_t>(spatial), 0));
  const Shape stride = attributes.list("stride", ones), padding = attributes.list("padding", zeros),
              dilation = attributes.list("dilation", ones);
  if (stride.size() != spatial || padding.size() != spatial || dilation.size() != spatial)
    wrong("stride " + to_string(stride) + ", padding " + to_string(padding) + " and dilation " + to_string(dilation) +
          " need one number per spatial dim");
  ConvGeometry g;
  g.groups = attributes.integer("groups", 1);
  g.batch = in_sizes[0];
  g.in_channels = in_sizes[1];
  g.out_channels = weight_sizes[0];
  if (g.groups <= 0) wrong("groups must be positive: got " + std::to_string(g.groups));
  if (weight_sizes[1] * g.groups != g.in_channels)
    wrong("weight must have channels / groups = " + std::to_string(g.in_channels) + " / " + std::to_string(g.groups) +
          " in its second dim");
  if (g.out_channels % g.groups != 0) wrong("out channels must be a multiple of groups = " + std::to_string(g.groups));
  for (int d = 0; d < spatial; ++d) {
    const int at = 3 - spatial + d;
    g.in[at] = in_sizes[d + 2];
    g.kernel[at] = weight_sizes[d + 2];
    g.stride[at] = stride[d];
    g.padding[at] = padding[d];
    g.dilation[at] = dilation[d];
    if (stride[d] <= 0 || dilation[d] <= 0 || padding[d] < 0)
      wrong("stride and dilation must be positive and padding not negative: got stride " + to_string(stride) +
            ", padding " + to_string(padding) + ", dilation " + to_string(dilation));
    const std::int64_t reach = g.dilation[at] * (g.kernel[at] - 1) + 1;
    const std::int64_t room = g.in[at] + 2 * g.padding[at] - reach;
    if (room < 0 || g.kernel[at] <= 0) wrong("the kernel must not be larger than the padded input");
    g.out[at] = room / g.stride[at] + 1;
  }
  return g;
}

std::int64_t conv_tile_columns(const ConvGeometry& g, std::size_t element_bytes) {
  constexpr std::int64_t kTileBytes = 512 * 1024;  // half of the 1 MiB L2 of current server cores
  const std::int64_t fit =
      kTileBytes / std::max<std::int64_t>(1, g.column_rows() * static_cast<std::int64_t>(element_bytes));
  // Whole cache lines, and enough columns that packing the weight inside BLAS does not dominate.
  const std::int64_t columns = std::max<std::int64_t>(128, fit / 16 * 16);
  return std::min(columns, std::max<std::int64_t>(1, g.out_positions()));
}

namespace {

// Walks the output positions [first, last) as stretches of one output row, for one kernel position. Calls
// outside(at, n) for stretches whose input row lies in the padding, inside(at, row, x, n) for the others, where `row`
// is the offset of the input row in a channel, and x the input position of the first element (it may be outside).
template <typename Outside, typename Inside>
void for_row_stretches(const ConvGeometry& g, const std::int64_t* k, std::int64_t first, std::int64_t last,
                       Outside outside, Inside inside) {
  std::int64_t w = first % g.out[2], rest = first / g.out[2];
  std::int64_t h = rest % g.out[1], d = rest / g.out[1];
  for (std::int64_t at = first; at < last;) {
    const std::int64_t n = std::min(g.out[2] - w, last - at);
    const std::int64_t id = d * g.stride[0] - g.padding[0] + k[0] * g.dilation[0];
    const std::int64_t ih = h * g.stride[1] - g.padding[1] + k[1] * g.dilation[1];
    const std::int64_t iw = w * g.stride[2] - g.padding[2] + k[2] * g.dilation[2];
    if (id < 0 || id >= g.in[0] || ih < 0 || ih >= g.in[1])
      outside(at - first, n);
    else
      inside(at - first, (id * g.in[1] + ih) * g.in[2], iw, n);
    at += n;
    w = 0;
    if (++h == g.out[1]) {
      h = 0;
      ++d;
    }
  }
}

// Elements of a stretch whose input position x + i * stride lies in [0, size): [begin, end).
std::pair<std::int64_t, std::int64_t> inner_range(std::int64_t x, std::int64_t stride, std::int64_t size,
                                                  std::int64_t n) {
  const std::int64_t begin = x >= 0 ? 0 : std::min(n, (-x + stride - 1) / stride);
  const std::int64_t end = x >= size ? 0 : std::min(n, (size - x + stride - 1) / stride);
  return {begin, std::max(begin, end)};
}

template <typename F>
void for_kernel_rows(const ConvGeometry& g, F f) {
  std::int64_t row = 0;
  for (std::int64_t c = 0; c < g.in_per_group(); ++c)
    for (std::int64_t d = 0; d < g.kernel[0]; ++d)
      for (std::int64_t h = 0; h < g.kernel[1]; ++h)
        for (std::int64_t w = 0; w < g.kernel[2]; ++w) {
          const std::int64_t k[3] = {d, h, w};
          f(row++, c, k);
        }
}

}  // namespace

template <typename C>
void im2col(const ConvGeometry& g, const C* image, std::int64_t first, std::int64_t last, C* columns) {
  const std::int64_t stride = g.stride[2];
  for_kernel_rows(g, [&](std::int64_t row, std::int64_t channel, const std::int64_t* k) {
    C* out = columns + row * (last - first);
    const C* plane = image + channel * g.in_positions();
    for_row_stretches(
        g, k, first, last, [&](std::int64_t at, std::int64_t n) { std::fill_n(out + at, n, C(0)); },
        [&](std::int64_t at, std::int64_t line, std::int64_t x, std::int64_t n) {
          const auto [begin, end] = inner_range(x, stride, g.in[2], n);
          C* to = out + at;
          const C* from = plane + line + x;
          std::fill(to, to + begin, C(0));
          if (stride == 1)
            std::copy(from + begin, from + end, to + begin);
          else
            for (std::int64_t i = begin; i < end; ++i) to[i] = from[i * stride];
          std::fill(to + end, to + n, C(0));
        });
  });
}

template <typename C>
void col2im_add(const ConvGeometry& g, const C* columns, std::int64_t first, std::int64_t last, C* image) {
  const std::int64_t stride = g.stride[2];
  for_kernel_rows(g, [&](std::int64_t row, std::int64_t channel, const std::int64_t* k) {
    const C* in = columns + row * (last - first);
    C* plane = image + channel * g.in_positions();
    for_row_stretches(
        g, k, first, last, [](std::int64_t, std::int64_t) {},
        [&](std::int64_t at, std::int64_t line, std::int64_t x, std::int64_t n) {
          const auto [begin, end] = inner_range(x, stride, g.in[2], n);
          const C* from = in + at;
          C* to = plane + line + x;
          if (stride == 1)
            for (std::int64_t i = begin; i < end; ++i) to[i] += from[i];
          else
            for (std::int64_t i = begin; i < end; ++i) to[i * stride] += from[i];
        });
  });
}

template void im2col<float>(const ConvGeometry&, const float*, std::int64_t, std::int64_t, float*);
template void im2col<double>(const ConvGeometry&, const double*, std::int64_t, std::int64_t, double*);
template void col2im_add<float>(const ConvGeometry&, const float*, std::int64_t, std::int64_t, float*);
template void col2im_add<double>(const ConvGeometry&, const double*, std::int64_t, std::int64_t, double*);

}  // namespace amp::cpu
