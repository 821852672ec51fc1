// cdist: each pair of rows directly. The difference is formed before the norm, so near rows lose no digits, which the
// faster form by a matrix product would.
#include <cmath>

#include "libamp/backend/cpu/elementwise.h"

namespace amp::cpu {
namespace {

template <typename C>
double distance(const C* a, const C* b, std::int64_t n, double p) {
  double total = 0;
  const auto each = [&](auto f) {
    for (std::int64_t i = 0; i < n; ++i) f(std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  };
  if (p == 2) {
    each([&](double d) { total += d * d; });
    return std::sqrt(total);
  }
  if (p == 1)
    each([&](double d) { total += d; });
  else if (p == 0)
    each([&](double d) { total += d != 0 ? 1 : 0; });
  else if (std::isinf(p))
    each([&](double d) { total = d > total || d != d ? d : total; });
  else
    each([&](double d) { total += std::pow(d, p); });
  return p == 1 || p == 0 || std::isinf(p) ? total : std::pow(total, 1 / p);
}

// A contiguous copy broadcast to the batch shape.
Tensor rows_of(const Tensor& t, const Shape& sizes) {
  if (t.is_contiguous() && t.sizes() == sizes) return t;
  Tensor copy = empty(sizes, t.dtype(), t.device());
  with_compute_type(t.dtype(), [&]<typename C>(TypeTag<C>) {
    elementwise<C, 1>(copy, {&t}, [](const C* a, C* o, std::int64_t n) {
      if (a != o) std::copy_n(a, n, o);
    });
  });
  return copy;
}

}  // namespace

Tensors cdist(const OpCall& call) {
  const Tensor &x1 = call.in(0), &x2 = call.in(1);
  if (x1.dim() < 2 || x2.dim() < 2) call.fail("needs at least 2 dims: got " + describe(x1) + " and " + describe(x2));
  if (x1.size(-1) != x2.size(-1))
    call.fail("rows must have the same length: got " + describe(x1) + " and " + describe(x2));
  const DType dtype = result_type({x1, x2});
  if ((dtype != DType::float32 && dtype != DType::float64) || x1.dtype() != x2.dtype())
    call.fail("is implemented for two tensors of float32 or of float64: got " + describe(x1) + " and " + describe(x2),
              x1.dtype() == x2.dtype() ? ErrorCode::not_implemented : ErrorCode::runtime);
  const std::int64_t p_rows = x1.size(-2), r_rows = x2.size(-2), width = x1.size(-1);
  const auto batch_of = [](const Tensor& t) {
    return Shape(std::span(t.sizes().begin(), static_cast<std::size_t>(t.dim() - 2)));
  };
  const Shape batch = broadcast_shapes(batch_of(x1), batch_of(x2), "cdist");
  const auto with = [&](std::int64_t rows, std::int64_t columns) {
    Shape sizes = batch;
    sizes.push_back(rows);
    sizes.push_back(columns);
    return sizes;
  };
  Tensor out = make_output(call, with(p_rows, r_rows), dtype);
  if (!out.is_contiguous()) call.fail("out= must be contiguous");
  const Tensor a = rows_of(x1, with(p_rows, width)), b = rows_of(x2, with(r_rows, width));
  const double p = call.attributes.number("p", 2);
  dispatch_dtype(dtype, [&]<typename T>(TypeTag<T>) {
    if constexpr (std::is_floating_point_v<T>)
      parallel_for(numel_of(batch) * p_rows,
                   std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, r_rows * width)),
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t row = begin; row < end; ++row)
                       for (std::int64_t r = 0; r < r_rows; ++r)
                         out.data<T>()[row * r_rows + r] = static_cast<T>(distance(
                             a.data<T>() + row * width, b.data<T>() + (row / p_rows * r_rows + r) * width, width, p));
                   });
  });
  return {out};
}

}  // namespace amp::cpu
