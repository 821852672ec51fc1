// What both sides of bench/peer.sh train: sizes, data and first weights, so that ours and the peer's program do the
// same work and their losses can be compared. Depends on neither library.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace bench {

inline constexpr int kImageBatch = 128, kClasses = 10;
inline constexpr int kLayers = 4, kWidth = 128, kHeads = 4, kVocabulary = 96;  // char-GPT
inline constexpr int kTextBatch = 16, kBlock = 128;
inline constexpr int kLstmBatch = 32, kLstmSteps = 64, kLstmHidden = 256, kLstmLayers = 2;

/// A number in [0, 1) that depends on both arguments alone.
inline double uniform(std::uint64_t stream, std::uint64_t i) {
  std::uint64_t x = stream * 0x9e3779b97f4a7c15ull + i + 1;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return static_cast<double>((x ^ (x >> 31)) >> 11) * 0x1p-53;
}

/// First values of parameter number `index`: matrices uniform in +-1/sqrt(fan_in), norms' weights 1, biases 0.
inline void fill_parameter(float* values, std::int64_t count, std::int64_t fan_in, int dims, const std::string& name,
                           std::uint64_t index) {
  const bool is_scale = dims < 2 && name.size() >= 6 && name.compare(name.size() - 6, 6, "weight") == 0;
  const double bound = 1 / std::sqrt(static_cast<double>(fan_in));
  for (std::int64_t i = 0; i < count; ++i) {
    double value =
        dims < 2 ? (is_scale ? 1 : 0) : (2 * uniform(index + 100, static_cast<std::uint64_t>(i)) - 1) * bound;
    values[i] = static_cast<float>(value);
  }
}

inline std::vector<float> images() {
  std::vector<float> values(static_cast<std::size_t>(kImageBatch) * 784);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(uniform(1, i));
  return values;
}
/// `count` class numbers below `classes`.
inline std::vector<std::int64_t> labels(std::size_t count, int classes, std::uint64_t stream) {
  std::vector<std::int64_t> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<std::int64_t>(uniform(stream, i) * classes);
  return values;
}

/// Resident memory of this process in bytes: now ("VmRSS:") or at its peak ("VmHWM:").
inline double resident_bytes(const char* key) {
  double kib = 0;
  if (std::FILE* file = std::fopen("/proc/self/status", "r")) {
    char line[256];
    while (std::fgets(line, sizeof line, file) != nullptr)
      if (std::strncmp(line, key, std::strlen(key)) == 0) std::sscanf(line + std::strlen(key), "%lf", &kib);
    std::fclose(file);
  }
  return kib * 1024;
}

}  // namespace bench
