// Bodies that work on whole slices along a dim: running sums and products, positions of extremes, top k, sorting.
#include <numeric>

#include "libamp/backend/cpu/slices.h"

namespace amp::cpu {
namespace {

template <typename C>
using Wide = std::conditional_t<std::is_integral_v<C>, std::int64_t, double>;

// Running fold along a dim; `reverse` runs from the end, which is the gradient of the other direction.
template <typename Op>
Tensors running(const OpCall& call, Op op) {
  const Tensor& in = call.in(0);
  refuse_float8(call, in.dtype());
  const Shape dims = call.attributes.list("dim", {});
  const int dim = wrap_dim(dims.empty() ? 0 : dims[0], in.dim(), call.info().name);
  const bool reverse = call.attributes.flag("reverse", false);
  const DType own = is_floating(in.dtype()) ? in.dtype() : DType::int64;
  Tensor out = make_output(call, in.sizes(), call.attributes.dtype("dtype", own), true);
  const bool wide = in.dtype() == DType::float64 || out.dtype() == DType::float64;
  with_compute_type(wide                      ? DType::float64
                    : is_floating(in.dtype()) ? in.dtype()
                                              : out.dtype(),
                    [&]<typename C>(TypeTag<C>) {
                      for_slices<C>(in, dim, [&](C* values, std::int64_t n, std::int64_t s) {
                        Wide<C> total = reverse ? static_cast<Wide<C>>(values[n - 1]) : static_cast<Wide<C>>(values[0]);
                        for (std::int64_t i = 1; i < n; ++i) {
                          C& v = values[reverse ? n - 1 - i : i];
                          total = op(total, static_cast<Wide<C>>(v));
                          v = static_cast<C>(total);
                        }
                        store_slice<C>(out, dim, s, values);
                      });
                    });
  return {out};
}

// Does a come before b? NaN is larger than everything.
template <typename C>
bool is_better(C a, C b, bool largest) {
  if (a != a || b != b) return largest ? a != a && b == b : a == a && b != b;
  return largest ? a > b : a < b;
}

// NaN is taken first in both directions here: an extreme of a slice with a NaN is NaN.
template <typename C>
std::int64_t find_extreme(const C* values, std::int64_t n, bool largest) {
  std::int64_t best = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    if (values[i] != values[i]) return i;
    if (largest ? values[i] > values[best] : values[i] < values[best]) best = i;
  }
  return best;
}

Shape without_dim(const Tensor& in, int dim, bool keepdim) {
  Shape sizes = in.sizes();
  if (in.dim() == 0) return sizes;
  if (keepdim)
    sizes[dim] = 1;
  else
    sizes.erase(dim);
  return sizes;
}

void require_slice(const OpCall& call, int dim) {
  if (slice_length(call.in(0), dim) == 0)
    call.fail("there is no extreme of an empty slice: got " + describe(call.in(0)), ErrorCode::index);
}

// Values and positions of the extremes along one dim.
Tensors extreme_along(const OpCall& call, bool largest) {
  const Tensor& in = call.in(0);
  const int dim = wrap_dim(call.attributes.list("dim", {0})[0], in.dim(), call.info().name);
  require_slice(call, dim);
  const Shape sizes = without_dim(in, dim, call.attributes.flag("keepdim", false));
  Tensor values = empty(sizes, in.dtype(), in.device()), indices = empty(sizes, DType::int64, in.device());
  with_compute_type(in.dtype(), [&]<typename C>(TypeTag<C>) {
    for_slices<C>(in, dim, [&](const C* slice, std::int64_t n, std::int64_t s) {
      const std::int64_t at = find_extreme(slice, n, largest);
      store_from<C>(values.raw(), values.dtype(), s, 1, 1, slice + at);
      indices.data<std::int64_t>()[s] = at;
    });
  });
  return {values, indices};
}

Tensor contiguous_copy(const Tensor& in) {
  Tensor copy = empty(in.sizes(), in.dtype(), in.device());
  with_compute_type(in.dtype(), [&]<typename C>(TypeTag<C>) {
    elementwise<C, 1>(copy, {&in}, [](const C* a, C* o, std::int64_t n) { std::copy(a, a + n, o); });
  });
  return copy;
}

Tensors position(const OpCall& call, bool largest) {
  Tensor in = call.in(0);
  const Shape dims = call.attributes.list("dim", {});
  const bool keepdim = call.attributes.flag("keepdim", false);
  Shape out_sizes;
  int dim = 0;
  if (dims.empty()) {
    if (keepdim) out_sizes = Shape(std::vector<std::int64_t>(static_cast<std::size_t>(in.dim()), 1));
    if (!in.is_contiguous()) in = contiguous_copy(in);
    in = make_view(in, {in.numel()}, {1}, in.impl()->offset);
    if (in.numel() == 0)
      call.fail("there is no extreme of an empty tensor: got " + describe(call.in(0)), ErrorCode::index);
  } else {
    dim = wrap_dim(dims[0], in.dim(), call.info().name);
    require_slice(call, dim);
    out_sizes = without_dim(in, dim, keepdim);
  }
  Tensor out = empty(out_sizes, DType::int64, in.device());
  with_compute_type(in.dtype(), [&]<typename C>(TypeTag<C>) {
    for_slices<C>(in, dim, [&](const C* slice, std::int64_t n, std::int64_t s) {
      out.data<std::int64_t>()[s] = find_extreme(slice, n, largest);
    });
  });
  return {out};
}

// The first k of the order along a dim; k == n sorts. Stable.
Tensors ordered(const OpCall& call, int dim, std::int64_t k, bool largest) {
  const Tensor& in = call.in(0);
  Shape sizes = in.sizes();
  if (in.dim() > 0) sizes[dim] = k;
  Tensor values = empty(sizes, in.dtype(), in.device()), indices = empty(sizes, DType::int64, in.device());
  with_compute_type(in.dtype(), [&]<typename C>(TypeTag<C>) {
    for_slices<C>(in, dim, [&](const C* slice, std::int64_t n, std::int64_t s) {
      std::vector<std::int64_t> order(static_cast<std::size_t>(n));
      std::iota(order.begin(), order.end(), std::int64_t{0});
      const auto before = [&](std::int64_t a, std::int64_t b) {
        if (is_better(slice[a], slice[b], largest)) return true;
        return !is_better(slice[b], slice[a], largest) && a < b;
      };
      if (k == n)
        std::sort(order.begin(), order.end(), before);
      else
        std::partial_sort(order.begin(), order.begin() + k, order.end(), before);
      std::vector<C> sorted(static_cast<std::size_t>(k));
      for (std::int64_t i = 0; i < k; ++i)
        sorted[static_cast<std::size_t>(i)] = slice[order[static_cast<std::size_t>(i)]];
      if (k == 0) return;
      store_slice<C>(values, dim, s, sorted.data());
      store_slice<std::int64_t>(indices, dim, s, order.data());
    });
  });
  return {values, indices};
}

}  // namespace

