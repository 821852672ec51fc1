// Pointwise bodies of three operands, and masked_fill.
#include <cmath>

#include "libamp/backend/cpu/elementwise.h"

namespace amp::cpu {
namespace {

Shape broadcast3(const OpCall& call) {
  const std::string_view where = call.info().name;
  return broadcast_shapes(broadcast_shapes(call.in(0).sizes(), call.in(1).sizes(), where), call.in(2).sizes(), where);
}

// input + value * (tensor1 op tensor2)
template <typename Op>
Tensors add_scaled(const OpCall& call, Op op) {
  const double value = call.attributes.number("value", 1);
  const DType dtype = result_type({call.in(0), call.in(1), call.in(2)});
  refuse_float8(call, dtype);
  Tensor out = make_output(call, broadcast3(call), dtype, true);
  with_compute_type(dtype, [&]<typename C>(TypeTag<C>) {
    const C factor = static_cast<C>(value);
    elementwise<C, 3>(out, {&call.in(0), &call.in(1), &call.in(2)},
                      [op, factor](const C* x, const C* a, const C* b, C* o, std::int64_t n) {
                        for (std::int64_t i = 0; i < n; ++i) o[i] = x[i] + op(factor, a[i], b[i]);
                      });
  });
  return {out};
}

}  // namespace

Tensors addcmul(const OpCall& call) {
  return add_scaled(call, [](auto f, auto a, auto b) { return f * a * b; });
}
Tensors addcdiv(const OpCall& call) {
  if (!is_floating(result_type({call.in(1), call.in(2)})))
    call.fail("division of integer tensors is not supported: got " + describe(call.in(1)) + " and " +
              describe(call.in(2)) + "; need a floating one");
  return add_scaled(call, [](auto f, auto a, auto b) { return f * a / b; });
}

Tensors where(const OpCall& call) {
  const DType dtype = result_type({call.in(1), call.in(2)});
  Tensor out = make_output(call, broadcast3(call), dtype, true);
  with_compute_type(dtype, [&]<typename C>(TypeTag<C>) {
    elementwise<C, 3>(out, {&call.in(0), &call.in(1), &call.in(2)},
                      [](const C* condition, const C* a, const C* b, C* o, std::int64_t n) {
                        for (std::int64_t i = 0; i < n; ++i) o[i] = condition[i] != 0 ? a[i] : b[i];
                      });
  });
  return {out};
}

Tensors masked_fill(const OpCall& call) {
  const Tensor &x = call.in(0), &mask = call.in(1);
  const double value = call.attributes.number("value", 0);
  if (!is_floating(x.dtype()) && value != std::floor(value))
    call.fail("a fractional value does not fit an integer tensor: got " + std::to_string(value) + " and " +
              describe(x));
  if (is_low_precision(x.dtype()) && std::isfinite(value)) {
    const bool fits = dispatch_dtype(x.dtype(), [value]<typename T>(TypeTag<T>) {
      return std::isfinite(convert_element<double>(convert_element<T>(value)));
    });
    if (!fits)
      call.fail("value cannot be converted without overflow: got " + std::to_string(value) + " for " + describe(x) +
                "; need a value in that type's range, such as -65504 for float16, or minus infinity");
  }
  Tensor out = make_output(call, broadcast_shapes(x.sizes(), mask.sizes(), "masked_fill"), x.dtype());
  with_compute_type(x.dtype(), [&]<typename C>(TypeTag<C>) {
    const C fill = convert_element<C>(value);
    elementwise<C, 2>(out, {&x, &mask}, [fill](const C* a, const C* m, C* o, std::int64_t n) {
      for (std::int64_t i = 0; i < n; ++i) o[i] = m[i] != 0 ? fill : a[i];
    });
  });
  return {out};
}

}  // namespace amp::cpu
