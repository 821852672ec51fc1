// Loops over tensors of any shape, stride and dtype for bodies written once per compute type. Elements are brought in
// blocks to the compute type (float for the narrow types, so arithmetic is float32 and rounded once), the body works
// on plain arrays the compiler can vectorise, and the result is rounded to the output's dtype.
#pragma once
#include <algorithm>
#include <array>
#include <type_traits>

#include "libamp/backend/cpu/convert.h"
#include "libamp/core/dtype_dispatch.h"
#include "libamp/core/thread_pool.h"
#include "libamp/dispatch/op_call.h"

namespace amp::cpu {

inline constexpr std::int64_t kBlock = 512;        // elements; a few of them fit in L1 in every type
inline constexpr std::int64_t kGrain = 32 * 1024;  // elements one thread should at least have

/// The broadcast loop over one output and N inputs, with neighbouring dims merged where strides allow.
template <int N>
struct Loop {
  int dims = 0;
  std::int64_t sizes[kMaxDims] = {};
  std::int64_t strides[N + 1][kMaxDims] = {};  // [0] is the output; elements
  std::int64_t numel = 1;
};

template <int N>
Loop<N> make_loop(const Tensor& out, const std::array<const Tensor*, N>& inputs) {
  Loop<N> loop;
  const int ndim = out.dim();
  loop.numel = out.numel();
  const auto stride_of = [&](int operand, int d) -> std::int64_t {
    if (operand == 0) return out.strides()[d];
    const Tensor& t = *inputs[static_cast<std::size_t>(operand - 1)];
    const int shifted = d - (ndim - t.dim());
    return shifted < 0 || t.sizes()[shifted] == 1 ? 0 : t.strides()[shifted];
  };
  for (int d = 0; d < ndim; ++d) {
    const std::int64_t size = out.sizes()[d];
    if (size == 1) continue;
    bool merges = loop.dims > 0;
    for (int k = 0; k <= N && merges; ++k) merges = loop.strides[k][loop.dims - 1] == stride_of(k, d) * size;
    if (merges) {
      loop.sizes[loop.dims - 1] *= size;
    } else {
      loop.sizes[loop.dims++] = size;
    }
    for (int k = 0; k <= N; ++k) loop.strides[k][loop.dims - 1] = stride_of(k, d);
  }
  if (loop.dims == 0) {
    loop.dims = 1;
    loop.sizes[0] = 1;
  }
  return loop;
}

/// Calls run(offsets, strides, n) for stretches of the innermost dim that together cover [begin, end) of the loop.
template <int N, typename F>
void for_stretches(const Loop<N>& loop, std::int64_t begin, std::int64_t end, F&& run) {
  const int inner = loop.dims - 1;
  const std::int64_t inner_size = loop.sizes[inner];
  std::array<std::int64_t, N + 1> steps;
  for (int k = 0; k <= N; ++k) steps[static_cast<std::size_t>(k)] = loop.strides[k][inner];
  while (begin < end) {
    std::int64_t rest = begin / inner_size;
    const std::int64_t at = begin % inner_size;
    std::array<std::int64_t, N + 1> offsets;
    for (int k = 0; k <= N; ++k) offsets[static_cast<std::size_t>(k)] = at * loop.strides[k][inner];
    for (int d = inner - 1; d >= 0; --d) {
      const std::int64_t i = rest % loop.sizes[d];
      rest /= loop.sizes[d];
      for (int k = 0; k <= N; ++k) offsets[static_cast<std::size_t>(k)] += i * loop.strides[k][d];
    }
    const std::int64_t n = std::min(inner_size - at, end - begin);
    run(offsets, steps, n);
    begin += n;
  }
}

/// Brings n elements of a tensor to compute type C: a pointer into the tensor where nothing is to do, else `buffer`.
template <typename C>
const C* load_block(const Tensor& t, std::int64_t offset, std::int64_t step, std::int64_t n, C* buffer) {
  if (t.dtype() == kDTypeOf<C> && step == 1) return t.data<C>() + offset;
  load_as<C>(t.raw(), t.dtype(), offset, step, n, buffer);
  return buffer;
}

/// Runs f(const C* in..., C* out, n) over blocks. C is the compute type; every operand may have any dtype.
template <typename C, int N, typename F>
void elementwise(const Tensor& out, const std::array<const Tensor*, N>& inputs, F f) {
  const Loop<N> loop = make_loop<N>(out, inputs);
  const bool direct = out.dtype() == kDTypeOf<C>;
  parallel_for(loop.numel, kGrain, [&](std::int64_t begin, std::int64_t end) {
    std::array<std::array<C, kBlock>, N + 1> buffers;
    for_stretches<N>(loop, begin, end, [&](const auto& offsets, const auto& steps, std::int64_t n) {
      for (std::int64_t done = 0; done < n; done += kBlock) {
        const std::int64_t count = std::min(kBlock, n - done);
        const std::int64_t out_at = offsets[0] + done * steps[0];
        const bool in_place = direct && steps[0] == 1;
        C* result = in_place ? out.data<C>() + out_at : buffers[N].data();
        const auto input = [&](std::size_t i) {
          return load_block<C>(*inputs[i], offsets[i + 1] + done * steps[i + 1], steps[i + 1], count,
                               buffers[i].data());
        };
        if constexpr (N == 0)
          f(result, count);
        else if constexpr (N == 1)
          f(input(0), result, count);
        else if constexpr (N == 2)
          f(input(0), input(1), result, count);
        else
          f(input(0), input(1), input(2), result, count);
        if (!in_place) store_from<C>(out.raw(), out.dtype(), out_at, steps[0], count, result);
      }
    });
  });
}

/// Compute type for a result dtype: double for float64, float for other floating types, int64 for integers and bool.
template <typename F>
void with_compute_type(DType dtype, F&& f) {
  if (dtype == DType::float64)
    f(TypeTag<double>{});
  else if (is_floating(dtype))
    f(TypeTag<float>{});
  else
    f(TypeTag<std::int64_t>{});
}
/// float8 is a storage format, as in PyTorch: it is copied, converted and joined, and not computed with.
inline void refuse_float8(const OpCall& call, DType dtype) {
  if (is_floating(dtype) && size_of(dtype) == 1)
    call.fail("is not implemented for " + std::string(name(dtype)) + "; need a conversion by .to() first",
              ErrorCode::not_implemented);
}
/// The same for ops that only exist for floating types; others are an error naming the op.
template <typename F>
void with_float_type(const OpCall& call, DType dtype, F&& f) {
  refuse_float8(call, dtype);
  if (dtype == DType::float64)
    f(TypeTag<double>{});
  else if (is_floating(dtype))
    f(TypeTag<float>{});
  else
    call.fail("needs a floating dtype: got " + std::string(name(dtype)), ErrorCode::not_implemented);
}

/// A floating unary op: op(C x) -> C, output in the input's dtype; integers are computed and returned in float32.
template <typename Op>
Tensors unary_float(const OpCall& call, Op op) {
  const Tensor& x = call.in(0);
  const DType dtype = is_floating(x.dtype()) ? x.dtype() : DType::float32;
  Tensor out = make_output(call, x.sizes(), dtype, true);
  with_float_type(call, dtype, [&]<typename C>(TypeTag<C>) {
    elementwise<C, 1>(out, {&x}, [op](const C* a, C* o, std::int64_t n) {
      for (std::int64_t i = 0; i < n; ++i) o[i] = op(a[i]);
    });
  });
  return {out};
}

/// A binary op with broadcasting and type promotion: op(C a, C b) -> C for C in float, double, int64.
template <typename Op>
Tensors binary(const OpCall& call, Op op) {
  const Tensor &a = call.in(0), &b = call.in(1);
  const DType dtype = result_type({a, b});
  refuse_float8(call, dtype);
  Tensor out = make_output(call, broadcast_shapes(a.sizes(), b.sizes(), call.info().name), dtype, true);
  with_compute_type(dtype, [&]<typename C>(TypeTag<C>) {
    elementwise<C, 2>(out, {&a, &b}, [op](const C* x, const C* y, C* o, std::int64_t n) {
      for (std::int64_t i = 0; i < n; ++i) o[i] = op(x[i], y[i]);
    });
  });
  return {out};
}

}  // namespace amp::cpu
