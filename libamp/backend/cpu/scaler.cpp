// Bodies of GradScaler's two ops: check gradients for non-finite values and unscale them, and move the scale.
// Arithmetic as ATen/native/cpu/AmpGradScalerKernels.cpp, so that scales and gradients are equal bit for bit.
#include <atomic>
#include <cmath>
#include <limits>

#include "libamp/backend/cpu/blocks.h"
#include "libamp/backend/cpu/table.h"

namespace amp::cpu {
namespace {

void require_scalar(const OpCall& call, const Tensor& t, DType dtype, const char* what) {
  if (t.numel() != 1 || t.dtype() != dtype)
    call.fail(std::string(what) + " must have one element of type " + std::string(name(dtype)) + ": got " +
              describe(t));
}

// Multiplies by the inverse of the scale in place; true if a value was not finite before.
template <typename C>
bool unscale(const Tensor& gradient, double scale, float inverse_of_scale) {
  std::atomic<bool> found{false};
  const C inverse = inverse_of_scale;
  const bool multiply = inverse != C(1);
  // Deviation: from 2^-128 down the inverse of a scale is no float32 any more, and multiplying with it would make NaN
  // of zeros. At a scale of 0 there is nothing to divide by: PyTorch's NaN stands.
  const bool divide = scale != 0 && std::isinf(inverse);
  update_blocks<C, 1>({&gradient}, multiply ? 1u : 0u, [&](const std::array<C*, 1>& block, std::int64_t n) {
    C* x = block[0];
    int bad = 0;
    for (std::int64_t i = 0; i < n; ++i) bad |= !(std::abs(x[i]) <= std::numeric_limits<C>::max());
    if (bad) found.store(true, std::memory_order_relaxed);
    if (divide)
      for (std::int64_t i = 0; i < n; ++i) x[i] = static_cast<C>(static_cast<double>(x[i]) / scale);
    else if (multiply)
      for (std::int64_t i = 0; i < n; ++i) x[i] *= inverse;
  });
  return found;
}

}  // namespace

// Inputs: the gradients, then found_inf and the scale (undefined: check only). Returns with per_tensor = true one flag
// a gradient.
Tensors amp_foreach_non_finite_check_and_unscale_(const OpCall& call) {
  const std::size_t count = call.inputs.size() - 2;
  const Tensor& found_inf = call.in(count);
  require_scalar(call, found_inf, DType::float32, "found_inf");
  double scale = 1;
  float inv = 1;
  if (call.has(count + 1)) {
    require_scalar(call, call.in(count + 1), DType::float32, "the scale");
    // In double and rounded to float32, as PyTorch has it.
    scale = *call.in(count + 1).data<float>();
    inv = static_cast<float>(1.0 / scale);
  }
  Tensor flags;
  if (call.attributes.flag("per_tensor", false)) flags = empty({static_cast<std::int64_t>(count)}, DType::bool_);
  for (std::size_t i = 0; i < count; ++i) {
    const Tensor& g = call.in(i);
    if (!is_floating(g.dtype()) || size_of(g.dtype()) == 1)
      call.fail("gradients of this type cannot be unscaled: got " + describe(g) +
                    ", need float32, float64, bfloat16 or float16",
                ErrorCode::not_implemented);
    const bool bad = g.dtype() == DType::float64 ? unscale<double>(g, scale, inv) : unscale<float>(g, scale, inv);
    if (bad) *found_inf.data<float>() = 1;
    if (flags.defined()) flags.data<bool>()[i] = bad;
    if (inv != 1) g.bump_version();
  }
  found_inf.bump_version();
  if (!flags.defined()) return {};
  return {flags};
}

// Inputs: scale, growth tracker, found_inf.
Tensors amp_update_scale_(const OpCall& call) {
  require_scalar(call, call.in(0), DType::float32, "the scale");
  require_scalar(call, call.in(1), DType::int32, "the growth tracker");
  require_scalar(call, call.in(2), DType::float32, "found_inf");
  float& scale = *call.in(0).data<float>();
  std::int32_t& tracker = *call.in(1).data<std::int32_t>();
  const Attributes& a = call.attributes;
  if (*call.in(2).data<float>() != 0) {  // NaN counts
    const auto backed_off = static_cast<float>(static_cast<double>(scale) * a.number("backoff_factor", 0.5));
    const auto floor = static_cast<float>(a.number("min_scale", 0));
    scale = backed_off < floor ? floor : backed_off;
    tracker = 0;
  } else if (tracker + 1 == a.integer("growth_interval", 2000)) {
    const auto grown = static_cast<float>(static_cast<double>(scale) * a.number("growth_factor", 2));
    if (std::isfinite(grown)) scale = grown;
    tracker = 0;
  } else {
    ++tracker;
  }
  call.in(0).bump_version();
  call.in(1).bump_version();
  return {call.in(0)};
}

}  // namespace amp::cpu
