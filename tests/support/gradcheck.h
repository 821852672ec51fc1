// Gradients against central differences, in float64. For tests of ops and gradient formulas.
#pragma once
#include <cmath>
#include <functional>
#include <string>

#include "libamp/autograd/autograd.h"
#include "libamp/ops/ops.h"

namespace amp::test {

/// A float64 tensor of fixed, irregular values between -1 and 1; other seeds give other values.
inline Tensor values(const Shape& sizes, int seed = 1) {
  std::vector<double> data(static_cast<std::size_t>(numel_of(sizes)));
  for (std::size_t i = 0; i < data.size(); ++i)
    data[i] = std::sin(static_cast<double>(i) * 1.7 + seed * 0.61) * 0.9 +
              0.1 * std::cos(static_cast<double>(i * i) * 0.31 + seed);
  return tensor(data, sizes, {.dtype = DType::float64});
}

using TensorFunction = std::function<Tensor(const Tensors&)>;

/// A scalar that weighs every output element differently.
inline Tensor weighted_sum(const Tensor& output) { return sum(output * values(output.sizes(), 7)); }

/// Empty if d weighted_sum(f(inputs)) / d inputs agrees with central differences for every element of every float64
/// input that requires gradients; else the worst disagreement. f must be smooth within `step` of the inputs.
inline std::string gradcheck(const TensorFunction& f, const Tensors& inputs, double tolerance = 1e-6,
                             double step = 1e-5) {
  Tensors wanted;
  for (const Tensor& t : inputs)
    if (t.defined() && t.requires_grad()) wanted.push_back(t);
  const Tensors gradients = grad({weighted_sum(f(inputs))}, wanted, {}, false, false, true);
  std::string worst;
  double worst_error = tolerance;
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    const std::vector<double> analytic = gradients[k].defined()
                                             ? gradients[k].to_vector()
                                             : std::vector<double>(static_cast<std::size_t>(wanted[k].numel()), 0.0);
    double* data = wanted[k].data<double>();
    for (std::size_t i = 0; i < analytic.size(); ++i) {
      const no_grad quiet;
      const double before = data[i];
      data[i] = before + step;
      const double above = weighted_sum(f(inputs)).item();
      data[i] = before - step;
      const double below = weighted_sum(f(inputs)).item();
      data[i] = before;
      const double numeric = (above - below) / (2 * step);
      const double error = std::abs(numeric - analytic[i]) / std::max(1.0, std::abs(numeric));
      if (error > worst_error || error != error) {
        worst_error = error;
        worst = "input " + std::to_string(k) + " element " + std::to_string(i) + ": formula " +
                std::to_string(analytic[i]) + ", difference quotient " + std::to_string(numeric);
      }
    }
  }
  return worst;
}

/// The same for the gradients themselves: differentiates the formula, so it must be written with differentiable ops.
inline std::string gradgradcheck(const TensorFunction& f, const Tensors& inputs, double tolerance = 1e-5,
                                 double step = 1e-5) {
  const TensorFunction first = [&f](const Tensors& at) {
    Tensors wanted;
    for (const Tensor& t : at)
      if (t.defined() && t.requires_grad()) wanted.push_back(t);
    const enable_grad on;  // the difference quotients call this without gradients
    Tensor total;
    for (const Tensor& g : grad({weighted_sum(f(at))}, wanted, {}, true, true, true)) {
      if (!g.defined()) continue;
      const Tensor part = weighted_sum(g);
      total = total.defined() ? total + part : part;
    }
    // A gradient that does not depend on the inputs has no graph of its own.
    return total + weighted_sum(wanted[0]) * 0.0;
  };
  return gradcheck(first, inputs, tolerance, step);
}

}  // namespace amp::test
