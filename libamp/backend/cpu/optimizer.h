// What the bodies of optimizers' updates share: operand checks, the scaler's part, and products rounded as ATen rounds
// them. Beside blocks.h, which walks the tensors.
#pragma once
#include <cmath>

#include "libamp/backend/cpu/blocks.h"

namespace amp::cpu {

// The tail of every call: a scaler may hand the division by the scale and the skip down to the update.
struct FromScaler {
  bool skip = false;
  double scale = 1;
};
inline FromScaler from_scaler(const OpCall& call, std::size_t grad_scale, std::size_t found_inf) {
  FromScaler result;
  if (call.has(found_inf)) result.skip = call.in(found_inf).item() != 0;  // any non-zero value skips, NaN as well
  if (call.has(grad_scale)) result.scale = call.in(grad_scale).item();
  return result;
}

// An optional tensor, or a stand-in of the right shape that the body does not look at.
inline const Tensor& or_else(const OpCall& call, std::size_t i, const Tensor& other) {
  return call.has(i) ? call.in(i) : other;
}

/// Throws Error(type) unless these operands are given.
inline void require_state(const OpCall& call, std::initializer_list<std::size_t> which) {
  for (const std::size_t i : which)
    if (!call.has(i))
      call.fail("tensor argument " + std::to_string(i) + " is missing: got none, need the state", ErrorCode::type);
}

/// Operand 0 is the parameter, 1 to count - 1 have its shape, except a step counter of one float32 at `step`.
inline void check_operands(const OpCall& call, std::size_t count, std::size_t step = 0) {
  const Tensor& p = call.in(0);
  if (!is_floating(p.dtype()) || size_of(p.dtype()) == 1)
    call.fail("parameters of this type cannot be updated: got " + describe(p), ErrorCode::not_implemented);
  if (step != 0 && (call.in(step).dtype() != DType::float32 || call.in(step).numel() != 1))
    call.fail("the step counter must have one float32 element: got " + describe(call.in(step)));
  for (std::size_t i = 1; i < count; ++i)
    if (i != step && call.has(i))
      require_same_sizes(call, call.in(i), p, i == 1 ? "the gradient" : "the optimizer's state");
}

// a + b c rounded once, as PyTorch's kernels have it on both devices.
inline float add_product(float a, float b, float c) { return std::fma(b, c, a); }
inline double add_product(double a, double b, double c) { return a + b * c; }

template <typename C>
void unscale_block(C* g, std::int64_t n, double scale) {
  for (std::int64_t i = 0; i < n; ++i) g[i] = static_cast<C>(static_cast<double>(g[i]) / scale);
}

inline void bump_versions(const OpCall& call, std::initializer_list<std::size_t> which) {
  for (const std::size_t i : which)
    if (call.has(i)) call.in(i).bump_version();
}

}  // namespace amp::cpu
