// How much memory the run had at most, and how much the same run would have had in float32, by replaying every
// allocation. In float32 an allocation and the casts of it are one: it lives until the last of them is freed.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "profiler/timeline/timeline.h"

namespace ampprof::analysis {

inline constexpr std::size_t kCauseCount = static_cast<std::size_t>(amp::MemoryCause::count_);
using CauseBytes = std::array<std::uint64_t, kCauseCount>;

struct MemoryPoint {
  std::int64_t time_ns = 0;
  std::uint64_t bytes = 0, bytes_if_fp32 = 0;
};

struct MemoryPeak {
  std::uint64_t bytes = 0;
  std::int64_t time_ns = 0;
  std::uint32_t step = amp::kNoStep;
  CauseBytes by_cause{};
};

struct MemoryResult {
  bool measured = false;  ///< false: no allocation was announced
  MemoryPeak peak, peak_if_fp32;
  /// The same inside training steps only: evaluation on a large batch often has the peak of the whole run.
  MemoryPeak step_peak, step_peak_if_fp32;
  bool in_steps = false;    ///< something was allocated in a step: the two above are known
  CauseBytes cause_peak{};  ///< the most bytes each cause alone ever had
  std::uint64_t allocations = 0, frees = 0, unknown_frees = 0;
  std::uint64_t end_bytes = 0;
  std::vector<MemoryPoint> points;  ///< after every change, thinned to kMaxPoints

  [[nodiscard]] std::int64_t saved_bytes() const {
    return static_cast<std::int64_t>(peak_if_fp32.bytes) - static_cast<std::int64_t>(peak.bytes);
  }
  [[nodiscard]] std::int64_t step_saved_bytes() const {
    return static_cast<std::int64_t>(step_peak_if_fp32.bytes) - static_cast<std::int64_t>(step_peak.bytes);
  }
};

inline constexpr std::size_t kMaxMemoryPoints = 2000;

MemoryResult replay_memory(const timeline::Timeline& timeline);

}  // namespace ampprof::analysis
