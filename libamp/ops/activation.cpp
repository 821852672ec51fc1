// Composed activations. `where` picks values without rounding them; arithmetic on half inputs goes through float32.
#include "libamp/ops/activation.h"

#include <cmath>

#include "libamp/ops/join.h"
#include "libamp/ops/math.h"
#include "libamp/ops/pointwise.h"

namespace amp {
namespace {

// Runs f on the input in float32 if it is half, and rounds the result once.
template <typename F>
Tensor widened(const Tensor& input, F f) {
  if (!is_low_precision(input.dtype())) return f(input);
  return to(f(to(input, DType::float32)), input.dtype());
}

void check_probability(double p, const char* where) {
  if (!(p >= 0 && p <= 1))
    fail(ErrorCode::value, where, "p must be a probability: got " + std::to_string(p) + ", need a value in [0, 1]");
}

}  // namespace

Tensor hardtanh(const Tensor& input, double min_val, double max_val) {
  if (min_val > max_val)
    fail(ErrorCode::value, "hardtanh",
         "min_val is above max_val: got " + std::to_string(min_val) + " and " + std::to_string(max_val));
  return where(le(input, min_val), min_val, where(ge(input, max_val), max_val, input));
}
Tensor relu6(const Tensor& input) { return hardtanh(input, 0, 6); }

Tensor hardsigmoid(const Tensor& input) {
  return widened(input, [](const Tensor& x) { return relu6(x + 3.0) / 6.0; });
}
Tensor hardswish(const Tensor& input) {
  return widened(input, [](const Tensor& x) { return x * relu6(x + 3.0) / 6.0; });
}

Tensor selu(const Tensor& input) {
  constexpr double kAlpha = 1.6732632423543772848170429916717, kScale = 1.0507009873554804934193349852946;
  return widened(input, [&](const Tensor& x) { return elu(x, kAlpha) * kScale; });
}
Tensor celu(const Tensor& input, double alpha) {
  if (alpha == 0) fail(ErrorCode::runtime, "celu", "alpha must not be 0");
  return widened(input, [&](const Tensor& x) { return elu(x / alpha, 1) * alpha; });
}

Tensor mish(const Tensor& input) {
  return widened(input, [](const Tensor& x) { return x * tanh(softplus(x)); });
}
Tensor softsign(const Tensor& input) {
  return widened(input, [](const Tensor& x) { return x / (abs(x) + 1.0); });
}
Tensor tanhshrink(const Tensor& input) {
  return widened(input, [](const Tensor& x) { return x - tanh(x); });
}

// A NaN compares as false and has to stay, so the conditions are those of what is replaced.
Tensor hardshrink(const Tensor& input, double lambd) {
  return where(logical_and(ge(input, -lambd), le(input, lambd)), 0.0, input);
}
Tensor softshrink(const Tensor& input, double lambd) {
  if (!(lambd >= 0)) fail(ErrorCode::runtime, "softshrink", "lambd must not be negative: got " + std::to_string(lambd));
  return where(gt(input, lambd), input - lambd, where(lt(input, -lambd), input + lambd, input * 0.0));
}
Tensor threshold(const Tensor& input, double threshold, double value) {
  return where(le(input, threshold), value, input);
}

Tensor glu(const Tensor& input, std::int64_t dim) {
  if (input.dim() == 0) fail(ErrorCode::runtime, "glu", "the input needs dims: got " + describe(input));
  if (input.size(dim) % 2 != 0)
    fail(ErrorCode::runtime, "glu", "the size to halve must be even: got " + describe(input));
  const Tensors halves = chunk(input, 2, dim);
  if (!is_low_precision(input.dtype())) return halves[0] * sigmoid(halves[1]);
  return to(to(halves[0], DType::float32) * sigmoid(to(halves[1], DType::float32)), input.dtype());
}

Tensor rrelu(const Tensor& input, double lower, double upper, bool training) {
  if (lower > upper)
    fail(ErrorCode::value, "rrelu",
         "lower is above upper: got " + std::to_string(lower) + " and " + std::to_string(upper));
  if (!training) return leaky_relu(input, (lower + upper) / 2);
  const Tensor slope = to(rand(input.sizes(), {.device = input.device()}) * (upper - lower) + lower, input.dtype());
  return where(le(input, 0), input * slope, input);
}
Tensor logsigmoid(const Tensor& input) { return log_sigmoid(input); }

Tensor feature_dropout(const Tensor& input, int spatial, double p, bool training) {
  check_probability(p, "feature_dropout");
  if (input.dim() != spatial + 1 && input.dim() != spatial + 2)
    fail(ErrorCode::runtime, "feature_dropout",
         "got " + describe(input) + ", need " + std::to_string(spatial + 1) + " or " + std::to_string(spatial + 2) +
             " dims");
  if (!training || p == 0) return input;
  Shape channels = input.sizes();
  for (int d = channels.size() - spatial; d < channels.size(); ++d) channels[d] = 1;
  return input * dropout(full(channels, 1, {.dtype = input.dtype(), .device = input.device()}), p);
}

Tensor alpha_dropout(const Tensor& input, double p, bool training) {
  check_probability(p, "alpha_dropout");
  if (!training || p == 0) return input;
  if (p == 1) return input * 0.0;
  // Dropped elements become the value selu has far to the left; a line then restores mean 0 and variance 1.
  constexpr double kLimit = 1.7580993408473766;
  const double slope = 1 / std::sqrt((kLimit * kLimit * p + 1) * (1 - p));
  const Tensor kept = lt(rand(input.sizes(), {.device = input.device()}), 1 - p);
  return where(kept, input, -kLimit) * slope + slope * kLimit * p;
}

}  // namespace amp
