// Starting values that several layers share. Beside init.h, which fills; here the tensors are made too.
#pragma once
#include <cmath>

#include "libamp/nn/init.h"
#include "libamp/ops/create.h"

namespace amp::nn {

/// Runs `make`; what it allocates counts as weights in a report of memory.
template <typename F>
Tensor as_weights(F make) {
  const CauseScope cause(&Context::cause, MemoryCause::weights);
  return make();
}

/// [sizes], uniform in +-1/sqrt(fan_in).
inline Tensor new_weight(const Shape& sizes) {
  return as_weights([&] { return init::kaiming_uniform_(empty(sizes), std::sqrt(5.0)); });
}

/// [size], uniform in +-bound.
inline Tensor new_uniform(const Shape& sizes, double bound) {
  return as_weights([&] { return init::uniform_(empty(sizes), -bound, bound); });
}

/// The bias that goes with `weight`: uniform in +-1/sqrt(fan_in).
inline Tensor new_bias(std::int64_t size, const Tensor& weight) {
  const std::int64_t fan_in = init::fans(weight).in;
  return new_uniform({size}, fan_in > 0 ? 1 / std::sqrt(static_cast<double>(fan_in)) : 0);
}

inline Tensor new_ones(const Shape& sizes) {
  return as_weights([&] { return ones(sizes); });
}
inline Tensor new_zeros(const Shape& sizes, DType dtype = DType::float32) {
  return as_weights([&] { return zeros(sizes, {.dtype = dtype}); });
}

}  // namespace amp::nn
