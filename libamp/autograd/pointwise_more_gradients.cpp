// Gradients of the pointwise ops beyond the common ones.
#include <cmath>
#include <numbers>

#include "libamp/autograd/gradient.h"
#include "libamp/dispatch/run_op.h"

namespace amp::gradients {
namespace {

constexpr double kSqrtPi = 1.77245385090551602730;
Tensor zero_where(const Tensor& mask, const Tensor& t) { return amp::masked_fill(t, mask, 0); }

}  // namespace

Tensors erfc(const GradCall& g) { return {g.grad() * (amp::exp(-(g.in(0) * g.in(0))) * (-2 / kSqrtPi))}; }
Tensors exp2(const GradCall& g) { return {g.grad() * (g.out() * std::numbers::ln2)}; }
Tensors asinh(const GradCall& g) { return {g.grad() * amp::rsqrt(g.in(0) * g.in(0) + 1)}; }
Tensors acosh(const GradCall& g) { return {g.grad() * amp::rsqrt(g.in(0) * g.in(0) - 1)}; }
Tensors atanh(const GradCall& g) { return {g.grad() / (1 - g.in(0) * g.in(0))}; }

Tensors logaddexp(const GradCall& g) {
  const Tensor gap = g.in(0) - g.in(1);
  return {g.needs(0) ? g.grad() * amp::sigmoid(gap) : Tensor(), g.needs(1) ? g.grad() * amp::sigmoid(-gap) : Tensor()};
}

// x - y floor(x / y), and x - y trunc(x / y).
Tensors remainder(const GradCall& g) {
  return {g.grad(), g.needs(1) ? -(g.grad() * amp::floor_divide(g.in(0), g.in(1))) : Tensor()};
}
Tensors fmod(const GradCall& g) {
  return {g.grad(), g.needs(1) ? -(g.grad() * amp::trunc(g.in(0) / g.in(1))) : Tensor()};
}
Tensors floor_divide(const GradCall& g) {
  const Tensor zero = zeros_like(g.grad());
  return {zero, g.needs(1) ? zero : Tensor()};
}

Tensors lerp(const GradCall& g) {
  const bool given = g.in(2).defined();
  const double number = g.attributes().number("weight", 0);
  const Tensor weight = given ? g.in(2) : wrapped_number(number);
  Tensors result(g.input_count());
  // The difference of two C++ numbers is taken in double: as a tensor's it would be float32.
  if (g.needs(0)) result[0] = given ? g.grad() * (1 - weight) : g.grad() * (1 - number);
  if (g.needs(1)) result[1] = g.grad() * weight;
  if (g.needs(2)) result[2] = g.grad() * (g.in(1) - g.in(0));
  return result;
}

// Straight through where nothing was cut off.
Tensors fake_quantize_per_tensor_affine(const GradCall& g) {
  const Attributes& a = g.attributes();
  const Tensor level = amp::round(g.in(0).detach() * (1 / a.number("scale", 1))) + a.number("zero_point", 0);
  const Tensor cut =
      amp::logical_or(amp::lt(level, a.number("quant_min", 0)), amp::gt(level, a.number("quant_max", 255)));
  return {zero_where(cut, g.grad())};
}

}  // namespace amp::gradients
