// The range of the narrow types, and what of a tensor would leave it at another scale, from its exponent counts.
#pragma once
#include <cstdint>
#include <span>

#include "libamp/base/words.h"

namespace ampprof::analysis {

/// Magnitudes at or below flush_at round to zero (half the smallest subnormal, ties to even); magnitudes at or above
/// overflow_at leave the range. Sources: IEEE 754 for float16; OCP 8-bit Floating Point Specification for the two 8-bit
/// types; bfloat16 is float32 with 8 significand bits. overflow_at is the largest finite value plus half a step; that
/// very value is a tie that leaves the range, except in float8_e4m3fn, where even is down: 464 itself becomes 448.
struct NarrowType {
  amp::DType dtype;
  int flush_exponent;  ///< flush_at = 2^flush_exponent, itself flushed
  double overflow_at;
  double largest;  ///< largest finite value
};
inline constexpr NarrowType kNarrowRanges[amp::kNarrowTypeCount] = {
    {amp::DType::float16, -25, 65520.0, 65504.0},
    {amp::DType::bfloat16, -134, 0x1.ffp127, 0x1.fep127},
    {amp::DType::float8_e4m3fn, -10, 464.0, 448.0},
    {amp::DType::float8_e5m2, -17, 61440.0, 57344.0},
};

/// Least and most elements that can be meant, since a bin that straddles a border is known only as a whole.
struct Bounds {
  std::uint64_t least = 0, most = 0;
};

/// How many of the counted elements would round to zero in the type if each were multiplied by 2^shift.
Bounds flushed_at(const NarrowType& type, int exponent_first, std::span<const std::uint64_t> counts, int shift);
/// How many would leave the range of the type.
Bounds overflowed_at(const NarrowType& type, int exponent_first, std::span<const std::uint64_t> counts, int shift);

/// The largest k for which max_abs * 2^k stays within the type's finite range.
int largest_shift(const NarrowType& type, double max_abs);

}  // namespace ampprof::analysis
