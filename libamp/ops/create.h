// Making tensors, as torch.zeros and friends. `options`: dtype (default float32), device (cpu), requires_grad (false).
#pragma once
#include <span>

#include "libamp/core/tensor.h"

namespace amp {

Tensor zeros(const Shape& sizes, const TensorOptions& options = {});
Tensor ones(const Shape& sizes, const TensorOptions& options = {});
Tensor full(const Shape& sizes, double value, const TensorOptions& options = {});
Tensor zeros_like(const Tensor& like);
Tensor ones_like(const Tensor& like);
Tensor empty_like(const Tensor& like);
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

}  // namespace amp
