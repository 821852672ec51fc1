// Findings about the loss scale: overflows that skipped steps, a scale pinned at its floor, a scale that does nothing.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "profiler/analysis/finding.h"
#include "profiler/analysis/narrow_type.h"
#include "profiler/analysis/not_cleared.h"

namespace ampprof::analysis {
namespace {

/// At its floor for this many updates and for this share of the run: long enough that growth_interval was not the
/// cause.
constexpr std::uint64_t kPinnedUpdates = 10;
constexpr double kPinnedShare = 0.2;
/// A gradient "would not flush" when fewer than one in ten thousand of its values do: below the noise of a batch.
constexpr double kNeedlessShare = 1e-4;

std::string step_range(const SkipRun& run) {
  return run.first_step == run.last_step ? fmt::format("step {}", run.first_step)
                                         : fmt::format("steps {} to {}", run.first_step, run.last_step);
}

std::string culprit(const SkipRun& run) {
  return run.first_nonfinite.empty() ? "first non-finite parameter unknown"
                                     : fmt::format("first non-finite parameter {}", run.first_nonfinite);
}

/// The first gradient on the way back through the model that was not finite in a skipped step: what is wrong is wrong
/// there already, between that op and the one before it in the backward pass.
const TensorRow* first_bad_gradient(const Answers& answers, const SkipRun& run) {
  for (const TensorRow& row : answers.tensors)
    if (row.role == amp::TensorRole::activation_gradient && row.nonfinite() != 0 && row.pid == run.pid &&
        row.step >= run.first_step && row.step <= run.last_step)
      return &row;
  return nullptr;
}

bool sampled(const Answers& answers, const SkipRun& run) {
  return std::any_of(answers.tensors.begin(), answers.tensors.end(), [&](const TensorRow& row) {
    return row.pid == run.pid && row.step >= run.first_step && row.step <= run.last_step;
  });
}

/// The run to speak of: the longest one. Where skips were occasional, those that were the search for a scale are not
/// it.
const SkipRun& main_run(const LossScaleResult& scale) {
  const auto rank = [&](const SkipRun& run) {
    const bool expected = scale.verdict == Verdict::occasional && (run.at_start || is_search(run));
    return std::pair(!expected, run.skipped);
  };
  return *std::max_element(scale.runs.begin(), scale.runs.end(),
                           [&](const SkipRun& a, const SkipRun& b) { return rank(a) < rank(b); });
}

void find_skips(const Answers& answers, std::vector<Finding>& findings) {
  const LossScaleResult& scale = answers.loss_scale;
  if (scale.runs.empty()) return;
  const SkipRun& longest = main_run(scale);
  std::uint64_t at_start = 0;
  double found_scale = 0;
  Finding finding(FindingId::overflow_skip);
  std::uint64_t skipped = 0;
  std::vector<std::string> runs;
  for (const SkipRun& run : scale.runs) {
    skipped += run.skipped;
    if (run.at_start) at_start += run.skipped, found_scale = run.scale_after;
    if (runs.size() < 10)
      runs.push_back(fmt::format("{} consecutive skipped step{} from step {}, {}", run.skipped,
                                 run.skipped == 1 ? "" : "s", run.first_step, culprit(run)));
  }
  finding.add("verdict", std::string(name(scale.verdict)));
  finding.add("skipped_steps", static_cast<std::int64_t>(skipped));
  finding.add("longest_run", static_cast<std::int64_t>(longest.skipped));
  finding.add("first_step", static_cast<std::int64_t>(longest.first_step));
  if (!longest.first_nonfinite.empty()) finding.add("first_nonfinite", longest.first_nonfinite);
  finding.add("scale_before", longest.scale_before);
  finding.add("scale_after", longest.scale_after);
  finding.add("runs", std::move(runs));
  switch (scale.verdict) {
    case Verdict::calibration:
      finding.severity = Severity::info;
      finding.title =
          fmt::format("Calibration: {} step{} skipped until the scale fitted", at_start, at_start == 1 ? "" : "s");
      finding.advice = fmt::format(
          "Normal at the start; {} overflowed first. Start with GradScaler(init_scale = {}) to skip nothing.",
          longest.first_nonfinite.empty() ? "a parameter" : longest.first_nonfinite, found_scale);
      break;
    case Verdict::stable:
      finding.severity = Severity::info;
      finding.title = fmt::format("{} step{} skipped at a scale it had grown to", skipped, skipped == 1 ? "" : "s");
      finding.advice = fmt::format(
          "Normal: the scaler tries a larger scale now and then. {} sets the limit; a longer "
          "growth_interval makes the tries rarer.",
          longest.first_nonfinite.empty() ? "One parameter" : longest.first_nonfinite);
      break;
    case Verdict::collapse:
      finding.severity = Severity::critical;
      finding.title = fmt::format("{} consecutive skipped steps from step {}, {}", longest.skipped, longest.first_step,
                                  culprit(longest));
      finding.advice = fmt::format(
          "The scale went from {} to {} and the gradient stayed non-finite: this is no scaling problem. Look for NaN "
          "in "
          "the data or the forward pass, for a layer whose values exceed 65504, or train in bfloat16.",
          longest.scale_before, longest.scale_after);
      if (const TensorRow* bad = first_bad_gradient(answers, longest)) {
        finding.add("first_nonfinite_gradient", bad->name);
        finding.advice += fmt::format(" Going back, the first gradient with {} is that of {} at step {}.",
                                      bad->nan != 0 ? "NaN" : "infinity", bad->name, bad->step);
      }
      break;
    case Verdict::unstable:
      finding.title = fmt::format("Unstable: {} steps skipped; longest run {} from step {}, {}", skipped,
                                  longest.skipped, longest.first_step, culprit(longest));
      finding.advice =
          "So many overflows are more than the search for a scale. Lower the learning rate, clip gradients "
          "after unscale_, keep the layer named in float32, or use bfloat16.";
      break;
    default:
      finding.title = fmt::format("An overflow skipped {} step{}", skipped, skipped == 1 ? "" : "s");
      finding.advice = fmt::format(
          "At {} the gradient was not finite ({}); the scale went from {} to {}. A single one is "
          "harmless; see what is special about that batch or layer if it comes back.",
          step_range(longest), culprit(longest), longest.scale_before, longest.scale_after);
      if (!sampled(answers, longest))
        finding.advice += " That step was not sampled: whether it was an overflow or NaN was not measured.";
      if (longest.no_overflow) {
        finding.title = fmt::format("Skipped at {}: not an overflow of the loss scale", step_range(longest));
        finding.advice = fmt::format(
            "At {} values were NaN or the forward pass was not finite before any gradient overflowed ({}). The loss "
            "scale is not the cause: look at the data and inputs of that batch.",
            step_range(longest), culprit(longest));
      }
      break;
  }
  if (const auto uncleared = find_not_cleared(answers.tensors))
    finding.advice = fmt::format(
        "The gradients that step {} left were never cleared, so the steps after it were skipped for nothing they did: "
        "call optimizer.zero_grad() in every iteration.",
        uncleared->since_step);
  findings.push_back(std::move(finding));
}

void find_pinned(const Answers& answers, std::vector<Finding>& findings) {
  const LossScaleResult& scale = answers.loss_scale;
  if (scale.rows.empty() || !scale.final_scale) return;
  const bool has_floor = scale.min_scale && *scale.min_scale > 0;
  // Without a floor of its own, 1 is where scaling has become pointless.
  const double floor = has_floor ? *scale.min_scale : 1.0;
  const std::uint64_t held = has_floor ? scale.updates_at_floor : scale.updates_at_most_one;
  const double share = static_cast<double>(held) / static_cast<double>(scale.rows.size());
  // A collapse without a floor says it all already.
  if (!has_floor && scale.verdict == Verdict::collapse) return;
  if (*scale.final_scale > floor || held < kPinnedUpdates || share < kPinnedShare || scale.backoffs == 0) return;
  Finding finding(FindingId::scale_pinned);
  finding.add("floor", floor);
  finding.add("final_scale", *scale.final_scale);
  finding.add("updates_at_floor", static_cast<std::int64_t>(held));
  finding.add("share_of_updates", share);
  if (!has_floor) finding.title = "The loss scale fell to 1 or below and stayed there";
  const std::string& name = scale.runs.empty() ? std::string() : scale.runs.back().first_nonfinite;
  finding.advice = fmt::format(
      "Gradients overflow even at a scale of {}{}: the values themselves exceed 65504. Keep that layer in float32, "
      "clip, "
      "lower the learning rate, or train in bfloat16.",
      floor, name.empty() ? std::string() : fmt::format(" (first in {})", name));
  findings.push_back(std::move(finding));
}

/// The largest share, over the sampled gradients, of elements that would flush to zero in `type` without any scale.
/// Empty when no gradient was sampled.
std::optional<double> flushing_unscaled(const Answers& answers, std::size_t type) {
  std::optional<double> worst;
  for (const TensorRow& row : answers.tensors) {
    if (!is_gradient(row.role) || row.count == 0) continue;
    double share = row.underflow[type];
    if (row.scale != 1) {  // move the distribution back by the scale it carries; the border bin counts as flushed
      const int shift = -static_cast<int>(std::ceil(std::log2(row.scale)));
      share =
          static_cast<double>(flushed_at(kNarrowRanges[type], row.exponent_first, row.exponent_counts, shift).most) /
          static_cast<double>(row.count);
    }
    // What rounding has taken already would have been lost without the scale as well.
    if (row.rounding) share += static_cast<double>(row.rounding->to_zero) / static_cast<double>(row.count);
    worst = std::max(worst.value_or(0), share);
  }
  return worst;
}

void find_needless(const Answers& answers, std::vector<Finding>& findings) {
  const LossScaleResult& scale = answers.loss_scale;
  // Where gradients overflow at any scale, that a scale is of no use is no news.
  if (scale.rows.empty() || scale.verdict == Verdict::collapse) return;
  bool fp16 = false, bf16 = false;
  for (const OpRow& op : answers.ops) {
    if (op.policy == amp::Policy::none) continue;
    fp16 |= op.compute_dtype == amp::DType::float16;
    bf16 |= op.compute_dtype == amp::DType::bfloat16;
  }
  if (fp16 == bf16) return;  // neither: nothing to say; both: the scale may serve the float16 part
  const std::size_t type = fp16 ? 0 : 1;
  const std::optional<double> share = flushing_unscaled(answers, type);
  // float16 without statistics may well need its scale; bfloat16 has float32's exponent range either way.
  if ((fp16 && !share) || share.value_or(0) >= kNeedlessShare) return;
  Finding finding(FindingId::scale_not_needed);
  if (bf16) finding.title = "A GradScaler is used in a bfloat16 run, which does not need one";
  // Skipped steps are what a needless scale costs, growth is what brings them.
  if (scale.skipped_steps != 0 && (bf16 || scale.growths != 0)) finding.severity = Severity::warning;
  finding.add("compute_dtype", std::string(amp::name(fp16 ? amp::DType::float16 : amp::DType::bfloat16)));
  if (share) finding.add("share_flushing_without_scale", *share);
  finding.add("growths", static_cast<std::int64_t>(scale.growths));
  finding.add("skipped_steps", static_cast<std::int64_t>(scale.skipped_steps));
  if (scale.final_scale) finding.add("final_scale", *scale.final_scale);
  finding.advice = fmt::format(
      "{}{} Use GradScaler(enabled = false){}.",
      share ? fmt::format("{} of the values of any gradient in the sampled steps would flush to zero unscaled.",
                          *share == 0 ? "None" : fmt::format("At most {:.2g} %", 100 * *share))
            : std::string("bfloat16 has the exponent range of float32."),
      scale.growths != 0 ? fmt::format(" As far as those steps show, the scale grew {} time{} for nothing.",
                                       scale.growths, scale.growths == 1 ? "" : "s")
                         : std::string(),
      fp16 ? ", or a longer growth_interval if later steps may need it" : "");
  findings.push_back(std::move(finding));
}

}  // namespace

void find_scale_findings(const Answers& answers, std::vector<Finding>& findings) {
  find_skips(answers, findings);
  find_pinned(answers, findings);
  find_needless(answers, findings);
}

}  // namespace ampprof::analysis
