// The history of the loss scale: what each step ran with, which steps were skipped and why, and what that adds up to.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "profiler/timeline/timeline.h"

namespace ampprof::analysis {

/// One update of the scale, with what was learned between the update before and this one.
struct ScaleRow {
  std::uint32_t step = amp::kNoStep, pid = 0;
  std::int64_t time_ns = 0;
  double scale = 0;                   ///< the step ran with it
  std::optional<double> scale_after;  ///< empty: the run ended before the update
  bool found_inf = false, skipped = false;
  bool set_by_hand = false;  ///< update(new_scale), or a state dict was loaded
  std::uint32_t growth_tracker = 0;
  std::string first_nonfinite;  ///< "" if every gradient was finite, or the name is not known
  std::optional<std::uint32_t> nonfinite_params;
  const char* action = "update";  ///< "update" | "load" | "no_update" | "unfinished"
};

/// Consecutive skipped steps, as one.
struct SkipRun {
  std::uint32_t first_step = 0, last_step = 0, pid = 0;
  std::uint64_t skipped = 0;
  std::string first_nonfinite;
  double scale_before = 0, scale_after = 0;
  bool at_start = false;      ///< skips from the first update on, few steps apart: the scale was still being found
  bool after_growth = false;  ///< the change before it was a growth: the scale was tried, and taken back
  bool no_overflow = false;   ///< a sampled step shows it: the forward pass was not finite, or NaN came before infinity
  std::uint64_t at_floor = 0;  ///< skips that could not lower the scale any more
};
/// Taken back one doubling, or two when the gradients grew meanwhile; more is something else.
bool is_search(const SkipRun& run);

enum class Verdict { not_measured, no_scaler, stable, calibration, occasional, unstable, collapse };
const char* name(Verdict verdict);

struct LossScaleResult {
  std::vector<ScaleRow> rows;
  std::vector<SkipRun> runs;
  std::uint64_t steps_attempted = 0, steps_applied = 0, skipped_steps = 0;
  std::uint64_t growths = 0, backoffs = 0;
  std::uint64_t updates_at_floor = 0, updates_at_most_one = 0;
  std::optional<double> initial_scale, final_scale, min_scale;
  std::optional<std::uint32_t> growth_interval;
  Verdict verdict = Verdict::not_measured;
  std::string verdict_text;
};

LossScaleResult find_loss_scale(const timeline::Timeline& timeline);

}  // namespace ampprof::analysis
