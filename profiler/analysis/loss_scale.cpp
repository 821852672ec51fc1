// See loss_scale.h. Scalers of different processes are told apart; those of one process are read as one history, which
// is what programs have in practice.
#include "profiler/analysis/loss_scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace ampprof::analysis {
namespace {

using timeline::ScalerRecord;
using timeline::Timeline;

/// A start value such as 65536 is a guess, so the first steps may be skipped until it fits. From 65536 down to 1 there
/// are 16 halvings; a run that begins later than this many updates is not the first guess any more.
constexpr std::uint64_t kStartUpdates = 20;
/// While the start value is still falling, batches differ: some fit already, the next does not. After more good steps
/// than this in a row the scale had been found.
constexpr std::uint64_t kGoodBetween = 5;
/// More skips than this in any 100 updates is more than searching the scale can need.
constexpr std::uint64_t kUnstableSkips = 20;
constexpr std::size_t kUnstableWindow = 100;
/// float16 spans 40 powers of two (2^-24 to 2^15). After more halvings than that in a row even a gradient that was just
/// too large has become zero: what is not finite now does not come from the scale.
constexpr std::uint64_t kHopelessSkips = 40;
/// Below a scale of 1 gradients overflow without any scaling. Skips there are no search for a scale.
constexpr std::uint64_t kSkipsBelowOne = 10;
constexpr std::uint64_t kSkipsAtFloor = 3;
constexpr std::uint64_t kSkipsAfterGrowth = 2;

struct Pending {
  bool any = false, found_inf = false, skipped = false;
  std::uint32_t step = amp::kNoStep;
  std::string first_nonfinite;
  std::optional<std::uint32_t> nonfinite_params;
  double scale = 0;
  std::int64_t time_ns = 0;
};

struct History {
  Pending pending;
  bool in_run = false, grew_last = false;
  bool calibrating = true;  ///< every step so far was skipped, or came soon after one that was
  std::uint64_t updates = 0, good_in_a_row = 0;
  std::size_t run = 0;
};

using StepKey = std::pair<std::uint32_t, std::uint32_t>;  // pid, step

/// What the values of a sampled step say about the cause of a skip.
struct Signs {
  bool forward_nan = false, bad = false, bad_before = false;  // the last activation, and the one before it
  bool gradient_seen = false, gradient_nan = false;           // the first gradient that is not finite is NaN only
  /// Infinity alone is common in a forward pass (masks), and the last value may be the loss times the scale; both the
  /// last two are infinite when the loss itself was.
  [[nodiscard]] bool no_overflow() const { return forward_nan || (bad && bad_before) || gradient_nan; }
};

std::map<StepKey, Signs> read_signs(const Timeline& timeline) {
  std::map<StepKey, Signs> signs;
  for (const timeline::TensorStat& stat : timeline.tensors) {
    const amp::TensorStatEvent& e = stat.event;
    Signs& of_step = signs[{timeline.processes[stat.process].pid, e.step}];
    const auto role = static_cast<amp::TensorRole>(e.role);
    const bool infinite = e.pos_inf + e.neg_inf != 0;
    if (role == amp::TensorRole::activation) {
      of_step.forward_nan |= e.nan != 0;
      of_step.bad_before = of_step.bad;
      of_step.bad = infinite || e.nan != 0;
    } else if (role == amp::TensorRole::activation_gradient || role == amp::TensorRole::gradient) {
      if (of_step.gradient_seen || (e.nan == 0 && !infinite)) continue;
      of_step.gradient_seen = true;
      of_step.gradient_nan = !infinite;
    }
  }
  return signs;
}

class Reading {
 public:
  explicit Reading(const Timeline& timeline) : timeline_(timeline), signs_(read_signs(timeline)) {}

  LossScaleResult run() {
    for (const ScalerRecord& record : timeline_.scaler) take(record, histories_[record.process]);
    for (auto& [process, history] : histories_) {
      if (!history.pending.any || !history.pending.found_inf) continue;
      ScaleRow row = row_of(history.pending, process);
      row.action = "unfinished";
      add(row, history);
    }
    return std::move(result_);
  }

