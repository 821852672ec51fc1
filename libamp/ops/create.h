// Making tensors, as torch.zeros and friends. `options`: dtype (default float32), device (cpu), requires_grad (false).
#pragma once
#include <concepts>
#include <span>

#include "libamp/core/tensor.h"

namespace amp {

Tensor zeros(const Shape& sizes, const TensorOptions& options = {});  ///< elements of one value, here and below
Tensor ones(const Shape& sizes, const TensorOptions& options = {});
Tensor full(const Shape& sizes, double value, const TensorOptions& options = {});
Tensor zeros_like(const Tensor& like);
Tensor ones_like(const Tensor& like);
Tensor empty_like(const Tensor& like);
Tensor full_like(const Tensor& like, double value);
/// Random values of like's shape and dtype: uniform in [0, 1), standard normal.
Tensor rand_like(const Tensor& like);
Tensor randn_like(const Tensor& like);
/// Ones on the diagonal of [n, n] or [n, m], zeros elsewhere.
Tensor eye(std::int64_t n, const TensorOptions& options = {});
Tensor eye(std::int64_t n, std::int64_t m, const TensorOptions& options = {});
/// start, start + step, ... below end (above it for a negative step). Of integers: int64, as below.
Tensor arange(double start, double end, double step = 1, const TensorOptions& options = {});
template <std::integral Start, std::integral End>
Tensor arange(Start start, End end, const TensorOptions& options = {.dtype = DType::int64}) {
  return arange(static_cast<double>(start), static_cast<double>(end), 1.0, options);
}
template <std::integral Start, std::integral End, std::integral Step>
Tensor arange(Start start, End end, Step step, const TensorOptions& options = {.dtype = DType::int64}) {
  return arange(static_cast<double>(start), static_cast<double>(end), static_cast<double>(step), options);
}
/// `steps` numbers from start to end, both included; logspace: base to those powers.
Tensor linspace(double start, double end, std::int64_t steps, const TensorOptions& options = {});
Tensor logspace(double start, double end, std::int64_t steps, double base = 10, const TensorOptions& options = {});
/// 0, 1, ..., end - 1 as int64 unless options say otherwise.
Tensor arange(std::int64_t end, const TensorOptions& options = {.dtype = DType::int64});
/// A tensor of these values, converted to options.dtype; the 1-dim form, and one with a shape.
Tensor tensor(std::span<const double> values, const TensorOptions& options = {});
Tensor tensor(std::initializer_list<double> values, const TensorOptions& options = {});
Tensor tensor(std::span<const double> values, const Shape& sizes, const TensorOptions& options = {});
Tensor scalar_tensor(double value, const TensorOptions& options = {});
/// A 0-dim tensor that stands for a C++ number: float64 or int64, weaker than any tensor in type promotion.
Tensor wrapped_number(double value);
Tensor wrapped_number(std::int64_t value);
/// Copies `numel` elements of type `dtype` from memory.
Tensor from_memory(const void* data, const Shape& sizes, DType dtype);

/// Seeds this process's generator (Philox 4x32-10; not PyTorch's CPU stream, so random values differ from PyTorch's).
void manual_seed(std::uint64_t seed);
/// The generator's seed and position, uint8 [16]: with them a resumed run draws on where the first stopped.
Tensor get_rng_state();
/// Throws Error(value) for anything else than what get_rng_state gives.
void set_rng_state(const Tensor& state);
/// Uniform in [0, 1) and standard normal.
Tensor rand(const Shape& sizes, const TensorOptions& options = {});
Tensor randn(const Shape& sizes, const TensorOptions& options = {});
Tensor randint(std::int64_t low, std::int64_t high, const Shape& sizes,
               const TensorOptions& options = {.dtype = DType::int64});
Tensor randperm(std::int64_t n);
/// 1 with the probability given by each element, else 0.
Tensor bernoulli(const Tensor& p);
/// Indices drawn by the weights in the last dim (1 or 2 dims): [..., num_samples], int64.
Tensor multinomial(const Tensor& input, std::int64_t num_samples, bool replacement = false);

}  // namespace amp
