// Interpolation weights shared by grid sampling and upsampling: an output position reads a few taps of each spatial
// dim, and its value is the sum over their products (interpolation is separable).
#pragma once
#include <cmath>
#include <cstdint>

namespace amp::cpu {

enum class Interpolation : std::uint8_t { nearest, linear, cubic, nearest_exact };

/// Taps of one position in one dim. index -1: outside, counts as zero. slope: d weight / d position.
template <typename C>
struct Taps {
  int count = 1;
  std::int64_t index[4] = {0, 0, 0, 0};
  C weight[4] = {1, 0, 0, 0};
  C slope[4] = {0, 0, 0, 0};
};

/// Weights and slopes of the four taps around a position, `f` behind the second; Keys' cubic with a = -0.75, as
/// PyTorch.
template <typename C>
void cubic_weights(C f, C* weight, C* slope) {
  constexpr C a = C(-0.75);
  const auto near = [](C x, C& w, C& s) {  // |x| <= 1
    w = ((a + 2) * x - (a + 3)) * x * x + 1;
    s = (3 * (a + 2) * x - 2 * (a + 3)) * x;
  };
  const auto far = [](C x, C& w, C& s) {  // 1 < |x| < 2
    w = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
    s = (3 * a * x - 10 * a) * x + 8 * a;
  };
  far(f + 1, weight[0], slope[0]);
  near(f, weight[1], slope[1]);
  near(1 - f, weight[2], slope[2]);
  far(2 - f, weight[3], slope[3]);
  slope[2] = -slope[2];
  slope[3] = -slope[3];
}

}  // namespace amp::cpu
