// Gradients of the pointwise functions. Each is written with differentiable ops; masks keep infinities of the branch
// not taken out of the products, in higher derivatives too.
#include <cmath>
#include <numbers>

#include "libamp/autograd/gradient.h"
#include "libamp/dispatch/run_op.h"

namespace amp::gradients {
namespace {

constexpr double kSqrtPi = 1.77245385090551602730;
constexpr double kGeluScale = 0.79788456080286535588;  // sqrt(2 / pi)
constexpr double kGeluCubic = 0.044715;

Tensor zero_where(const Tensor& mask, const Tensor& t) { return masked_fill(t, mask, 0); }
Tensor one_minus_square(const Tensor& t) { return 1 - t * t; }

}  // namespace

// -- gradient zero almost everywhere
#define AMP_ZERO_GRADIENT(id) \
  Tensors id(const GradCall& g) { return {zeros_like(g.grad())}; }
AMP_ZERO_GRADIENT(sign)
AMP_ZERO_GRADIENT(floor)
AMP_ZERO_GRADIENT(ceil)
AMP_ZERO_GRADIENT(round)
AMP_ZERO_GRADIENT(trunc)
#undef AMP_ZERO_GRADIENT

// -- elementary functions
Tensors abs(const GradCall& g) { return {g.grad() * amp::sign(g.in(0))}; }
Tensors sqrt(const GradCall& g) { return {g.grad() / (g.out() * 2)}; }
Tensors sin(const GradCall& g) { return {g.grad() * amp::cos(g.in(0))}; }
Tensors cos(const GradCall& g) { return {-(g.grad() * amp::sin(g.in(0)))}; }
Tensors tan(const GradCall& g) { return {g.grad() * (g.out() * g.out() + 1)}; }
Tensors acos(const GradCall& g) { return {-(g.grad() * amp::rsqrt(one_minus_square(g.in(0))))}; }
Tensors asin(const GradCall& g) { return {g.grad() * amp::rsqrt(one_minus_square(g.in(0)))}; }
Tensors atan(const GradCall& g) { return {g.grad() / (g.in(0) * g.in(0) + 1)}; }
Tensors cosh(const GradCall& g) { return {g.grad() * amp::sinh(g.in(0))}; }
Tensors sinh(const GradCall& g) { return {g.grad() * amp::cosh(g.in(0))}; }
Tensors erf(const GradCall& g) { return {g.grad() * (amp::exp(-(g.in(0) * g.in(0))) * (2 / kSqrtPi))}; }
Tensors erfinv(const GradCall& g) { return {g.grad() * (amp::exp(g.out() * g.out()) * (kSqrtPi / 2))}; }
Tensors exp(const GradCall& g) { return {g.grad() * g.out()}; }
Tensors expm1(const GradCall& g) { return {g.grad() * (g.out() + 1)}; }
Tensors log(const GradCall& g) { return {g.grad() / g.in(0)}; }
Tensors log10(const GradCall& g) { return {g.grad() / (g.in(0) * std::numbers::ln10)}; }
Tensors log2(const GradCall& g) { return {g.grad() / (g.in(0) * std::numbers::ln2)}; }
Tensors log1p(const GradCall& g) { return {g.grad() / (g.in(0) + 1)}; }
Tensors reciprocal(const GradCall& g) { return {-(g.grad() * (g.out() * g.out()))}; }
Tensors rsqrt(const GradCall& g) { return {g.grad() * (g.out() * g.out() * g.out()) * -0.5}; }

// x^y: y x^(y-1) and x^y log x. Where y is 0 the first is 0 also at x = 0, and where x is 0 and y >= 0 the second is 0.
Tensors pow(const GradCall& g) {
  const Tensor x = g.in(0), y = g.in(1);
  if (!y.defined()) {
    const double exponent = g.attributes().number("exponent", 1);
    if (exponent == 0) return {zeros_like(g.grad())};
    return {g.grad() * (amp::pow(x, exponent - 1) * exponent)};
  }
  Tensors result(2);
  if (g.needs(0)) result[0] = zero_where(amp::eq(y, 0), g.grad() * (y * amp::pow(x, y - 1)));
  if (g.needs(1)) {
    const Tensor flat = amp::logical_and(amp::eq(x, 0), amp::ge(y, 0));
    result[1] = zero_where(flat, g.grad() * (amp::pow(x, y) * amp::log(x)));
  }
  return result;
}
Tensors rpow(const GradCall& g) {
  const double base = g.attributes().number("self", 1);
  const Tensor product = g.grad() * (g.out() * std::log(base));
  return {base == 0 ? zero_where(amp::ge(g.in(0), 0), product) : product};
}

// -- activations
Tensors relu(const GradCall& g) { return {amp::relu_backward(g.grad(), g.out())}; }
Tensors sigmoid(const GradCall& g) { return {amp::sigmoid_backward(g.grad(), g.out())}; }
Tensors tanh(const GradCall& g) { return {amp::tanh_backward(g.grad(), g.out())}; }
Tensors gelu(const GradCall& g) {
  return {amp::gelu_backward(g.grad(), g.in(0), g.attributes().text("approximate", "none"))};
}
Tensors silu(const GradCall& g) { return {amp::silu_backward(g.grad(), g.in(0))}; }
Tensors log_sigmoid(const GradCall& g) { return {g.grad() * amp::sigmoid(-g.in(0))}; }
Tensors leaky_relu(const GradCall& g) {
  const double slope = g.attributes().number("negative_slope", 0.01);
  return {amp::where(amp::gt(g.in(0), 0), g.grad(), g.grad() * slope)};
}
Tensors elu(const GradCall& g) {
  const Tensor x = g.in(0);
  const Tensor falling = g.grad() * (amp::exp(amp::clamp(x, {}, 0)) * g.attributes().number("alpha", 1));
  return {amp::where(amp::gt(x, 0), g.grad(), falling)};
}
Tensors softplus(const GradCall& g) {
  const Tensor scaled = g.in(0) * g.attributes().number("beta", 1);
  const Tensor linear = amp::gt(scaled, g.attributes().number("threshold", 20));
  return {amp::where(linear, g.grad(), g.grad() * amp::sigmoid(scaled))};
}
Tensors prelu(const GradCall& g) {
  const Tensor x = g.in(0), weight = g.in(1);
  Shape channels;
  for (int d = 0; d < x.dim(); ++d) channels.push_back(d == 1 && weight.numel() != 1 ? weight.numel() : 1);
  const Tensor positive = amp::gt(x, 0);
  Tensors result(2);
  if (g.needs(0)) result[0] = amp::where(positive, g.grad(), g.grad() * reshape(weight, channels));
  if (g.needs(1)) {
    const Tensor each = zero_where(positive, g.grad() * x);
    result[1] = reshape(sum_to_size(each, channels), g.input_sizes(1));
  }
  return result;
}

// Second derivatives of the activations: the first operand of a *_backward is the gradient it scales.
Tensors relu_backward(const GradCall& g) { return {amp::relu_backward(g.grad(), g.in(1)), Tensor()}; }
Tensors sigmoid_backward(const GradCall& g) {
  const Tensor out = g.in(1);
  return {amp::sigmoid_backward(g.grad(), out), g.needs(1) ? g.grad() * g.in(0) * (1 - out * 2) : Tensor()};
}
Tensors tanh_backward(const GradCall& g) {
  const Tensor out = g.in(1);
  return {amp::tanh_backward(g.grad(), out), g.needs(1) ? g.grad() * g.in(0) * (out * -2) : Tensor()};
}
Tensors silu_backward(const GradCall& g) {
  const Tensor x = g.in(1);
  Tensor second;
  if (g.needs(1)) {
    const Tensor s = amp::sigmoid(x);
    second = g.grad() * g.in(0) * (s * (1 - s) * (x * (1 - s * 2) + 2));
  }
  return {amp::silu_backward(g.grad(), x), second};
}
Tensors gelu_backward(const GradCall& g) {
  const Tensor x = g.in(1);
  const std::string approximate = g.attributes().text("approximate", "none");
  Tensor second;
  if (g.needs(1) && approximate == "tanh") {
    const Tensor square = x * x;
    const Tensor t = amp::tanh((x + square * x * kGeluCubic) * kGeluScale);
    const Tensor slope = (square * (3 * kGeluCubic) + 1) * kGeluScale;
    const Tensor bend = x * (6 * kGeluCubic * kGeluScale);
    second = g.grad() * g.in(0) * (one_minus_square(t) * (slope - x * t * slope * slope + x * bend * 0.5));
  } else if (g.needs(1)) {
    const Tensor pdf = amp::exp(x * x * -0.5) * (kGeluScale / 2);  // 1 / sqrt(2 pi)
    second = g.grad() * g.in(0) * (pdf * (2 - x * x));
  }
  return {amp::gelu_backward(g.grad(), x, approximate), second};
}

// -- limits and choices
Tensors clamp(const GradCall& g) {
  const Tensor x = g.in(0);
  Tensor outside;
  if (g.attributes().has("min")) outside = amp::lt(x, g.attributes().number("min", 0));
  if (g.attributes().has("max")) {
    const Tensor above = amp::gt(x, g.attributes().number("max", 0));
    outside = outside.defined() ? amp::logical_or(outside, above) : above;
  }
  return {zero_where(outside, g.grad())};
}

namespace {

// Gradient of the operand that is not `lost` to the other; equal ones share it.
Tensor share(const Tensor& gradient, const Tensor& lost, const Tensor& equal) {
  return amp::where(lost, 0.0, amp::where(equal, gradient * 0.5, gradient));
}

}  // namespace

Tensors maximum(const GradCall& g) {
  const Tensor x = g.in(0), y = g.in(1), equal = amp::eq(x, y);
  return {g.needs(0) ? share(g.grad(), amp::lt(x, y), equal) : Tensor(),
          g.needs(1) ? share(g.grad(), amp::lt(y, x), equal) : Tensor()};
}
Tensors minimum(const GradCall& g) {
  const Tensor x = g.in(0), y = g.in(1), equal = amp::eq(x, y);
  return {g.needs(0) ? share(g.grad(), amp::gt(x, y), equal) : Tensor(),
          g.needs(1) ? share(g.grad(), amp::gt(y, x), equal) : Tensor()};
}
Tensors where(const GradCall& g) {
  return {Tensor(), g.needs(1) ? amp::where(g.in(0), g.grad(), 0.0) : Tensor(),
          g.needs(2) ? amp::where(g.in(0), 0.0, g.grad()) : Tensor()};
}
Tensors masked_fill(const GradCall& g) { return {zero_where(g.in(1), g.grad()), Tensor()}; }
Tensors native_dropout(const GradCall& g) {
  return {run_op1({OpId::native_dropout, {g.grad(), g.in(1)}, g.attributes(), {}}), Tensor()};
}

// -- two and three operands
Tensors atan2(const GradCall& g) {
  const Tensor y = g.in(0), x = g.in(1);
  const Tensor scaled = g.grad() / (x * x + y * y);
  return {g.needs(0) ? scaled * x : Tensor(), g.needs(1) ? -(scaled * y) : Tensor()};
}
Tensors xlogy(const GradCall& g) {
  const Tensor x = g.in(0), y = g.in(1);
  Tensors result(2);
  if (g.needs(0)) result[0] = zero_where(amp::logical_and(amp::eq(x, 0), amp::le(y, 0)), g.grad() * amp::log(y));
  if (g.needs(1)) result[1] = g.grad() * x / y;
  return result;
}
Tensors addcmul(const GradCall& g) {
  const Tensor scaled = g.grad() * g.attributes().number("value", 1);
  return {g.grad(), g.needs(1) ? scaled * g.in(2) : Tensor(), g.needs(2) ? scaled * g.in(1) : Tensor()};
}
Tensors addcdiv(const GradCall& g) {
  const Tensor scaled = g.grad() * g.attributes().number("value", 1);
  return {g.grad(), g.needs(1) ? scaled / g.in(2) : Tensor(),
          g.needs(2) ? -(scaled * g.in(1) / (g.in(2) * g.in(2))) : Tensor()};
}

}  // namespace amp::gradients
