// Training steps and where their time went.
#pragma once
#include <map>
#include <optional>
#include <vector>

#include "profiler/analysis/casts.h"
#include "profiler/analysis/ops.h"

namespace ampprof::analysis {

struct StepRow {
  std::uint32_t step = 0, pid = 0;
  std::int64_t start_ns = 0;
  std::optional<std::int64_t> dur_ns;  ///< empty: the step did not end
  bool sampled = false;
  bool recorded = false;  ///< ops or casts were seen in it: it lies in the window that was asked for
  std::int64_t ops_ns = 0, cast_ns = 0;
};

struct DTypeShare {
  std::uint64_t calls = 0;
  std::int64_t cpu_ns = 0, step_ns = 0;  ///< step_ns: the part inside training steps
  double flops = 0;                      ///< of the ops whose flops are known
};

struct Totals {
  std::int64_t ops_ns = 0, cast_ns = 0, step_ns = 0;
  std::int64_t ops_in_steps_ns = 0;  ///< the part of ops_ns inside training steps
  std::uint64_t op_calls = 0, casts = 0, casts_cached = 0;
  std::map<amp::DType, DTypeShare> by_compute_dtype;
  bool autocast_used = false;  ///< some op ran in a region, whatever it decided

  /// cast_ns / (ops_ns + cast_ns); empty if both are 0.
  [[nodiscard]] std::optional<double> cast_share() const {
    const std::int64_t all = ops_ns + cast_ns;
    return all > 0 ? std::optional<double>(static_cast<double>(cast_ns) / static_cast<double>(all)) : std::nullopt;
  }
};

std::vector<StepRow> find_steps(const timeline::Timeline& timeline, const std::vector<std::int64_t>& self_ns);
Totals find_totals(const std::vector<OpRow>& ops, const std::vector<CastRow>& casts, const std::vector<StepRow>& steps);

}  // namespace ampprof::analysis
