// Pointwise functions that are other ops with certain arguments, or a few of them put together.
#include <cmath>
#include <limits>

#include "libamp/core/grad_mode.h"
#include "libamp/dispatch/run_op.h"
#include "libamp/ops/join.h"
#include "libamp/ops/math.h"
#include "libamp/ops/pointwise.h"
#include "libamp/ops/reduce.h"
#include "libamp/ops/view.h"

namespace amp {
namespace {

// A whole number stays an integer, as Python's do, so that integer tensors stay integers.
Tensor number(const Tensor& beside, double value) {
  if (!is_floating(beside.dtype()) && value == std::floor(value) && std::abs(value) < 9e15)
    return wrapped_number(static_cast<std::int64_t>(value));
  return wrapped_number(value);
}

// As Klambauer et al., "Self-Normalizing Neural Networks" (2017), give them.
constexpr double kSeluAlpha = 1.6732632423543772848170429916717, kSeluScale = 1.0507009873554804934193349852946;

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

void require_probability(double p, const char* where) {
  if (!(p >= 0 && p <= 1))
    fail(ErrorCode::value, where, "probability out of range: got " + std::to_string(p) + ", need [0, 1]");
}

}  // namespace

Tensor frac(const Tensor& input) { return input - trunc(input); }
Tensor selu(const Tensor& input) {
  return run_op1({OpId::elu, {input}, {{"alpha", kSeluAlpha}, {"scale", kSeluScale}}, {}});
}
Tensor celu(const Tensor& input, double alpha) {
  if (alpha == 0) fail(ErrorCode::runtime, "celu", "alpha must not be zero");
  return run_op1({OpId::elu, {input}, {{"alpha", alpha}, {"input_scale", 1 / alpha}}, {}});
}
Tensor hardtanh(const Tensor& input, double min_val, double max_val) {
  if (min_val > max_val)
    fail(ErrorCode::value, "hardtanh",
         "the range is empty: got [" + std::to_string(min_val) + ", " + std::to_string(max_val) + "]");
  return clamp(input, min_val, max_val);
}
Tensor relu6(const Tensor& input) { return clamp(input, 0, 6); }
Tensor softsign(const Tensor& input) { return input / (abs(input) + 1); }
Tensor tanhshrink(const Tensor& input) { return input - tanh(input); }
Tensor softshrink(const Tensor& input, double lambd) {
  if (!(lambd >= 0)) fail(ErrorCode::runtime, "softshrink", "lambd must not be negative: got " + std::to_string(lambd));
  const Tensor above = gt(input, lambd), below = lt(input, -lambd);
  const Tensor moved = where(above, input - lambd, input + lambd);
  return masked_fill(moved, logical_not(logical_or(logical_or(above, below), isnan(input))), 0);
}
Tensor hardshrink(const Tensor& input, double lambd) {
  return masked_fill(input, logical_and(ge(input, -lambd), le(input, lambd)), 0);
}
Tensor threshold(const Tensor& input, double threshold, double value) {
  return masked_fill(input, le(input, threshold), value);
}
Tensor glu(const Tensor& input, std::int64_t dim) {
  if (input.dim() == 0 || input.size(dim) % 2 != 0)
    fail(ErrorCode::runtime, "glu", "needs a dim of even size: got " + describe(input));
  const Tensors halves = chunk(input, 2, dim);
  return halves[0] * sigmoid(halves[1]);
}

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

Tensor feature_dropout(const Tensor& input, double p, bool training) {
  require_probability(p, "feature_dropout");
  if (input.dim() < 2)
    fail(ErrorCode::runtime, "feature_dropout", "needs [batch, channels, ...]: got " + describe(input));
  if (!training || p == 0) return input;
  Shape sizes = input.sizes();
  for (int d = 2; d < sizes.size(); ++d) sizes[d] = 1;
  const Tensor keep = ge(rand(sizes, {.device = input.device()}), p);
  return run_op1({OpId::native_dropout, {input, keep}, {{"p", p}}, {}});
}

Tensor alpha_dropout(const Tensor& input, double p, bool training) {
  require_probability(p, "alpha_dropout");
  if (!training || p == 0) return input;
  if (p == 1) return input * 0.0;
  constexpr double kLimit = -kSeluAlpha * kSeluScale;
  const double a = 1 / std::sqrt((1 - p) * (1 + p * kLimit * kLimit)), b = -a * kLimit * p;
  const Tensor dropped = lt(rand(input.sizes(), {.device = input.device()}), p);
  return masked_fill(input, dropped, kLimit) * a + b;
}

}  // namespace amp
