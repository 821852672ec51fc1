// softmax and log_softmax along one dim, with their gradients. A row is read once into compute type, and worked on in
// cache; rows are split over threads.
#include <cmath>
#include <limits>

#include "libamp/backend/cpu/dense.h"
#include "libamp/backend/cpu/lanes.h"
#include "libamp/backend/cpu/vector_math.h"

namespace amp::cpu {
namespace {

// Rows along a dim of a contiguous tensor: row r starts at offset(r), its elements are `step` apart.
struct Rows {
  std::int64_t count = 1, length = 1, step = 1;
  [[nodiscard]] std::int64_t offset(std::int64_t row) const { return row / step * step * length + row % step; }
};

Rows rows_along(const OpCall& call, const Tensor& t) {
  Rows rows;
  if (t.dim() == 0) return rows;
  const int dim = wrap_dim(call.attributes.integer("dim", -1), t.dim(), call.info().name);
  rows.length = t.sizes()[dim];
  for (int d = dim + 1; d < t.dim(); ++d) rows.step *= t.sizes()[d];
  rows.count = rows.length == 0 ? 0 : t.numel() / rows.length;
  return rows;
}

// Calls run(in_row..., out_row) with rows in compute type.
template <typename C, std::size_t N, typename F>
void for_rows(const Rows& rows, const std::array<const Tensor*, N>& inputs, const Tensor& out, F run) {
  const std::int64_t n = rows.length, grain = std::max<std::int64_t>(1, kGrain / 4 / std::max<std::int64_t>(1, n));
  const bool direct = out.dtype() == kDTypeOf<C> && rows.step == 1;
  parallel_for(rows.count, grain, [&](std::int64_t begin, std::int64_t end) {
    const Workspace buffer(static_cast<std::size_t>((N + 1) * static_cast<std::size_t>(n)) * sizeof(C), true);
    C* memory = buffer.data<C>();
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t at = rows.offset(row);
      std::array<const C*, N> in;
      for (std::size_t i = 0; i < N; ++i)
        in[i] = load_block<C>(*inputs[i], at, rows.step, n, memory + static_cast<std::int64_t>(i) * n);
      C* result = direct ? out.data<C>() + at : memory + static_cast<std::int64_t>(N) * n;
      run(in, result, n);
      if (!direct) store_from<C>(out.raw(), out.dtype(), at, rows.step, n, result);
    }
  });
}

// A NaN is not seen by lane_max, but makes the sum, and so the whole row, NaN.
template <typename C>
void softmax_row(const C* x, C* out, std::int64_t n) {
  const C top = lane_max(x, n);
  for (std::int64_t i = 0; i < n; ++i) out[i] = vector_exp(x[i] - top);
  const C scale = C(1) / lane_sum<C>(n, [&](std::int64_t i) { return out[i]; });
  for (std::int64_t i = 0; i < n; ++i) out[i] *= scale;
}

template <typename C>
void log_softmax_row(const C* x, C* out, std::int64_t n) {
  const C top = lane_max(x, n);
  for (std::int64_t i = 0; i < n; ++i) out[i] = vector_exp(x[i] - top);
  const C log_sum = std::log(lane_sum<C>(n, [&](std::int64_t i) { return out[i]; }));
  for (std::int64_t i = 0; i < n; ++i) out[i] = (x[i] - top) - log_sum;
}

template <bool kLog>
Tensors forward(const OpCall& call) {
  const Tensor input = dense(call.in(0));
  const Rows rows = rows_along(call, input);
  const Tensor out = make_output(call, input.sizes(), call.attributes.dtype("dtype", input.dtype()));
  with_float_type(call, out.dtype(), [&]<typename C>(TypeTag<C>) {
    for_rows<C, 1>(rows, {&input}, out, [](const auto& in, C* result, std::int64_t n) {
      if constexpr (kLog)
        log_softmax_row<C>(in[0], result, n);
      else
        softmax_row<C>(in[0], result, n);
    });
  });
  return {out};
}

// Inputs: gradient, output of the forward op. The result is rounded to attribute dtype, the forward input's.
template <bool kLog>
Tensors backward(const OpCall& call) {
  if (call.in(0).dtype() != call.in(1).dtype())
    call.fail("gradient and output must have the same dtype: got " + describe(call.in(0)) + " and " +
              describe(call.in(1)));
  const Tensor grad = dense(call.in(0)), output = dense(call.in(1));
  const Rows rows = rows_along(call, output);
  const Tensor out = make_output(call, output.sizes(), call.attributes.dtype("dtype", grad.dtype()));
  with_float_type(call, grad.dtype(), [&]<typename C>(TypeTag<C>) {
    for_rows<C, 2>(rows, {&grad, &output}, out, [](const auto& in, C* result, std::int64_t n) {
      const C *g = in[0], *y = in[1];
      if constexpr (kLog) {
        const C sum = lane_sum<C>(n, [&](std::int64_t i) { return g[i]; });
        for (std::int64_t i = 0; i < n; ++i) result[i] = g[i] - vector_exp(y[i]) * sum;
      } else {
        const C sum = lane_sum<C>(n, [&](std::int64_t i) { return g[i] * y[i]; });
        for (std::int64_t i = 0; i < n; ++i) result[i] = y[i] * (g[i] - sum);
      }
    });
  });
  return {out};
}

}  // namespace

Tensors softmax(const OpCall& call) { return forward<false>(call); }
Tensors log_softmax(const OpCall& call) { return forward<true>(call); }
Tensors softmax_backward(const OpCall& call) { return backward<false>(call); }
Tensors log_softmax_backward(const OpCall& call) { return backward<true>(call); }

}  // namespace amp::cpu
