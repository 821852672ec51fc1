// The update formulas written down again in double, gradients to feed them, and the options to try: for the tests of
// all optimizers.
#pragma once
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "libamp/optim/adagrad.h"
#include "libamp/optim/rmsprop.h"
#include "tests/support/toy_training.h"

namespace amp::testing {

inline constexpr int kSteps = 6;
inline const std::vector<double> kStart = {1, -2, 0.5};

// Gradients of step t, multiples of 1/16.
inline std::vector<double> gradient_of(int t) {
  return {0.25 * (t % 3) - 0.125, -0.5 + 0.0625 * t, t == 2 ? 0.0 : 0.375};
}

struct SgdReference {
  SGDOptions o;
  std::vector<double> w = kStart, m = {};
  void step(const std::vector<double>& gradient) {
    const bool first = m.empty();
    if (first) m.resize(w.size());
    for (std::size_t i = 0; i < w.size(); ++i) {
      double d = (o.maximize ? -gradient[i] : gradient[i]) + o.weight_decay * w[i];
      if (o.momentum != 0) {
        m[i] = first ? d : o.momentum * m[i] + (1 - o.dampening) * d;
        d = o.nesterov ? d + o.momentum * m[i] : m[i];
      }
      w[i] -= o.lr * d;
    }
  }
};

struct AdamReference {
  AdamOptions o;
  bool decoupled;
  std::vector<double> w = kStart, m = {0, 0, 0}, v = {0, 0, 0}, largest = {0, 0, 0};
  int t = 0;
  void step(const std::vector<double>& gradient) {
    ++t;
    for (std::size_t i = 0; i < w.size(); ++i) {
      double d = o.maximize ? -gradient[i] : gradient[i];
      if (decoupled)
        w[i] *= 1 - o.lr * o.weight_decay;
      else
        d += o.weight_decay * w[i];
      m[i] = o.beta1 * m[i] + (1 - o.beta1) * d;
      v[i] = o.beta2 * v[i] + (1 - o.beta2) * d * d;
      largest[i] = std::max(largest[i], v[i]);
      const double second = (o.amsgrad ? largest[i] : v[i]) / (1 - std::pow(o.beta2, t));
      w[i] -= o.lr * (m[i] / (1 - std::pow(o.beta1, t))) / (std::sqrt(second) + o.eps);
    }
  }
};

inline void check_close(const Tensor& got, const std::vector<double>& need, double relative) {
  const auto values = got.to_vector();
  for (std::size_t i = 0; i < need.size(); ++i) {
    CAPTURE(i, values[i], need[i]);
    CHECK(std::abs(values[i] - need[i]) <= relative * (std::abs(need[i]) + 0.1));
  }
}

template <typename Opt, typename Reference>
void compare(const Reference& fresh, DType dtype) {
  Reference reference = fresh;
  const Tensor param = tensor(kStart, {.dtype = dtype, .requires_grad = true});
  Opt optimizer({param}, reference.o);
  for (int t = 0; t < kSteps; ++t) {
    param.set_grad(tensor(gradient_of(t), {.dtype = dtype}));
    optimizer.step();
    reference.step(gradient_of(t));
  }
  // Half parameters are rounded copies of a float32 master: one rounding, however many steps.
  check_close(param, reference.w,
              dtype == DType::float16    ? 0x1p-11
              : dtype == DType::bfloat16 ? 0x1p-8
              : dtype == DType::float64  ? 1e-6
                                         : 2e-6);
}

inline const SGDOptions kSgd[] = {
    {.lr = 0.1},
    {.lr = 0.1, .momentum = 0.9},
    {.lr = 0.1, .momentum = 0.9, .dampening = 0.25, .weight_decay = 0.01},
    {.lr = 0.05, .momentum = 0.5, .weight_decay = 0.1, .nesterov = true},
    {.lr = 0.1, .momentum = 0.9, .maximize = true},
};
inline const AdamOptions kAdam[] = {
    {.lr = 0.1},
    {.lr = 0.01, .beta1 = 0.4, .beta2 = 0.5, .eps = 1e-3},
    {.lr = 0.1, .weight_decay = 0.1},
    {.lr = 0.1, .weight_decay = 0.1, .amsgrad = true},
    {.lr = 0.1, .maximize = true},
};

struct AdagradReference {
  AdagradOptions o;
  std::vector<double> w = kStart, sum = {};
  int t = 0;
  void step(const std::vector<double>& gradient) {
    if (sum.empty()) sum.assign(w.size(), o.initial_accumulator_value);
    ++t;
    for (std::size_t i = 0; i < w.size(); ++i) {
      const double d = (o.maximize ? -gradient[i] : gradient[i]) + o.weight_decay * w[i];
      sum[i] += d * d;
      w[i] -= o.lr / (1 + (t - 1) * o.lr_decay) * d / (std::sqrt(sum[i]) + o.eps);
    }
  }
};

struct RmspropReference {
  RMSpropOptions o;
  std::vector<double> w = kStart, v = {0, 0, 0}, mean = {0, 0, 0}, buffer = {0, 0, 0};
  void step(const std::vector<double>& gradient) {
    for (std::size_t i = 0; i < w.size(); ++i) {
      const double d = (o.maximize ? -gradient[i] : gradient[i]) + o.weight_decay * w[i];
      v[i] = o.alpha * v[i] + (1 - o.alpha) * d * d;
      mean[i] = o.alpha * mean[i] + (1 - o.alpha) * d;
      const double root = std::sqrt(o.centered ? v[i] - mean[i] * mean[i] : v[i]) + o.eps;
      buffer[i] = o.momentum * buffer[i] + d / root;
      w[i] -= o.lr * (o.momentum > 0 ? buffer[i] : d / root);
    }
  }
};

inline const AdagradOptions kAdagrad[] = {
    {.lr = 0.1},
    {.lr = 0.1, .lr_decay = 0.25, .weight_decay = 0.1},
    {.lr = 0.1, .initial_accumulator_value = 0.5, .eps = 1e-3, .maximize = true},
};
inline const RMSpropOptions kRmsprop[] = {
    {.lr = 0.01},
    {.lr = 0.01, .alpha = 0.3, .eps = 1e-3, .weight_decay = 0.1},
    {.lr = 0.01, .momentum = 0.9},
    {.lr = 0.01, .alpha = 0.9, .eps = 1e-2, .momentum = 0.5, .centered = true},
    {.lr = 0.01, .eps = 1e-2, .centered = true, .maximize = true},
};

}  // namespace amp::testing
