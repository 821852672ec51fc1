// User-facing pointwise functions: build the call, run it. What differs from op to op is in the rows and the bodies.
#include "libamp/ops/pointwise.h"

#include "libamp/dispatch/run_op.h"
#include "libamp/ops/math.h"

namespace amp {
namespace {

Tensor run1(OpId op, Tensors inputs, Attributes attributes = {}) {
  return run_op1({op, std::move(inputs), std::move(attributes), {}});
}

void require_bool(const Tensor& mask, const char* where, const char* argument) {
  if (mask.dtype() != DType::bool_)
    fail(ErrorCode::runtime, where,
         std::string(argument) + " has the wrong dtype: got " + describe(mask) + ", need bool");
}

Attributes limits(std::optional<double> min, std::optional<double> max) {
  if (!min && !max) fail(ErrorCode::value, "clamp", "neither min nor max was given: need at least one");
  Attributes attributes;
  if (min) attributes.set("min", *min);
  if (max) attributes.set("max", *max);
  return attributes;
}

}  // namespace

#define AMP_UNARY(id) \
  Tensor id(const Tensor& input) { return run1(OpId::id, {input}); }
AMP_UNARY(abs)
AMP_UNARY(sign)
AMP_UNARY(floor)
AMP_UNARY(ceil)
AMP_UNARY(round)
AMP_UNARY(trunc)
AMP_UNARY(sqrt)
AMP_UNARY(sin)
AMP_UNARY(cos)
AMP_UNARY(atan)
AMP_UNARY(erf)
AMP_UNARY(erfc)
AMP_UNARY(exp2)
AMP_UNARY(asinh)
AMP_UNARY(acosh)
AMP_UNARY(atanh)
AMP_UNARY(bitwise_not)
AMP_UNARY(tanh)
AMP_UNARY(sigmoid)
AMP_UNARY(log_sigmoid)
AMP_UNARY(relu)
AMP_UNARY(silu)
AMP_UNARY(acos)
AMP_UNARY(asin)
AMP_UNARY(cosh)
AMP_UNARY(sinh)
AMP_UNARY(tan)
AMP_UNARY(erfinv)
AMP_UNARY(exp)
AMP_UNARY(expm1)
AMP_UNARY(log)
AMP_UNARY(log10)
AMP_UNARY(log2)
AMP_UNARY(log1p)
AMP_UNARY(reciprocal)
AMP_UNARY(rsqrt)
AMP_UNARY(logical_not)
AMP_UNARY(isnan)
AMP_UNARY(isinf)
AMP_UNARY(isfinite)
#undef AMP_UNARY

#define AMP_BINARY(id) \
  Tensor id(const Tensor& input, const Tensor& other) { return run1(OpId::id, {input, other}); }
AMP_BINARY(maximum)
AMP_BINARY(minimum)
AMP_BINARY(atan2)
AMP_BINARY(xlogy)
AMP_BINARY(logaddexp)
AMP_BINARY(remainder)
AMP_BINARY(fmod)
AMP_BINARY(floor_divide)
AMP_BINARY(bitwise_and)
AMP_BINARY(bitwise_or)
AMP_BINARY(bitwise_xor)
AMP_BINARY(prelu)
AMP_BINARY(eq)
AMP_BINARY(ne)
AMP_BINARY(lt)
AMP_BINARY(le)
AMP_BINARY(gt)
AMP_BINARY(ge)
AMP_BINARY(logical_and)
AMP_BINARY(logical_or)
AMP_BINARY(logical_xor)
AMP_BINARY(relu_backward)
AMP_BINARY(sigmoid_backward)
AMP_BINARY(tanh_backward)
AMP_BINARY(silu_backward)
#undef AMP_BINARY

Tensor square(const Tensor& input) { return mul(input, input); }

const Tensor& relu_(const Tensor& input) {
  run_op1({OpId::relu, {input}, {}, input});
  return input;
}

Tensor gelu(const Tensor& input, std::string_view approximate) {
  if (approximate != "none" && approximate != "tanh")
    fail(ErrorCode::runtime, "gelu", "approximate: got '" + std::string(approximate) + "', need 'none' or 'tanh'");
  return run1(OpId::gelu, {input}, {{"approximate", std::string(approximate)}});
}
Tensor gelu_backward(const Tensor& grad, const Tensor& input, std::string_view approximate) {
  return run1(OpId::gelu_backward, {grad, input}, {{"approximate", std::string(approximate)}});
}
Tensor leaky_relu(const Tensor& input, double negative_slope) {
  return run1(OpId::leaky_relu, {input}, {{"negative_slope", negative_slope}});
}
Tensor elu(const Tensor& input, double alpha) { return run1(OpId::elu, {input}, {{"alpha", alpha}}); }
Tensor softplus(const Tensor& input, double beta, double threshold) {
  return run1(OpId::softplus, {input}, {{"beta", beta}, {"threshold", threshold}});
}

Tensor clamp(const Tensor& input, std::optional<double> min, std::optional<double> max) {
  return run1(OpId::clamp, {input}, limits(min, max));
}
const Tensor& clamp_(const Tensor& input, std::optional<double> min, std::optional<double> max) {
  run_op1({OpId::clamp, {input}, limits(min, max), input});
  return input;
}

Tensor operator/(double input, const Tensor& other) { return mul(reciprocal(other), wrapped_number(input)); }
Tensor pow(const Tensor& input, double exponent) { return run1(OpId::pow, {input}, {{"exponent", exponent}}); }
Tensor pow(const Tensor& input, const Tensor& exponent) { return run1(OpId::pow, {input, exponent}); }
Tensor pow(double input, const Tensor& exponent) { return run1(OpId::rpow, {exponent}, {{"self", input}}); }

Tensor addcmul(const Tensor& input, const Tensor& tensor1, const Tensor& tensor2, double value) {
  return run1(OpId::addcmul, {input, tensor1, tensor2}, {{"value", value}});
}
Tensor addcdiv(const Tensor& input, const Tensor& tensor1, const Tensor& tensor2, double value) {
  return run1(OpId::addcdiv, {input, tensor1, tensor2}, {{"value", value}});
}
const Tensor& addcmul_(const Tensor& input, const Tensor& tensor1, const Tensor& tensor2, double value) {
  run_op1({OpId::addcmul, {input, tensor1, tensor2}, {{"value", value}}, input});
  return input;
}
const Tensor& addcdiv_(const Tensor& input, const Tensor& tensor1, const Tensor& tensor2, double value) {
  run_op1({OpId::addcdiv, {input, tensor1, tensor2}, {{"value", value}}, input});
  return input;
}

Tensor where(const Tensor& condition, const Tensor& input, const Tensor& other) {
  require_bool(condition, "where", "condition");
  return run1(OpId::where, {condition, input, other});
}
Tensor where(const Tensor& condition, const Tensor& input, double other) {
  return where(condition, input, wrapped_number(other));
}
Tensor where(const Tensor& condition, double input, const Tensor& other) {
  return where(condition, wrapped_number(input), other);
}
Tensor masked_fill(const Tensor& input, const Tensor& mask, double value) {
  require_bool(mask, "masked_fill", "mask");
  return run1(OpId::masked_fill, {input, mask}, {{"value", value}});
}
const Tensor& masked_fill_(const Tensor& input, const Tensor& mask, double value) {
  require_bool(mask, "masked_fill", "mask");
  run_op1({OpId::masked_fill, {input, mask}, {{"value", value}}, input});
  return input;
}

Tensor dropout(const Tensor& input, double p, bool training) {
  if (!(p >= 0 && p <= 1))
    fail(ErrorCode::value, "dropout", "probability out of range: got " + std::to_string(p) + ", need [0, 1]");
  if (!training || p == 0) return input;
  const Tensor keep = ge(rand(input.sizes(), {.device = input.device()}), p);
  return run1(OpId::native_dropout, {input, keep}, {{"p", p}});
}

}  // namespace amp