 private:
  ScaleRow row_of(const Pending& pending, std::uint32_t process) const {
    ScaleRow row;
    row.step = pending.step;
    row.pid = timeline_.processes[process].pid;
    row.time_ns = pending.time_ns;
    row.scale = pending.scale;
    row.found_inf = pending.found_inf;
    row.skipped = pending.skipped;
    row.first_nonfinite = pending.first_nonfinite;
    row.nonfinite_params = pending.nonfinite_params;
    return row;
  }

  void take(const ScalerRecord& record, History& history) {
    const amp::ScalerEvent& e = record.event;
    Pending& pending = history.pending;
    if (e.min_scale > 0) result_.min_scale = e.min_scale;
    if (e.growth_interval != 0) result_.growth_interval = e.growth_interval;
    const auto action = static_cast<amp::ScalerAction>(e.action);
    if (action == amp::ScalerAction::init) {
      if (!result_.initial_scale) result_.initial_scale = e.scale_after;
      result_.final_scale = e.scale_after;
      return;
    }
    if (!result_.initial_scale) result_.initial_scale = e.scale_before;
    if (pending.any && pending.step != e.step && action <= amp::ScalerAction::step) {
      ScaleRow row = row_of(pending, record.process);  // the program went on without update()
      row.action = "no_update";
      pending = {};
      add(row, history);
    }
    pending.any = true;
    pending.step = e.step;
    pending.time_ns = record.time_ns;
    pending.found_inf |= e.found_inf != 0;
    const std::string_view culprit = timeline_.strings.text(record.first_nonfinite);
    if (pending.first_nonfinite.empty()) pending.first_nonfinite = culprit;
    if (action == amp::ScalerAction::unscale) {
      pending.scale = e.scale_before;
      pending.nonfinite_params = pending.nonfinite_params.value_or(0) + e.nonfinite_params;
      return;
    }
    if (action == amp::ScalerAction::step) {
      pending.scale = e.scale_before;
      pending.skipped |= e.skipped != 0;
      ++result_.steps_attempted;
      ++(e.skipped != 0 ? result_.skipped_steps : result_.steps_applied);
      return;
    }
    ScaleRow row = row_of(pending, record.process);
    row.scale = e.scale_before;
    row.scale_after = e.scale_after;
    row.growth_tracker = e.growth_tracker;
    row.set_by_hand = e.explicit_scale != 0 || action == amp::ScalerAction::load;
    row.action = action == amp::ScalerAction::load ? "load" : "update";
    result_.final_scale = e.scale_after;
    pending = {};
    add(row, history);
  }

  void add(const ScaleRow& row, History& history) {
    ++history.updates;
    const double after = row.scale_after.value_or(row.scale);
    const bool grew = !row.set_by_hand && after > row.scale;
    if (grew) ++result_.growths;
    if (!row.set_by_hand && after < row.scale) ++result_.backoffs;
    if (result_.min_scale && after <= *result_.min_scale) ++result_.updates_at_floor;
    if (after <= 1) ++result_.updates_at_most_one;
    if (row.found_inf || row.skipped) {
      if (!history.in_run) {
        history.run = result_.runs.size();
        SkipRun run;
        run.first_step = row.step;
        run.pid = row.pid;
        run.scale_before = row.scale;
        run.at_start = result_.growths == 0 && history.updates <= kStartUpdates && history.calibrating &&
                       history.good_in_a_row <= kGoodBetween;
        run.after_growth = history.grew_last;
        result_.runs.push_back(run);
      }
      SkipRun& run = result_.runs[history.run];
      run.last_step = row.step;
      ++run.skipped;
      const auto signs = signs_.find({row.pid, row.step});
      run.no_overflow |= signs != signs_.end() && signs->second.no_overflow();
      run.at_start = run.at_start && !run.no_overflow;
      history.calibrating = run.at_start;
      history.good_in_a_row = 0;
      run.scale_after = after;
      if (run.first_nonfinite.empty()) run.first_nonfinite = row.first_nonfinite;
      if (row.scale_after && after == row.scale) ++run.at_floor;
      history.in_run = true;
    } else {
      history.in_run = false;
      ++history.good_in_a_row;
      history.calibrating = history.calibrating && history.updates > 1;
      history.grew_last = grew || (history.grew_last && after == row.scale);
    }
    if (row.found_inf || row.skipped) history.grew_last = false;
    if (row.set_by_hand) history.calibrating = false;
    result_.rows.push_back(row);
  }

