// exp in a form the compiler can vectorise: no branches, no library call. For float: range reduction by powers of two
// and a polynomial of degree 6 (coefficients as in Cephes' expf), within 2 units in the last place.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>

namespace amp::cpu {

inline float vector_exp(float x) {
  constexpr float kLow = -87.33654f, kHigh = 88.72283f;  // below: 0 (results would be subnormal); above: infinity
  const float clamped = x < kLow ? kLow : x > kHigh ? kHigh : x;  // NaN stays
  // Adding 1.5 * 2^23 leaves round(x / ln 2) in the low bits.
  constexpr float kShift = 12582912.0f;
  const float shifted = clamped * 1.44269504f + kShift;
  const float n = shifted - kShift;
  const float r = clamped - n * 0.693359375f - n * -2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  // 2^n in two factors, since n may be 128.
  const auto bits = std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(kShift);
  const std::uint32_t first = static_cast<std::uint32_t>(static_cast<std::int32_t>(bits) >> 1), second = bits - first;
  const float scaled = p * std::bit_cast<float>((first + 127u) << 23) * std::bit_cast<float>((second + 127u) << 23);
  const float high = x > kHigh ? std::bit_cast<float>(0x7f800000u) : scaled;
  return x < kLow ? 0.0f : high;
}
inline double vector_exp(double x) { return std::exp(x); }

}  // namespace amp::cpu
