// Bodies of padding, unpooling and antialiased resizing, written with index ops and products: gradients come by
// themselves.
#include <algorithm>
#include <cmath>

#include "libamp/autocast/scope.h"
#include "libamp/dispatch/op_call.h"
#include "libamp/ops/ops.h"

namespace amp::composite {
namespace {

Tensor index_tensor(const std::vector<std::int64_t>& values) {
  return from_memory(values.data(), {static_cast<std::int64_t>(values.size())}, DType::int64);
}

// Each padded dim is read through a list of positions: mirrored at the edges, or the edge itself.
Tensors pad_by_index(const OpCall& call, bool reflect) {
  const Shape pad = call.attributes.list("pad", {});
  Tensor result = call.in(0);
  for (int i = 0; i < pad.size() / 2; ++i) {
    const int d = result.dim() - 1 - i;
    const std::int64_t n = result.size(d), before = pad[2 * i], after = pad[2 * i + 1];
    if (n + before + after < 1 || n < 1 || (reflect && (before >= n || after >= n)))
      call.fail("padding does not fit: got " + to_string(pad) + " for " + describe(call.in(0)) +
                (reflect ? ", need less than each dim" : ""));
    std::vector<std::int64_t> from;
    for (std::int64_t o = -before; o < n + after; ++o)
      from.push_back(!reflect ? std::clamp<std::int64_t>(o, 0, n - 1) : o < 0 ? -o : o >= n ? 2 * (n - 1) - o : o);
    if (before != 0 || after != 0) result = index_select(result, d, index_tensor(from));
  }
  return {result};
}

// Attribute output_size: the spatial sizes. Each value goes where its index says, the rest is zero.
Tensors unpool(const OpCall& call, int spatial) {
  const Tensor &x = call.in(0), &indices = call.in(1);
  if (!(x.sizes() == indices.sizes()) || (x.dim() != spatial + 1 && x.dim() != spatial + 2))
    call.fail("needs values and indices of one shape, of " + std::to_string(spatial + 1) + " or " +
              std::to_string(spatial + 2) + " dims: got " + describe(x) + " and " + describe(indices));
  Shape planes, out;
  for (int d = 0; d < x.dim() - spatial; ++d) {
    planes.push_back(x.size(d));
    out.push_back(x.size(d));
  }
  Shape flat = planes;
  flat.push_back(-1);
  for (const auto n : call.attributes.list("output_size", {})) out.push_back(n);
  planes.push_back(numel_of(call.attributes.list("output_size", {})));
  const Tensor zero = zeros(planes, {.dtype = x.dtype()});
  return {reshape(scatter(zero, -1, reshape(indices, flat), reshape(x, flat)), out)};
}

double triangle_filter(double x) { return std::max(0.0, 1 - std::abs(x)); }
// Keys' cubic with a = -0.5, as images are resized with antialiasing.
double cubic_filter(double x) {
  constexpr double a = -0.5;
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((x - 5) * x + 8) * x * a - 4 * a : 0;
}

// The weights [out, in] of one dim: the filter, widened where the image shrinks, and its sum brought to one.
Tensor resize_weights(const OpCall& call, std::int64_t in, std::int64_t out, double ratio, bool cubic, DType dtype) {
  const bool corners = call.attributes.flag("align_corners", false);
  double scale = ratio > 0 ? ratio : static_cast<double>(in) / static_cast<double>(out);
  if (corners) scale = out > 1 ? static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0;
  const double reach = cubic ? 2 : 1, widen = std::max(scale, 1.0), support = reach * widen;
  std::vector<double> weights(static_cast<std::size_t>(in * out), 0.0);
  for (std::int64_t o = 0; o < out; ++o) {
    const double centre = scale * (static_cast<double>(o) + 0.5);
    const auto first = std::max<std::int64_t>(0, static_cast<std::int64_t>(centre - support + 0.5));
    const auto last = std::min(in, static_cast<std::int64_t>(centre + support + 0.5));
    double total = 0;
    const auto weight = [&](std::int64_t i) {
      const double x = (static_cast<double>(i) - centre + 0.5) / widen;
      return cubic ? cubic_filter(x) : triangle_filter(x);
    };
    for (std::int64_t i = first; i < last; ++i) total += weight(i);
    for (std::int64_t i = first; i < last && total != 0; ++i)
      weights[static_cast<std::size_t>(o * in + i)] = weight(i) / total;
  }
  return tensor(weights, Shape{out, in}, {.dtype = dtype});
}

// Separable: one matrix product for each dim, in float32 for half images.
Tensors resize(const OpCall& call, bool cubic) {
  const Tensor& x = call.in(0);
  const Shape out = call.attributes.list("output_size", {});
  if (x.dim() != 4 || out.size() != 2 || x.numel() == 0 || out[0] < 1 || out[1] < 1)
    call.fail("needs [batch, channels, height, width] and two sizes: got " + describe(x) + " and " + to_string(out));
  const AutocastSuspended suspended;  // the products are how it is computed, not what it is
  const DType wide = x.dtype() == DType::float64 ? DType::float64 : DType::float32;
  const Tensor rows = resize_weights(call, x.size(2), out[0], call.attributes.number("ratio0", 0), cubic, wide),
               columns = resize_weights(call, x.size(3), out[1], call.attributes.number("ratio1", 0), cubic, wide);
  const Tensor across = matmul(to(x, wide), transpose(columns, 0, 1));
  return {to(matmul(rows, across), x.dtype())};
}

}  // namespace

Tensors reflection_pad1d(const OpCall& call) { return pad_by_index(call, true); }
Tensors reflection_pad2d(const OpCall& call) { return pad_by_index(call, true); }
Tensors reflection_pad3d(const OpCall& call) { return pad_by_index(call, true); }
Tensors replication_pad1d(const OpCall& call) { return pad_by_index(call, false); }
Tensors replication_pad2d(const OpCall& call) { return pad_by_index(call, false); }
Tensors replication_pad3d(const OpCall& call) { return pad_by_index(call, false); }

Tensors max_unpool2d(const OpCall& call) { return unpool(call, 2); }
Tensors max_unpool3d(const OpCall& call) { return unpool(call, 3); }

Tensors upsample_bilinear2d_aa(const OpCall& call) { return resize(call, false); }
Tensors upsample_bicubic2d_aa(const OpCall& call) { return resize(call, true); }

Tensors trace(const OpCall& call) { return {sum(diagonal(call.in(0)))}; }

// Attributes q as a list of numbers cannot be: the second input holds them, in float64.
namespace {

Tensors quantiles(const OpCall& call, bool ignore_nan) {
  const Tensor& q = call.in(1);
  Tensor x = call.in(0);
  const Shape dims = call.attributes.list("dim", {});
  if (!x.is_floating_point() || size_of(x.dtype()) < 4) call.fail("needs float32 or float64: got " + describe(x));
  if (dims.empty()) x = reshape(x, {-1});
  const int dim = dims.empty() ? 0 : wrap_dim(dims[0], x.dim(), call.info().name);
  if (x.numel() == 0) call.fail("needs an input that is not empty: got " + describe(call.in(0)));
  x = transpose(x.dim() == 0 ? reshape(x, {1}) : x, dim, -1);
  const std::int64_t n = x.size(-1);
  const Tensor sorted = sort(x, -1).values;  // NaN is last
  const Tensor nan = isnan(x), numbers = sum(logical_not(nan), Shape{-1}, true, DType::float64);
  const std::string mode = call.attributes.text("interpolation", "linear");
  Tensors results;
  for (const double fraction : reshape(q, {-1}).to_vector()) {
    if (!(fraction >= 0 && fraction <= 1)) call.fail("q must be in [0, 1]: got " + std::to_string(fraction));
    // The rank between the elements, of the numbers there are; NaN anywhere makes it the last, which is NaN.
    Tensor rank = clamp(numbers - 1, 0) * fraction;
    if (!ignore_nan)
      rank = where(any(nan, {-1}, true), static_cast<double>(n - 1),
                   full(rank.sizes(), static_cast<double>(n - 1) * fraction, {.dtype = DType::float64}));
    if (mode == "lower") rank = floor(rank);
    if (mode == "higher") rank = ceil(rank);
    if (mode == "nearest") rank = round(rank);
    const Tensor below = floor(rank), above = ceil(rank);
    const Tensor low = gather(sorted, -1, to(below, DType::int64)), high = gather(sorted, -1, to(above, DType::int64));
    const Tensor weight = mode == "midpoint" ? ceil(rank - below) * 0.5 : rank - below;
    results.push_back(lerp(low, high, to(weight, x.dtype())));
  }
  const bool keepdim = call.attributes.flag("keepdim", false);
  for (Tensor& r : results) {
    r = transpose(r, dim, -1);
    if (!keepdim) r = squeeze(r, dim);
    if (keepdim && dims.empty())
      r = reshape(r, std::vector<std::int64_t>(static_cast<std::size_t>(call.in(0).dim()), 1));
  }
  return {q.dim() == 0 ? results[0] : stack(results, 0)};
}

}  // namespace

Tensors quantile(const OpCall& call) { return quantiles(call, false); }
Tensors nanquantile(const OpCall& call) { return quantiles(call, true); }

}  // namespace amp::composite
