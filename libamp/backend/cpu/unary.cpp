// Pointwise bodies of one tensor operand: functions, activations, rounding, limits and tests for special values.
#include <cmath>
#include <limits>
#include <numbers>

#include "libamp/backend/cpu/elementwise.h"
#include "libamp/backend/cpu/vector_math.h"

namespace amp::cpu {
namespace {

// A unary op that keeps the dtype of integers too.
template <typename Op>
Tensors unary_any(const OpCall& call, Op op) {
  const Tensor& x = call.in(0);
  refuse_float8(call, x.dtype());
  Tensor out = make_output(call, x.sizes(), x.dtype(), true);
  with_compute_type(x.dtype(), [&]<typename C>(TypeTag<C>) {
    elementwise<C, 1>(out, {&x}, [op](const C* a, C* o, std::int64_t n) {
      for (std::int64_t i = 0; i < n; ++i) o[i] = op(a[i]);
    });
  });
  return {out};
}

// A test of each element; bool result.
template <typename Op>
Tensors predicate(const OpCall& call, Op op) {
  const Tensor& x = call.in(0);
  Tensor out = make_output(call, x.sizes(), DType::bool_);
  with_compute_type(x.dtype(), [&]<typename C>(TypeTag<C>) {
    elementwise<C, 1>(out, {&x}, [op](const C* a, C* o, std::int64_t n) {
      for (std::int64_t i = 0; i < n; ++i) o[i] = static_cast<C>(op(a[i]) ? 1 : 0);
    });
  });
  return {out};
}

// The inverse of erf: Giles' approximation (2010), then Newton steps, which bring it to double precision. Two are
// enough but in the far tail, where the approximation was not made to reach.
double inverse_erf(double y) {
  if (!(y > -1 && y < 1))
    return std::abs(y) == 1 ? std::copysign(std::numeric_limits<double>::infinity(), y)
                            : std::numeric_limits<double>::quiet_NaN();
  constexpr double kCentral[] = {2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
                                 -0.00125372503, -0.00417768164, 0.246640727,    1.50140941};
  constexpr double kTail[] = {-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
                              -0.0076224613,   0.00943887047,  1.00167406,    2.83297682};
  double w = -std::log1p(-y * y);
  const bool central = w < 5;
  w = central ? w - 2.5 : std::sqrt(w) - 3;
  double x = 0;
  for (const double c : central ? kCentral : kTail) x = x * w + c;
  x *= y;
  for (int step = 0; step < 10; ++step) {
    // erfc where erf is near 1: the difference would lose its digits otherwise.
    const double error =
        std::abs(y) < 0.5 ? std::erf(x) - y : std::copysign(1, y) * ((1 - std::abs(y)) - std::erfc(std::abs(x)));
    const double change = error * std::sqrt(std::numbers::pi) / 2 * std::exp(x * x);
    x -= change;
    if (std::abs(change) <= 1e-9 * std::abs(x)) break;  // the next one would be below rounding
  }
  return x;
}

template <typename C>
C round_half_even(C x) {
  if constexpr (std::is_integral_v<C>)
    return x;
  else
    return std::nearbyint(x);
}

constexpr double kSqrt2OverPi = 0.79788456080286535588;  // sqrt(2 / pi)
constexpr double kGeluCubic = 0.044715;

}  // namespace

#define AMP_UNARY_FLOAT(id, expression)                                                    \
  Tensors id(const OpCall& call) {                                                         \
    return unary_float(call, [](auto x) { return static_cast<decltype(x)>(expression); }); \
  }
AMP_UNARY_FLOAT(acos, std::acos(x))
AMP_UNARY_FLOAT(asin, std::asin(x))
AMP_UNARY_FLOAT(atan, std::atan(x))
AMP_UNARY_FLOAT(cosh, std::cosh(x))
AMP_UNARY_FLOAT(sinh, std::sinh(x))
AMP_UNARY_FLOAT(tan, std::tan(x))
AMP_UNARY_FLOAT(tanh, vector_tanh(x))
AMP_UNARY_FLOAT(sin, std::sin(x))
AMP_UNARY_FLOAT(cos, std::cos(x))
AMP_UNARY_FLOAT(erf, vector_erf(x))
AMP_UNARY_FLOAT(erfinv, inverse_erf(x))
AMP_UNARY_FLOAT(exp, std::exp(x))
AMP_UNARY_FLOAT(expm1, std::expm1(x))
AMP_UNARY_FLOAT(log, std::log(x))
AMP_UNARY_FLOAT(log10, std::log10(x))
AMP_UNARY_FLOAT(log2, std::log2(x))
AMP_UNARY_FLOAT(log1p, std::log1p(x))
AMP_UNARY_FLOAT(reciprocal, 1 / x)
AMP_UNARY_FLOAT(rsqrt, 1 / std::sqrt(x))
AMP_UNARY_FLOAT(sqrt, std::sqrt(x))
AMP_UNARY_FLOAT(sigmoid, vector_sigmoid(x))
AMP_UNARY_FLOAT(log_sigmoid, (x < 0 ? x : 0) - std::log1p(std::exp(-std::abs(x))))
AMP_UNARY_FLOAT(silu, x* vector_sigmoid(x))
#undef AMP_UNARY_FLOAT

Tensors abs(const OpCall& call) {
  return unary_any(call, [](auto x) { return x < 0 ? static_cast<decltype(x)>(-x) : x + decltype(x)(0); });
}
Tensors sign(const OpCall& call) {
  return unary_any(call, [](auto x) { return static_cast<decltype(x)>((x > 0) - (x < 0)); });
}
Tensors relu(const OpCall& call) {
  // Written so that NaN passes through.
  return unary_any(call, [](auto x) { return x < 0 ? decltype(x)(0) : x; });
}

#define AMP_ROUNDING(id, function)                   \
  Tensors id(const OpCall& call) {                   \
    return unary_any(call, [](auto x) {              \
      if constexpr (std::is_integral_v<decltype(x)>) \
        return x;                                    \
      else                                           \
        return function(x);                          \
    });                                              \
  }
AMP_ROUNDING(floor, std::floor)
AMP_ROUNDING(ceil, std::ceil)
AMP_ROUNDING(round, round_half_even)
AMP_ROUNDING(trunc, std::trunc)
#undef AMP_ROUNDING

Tensors gelu(const OpCall& call) {
  if (call.attributes.text("approximate", "none") == "tanh")
    return unary_float(call, [](auto x) {
      using C = decltype(x);
      const C inner = static_cast<C>(kSqrt2OverPi) * (x + static_cast<C>(kGeluCubic) * x * x * x);
      return static_cast<C>(C(0.5) * x * (C(1) + vector_tanh(inner)));
    });
  return unary_float(call, [](auto x) {
    using C = decltype(x);
    return static_cast<C>(C(0.5) * x * (C(1) + vector_erf(x * std::numbers::sqrt2_v<C> / 2)));
  });
}
Tensors leaky_relu(const OpCall& call) {
  const double slope = call.attributes.number("negative_slope", 0.01);
  return unary_float(call, [slope](auto x) { return x > 0 ? x : x * static_cast<decltype(x)>(slope); });
}
Tensors elu(const OpCall& call) {
  const double alpha = call.attributes.number("alpha", 1);
  return unary_float(call, [alpha](auto x) { return x > 0 ? x : static_cast<decltype(x)>(alpha) * std::expm1(x); });
}
Tensors softplus(const OpCall& call) {
  const double beta = call.attributes.number("beta", 1), threshold = call.attributes.number("threshold", 20);
  return unary_float(call, [beta, threshold](auto x) {
    using C = decltype(x);
    const C scaled = x * static_cast<C>(beta);
    return scaled > static_cast<C>(threshold) ? x : static_cast<C>(std::log1p(std::exp(scaled)) / static_cast<C>(beta));
  });
}

Tensors clamp(const OpCall& call) {
  const double low = call.attributes.number("min", -std::numeric_limits<double>::infinity());
  const double high = call.attributes.number("max", std::numeric_limits<double>::infinity());
  const Tensor& x = call.in(0);
  // Fractional limits of an integer tensor promote it, as in PyTorch.
  refuse_float8(call, x.dtype());
  const auto is_whole = [](double v) { return std::isinf(v) || v == std::floor(v); };
  const DType dtype = is_floating(x.dtype()) || (is_whole(low) && is_whole(high)) ? x.dtype() : DType::float32;
  Tensor out = make_output(call, x.sizes(), dtype, true);
  with_compute_type(dtype, [&]<typename C>(TypeTag<C>) {
    // A limit beyond the type's range limits nothing.
    const bool has_low = low > static_cast<double>(std::numeric_limits<C>::lowest());
    const bool has_high = high < static_cast<double>(std::numeric_limits<C>::max());
    const C lowest = has_low ? convert_element<C>(low) : C(0), highest = has_high ? convert_element<C>(high) : C(0);
    elementwise<C, 1>(out, {&x}, [=](const C* a, C* o, std::int64_t n) {
      for (std::int64_t i = 0; i < n; ++i) {
        C v = a[i];
        if (has_low && v < lowest) v = lowest;
        if (has_high && v > highest) v = highest;
        o[i] = v;
      }
    });
  });
  return {out};
}

Tensors logical_not(const OpCall& call) {
  return predicate(call, [](auto x) { return x == decltype(x)(0); });
}
Tensors isnan(const OpCall& call) {
  return predicate(call, [](auto x) { return x != x; });
}
Tensors isinf(const OpCall& call) {
  return predicate(call, [](auto x) { return std::isinf(static_cast<double>(x)); });
}
Tensors isfinite(const OpCall& call) {
  return predicate(call, [](auto x) { return std::isfinite(static_cast<double>(x)); });
}

}  // namespace amp::cpu
