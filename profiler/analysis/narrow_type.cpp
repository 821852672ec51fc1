// See narrow_type.h. Bin e holds values in [2^e, 2^(e+1)); multiplying by 2^shift moves the bin, exactly.
#include "profiler/analysis/narrow_type.h"

#include <cmath>

namespace ampprof::analysis {

Bounds flushed_at(const NarrowType& type, int exponent_first, std::span<const std::uint64_t> counts, int shift) {
  Bounds bounds;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const int e = exponent_first + static_cast<int>(i) + shift;
    if (e < type.flush_exponent) {
      bounds.least += counts[i];
      bounds.most += counts[i];
    } else if (e == type.flush_exponent) {
      bounds.most += counts[i];  // only values that are exactly 2^flush_exponent round to zero
    }
  }
  return bounds;
}

Bounds overflowed_at(const NarrowType& type, int exponent_first, std::span<const std::uint64_t> counts, int shift) {
  Bounds bounds;
  const int border = std::ilogb(type.overflow_at);  // the bin that holds both values inside and outside the range
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const int e = exponent_first + static_cast<int>(i) + shift;
    if (e > border) bounds.least += counts[i];
    if (e >= border) bounds.most += counts[i];
  }
  return bounds;
}

int largest_shift(const NarrowType& type, double max_abs) {
  if (!(max_abs > 0) || !std::isfinite(max_abs)) return 0;
  int shift = std::ilogb(type.largest) - std::ilogb(max_abs);
  if (std::ldexp(max_abs, shift) > type.largest) --shift;
  return shift;
}

}  // namespace ampprof::analysis
