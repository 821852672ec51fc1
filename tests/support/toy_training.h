// A parameter, its optimizer and a loss whose gradient is known, for tests of scaler and optimizers.
#pragma once
#include <limits>
#include <vector>

#include "libamp/autocast/scope.h"
#include "libamp/autograd/autograd.h"
#include "libamp/core/grad_mode.h"
#include "libamp/ops/ops.h"
#include "libamp/optim/adam.h"
#include "libamp/optim/sgd.h"
#include "libamp/scaler/grad_scaler.h"

namespace amp::testing {

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

inline Tensor parameter(std::initializer_list<double> values, DType dtype = DType::float32) {
  return tensor(values, {.dtype = dtype, .requires_grad = true});
}

/// loss = sum(direction x parameter): its gradient is `direction`.
inline Tensor linear_loss(const Tensor& param, std::initializer_list<double> direction) {
  return (param * tensor(direction, {.dtype = param.dtype()})).sum();
}

inline void set_element(const Tensor& tensor, std::int64_t i, double value) {
  const no_grad quiet;
  tensor.select(0, i).fill_(value);
}

/// The code of the Error that f throws; nothing if it throws none.
template <typename F>
std::optional<ErrorCode> error_code(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.code();
  }
  return {};
}

/// The message of the Error that f throws; "" if it throws none.
template <typename F>
std::string error_message(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return {};
}

}  // namespace amp::testing
