// Pointwise bodies of two tensor operands beyond plain arithmetic: powers, extremes, angles, and the one-pass gradients
// of the activations.
#include <cmath>
#include <limits>
#include <numbers>

#include "libamp/backend/cpu/elementwise.h"
#include "libamp/backend/cpu/vector_math.h"

namespace amp::cpu {
namespace {

// A binary op for floating types; two integer operands are computed in float32.
template <typename Op>
Tensors binary_float(const OpCall& call, Op op) {
  const Tensor &a = call.in(0), &b = call.in(1);
  DType dtype = result_type({a, b});
  if (!is_floating(dtype)) dtype = DType::float32;
  Tensor out = make_output(call, broadcast_shapes(a.sizes(), b.sizes(), call.info().name), dtype, true);
  with_float_type(call, dtype, [&]<typename C>(TypeTag<C>) {
    elementwise<C, 2>(out, {&a, &b}, [op](const C* x, const C* y, C* o, std::int64_t n) {
      for (std::int64_t i = 0; i < n; ++i) o[i] = op(x[i], y[i]);
    });
  });
  return {out};
}

std::int64_t integer_power(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
  std::uint64_t result = 1, factor = static_cast<std::uint64_t>(base);  // unsigned: overflow wraps
  for (; exponent > 0; exponent >>= 1, factor *= factor)
    if (exponent & 1) result *= factor;
  return static_cast<std::int64_t>(result);
}

template <typename C>
C power(C base, C exponent) {
  if constexpr (std::is_integral_v<C>)
    return integer_power(base, exponent);
  else
    return std::pow(base, exponent);
}

// x^exponent for one exponent; the common ones are products, which round less and run faster than pow.
template <typename C>
void power_block(const C* x, C* o, std::int64_t n, C exponent) {
  const auto each = [&](auto f) {
    for (std::int64_t i = 0; i < n; ++i) o[i] = f(x[i]);
  };
  if (exponent == C(2)) return each([](C v) { return v * v; });
  if (exponent == C(3)) return each([](C v) { return v * v * v; });
  if constexpr (std::is_floating_point_v<C>) {
    if (exponent == C(0.5)) return each([](C v) { return std::sqrt(v); });
    if (exponent == C(-0.5)) return each([](C v) { return C(1) / std::sqrt(v); });
    if (exponent == C(-1)) return each([](C v) { return C(1) / v; });
    if (exponent == C(-2)) return each([](C v) { return C(1) / (v * v); });
  }
  each([exponent](C v) { return power(v, exponent); });
}

// The dtype a tensor and a C++ number meet in.
DType with_number(const Tensor& t, double number) {
  if (is_floating(t.dtype())) return t.dtype();
  return number == std::floor(number) ? (t.dtype() == DType::bool_ ? DType::int64 : t.dtype()) : DType::float32;
}

Tensors power_scalar(const OpCall& call) {
  const Tensor& x = call.in(0);
  const double exponent = call.attributes.number("exponent", 1);
  const DType dtype = with_number(x, exponent);
  if (!is_floating(dtype) && exponent < 0)
    call.fail("integers to negative powers are not allowed: got " + describe(x) + " and " + std::to_string(exponent) +
              "; need a floating tensor");
  Tensor out = make_output(call, x.sizes(), dtype, true);
  with_compute_type(dtype, [&]<typename C>(TypeTag<C>) {
    elementwise<C, 1>(out, {&x},
                      [exponent](const C* a, C* o, std::int64_t n) { power_block(a, o, n, static_cast<C>(exponent)); });
  });
  return {out};
}

}  // namespace

Tensors pow(const OpCall& call) {
  if (!call.has(1)) return power_scalar(call);
  return binary(call, [](auto x, auto y) { return power(x, y); });
}

Tensors rpow(const OpCall& call) {
  const Tensor& exponent = call.in(0);
  const double base = call.attributes.number("self", 1);
  const DType dtype = with_number(exponent, base);
  Tensor out = make_output(call, exponent.sizes(), dtype, true);
  with_compute_type(dtype, [&]<typename C>(TypeTag<C>) {
    elementwise<C, 1>(out, {&exponent}, [base](const C* e, C* o, std::int64_t n) {
      for (std::int64_t i = 0; i < n; ++i) o[i] = power(static_cast<C>(base), e[i]);
    });
  });
  return {out};
}

Tensors maximum(const OpCall& call) {
  return binary(call, [](auto x, auto y) { return x != x ? x : y > x || y != y ? y : x; });
}
Tensors minimum(const OpCall& call) {
  return binary(call, [](auto x, auto y) { return x != x ? x : y < x || y != y ? y : x; });
}
Tensors atan2(const OpCall& call) {
  return binary_float(call, [](auto y, auto x) { return std::atan2(y, x); });
}
Tensors xlogy(const OpCall& call) {
  return binary_float(call, [](auto x, auto y) { return y != y ? y : x == 0 ? decltype(x)(0) : x * std::log(y); });
}

Tensors prelu(const OpCall& call) {
  const Tensor &x = call.in(0), &weight = call.in(1);
  if (x.dtype() != weight.dtype())
    call.fail("input and weight must have the same dtype: got " + describe(x) + " and " + describe(weight));
  if (weight.dim() > 1) call.fail("weight must be a number or a vector: got " + describe(weight));
  Tensor per_channel = weight;
  if (weight.numel() != 1) {
    const std::int64_t channels = x.dim() > 1 ? x.sizes()[1] : 1;
    if (weight.numel() != channels)
      call.fail("one weight for each channel is needed: got " + describe(weight) + " for input " + describe(x));
    // Aligned with dim 1 of the input by zero strides elsewhere.
    Shape sizes, strides;
    for (int d = 0; d < x.dim(); ++d) {
      sizes.push_back(d == 1 ? channels : 1);
      strides.push_back(d == 1 ? weight.strides()[0] : 0);
    }
    per_channel = make_view(weight, sizes, strides, weight.impl()->offset);
  }
  Tensor out = make_output(call, x.sizes(), x.dtype());
  with_float_type(call, x.dtype(), [&]<typename C>(TypeTag<C>) {
    elementwise<C, 2>(out, {&x, &per_channel}, [](const C* a, const C* w, C* o, std::int64_t n) {
      for (std::int64_t i = 0; i < n; ++i) o[i] = a[i] > 0 ? a[i] : w[i] * a[i];
    });
  });
  return {out};
}

Tensors native_dropout(const OpCall& call) {
  const Tensor &x = call.in(0), &keep = call.in(1);
  const double p = call.attributes.number("p", 0.5);
  const double scale = p == 1 ? 0 : 1 / (1 - p);
  Tensor out = make_output(call, x.sizes(), x.dtype());
  with_float_type(call, x.dtype(), [&]<typename C>(TypeTag<C>) {
    elementwise<C, 2>(out, {&x, &keep}, [factor = static_cast<C>(scale)](const C* a, const C* k, C* o, std::int64_t n) {
      for (std::int64_t i = 0; i < n; ++i) o[i] = k[i] != 0 ? a[i] * factor : C(0);
    });
  });
  return {out};
}

// -- gradients: first operand is the gradient of the output
Tensors relu_backward(const OpCall& call) {
  return binary_float(call, [](auto g, auto out) { return out > 0 ? g : decltype(g)(0); });
}
Tensors sigmoid_backward(const OpCall& call) {
  return binary_float(call, [](auto g, auto out) { return g * (1 - out) * out; });
}
Tensors tanh_backward(const OpCall& call) {
  return binary_float(call, [](auto g, auto out) { return g * (1 - out * out); });
}
Tensors silu_backward(const OpCall& call) {
  return binary_float(call, [](auto g, auto x) {
    using C = decltype(x);
    const C s = vector_sigmoid(x);
    return static_cast<C>(g * s * (C(1) + x * (C(1) - s)));
  });
}
Tensors gelu_backward(const OpCall& call) {
  if (call.attributes.text("approximate", "none") == "tanh")
    return binary_float(call, [](auto g, auto x) {
      using C = decltype(x);
      const C k = static_cast<C>(0.79788456080286535588), cubic = static_cast<C>(0.044715);  // sqrt(2 / pi)
      const C t = vector_tanh(k * (x + cubic * x * x * x));
      return static_cast<C>(g * C(0.5) * ((C(1) + t) + x * (C(1) - t * t) * k * (C(1) + 3 * cubic * x * x)));
    });
  return binary_float(call, [](auto g, auto x) {
    using C = decltype(x);
    const C cdf = C(0.5) * (C(1) + vector_erf(x * std::numbers::sqrt2_v<C> / 2));
    const C pdf = vector_exp(C(-0.5) * x * x) * static_cast<C>(0.39894228040143267794);  // 1 / sqrt(2 pi)
    return static_cast<C>(g * (cdf + x * pdf));
  });
}

}  // namespace amp::cpu
