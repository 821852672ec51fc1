// Sample calls of pointwise functions, activations, choices and comparisons.
#include "tests/support/op_sample_row.h"

#define AMP_UNARY_SAMPLE(op, argument) AMP_SAMPLE(op, op(a[0]), argument)
#define AMP_BINARY_SAMPLE(op) AMP_SAMPLE(op, op(a[0], a[1]), any({3, 4}), any({4}))

namespace amp::test {
namespace {

std::vector<OpSample> functions_of_one() {
  return {
      AMP_UNARY_SAMPLE(neg, any({3, 4})),
      AMP_UNARY_SAMPLE(abs, any({3, 4})),
      AMP_UNARY_SAMPLE(sign, any({3, 4})),
      AMP_UNARY_SAMPLE(floor, any({3, 4})),
      AMP_UNARY_SAMPLE(ceil, any({3, 4})),
      AMP_UNARY_SAMPLE(round, any({3, 4})),
      AMP_UNARY_SAMPLE(trunc, any({3, 4})),
      AMP_UNARY_SAMPLE(sqrt, positive({3, 4})),
      AMP_UNARY_SAMPLE(sin, any({3, 4})),
      AMP_UNARY_SAMPLE(cos, any({3, 4})),
      AMP_UNARY_SAMPLE(atan, any({3, 4})),
      AMP_UNARY_SAMPLE(erf, any({3, 4})),
      AMP_UNARY_SAMPLE(tan, unit({3, 4})),
      AMP_UNARY_SAMPLE(acos, unit({3, 4})),
      AMP_UNARY_SAMPLE(asin, unit({3, 4})),
      AMP_UNARY_SAMPLE(cosh, any({3, 4})),
      AMP_UNARY_SAMPLE(sinh, any({3, 4})),
      AMP_UNARY_SAMPLE(erfinv, unit({3, 4})),
      AMP_UNARY_SAMPLE(exp, any({3, 4})),
      AMP_UNARY_SAMPLE(expm1, any({3, 4})),
      AMP_UNARY_SAMPLE(log, positive({3, 4})),
      AMP_UNARY_SAMPLE(log10, positive({3, 4})),
      AMP_UNARY_SAMPLE(log2, positive({3, 4})),
      AMP_UNARY_SAMPLE(log1p, positive({3, 4})),
      AMP_UNARY_SAMPLE(reciprocal, positive({3, 4})),
      AMP_SAMPLE(reciprocal, 2.0 / a[0], positive({3, 4})),
      AMP_UNARY_SAMPLE(rsqrt, positive({3, 4})),
      AMP_SAMPLE(pow, pow(a[0], 2.5), positive({3, 4})),
      AMP_SAMPLE(pow, pow(a[0], a[1]), positive({3, 4}), any({3, 4})),
      AMP_SAMPLE(rpow, pow(1.5, a[0]), any({3, 4})),
      AMP_UNARY_SAMPLE(relu, any({3, 4})),
      AMP_UNARY_SAMPLE(sigmoid, any({3, 4})),
      AMP_UNARY_SAMPLE(tanh, any({3, 4})),
      AMP_UNARY_SAMPLE(gelu, any({3, 4})),
      AMP_SAMPLE(gelu, gelu(a[0], "tanh"), any({3, 4})),
      AMP_UNARY_SAMPLE(silu, any({3, 4})),
      AMP_UNARY_SAMPLE(leaky_relu, any({3, 4})),
      AMP_UNARY_SAMPLE(elu, any({3, 4})),
      AMP_UNARY_SAMPLE(log_sigmoid, any({3, 4})),
      AMP_UNARY_SAMPLE(softplus, any({3, 4})),
      AMP_SAMPLE(clamp, clamp(a[0], -0.5, 1.0), any({3, 4})),
  };
}

std::vector<OpSample> functions_of_several() {
  return {
      AMP_SAMPLE_METHOD(add, add(a[0], a[1], 2.0), a[0] + a[1] * 2.0, any({3, 4}), any({4})),
      AMP_SAMPLE_METHOD(sub, sub(a[0], a[1]), a[0] - a[1], any({3, 4}), any({4})),
      AMP_SAMPLE_METHOD(mul, mul(a[0], a[1]), a[0] * a[1], any({3, 4}), any({4})),
      AMP_SAMPLE_METHOD(div, div(a[0], a[1]), a[0] / a[1], any({3, 4}), positive({4})),
      AMP_SAMPLE(prelu, prelu(a[0], a[1]), any({3, 4, 5}), positive({4})),
      AMP_SAMPLE(relu_backward, relu_backward(a[0], relu(a[1])), any({3, 4}), any({3, 4})),
      AMP_SAMPLE(sigmoid_backward, sigmoid_backward(a[0], a[1]), any({3, 4}), probability({3, 4})),
      AMP_SAMPLE(tanh_backward, tanh_backward(a[0], a[1]), any({3, 4}), unit({3, 4})),
      AMP_SAMPLE(gelu_backward, gelu_backward(a[0], a[1]), any({3, 4}), any({3, 4})),
      AMP_SAMPLE(silu_backward, silu_backward(a[0], a[1]), any({3, 4}), any({3, 4})),
      AMP_SAMPLE(native_dropout, (manual_seed(3), dropout(a[0], 0.5)), any({3, 4})),
      AMP_BINARY_SAMPLE(maximum),
      AMP_BINARY_SAMPLE(minimum),
      AMP_SAMPLE(atan2, atan2(a[0], a[1]), positive({3, 4}), positive({3, 4})),
      AMP_SAMPLE(xlogy, xlogy(a[0], a[1]), any({3, 4}), positive({4})),
      AMP_SAMPLE(addcmul, addcmul(a[0], a[1], a[2], 0.5), any({3, 4}), any({3, 4}), any({3, 4})),
      AMP_SAMPLE(addcdiv, addcdiv(a[0], a[1], a[2], 0.5), any({3, 4}), any({3, 4}), positive({3, 4})),
      AMP_SAMPLE(where, where(a[0], a[1], a[2]), mask({3, 4}), any({3, 4}), any({3, 4})),
      AMP_SAMPLE(masked_fill, masked_fill(a[0], a[1], -1000.0), any({3, 4}), mask({3, 4})),
      AMP_SAMPLE_METHOD(eq, eq(a[0], a[1]), a[0].eq(a[1]), any({3, 4}), any({4})),
      AMP_BINARY_SAMPLE(ne),
      AMP_BINARY_SAMPLE(lt),
      AMP_BINARY_SAMPLE(le),
      AMP_BINARY_SAMPLE(gt),
      AMP_BINARY_SAMPLE(ge),
      AMP_SAMPLE(logical_and, logical_and(a[0], a[1]), mask({3, 4}), mask({3, 4})),
      AMP_SAMPLE(logical_or, logical_or(a[0], a[1]), mask({3, 4}), mask({3, 4})),
      AMP_SAMPLE(logical_xor, logical_xor(a[0], a[1]), mask({3, 4}), mask({3, 4})),
      AMP_SAMPLE(logical_not, logical_not(a[0]), mask({3, 4})),
      AMP_SAMPLE(isnan, isnan(a[0]), any({3, 4})),
      AMP_SAMPLE(isinf, isinf(a[0]), any({3, 4})),
      AMP_SAMPLE(isfinite, isfinite(a[0]), any({3, 4})),
  };
}

}  // namespace

std::vector<OpSample> pointwise_samples() {
  std::vector<OpSample> all = functions_of_one();
  for (OpSample& sample : functions_of_several()) all.push_back(std::move(sample));
  return all;
}

}  // namespace amp::test
