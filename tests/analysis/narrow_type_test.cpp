// What an exponent histogram says about underflow and overflow, held against the values themselves.
#include "profiler/analysis/narrow_type.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <vector>

using namespace ampprof::analysis;

TEST_CASE("the bounds of flushed and overflowing elements enclose the truth at every scale", "[analysis][narrow]") {
  // Values just below, at and above every border, in float64, so that scaling by powers of two is exact.
  for (const NarrowType& type : kNarrowRanges) {
    const double flush = std::ldexp(1.0, type.flush_exponent);
    for (int shift = -8; shift <= 8; ++shift) {
      std::vector<double> values;
      for (const double border : {flush, type.overflow_at})
        for (const double factor : {0.3, 0.5, 0.99, 1.0, 1.01, 1.5, 2.0, 3.0})
          values.push_back(border * factor / std::ldexp(1.0, shift));
      int first = 1000, last = -1000;
      for (const double v : values) first = std::min(first, std::ilogb(v)), last = std::max(last, std::ilogb(v));
      std::vector<std::uint64_t> counts(static_cast<std::size_t>(last - first + 1));
      std::uint64_t flushed = 0, overflowed = 0;
      for (const double v : values) {
        ++counts[static_cast<std::size_t>(std::ilogb(v) - first)];
        flushed += std::ldexp(v, shift) <= flush ? 1 : 0;
        overflowed += std::ldexp(v, shift) >= type.overflow_at ? 1 : 0;
      }
      const Bounds under = flushed_at(type, first, counts, shift), over = overflowed_at(type, first, counts, shift);
      CHECK(under.least <= flushed);
      CHECK(flushed <= under.most);
      CHECK(over.least <= overflowed);
      CHECK(overflowed <= over.most);
      // Only one bin is in doubt on each side.
      CHECK(under.most - under.least == counts[static_cast<std::size_t>(type.flush_exponent - shift - first)]);
    }
  }
}

TEST_CASE("the largest shift is the largest power of two that stays in range", "[analysis][narrow]") {
  const NarrowType& fp16 = kNarrowRanges[0];
  CHECK(largest_shift(fp16, 1.0) == 15);
  CHECK(largest_shift(fp16, 65504.0) == 0);
  CHECK(largest_shift(fp16, 65505.0) == -1);
  CHECK(largest_shift(fp16, 4.0) == 13);
  CHECK(largest_shift(fp16, 0x1p-20) == 35);
  CHECK(largest_shift(fp16, 0.0) == 0);
  CHECK(largest_shift(kNarrowRanges[2], 449.0) == -1);
}
