// Arithmetic, matrix products and reductions.
#pragma once
#include <concepts>
#include <cstdint>
#include <optional>

#include "libamp/ops/create.h"

namespace amp {

// Pointwise with broadcasting and type promotion. alpha multiplies `other`.
Tensor add(const Tensor& input, const Tensor& other, double alpha = 1);
Tensor sub(const Tensor& input, const Tensor& other, double alpha = 1);
Tensor mul(const Tensor& input, const Tensor& other);
Tensor div(const Tensor& input, const Tensor& other);
Tensor neg(const Tensor& input);

inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return div(a, b); }
inline Tensor operator-(const Tensor& a) { return neg(a); }
inline Tensor operator+(const Tensor& a, double b) { return add(a, wrapped_number(b)); }
inline Tensor operator-(const Tensor& a, double b) { return sub(a, wrapped_number(b)); }
inline Tensor operator*(const Tensor& a, double b) { return mul(a, wrapped_number(b)); }
inline Tensor operator/(const Tensor& a, double b) { return div(a, wrapped_number(b)); }
inline Tensor operator+(double a, const Tensor& b) { return add(wrapped_number(a), b); }
inline Tensor operator-(double a, const Tensor& b) { return sub(wrapped_number(a), b); }
inline Tensor operator*(double a, const Tensor& b) { return mul(wrapped_number(a), b); }

/// A whole number, which leaves the dtype of an integer tensor alone: int64 + 1 is int64, as in PyTorch.
template <typename T>
concept WholeNumber = std::integral<T> && !std::same_as<T, bool>;
template <WholeNumber T>
Tensor operator+(const Tensor& a, T b) {
  return add(a, wrapped_number(static_cast<std::int64_t>(b)));
}
template <WholeNumber T>
Tensor operator-(const Tensor& a, T b) {
  return sub(a, wrapped_number(static_cast<std::int64_t>(b)));
}
template <WholeNumber T>
Tensor operator*(const Tensor& a, T b) {
  return mul(a, wrapped_number(static_cast<std::int64_t>(b)));
}
template <WholeNumber T>
Tensor operator/(const Tensor& a, T b) {
  return div(a, wrapped_number(static_cast<std::int64_t>(b)));
}
template <WholeNumber T>
Tensor operator+(T a, const Tensor& b) {
  return add(wrapped_number(static_cast<std::int64_t>(a)), b);
}
template <WholeNumber T>
Tensor operator-(T a, const Tensor& b) {
  return sub(wrapped_number(static_cast<std::int64_t>(a)), b);
}
template <WholeNumber T>
Tensor operator*(T a, const Tensor& b) {
  return mul(wrapped_number(static_cast<std::int64_t>(a)), b);
}

// Matrix products, torch.matmul's rules for 1-dim and batched operands. Listed low precision.
Tensor matmul(const Tensor& input, const Tensor& other);
/// input [..., in], weight [out, in], bias [out] or undefined -> [..., out]
Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias = {});

// Reductions. Without dims: over all elements. dtype: accumulate and return in that type.
Tensor sum(const Tensor& input, std::optional<DType> dtype = {});
Tensor sum(const Tensor& input, const Shape& dims, bool keepdim = false, std::optional<DType> dtype = {});
/// Sums what broadcasting expanded, back to `sizes`.
Tensor sum_to_size(const Tensor& input, const Shape& sizes);

/// Element conversion, notes itself on the tape. The same tensor if it has that dtype.
Tensor to(const Tensor& input, DType dtype);

}  // namespace amp
