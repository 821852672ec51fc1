// The order in which a shuffling loader takes its examples: a function of seed and epoch alone.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

namespace amp::data {

/// SplitMix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
class SplitMix64 {
 public:
  explicit SplitMix64(std::uint64_t state) : state_(state) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  /// Uniform in [0, n), but for a bias below n / 2^64.
  std::uint64_t below(std::uint64_t n) { return next() % n; }

 private:
  std::uint64_t state_;
};

/// 0 .. n-1 in the order of an epoch: Fisher-Yates from the end, with SplitMix64 started at seed + the epoch-th value
/// of SplitMix64(seed). Part of what a checkpoint relies on: it must not change.
inline std::vector<std::int64_t> shuffled(std::int64_t n, std::uint64_t seed, std::uint64_t epoch) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
  // The state of SplitMix64 is a counter, so the epoch-th value needs no walk.
  SplitMix64 generator(seed + SplitMix64(seed + epoch * 0x9E3779B97F4A7C15u).next());
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[static_cast<std::size_t>(generator.below(i))]);
  return order;
}

}  // namespace amp::data
