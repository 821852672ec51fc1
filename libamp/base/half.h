// The narrow floating point types and their conversions, bit-exact: round to nearest even, as PyTorch casts.
// Scalar reference; backend/cpu/convert.h has the bulk forms that must agree with it bit for bit.
#pragma once
#include <bit>
#include <cstdint>

namespace amp {

namespace half_detail {

/// Encodes a float32 bit pattern into a format of E exponent and M mantissa bits. Formats without infinity
/// (e4m3fn) map what leaves their range to NaN.
template <int E, int M, bool kHasInfinity>
constexpr std::uint32_t encode(std::uint32_t f) {
  constexpr int kBias = (1 << (E - 1)) - 1;
  constexpr std::uint32_t kExponentMask = ((1u << E) - 1u) << M;
  constexpr std::uint32_t kNan = kHasInfinity ? kExponentMask | (1u << (M - 1)) : kExponentMask | ((1u << M) - 1u);
  constexpr std::uint32_t kOverflow = kHasInfinity ? kExponentMask : kNan;
  const std::uint32_t sign = (f >> 31) << (E + M);
  const std::uint32_t abs = f & 0x7fffffffu;
  if (abs > 0x7f800000u) return sign | kNan;
  if (abs == 0x7f800000u) return sign | kOverflow;
  const bool subnormal_source = (abs >> 23) == 0;
  const int exponent = subnormal_source ? -126 : static_cast<int>(abs >> 23) - 127;
  const std::uint32_t full = subnormal_source ? abs : (abs & 0x7fffffu) | 0x800000u;
  const bool subnormal_result = subnormal_source || exponent < 1 - kBias;
  const int shift = (23 - M) + (subnormal_result ? (1 - kBias) - exponent : 0);
  if (shift > 25) return sign;  // below half of the smallest subnormal
  const std::uint32_t half = shift > 0 ? 1u << (shift - 1) : 0u;
  const std::uint32_t rest = full & ((shift > 0 ? (1u << shift) : 1u) - 1u);
  std::uint32_t kept = full >> shift;
  if (rest > half || (rest == half && shift > 0 && (kept & 1u))) ++kept;
  // A carry out of the mantissa lands in the exponent, which is just right.
  const std::uint32_t bits = subnormal_result ? kept : kept + (static_cast<std::uint32_t>(exponent + kBias - 1) << M);
  if (kHasInfinity ? bits >= kExponentMask : bits >= kNan) return sign | kOverflow;
  return sign | bits;
}

template <int E, int M, bool kHasInfinity>
constexpr std::uint32_t decode(std::uint32_t bits) {
  constexpr int kBias = (1 << (E - 1)) - 1;
  constexpr std::uint32_t kExponentMax = (1u << E) - 1u;
  const std::uint32_t sign = (bits >> (E + M)) << 31;
  const std::uint32_t exponent = (bits >> M) & kExponentMax;
  std::uint32_t mantissa = bits & ((1u << M) - 1u);
  if (kHasInfinity && exponent == kExponentMax) return sign | 0x7f800000u | (mantissa << (23 - M));
  if (!kHasInfinity && exponent == kExponentMax && mantissa == (1u << M) - 1u) return sign | 0x7fc00000u;
  if (exponent != 0) return sign | ((exponent + 127 - kBias) << 23) | (mantissa << (23 - M));
  if (mantissa == 0) return sign;
  if constexpr (E == 8) return sign | (mantissa << (23 - M));  // same exponent range as float32: stays subnormal
  int e = 1 - kBias;
  while (!(mantissa & (1u << M))) {
    mantissa <<= 1;
    --e;
  }
  return sign | (static_cast<std::uint32_t>(e + 127) << 23) | ((mantissa & ((1u << M) - 1u)) << (23 - M));
}

}  // namespace half_detail

#define AMP_NARROW_FLOAT(Name, Bits, E, M, kHasInfinity)                                                       \
  struct Name {                                                                                                \
    Bits bits = 0;                                                                                             \
    Name() = default;                                                                                          \
    explicit constexpr Name(float v)                                                                           \
        : bits(static_cast<Bits>(half_detail::encode<E, M, kHasInfinity>(std::bit_cast<std::uint32_t>(v)))) {} \
    constexpr explicit operator float() const {                                                                \
      return std::bit_cast<float>(half_detail::decode<E, M, kHasInfinity>(bits));                              \
    }                                                                                                          \
    static constexpr Name from_bits(Bits b) {                                                                  \
      Name n;                                                                                                  \
      n.bits = b;                                                                                              \
      return n;                                                                                                \
    }                                                                                                          \
  }
AMP_NARROW_FLOAT(Half, std::uint16_t, 5, 10, true);         ///< IEEE binary16: max 65504, smallest subnormal 2^-24
AMP_NARROW_FLOAT(BFloat16, std::uint16_t, 8, 7, true);      ///< float32's exponent, 8 significant bits
AMP_NARROW_FLOAT(Float8E4M3FN, std::uint8_t, 4, 3, false);  ///< OCP e4m3: max 448, no infinity
AMP_NARROW_FLOAT(Float8E5M2, std::uint8_t, 5, 2, true);     ///< OCP e5m2: max 57344, has infinity
#undef AMP_NARROW_FLOAT

}  // namespace amp
