// Pointwise functions that are other ops with certain arguments, or a few of them put together.
#include <cmath>
#include <limits>

#include "libamp/core/grad_mode.h"
#include "libamp/dispatch/run_op.h"
#include "libamp/ops/math.h"
#include "libamp/ops/pointwise.h"
#include "libamp/ops/reduce.h"

namespace amp {
namespace {

// A whole number stays an integer, as Python's do, so that integer tensors stay integers.
Tensor number(const Tensor& beside, double value) {
  if (!is_floating(beside.dtype()) && value == std::floor(value) && std::abs(value) < 9e15)
    return wrapped_number(static_cast<std::int64_t>(value));
  return wrapped_number(value);
}

double limit_of(DType dtype) {
  switch (dtype) {
    case DType::float16:
      return 65504;
    case DType::bfloat16:
      return 0x1.fep127;
    case DType::float32:
      return std::numeric_limits<float>::max();
    default:
      return std::numeric_limits<double>::max();
  }
}

}  // namespace

Tensor frac(const Tensor& input) { return input - trunc(input); }
Tensor nan_to_num(const Tensor& input, double nan, std::optional<double> posinf, std::optional<double> neginf) {
  if (!input.is_floating_point()) return input;
  const double most = limit_of(input.dtype()), infinity = std::numeric_limits<double>::infinity();
  const Tensor numbers = masked_fill(input, isnan(input), nan);
  return masked_fill(masked_fill(numbers, eq(input, infinity), posinf.value_or(most)), eq(input, -infinity),
                     neginf.value_or(-most));
}

Tensor fake_quantize_per_tensor_affine(const Tensor& input, double scale, std::int64_t zero_point,
                                       std::int64_t quant_min, std::int64_t quant_max) {
  if (quant_min > quant_max || zero_point < quant_min || zero_point > quant_max || !(scale > 0))
    fail(ErrorCode::runtime, "fake_quantize_per_tensor_affine",
         "needs a positive scale and quant_min <= zero_point <= quant_max: got scale " + std::to_string(scale) + ", " +
             std::to_string(quant_min) + ", " + std::to_string(zero_point) + ", " + std::to_string(quant_max));
  return run_op1({OpId::fake_quantize_per_tensor_affine,
                  {input},
                  {{"scale", scale}, {"zero_point", zero_point}, {"quant_min", quant_min}, {"quant_max", quant_max}},
                  {}});
}

Tensor remainder(const Tensor& input, double other) { return remainder(input, number(input, other)); }
Tensor fmod(const Tensor& input, double other) { return fmod(input, number(input, other)); }
Tensor floor_divide(const Tensor& input, double other) { return floor_divide(input, number(input, other)); }
Tensor div(const Tensor& input, const Tensor& other, std::string_view rounding_mode) {
  if (rounding_mode == "floor") return floor_divide(input, other);
  if (rounding_mode != "trunc")
    fail(ErrorCode::runtime, "div", "rounding_mode: got '" + std::string(rounding_mode) + "', need 'floor' or 'trunc'");
  const DType dtype = result_type({input, other});
  const Tensor quotient = trunc(div(input, other));
  return is_floating(dtype) ? quotient : quotient.to(dtype);
}

Tensor lerp(const Tensor& input, const Tensor& end, double weight) {
  return run_op1({OpId::lerp, {input, end}, {{"weight", weight}}, {}});
}
Tensor lerp(const Tensor& input, const Tensor& end, const Tensor& weight) {
  return run_op1({OpId::lerp, {input, end, weight}, {}, {}});
}
Tensor clamp(const Tensor& input, const Tensor& min, const Tensor& max) {
  if (!min.defined() && !max.defined())
    fail(ErrorCode::value, "clamp", "neither min nor max was given: need at least one");
  Tensor limited = min.defined() ? maximum(input, min) : input;
  return max.defined() ? minimum(limited, max) : limited;
}

Tensor isclose(const Tensor& input, const Tensor& other, double rtol, double atol, bool equal_nan) {
  const no_grad constant;
  const Tensor a = input.is_floating_point() ? input : input.to(DType::float64);
  const Tensor b = other.to(a.dtype());
  Tensor close = eq(a, b);
  if (equal_nan) close = logical_or(close, logical_and(isnan(a), isnan(b)));
  const Tensor near = logical_and(isfinite(b), le(abs(a - b), abs(b) * rtol + atol));
  return logical_or(close, near);
}
bool allclose(const Tensor& input, const Tensor& other, double rtol, double atol, bool equal_nan) {
  return all(isclose(input, other, rtol, atol, equal_nan)).item<bool>();
}
bool equal(const Tensor& input, const Tensor& other) {
  return input.sizes() == other.sizes() && all(eq(input, other)).item<bool>();
}

}  // namespace amp