Tensors cumsum(const OpCall& call) {
  return running(call, [](auto a, auto b) { return a + b; });
}
Tensors cumprod(const OpCall& call) {
  return running(call, [](auto a, auto b) { return a * b; });
}

Tensors max_dim(const OpCall& call) { return extreme_along(call, true); }
Tensors min_dim(const OpCall& call) { return extreme_along(call, false); }
Tensors argmax(const OpCall& call) { return position(call, true); }
Tensors argmin(const OpCall& call) { return position(call, false); }

Tensors topk(const OpCall& call) {
  const Tensor& in = call.in(0);
  const int dim = wrap_dim(call.attributes.integer("dim", -1), in.dim(), "topk");
  const std::int64_t k = call.attributes.integer("k", 1), n = slice_length(in, dim);
  if (k < 0 || k > n) call.fail("k out of range: got " + std::to_string(k) + ", need [0, " + std::to_string(n) + "]");
  return ordered(call, dim, k, call.attributes.flag("largest", true));
}
Tensors sort(const OpCall& call) {
  const Tensor& in = call.in(0);
  const int dim = wrap_dim(call.attributes.integer("dim", -1), in.dim(), "sort");
  return ordered(call, dim, slice_length(in, dim), call.attributes.flag("descending", false));
}

}  // namespace amp::cpu
