// Pointwise functions and comparisons. One operand: output in the input's dtype, integers are computed and returned in
// float32 unless said otherwise. Two operands: broadcasting and type promotion as add. Under CUDA's rules the functions
// of the second block run in float32.
#pragma once
#include <optional>
#include <string_view>

#include "libamp/ops/create.h"

namespace amp {

// -- on no list
Tensor abs(const Tensor& input);   ///< keeps integers
Tensor sign(const Tensor& input);  ///< keeps integers; the gradient is zero, as of floor, ceil, round and trunc
Tensor floor(const Tensor& input);
Tensor ceil(const Tensor& input);
Tensor round(const Tensor& input);  ///< halves to even
Tensor trunc(const Tensor& input);
Tensor sqrt(const Tensor& input);
Tensor square(const Tensor& input);
Tensor sin(const Tensor& input);
Tensor cos(const Tensor& input);
Tensor atan(const Tensor& input);
Tensor erf(const Tensor& input);
Tensor erfc(const Tensor& input);
Tensor exp2(const Tensor& input);
Tensor asinh(const Tensor& input);
Tensor acosh(const Tensor& input);
Tensor atanh(const Tensor& input);
Tensor frac(const Tensor& input);  ///< input - trunc(input)
Tensor tanh(const Tensor& input);
Tensor sigmoid(const Tensor& input);
Tensor log_sigmoid(const Tensor& input);
Tensor relu(const Tensor& input);
const Tensor& relu_(const Tensor& input);
/// approximate: "none" (erf) or "tanh"
Tensor gelu(const Tensor& input, std::string_view approximate = "none");
Tensor silu(const Tensor& input);
Tensor leaky_relu(const Tensor& input, double negative_slope = 0.01);
Tensor elu(const Tensor& input, double alpha = 1);
/// NaN and infinities replaced; left out: 0, and the largest and smallest number of the dtype.
Tensor nan_to_num(const Tensor& input, double nan = 0, std::optional<double> posinf = {},
                  std::optional<double> neginf = {});
/// Rounds to the grid of an affine quantisation; the gradient passes where nothing was cut off. Float32 under the CPU's
/// rules.
Tensor fake_quantize_per_tensor_affine(const Tensor& input, double scale, std::int64_t zero_point,
                                       std::int64_t quant_min, std::int64_t quant_max);
/// Limits to [min, max]; one of them may be left out. NaN stays NaN.
Tensor clamp(const Tensor& input, std::optional<double> min, std::optional<double> max = {});
const Tensor& clamp_(const Tensor& input, std::optional<double> min, std::optional<double> max = {});

// -- float32 under CUDA's rules
Tensor acos(const Tensor& input);
Tensor asin(const Tensor& input);
Tensor cosh(const Tensor& input);
Tensor sinh(const Tensor& input);
Tensor tan(const Tensor& input);
Tensor erfinv(const Tensor& input);
Tensor exp(const Tensor& input);
Tensor expm1(const Tensor& input);
Tensor log(const Tensor& input);
Tensor log10(const Tensor& input);
Tensor log2(const Tensor& input);
Tensor log1p(const Tensor& input);
Tensor reciprocal(const Tensor& input);
Tensor rsqrt(const Tensor& input);
/// reciprocal(other) * input, as PyTorch evaluates number / tensor: so it is float32 there too.
Tensor operator/(double input, const Tensor& other);
/// log(1 + exp(beta x)) / beta; x itself where beta x > threshold
Tensor softplus(const Tensor& input, double beta = 1, double threshold = 20);
Tensor pow(const Tensor& input, double exponent);
Tensor pow(const Tensor& input, const Tensor& exponent);
Tensor pow(double input, const Tensor& exponent);

// -- gradients of the common activations, in one pass each. `output`, `input`: of the forward call.
Tensor relu_backward(const Tensor& grad, const Tensor& output);
Tensor sigmoid_backward(const Tensor& grad, const Tensor& output);
Tensor tanh_backward(const Tensor& grad, const Tensor& output);
Tensor gelu_backward(const Tensor& grad, const Tensor& input, std::string_view approximate = "none");
Tensor silu_backward(const Tensor& grad, const Tensor& input);

// -- two and three operands
Tensor maximum(const Tensor& input, const Tensor& other);  ///< NaN if either is
Tensor minimum(const Tensor& input, const Tensor& other);
Tensor atan2(const Tensor& input, const Tensor& other);
Tensor xlogy(const Tensor& input, const Tensor& other);      ///< input * log(other); 0 where input is 0
Tensor logaddexp(const Tensor& input, const Tensor& other);  ///< log(exp(input) + exp(other))
/// The remainder of division, with other's sign (remainder) or input's (fmod).
Tensor remainder(const Tensor& input, const Tensor& other);
Tensor remainder(const Tensor& input, double other);
Tensor fmod(const Tensor& input, const Tensor& other);
Tensor fmod(const Tensor& input, double other);
/// The quotient rounded down; its gradient is zero.
Tensor floor_divide(const Tensor& input, const Tensor& other);
Tensor floor_divide(const Tensor& input, double other);
/// rounding_mode: "floor", or "trunc" towards zero.
Tensor div(const Tensor& input, const Tensor& other, std::string_view rounding_mode);
/// input + weight * (end - input); operands of one dtype.
Tensor lerp(const Tensor& input, const Tensor& end, double weight);
Tensor lerp(const Tensor& input, const Tensor& end, const Tensor& weight);
Tensor clamp(const Tensor& input, const Tensor& min, const Tensor& max = {});  ///< limits as tensors
/// input where positive, else weight * input. weight: one element, or one for each channel (dim 1).
Tensor prelu(const Tensor& input, const Tensor& weight);
/// input + value * tensor1 * tensor2
Tensor addcmul(const Tensor& input, const Tensor& tensor1, const Tensor& tensor2, double value = 1);
/// input + value * tensor1 / tensor2
Tensor addcdiv(const Tensor& input, const Tensor& tensor1, const Tensor& tensor2, double value = 1);
const Tensor& addcmul_(const Tensor& input, const Tensor& tensor1, const Tensor& tensor2, double value = 1);
const Tensor& addcdiv_(const Tensor& input, const Tensor& tensor1, const Tensor& tensor2, double value = 1);
/// input where the bool `condition` holds, else other
Tensor where(const Tensor& condition, const Tensor& input, const Tensor& other);
Tensor where(const Tensor& condition, const Tensor& input, double other);
Tensor where(const Tensor& condition, double input, const Tensor& other);
/// `value` where the bool `mask` holds. An error if a finite value overflows input's dtype.
Tensor masked_fill(const Tensor& input, const Tensor& mask, double value);
const Tensor& masked_fill_(const Tensor& input, const Tensor& mask, double value);

// -- comparisons; bool results
Tensor eq(const Tensor& input, const Tensor& other);
Tensor ne(const Tensor& input, const Tensor& other);
Tensor lt(const Tensor& input, const Tensor& other);
Tensor le(const Tensor& input, const Tensor& other);
Tensor gt(const Tensor& input, const Tensor& other);
Tensor ge(const Tensor& input, const Tensor& other);
inline Tensor eq(const Tensor& input, double other) { return eq(input, wrapped_number(other)); }
inline Tensor ne(const Tensor& input, double other) { return ne(input, wrapped_number(other)); }
inline Tensor lt(const Tensor& input, double other) { return lt(input, wrapped_number(other)); }
inline Tensor le(const Tensor& input, double other) { return le(input, wrapped_number(other)); }
inline Tensor gt(const Tensor& input, double other) { return gt(input, wrapped_number(other)); }
inline Tensor ge(const Tensor& input, double other) { return ge(input, wrapped_number(other)); }
Tensor logical_and(const Tensor& input, const Tensor& other);
Tensor logical_or(const Tensor& input, const Tensor& other);
Tensor logical_xor(const Tensor& input, const Tensor& other);
Tensor logical_not(const Tensor& input);
Tensor isnan(const Tensor& input);
Tensor isinf(const Tensor& input);
Tensor isfinite(const Tensor& input);
/// |input - other| <= atol + rtol |other|; infinities only equal themselves. allclose: all of them.
Tensor isclose(const Tensor& input, const Tensor& other, double rtol = 1e-5, double atol = 1e-8,
               bool equal_nan = false);
bool allclose(const Tensor& input, const Tensor& other, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false);
/// Same shape and elements.
bool equal(const Tensor& input, const Tensor& other);
// Integers and bool.
Tensor bitwise_and(const Tensor& input, const Tensor& other);
Tensor bitwise_or(const Tensor& input, const Tensor& other);
Tensor bitwise_xor(const Tensor& input, const Tensor& other);
Tensor bitwise_not(const Tensor& input);

// -- random
/// Zeroes elements with probability p and scales the others by 1 / (1 - p); the input itself unless training.
Tensor dropout(const Tensor& input, double p = 0.5, bool training = true);

}  // namespace amp