  const Timeline& timeline_;
  std::map<StepKey, Signs> signs_;
  LossScaleResult result_;
  std::map<std::uint32_t, History> histories_;
};

std::uint64_t most_skips_in_window(const std::vector<ScaleRow>& rows) {
  std::uint64_t now = 0, most = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    now += rows[i].found_inf || rows[i].skipped ? 1 : 0;
    if (i >= kUnstableWindow) now -= rows[i - kUnstableWindow].found_inf || rows[i - kUnstableWindow].skipped ? 1 : 0;
    most = std::max(most, now);
  }
  return most;
}

bool hopeless(const SkipRun& run) {
  return run.skipped > kHopelessSkips || (run.skipped >= kSkipsBelowOne && run.scale_after < 1) ||
         run.at_floor >= kSkipsAtFloor;
}

void judge(LossScaleResult& result, const Timeline& timeline) {
  if (!timeline.has_libamp()) return;
  if (result.rows.empty()) {
    result.verdict = Verdict::no_scaler;
    result.verdict_text = "No GradScaler was used.";
    return;
  }
  std::uint64_t at_start = 0, after_growth = 0, other = 0, no_overflow = 0;
  double found_scale = 0;
  for (const SkipRun& run : result.runs) {
    if (hopeless(run)) {
      result.verdict = Verdict::collapse;
      result.verdict_text = fmt::format(
          "Collapse: {} consecutive skipped steps from step {}, scale {} -> {}; lowering the scale cannot help.",
          run.skipped, run.first_step, run.scale_before, run.scale_after);
      return;
    }
    (run.at_start ? at_start : is_search(run) ? after_growth : other) += run.skipped;
    if (run.at_start) found_scale = run.scale_after;
    if (run.no_overflow) no_overflow += run.skipped;
  }
  const std::uint64_t most = most_skips_in_window(result.rows);
  const double final_scale = result.final_scale.value_or(0);
  if (most > kUnstableSkips) {
    result.verdict = Verdict::unstable;
    result.verdict_text = fmt::format("Unstable: {} steps skipped within {} updates.", most, kUnstableWindow);
  } else if (other != 0) {
    result.verdict = Verdict::occasional;
    result.verdict_text = fmt::format(
        "Occasional overflow: {} of {} updates skipped their step after the scale had settled; scale now {}.", other,
        result.rows.size(), final_scale);
    if (no_overflow != 0)
      result.verdict_text = fmt::format(
          "Occasional: {} of {} updates skipped their step, {} of them without an overflow of the scale (NaN, or a "
          "forward pass that was not finite); scale now {}.",
          other, result.rows.size(), no_overflow, final_scale);
  } else if (at_start != 0) {
    result.verdict = Verdict::calibration;
    result.verdict_text =
        fmt::format("Calibration: {} step{} skipped at the start until the scale fitted ({} -> {}){}.", at_start,
                    at_start == 1 ? "" : "s", result.runs.front().scale_before, found_scale,
                    after_growth != 0 ? ", later only at scales it grew to" : ", none later");
  } else {
    result.verdict = Verdict::stable;
    result.verdict_text = after_growth == 0
                              ? fmt::format("Stable: no step skipped; scale now {}.", final_scale)
                              : fmt::format("Stable: {} step{} skipped, each at a scale it had grown to; scale now {}.",
                                            after_growth, after_growth == 1 ? "" : "s", final_scale);
  }
}

}  // namespace

const char* name(Verdict verdict) {
  switch (verdict) {
    case Verdict::not_measured:
      return "not_measured";
    case Verdict::no_scaler:
      return "no_scaler";
    case Verdict::stable:
      return "stable";
    case Verdict::calibration:
      return "calibration";
    case Verdict::occasional:
      return "occasional";
    case Verdict::unstable:
      return "unstable";
    case Verdict::collapse:
      return "collapse";
  }
  return "?";
}

bool is_search(const SkipRun& run) { return run.after_growth && run.skipped <= kSkipsAfterGrowth && !run.no_overflow; }

LossScaleResult find_loss_scale(const Timeline& timeline) {
  LossScaleResult result = Reading(timeline).run();
  judge(result, timeline);
  return result;
}

}  // namespace ampprof::analysis
