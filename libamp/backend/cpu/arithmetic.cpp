// add, sub, mul, div, neg with PyTorch's type promotion.
#include "libamp/backend/cpu/elementwise.h"

namespace amp::cpu {
namespace {

// alpha is applied in the compute type, as PyTorch does.
template <typename Op>
Tensors scaled(const OpCall& call, Op op) {
  const double alpha = call.attributes.number("alpha", 1);
  const Tensor &a = call.in(0), &b = call.in(1);
  const DType dtype = result_type({a, b});
  if (!is_floating(dtype) && alpha != static_cast<double>(static_cast<std::int64_t>(alpha)))
    call.fail("alpha must be an integer for integer tensors: got " + std::to_string(alpha));
  Tensor out = make_output(call, broadcast_shapes(a.sizes(), b.sizes(), call.info().name), dtype, true);
  with_compute_type(dtype, [&]<typename C>(TypeTag<C>) {
    const C factor = static_cast<C>(alpha);
    elementwise<C, 2>(out, {&a, &b}, [op, factor](const C* x, const C* y, C* o, std::int64_t n) {
      for (std::int64_t i = 0; i < n; ++i) o[i] = op(x[i], static_cast<C>(factor * y[i]));
    });
  });
  return {out};
}

}  // namespace

Tensors add(const OpCall& call) {
  return scaled(call, [](auto x, auto y) { return static_cast<decltype(x)>(x + y); });
}
Tensors sub(const OpCall& call) {
  if (result_type({call.in(0), call.in(1)}) == DType::bool_)
    call.fail("subtraction of bool tensors is not supported: got " + describe(call.in(0)) + " and " +
              describe(call.in(1)));
  return scaled(call, [](auto x, auto y) { return static_cast<decltype(x)>(x - y); });
}
Tensors mul(const OpCall& call) {
  return binary(call, [](auto x, auto y) { return static_cast<decltype(x)>(x * y); });
}

Tensors div(const OpCall& call) {
  const Tensor &a = call.in(0), &b = call.in(1);
  DType dtype = result_type({a, b});
  if (!is_floating(dtype)) dtype = DType::float32;  // true division
  Tensor out = make_output(call, broadcast_shapes(a.sizes(), b.sizes(), "div"), dtype, true);
  with_float_type(call, dtype, [&]<typename C>(TypeTag<C>) {
    elementwise<C, 2>(out, {&a, &b}, [](const C* x, const C* y, C* o, std::int64_t n) {
      for (std::int64_t i = 0; i < n; ++i) o[i] = x[i] / y[i];
    });
  });
  return {out};
}

Tensors neg(const OpCall& call) {
  const Tensor& x = call.in(0);
  if (x.dtype() == DType::bool_) call.fail("negation of a bool tensor is not supported");
  Tensor out = make_output(call, x.sizes(), x.dtype(), true);
  with_compute_type(x.dtype(), [&]<typename C>(TypeTag<C>) {
    elementwise<C, 1>(out, {&x}, [](const C* a, C* o, std::int64_t n) {
      for (std::int64_t i = 0; i < n; ++i) o[i] = -a[i];
    });
  });
  return {out};
}

}  // namespace amp::cpu
