// Folds of a row in eight lanes: they vectorise without reordering on the compiler's own account, and their order is
// the same everywhere.
#pragma once
#include <cstdint>
#include <limits>

namespace amp::cpu {

/// Sums value(i) over [0, n).
template <typename C, typename F>
C lane_sum(std::int64_t n, F value) {
  C lanes[8] = {};
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int k = 0; k < 8; ++k) lanes[k] += value(i + k);
  for (; i < n; ++i) lanes[0] += value(i);
  return ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) + ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]));
}

/// The largest of x[0..n), -infinity if there is none. NaN is not seen.
template <typename C>
C lane_max(const C* x, std::int64_t n) {
  C lanes[8];
  for (C& lane : lanes) lane = -std::numeric_limits<C>::infinity();
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int k = 0; k < 8; ++k) lanes[k] = x[i + k] > lanes[k] ? x[i + k] : lanes[k];
  for (; i < n; ++i) lanes[0] = x[i] > lanes[0] ? x[i] : lanes[0];
  C best = lanes[0];
  for (const C lane : lanes) best = lane > best ? lane : best;
  return best;
}

}  // namespace amp::cpu
