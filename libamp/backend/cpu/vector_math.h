// exp, erf, tanh and the logistic function in forms the compiler can vectorise: no branches, no library calls. For
// float all are within 2 units in the last place; for double they are the standard library's.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>

namespace amp::cpu {

/// a b + c: rounded once where the instruction set has that, else twice. For polynomials, which do not care.
inline float mul_add(float a, float b, float c) {
#if defined(__FMA__)
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}

/// Range reduction by powers of two and a polynomial of degree 6 (coefficients as in Cephes' expf).
inline float vector_exp(float x) {
  constexpr float kLow = -87.33654f, kHigh = 88.72283f;  // below: 0 (results would be subnormal); above: infinity
  const float clamped = x < kLow ? kLow : x > kHigh ? kHigh : x;  // NaN stays
  // Adding 1.5 * 2^23 leaves round(x / ln 2) in the low bits.
  constexpr float kShift = 12582912.0f;
  const float shifted = clamped * 1.44269504f + kShift;
  const float n = shifted - kShift;
  const float r = mul_add(n, 2.12194440e-4f, mul_add(n, -0.693359375f, clamped));
  float p = 1.9875691500e-4f;
  p = mul_add(p, r, 1.3981999507e-3f);
  p = mul_add(p, r, 8.3334519073e-3f);
  p = mul_add(p, r, 4.1665795894e-2f);
  p = mul_add(p, r, 1.6666665459e-1f);
  p = mul_add(p, r, 5.0000001201e-1f);
  p = mul_add(p * r, r, r) + 1.0f;
  // 2^n in two factors, since n may be 128.
  const auto bits = std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(kShift);
  const std::uint32_t first = static_cast<std::uint32_t>(static_cast<std::int32_t>(bits) >> 1), second = bits - first;
  const float scaled = p * std::bit_cast<float>((first + 127u) << 23) * std::bit_cast<float>((second + 127u) << 23);
  const float high = x > kHigh ? std::bit_cast<float>(0x7f800000u) : scaled;
  return x < kLow ? 0.0f : high;
}
inline double vector_exp(double x) { return std::exp(x); }

/// Below 1: x times a polynomial in x^2; from 1 to 4: 1 - exp of a polynomial; above, erf rounds to 1. The polynomials
/// interpolate erf(x) / x and log(erfc(x)) at Chebyshev nodes.
inline float vector_erf(float x) {
  const float a = std::abs(x), s = x * x, t = a < 4.0f ? a : 4.0f;
  float p = 7.88249672e-05f;
  p = mul_add(p, s, -0.00080188550f);
  p = mul_add(p, s, 0.00518931216f);
  p = mul_add(p, s, -0.02685432881f);
  p = mul_add(p, s, 0.11283597350f);
  p = mul_add(p, s, -0.37612625957f);
  p = mul_add(p, s, 1.12837910652f);
  float q = -1.33099389e-05f;
  q = mul_add(q, t, 0.00031757203f);
  q = mul_add(q, t, -0.00343686761f);
  q = mul_add(q, t, 0.02262198552f);
  q = mul_add(q, t, -0.10331898183f);
  q = mul_add(q, t, -0.63909333944f);
  q = mul_add(q, t, -1.12592589855f);
  q = mul_add(q, t, -0.00075696863f);
  const float large = std::copysign(1.0f - vector_exp(q), x);
  return a < 1.0f ? x * p : x != x ? x : large;
}
inline double vector_erf(double x) { return std::erf(x); }

/// Near 0 an odd polynomial (coefficients as in Cephes' tanhf), else from exp.
inline float vector_tanh(float x) {
  const float a = std::abs(x), s = x * x;
  float p = -5.70498872745e-3f;
  p = mul_add(p, s, 2.06390887954e-2f);
  p = mul_add(p, s, -5.37397155531e-2f);
  p = mul_add(p, s, 1.33314422036e-1f);
  p = mul_add(p, s, -3.33332819422e-1f);
  const float small = mul_add(x, s * p, x);
  const float large = std::copysign(1.0f - 2.0f / (vector_exp(2.0f * a) + 1.0f), x);
  return a < 0.625f ? small : x != x ? x : large;
}
inline double vector_tanh(double x) { return std::tanh(x); }

template <typename C>
C vector_sigmoid(C x) {
  return C(1) / (C(1) + vector_exp(-x));
}

}  // namespace amp::cpu
