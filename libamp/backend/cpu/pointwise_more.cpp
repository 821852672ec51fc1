// Pointwise bodies beyond the common ones: division with remainder, interpolation, bits, and the rounding of simulated
// quantisation.
#include <cmath>
#include <numbers>

#include "libamp/backend/cpu/elementwise.h"

namespace amp::cpu {
namespace {

// A binary op for integers and bool: the bits of both.
template <typename Op>
Tensors bitwise(const OpCall& call, Op op) {
  const DType dtype = result_type({call.in(0), call.in(1)});
  if (is_floating(dtype))
    call.fail("needs integers or bool: got " + describe(call.in(0)) + " and " + describe(call.in(1)),
              ErrorCode::not_implemented);
  return binary(call, op);
}

// For division of integers: a zero is an error instead of a trap.
void require_divisor(const OpCall& call) {
  if (is_floating(result_type({call.in(0), call.in(1)}))) return;
  for (const double v : call.in(1).to_vector())
    if (v == 0) call.fail("division by zero of integers: got " + describe(call.in(1)) + " with a zero in it");
}

// The remainder with the divisor's sign, as Python's %.
template <typename C>
C modulo(C x, C y) {
  if constexpr (std::is_integral_v<C>) {
    const C rest = y == -1 ? 0 : x % y;
    return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
  } else {
    const C rest = std::fmod(x, y);
    return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
  }
}
template <typename C>
C truncated_rest(C x, C y) {
  if constexpr (std::is_integral_v<C>)
    return y == -1 ? 0 : x % y;
  else
    return std::fmod(x, y);
}
// The quotient rounded down, from the exact remainder: x / y alone may round up to the next integer.
template <typename C>
C floor_quotient(C x, C y) {
  if constexpr (std::is_integral_v<C>) {
    if (y == -1) return static_cast<C>(-static_cast<std::uint64_t>(x));
    return x / y - (x % y != 0 && (x % y < 0) != (y < 0) ? 1 : 0);
  } else {
    if (y == 0) return x / y;
    const C quotient = (x - modulo(x, y)) / y;
    if (quotient == 0) return std::copysign(C(0), x / y);
    const C down = std::floor(quotient);
    return quotient - down > C(0.5) ? down + 1 : down;
  }
}

template <typename C>
C interpolated(C x, C end, C weight) {
  // From the nearer end, so that weight 1 gives `end` itself.
  return std::abs(static_cast<double>(weight)) < 0.5 ? x + weight * (end - x) : end - (end - x) * (1 - weight);
}

}  // namespace

#define AMP_UNARY_FLOAT(id, expression)                                                    \
  Tensors id(const OpCall& call) {                                                         \
    return unary_float(call, [](auto x) { return static_cast<decltype(x)>(expression); }); \
  }
AMP_UNARY_FLOAT(erfc, std::erfc(x))
AMP_UNARY_FLOAT(exp2, std::exp2(x))
AMP_UNARY_FLOAT(asinh, std::asinh(x))
AMP_UNARY_FLOAT(acosh, std::acosh(x))
AMP_UNARY_FLOAT(atanh, std::atanh(x))
#undef AMP_UNARY_FLOAT

Tensors logaddexp(const OpCall& call) {
  if (!is_floating(result_type({call.in(0), call.in(1)})))
    call.fail("needs a floating dtype: got " + describe(call.in(0)) + " and " + describe(call.in(1)),
              ErrorCode::not_implemented);
  return binary(call, [](auto x, auto y) {
    using C = decltype(x);
    if constexpr (std::is_integral_v<C>) {
      return x + y;  // refused above
    } else {
      if (std::isinf(x) && x == y) return x;
      return static_cast<C>(std::max(x, y) + std::log1p(std::exp(-std::abs(x - y))));
    }
  });
}

Tensors remainder(const OpCall& call) {
  require_divisor(call);
  return binary(call, [](auto x, auto y) { return modulo(x, y); });
}
Tensors fmod(const OpCall& call) {
  require_divisor(call);
  return binary(call, [](auto x, auto y) { return truncated_rest(x, y); });
}
Tensors floor_divide(const OpCall& call) {
  require_divisor(call);
  return binary(call, [](auto x, auto y) { return floor_quotient(x, y); });
}

Tensors bitwise_and(const OpCall& call) {
  return bitwise(call, [](auto x, auto y) {
    return static_cast<decltype(x)>(static_cast<std::int64_t>(x) & static_cast<std::int64_t>(y));
  });
}
Tensors bitwise_or(const OpCall& call) {
  return bitwise(call, [](auto x, auto y) {
    return static_cast<decltype(x)>(static_cast<std::int64_t>(x) | static_cast<std::int64_t>(y));
  });
}
Tensors bitwise_xor(const OpCall& call) {
  return bitwise(call, [](auto x, auto y) {
    return static_cast<decltype(x)>(static_cast<std::int64_t>(x) ^ static_cast<std::int64_t>(y));
  });
}
Tensors bitwise_not(const OpCall& call) {
  const Tensor& x = call.in(0);
  if (is_floating(x.dtype())) call.fail("needs integers or bool: got " + describe(x), ErrorCode::not_implemented);
  const bool logical = x.dtype() == DType::bool_;
  const Tensor out = make_output(call, x.sizes(), x.dtype());
  elementwise<std::int64_t, 1>(out, {&x}, [logical](const std::int64_t* a, std::int64_t* o, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) o[i] = logical ? (a[i] == 0 ? 1 : 0) : ~a[i];
  });
  return {out};
}

// Inputs: start, end, and the weight as a tensor; or the attribute weight.
Tensors lerp(const OpCall& call) {
  const Tensor &x = call.in(0), &end = call.in(1);
  if (x.dtype() != end.dtype() || (call.has(2) && call.in(2).dtype() != x.dtype()))
    call.fail("operands must have the same dtype: got " + describe(x) + ", " + describe(end) +
              (call.has(2) ? " and " + describe(call.in(2)) : ""));
  Shape sizes = broadcast_shapes(x.sizes(), end.sizes(), "lerp");
  if (call.has(2)) sizes = broadcast_shapes(sizes, call.in(2).sizes(), "lerp");
  const Tensor out = make_output(call, sizes, x.dtype());
  with_float_type(call, x.dtype(), [&]<typename C>(TypeTag<C>) {
    if (call.has(2)) {
      elementwise<C, 3>(out, {&x, &end, &call.in(2)}, [](const C* a, const C* b, const C* w, C* o, std::int64_t n) {
        for (std::int64_t i = 0; i < n; ++i) o[i] = interpolated(a[i], b[i], w[i]);
      });
      return;
    }
    const C weight = static_cast<C>(call.attributes.number("weight", 0));
    elementwise<C, 2>(out, {&x, &end}, [weight](const C* a, const C* b, C* o, std::int64_t n) {
      for (std::int64_t i = 0; i < n; ++i) o[i] = interpolated(a[i], b[i], weight);
    });
  });
  return {out};
}

// (clamp(round(x / scale) + zero_point, quant_min, quant_max) - zero_point) * scale
Tensors fake_quantize_per_tensor_affine(const OpCall& call) {
  const Tensor& x = call.in(0);
  const double scale = call.attributes.number("scale", 1), zero = call.attributes.number("zero_point", 0);
  const double low = call.attributes.number("quant_min", 0), high = call.attributes.number("quant_max", 255);
  const Tensor out = make_output(call, x.sizes(), x.dtype());
  with_float_type(call, x.dtype(), [&]<typename C>(TypeTag<C>) {
    const C inverse = C(1) / static_cast<C>(scale), step = static_cast<C>(scale);
    elementwise<C, 1>(out, {&x}, [=](const C* a, C* o, std::int64_t n) {
      for (std::int64_t i = 0; i < n; ++i) {
        const double level = std::nearbyint(static_cast<double>(a[i] * inverse)) + zero;
        o[i] = static_cast<C>(std::min(std::max(level, low), high) - zero) * step;
      }
    });
  });
  return {out};
}

}  // namespace amp::cpu
