// Findings in the values: gradients that flush to zero without a scaler or at too small a scale, or are not finite
// because they never were cleared, and values that are not finite before any gradient is.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "profiler/analysis/finding.h"
#include "profiler/analysis/narrow_type.h"
#include "profiler/analysis/not_cleared.h"

namespace ampprof::analysis {
namespace {

/// Share of the non-zero gradient values that became zero. Micikevicius et al., "Mixed Precision Training" (2018), lost
/// accuracy in a network where a few percent of the values that matter were flushed; 1 % is where it is worth a word,
/// a quarter is a broken run.
constexpr double kFlushWarning = 0.01;
constexpr double kFlushCritical = 0.25;
/// A tensor of fewer flushed elements than this says nothing by itself.
constexpr std::uint64_t kFewElements = 64;
/// Without a count of what was rounded away, the values left just above the smallest subnormal tell: a distribution
/// that fills the lowest bins of float16 (2^-24 to 2^-21) is cut off there, and goes on below. A tenth of all values in
/// those three bins is far beyond the tail of a distribution that fits.
constexpr double kCutOffShare = 0.10;
constexpr int kCutOffFirst = -24, kCutOffLast = -22;

/// No scale beyond this is advised: what needs more has underflowed before it is rounded to float16.
constexpr double kLargestAdvised = 0x1p24;

struct GradientSum {
  std::uint64_t kept = 0, flushed = 0, cut_off = 0;
  std::map<int, std::uint64_t> bins;
  [[nodiscard]] double flushed_share() const {
    const std::uint64_t all = kept + flushed;
    return all == 0 ? 0 : static_cast<double>(flushed) / static_cast<double>(all);
  }
};

void add(GradientSum& sum, const TensorRow& row) {
  sum.kept += row.finite_nonzero();
  if (row.rounding) sum.flushed += row.rounding->to_zero;
  for (std::size_t i = 0; i < row.exponent_counts.size(); ++i) {
    const int e = row.exponent_first + static_cast<int>(i);
    sum.bins[e] += row.exponent_counts[i];
    if (e >= kCutOffFirst && e <= kCutOffLast) sum.cut_off += row.exponent_counts[i];
  }
}

bool ran_in(const Answers& answers, amp::DType dtype) {
  return std::any_of(answers.ops.begin(), answers.ops.end(),
                     [&](const OpRow& op) { return op.compute_dtype == dtype && op.policy != amp::Policy::none; });
}

/// The advice that names a scale: the largest power of two that keeps the largest gradient in range, with one power to
/// spare for the next steps, and what would flush at it of the values that are still visible.
void advise_scale(const Answers& answers, const GradientSum& all, const std::string& worst, Finding& finding) {
  const NarrowType& fp16 = kNarrowRanges[0];
  // One scale serves them all, so the largest gradient sets it: of those in float16, which must stay in its range, or
  // where only float32 ones are known, of those.
  double max_abs = 0, max_abs_fp32 = 0;
  for (const TensorRow& row : answers.tensors) {
    if (!is_gradient(row.role) || row.scale != 1) continue;
    double& most = row.dtype == amp::DType::float16 ? max_abs : max_abs_fp32;
    most = std::max(most, row.max_abs.value_or(0));
  }
  if (max_abs == 0) max_abs = max_abs_fp32;
  const int shift = std::clamp(largest_shift(fp16, max_abs) - 1, 0, 24);
  std::vector<std::uint64_t> counts;
  const int first = all.bins.empty() ? 0 : all.bins.begin()->first;
  if (!all.bins.empty()) counts.resize(static_cast<std::size_t>(all.bins.rbegin()->first - first) + 1);
  for (const auto& [e, n] : all.bins) counts[static_cast<std::size_t>(e - first)] = n;
  const std::uint64_t still = flushed_at(fp16, first, counts, shift).most;
  const double still_share = all.kept == 0 ? 0 : static_cast<double>(still) / static_cast<double>(all.kept);
  finding.add("max_abs_gradient", max_abs);
  finding.add("scale_that_fits", std::ldexp(1.0, shift));
  finding.add("share_of_visible_flushing_at_that_scale", still_share);
  finding.advice = fmt::format(
      "Use a GradScaler (or bfloat16, which needs none). Worst: {}. The largest float16 gradient seen is {:.3g}: a "
      "scale "
      "of 2^{} = {} keeps it in range with a factor of two to spare, and of the values still visible {:.2g} % would "
      "flush.",
      worst, max_abs, shift, std::ldexp(1.0, shift), 100 * still_share);
}

/// What is known about flushed gradients. Where rounding was counted, only tensors in float16 have lost anything, and
/// the others (weight gradients in float32, say) would only dilute the share.
struct Underflow {
  GradientSum all;
  std::map<std::string, GradientSum> by_name;
  bool counted = false;
};

Underflow sum_gradients(const Answers& answers) {
  Underflow sums;
  const auto considered = [](const TensorRow& row) { return is_gradient(row.role) && row.scale == 1; };
  for (const TensorRow& row : answers.tensors)
    sums.counted |= considered(row) && row.dtype == amp::DType::float16 && row.rounding.has_value();
  for (const TensorRow& row : answers.tensors) {
    if (!considered(row)) continue;
    const bool half = row.dtype == amp::DType::float16;
    if (sums.counted ? !half || !row.rounding : !half && row.dtype != amp::DType::float32) continue;
    add(sums.all, row);
    add(sums.by_name[row.name], row);
  }
  return sums;
}

void find_underflow(const Answers& answers, std::vector<Finding>& findings) {
  if (answers.loss_scale.verdict != Verdict::no_scaler || !ran_in(answers, amp::DType::float16)) return;
  const auto [all, by_name, counted] = sum_gradients(answers);
  if (all.kept + all.flushed == 0) return;
  const bool by_count = counted;
  const auto worst = std::max_element(by_name.begin(), by_name.end(), [by_count](const auto& a, const auto& b) {
    return by_count ? a.second.flushed_share() < b.second.flushed_share() : a.second.cut_off < b.second.cut_off;
  });
  const double share = all.flushed_share(), worst_share = worst->second.flushed_share();
  const double cut_off = all.kept == 0 ? 0 : static_cast<double>(all.cut_off) / static_cast<double>(all.kept);
  const bool one_is_lost = worst_share >= kFlushCritical && worst->second.flushed >= kFewElements;
  if (counted ? share < kFlushWarning && !one_is_lost : cut_off < kCutOffShare) return;

  Finding finding(FindingId::fp16_underflow);
  if (!counted || (share < kFlushCritical && !one_is_lost)) finding.severity = Severity::warning;
  if (counted) {
    finding.add("flushed_share", share);
    finding.add("flushed", static_cast<std::int64_t>(all.flushed));
  } else {
    finding.add("share_at_the_bottom_of_float16", cut_off);
  }
  finding.add("worst_tensor", worst->first);
  if (counted) finding.add("worst_tensor_flushed_share", worst_share);
  advise_scale(answers, all, worst->first, finding);
  findings.push_back(std::move(finding));
}

/// The gradients counted at the scale that the last sampled step that was not skipped ran with: what skipped steps lose
/// is lost anyway, and a scale that has been left since can not be bettered.
struct ScaledGradients {
  double scale = 0, max_abs = 0;
  GradientSum all;
  std::map<std::string, GradientSum> by_name;
};

ScaledGradients sum_scaled(const Answers& answers) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> applied;  // by process and step
  for (const ScaleRow& row : answers.loss_scale.rows)
    if (!row.found_inf && !row.skipped && row.scale > 0) applied[{row.pid, row.step}] = row.scale;
  const auto counted = [&](const TensorRow& row) {
    if (row.role != amp::TensorRole::gradient && row.role != amp::TensorRole::activation_gradient) return false;
    if (row.dtype != amp::DType::float16 || !row.rounding || row.nonfinite() != 0) return false;
    const auto at = applied.find({row.pid, row.step});
    return at != applied.end() && std::abs(row.scale - at->second) <= 1e-6 * at->second;
  };
  ScaledGradients sums;
  for (const TensorRow& row : answers.tensors)
    if (counted(row)) sums.scale = row.scale;
  for (const TensorRow& row : answers.tensors) {
    if (!counted(row) || row.scale != sums.scale) continue;
    add(sums.all, row);
    add(sums.by_name[row.name], row);
    sums.max_abs = std::max(sums.max_abs, row.max_abs.value_or(0));
  }
  return sums;
}

/// A scaler whose scale is too small loses gradients like none at all.
void find_small_scale(const Answers& answers, std::vector<Finding>& findings) {
  const LossScaleResult& history = answers.loss_scale;
  if (history.rows.empty() || history.verdict == Verdict::collapse) return;
  const ScaledGradients sums = sum_scaled(answers);
  if (sums.all.flushed == 0) return;
  const auto worst = std::max_element(sums.by_name.begin(), sums.by_name.end(), [](const auto& a, const auto& b) {
    return a.second.flushed_share() < b.second.flushed_share();
  });
  const double share = sums.all.flushed_share(), worst_share = worst->second.flushed_share();
  const bool one_is_lost = worst_share >= kFlushCritical && worst->second.flushed >= kFewElements;
  if (share < kFlushWarning && !one_is_lost) return;

  const double final_scale = history.final_scale.value_or(0);
  double fits = 0;  // unknown where nothing is left to measure
  if (sums.max_abs > 0) {
    fits = std::ldexp(sums.scale, largest_shift(kNarrowRanges[0], sums.max_abs) - 1);
    fits = std::min(fits, kLargestAdvised);
    for (const ScaleRow& row : history.rows)  // a scale that overflowed is too large
      if ((row.found_inf || row.skipped) && row.scale > sums.scale) fits = std::min(fits, row.scale / 2);
    // No larger one fits, or the scale has grown to it already: nothing to advise.
    if (fits < 2 * sums.scale || final_scale >= fits) return;
  } else if (final_scale > sums.scale) {
    return;  // it has grown since, and what flushes now was not measured
  }
  Finding finding(FindingId::fp16_underflow);
  finding.title = fmt::format("Gradients flush to zero at a loss scale of {}", sums.scale);
  if (share < kFlushCritical && !one_is_lost) finding.severity = Severity::warning;
  finding.add("flushed_share", share);
  finding.add("flushed", static_cast<std::int64_t>(sums.all.flushed));
  finding.add("worst_tensor", worst->first);
  finding.add("worst_tensor_flushed_share", worst_share);
  finding.add("scale", sums.scale);
  if (fits > 0) finding.add("scale_that_fits", fits);
  finding.advice = fmt::format(
      "The scale is too small for these gradients. Worst: {}. {}", worst->first,
      fits > 0 ? fmt::format("The largest gradient in float16 is {:.3g} at that scale; a scale of {} keeps it in range "
                             "with a factor of two to spare: start with GradScaler(init_scale = {}).",
                             sums.max_abs, fits, fits)
               : std::string("No non-zero value was left to tell the scale that fits: start with the default "
                             "GradScaler(), which begins large and lowers its scale until it fits."));
  findings.push_back(std::move(finding));
}

void find_nonfinite(const Answers& answers, std::vector<Finding>& findings) {
  const TensorRow* first = nullptr;
  std::uint64_t tensors = 0;
  for (const TensorRow& row : answers.tensors) {
    if (is_gradient(row.role) || row.nonfinite() == 0) continue;
    ++tensors;
    if (first == nullptr) first = &row;  // rows are in order of time
  }
  if (first == nullptr) return;
  Finding finding(FindingId::nonfinite_forward);
  finding.add("first_tensor", first->name);
  finding.add("role", std::string(amp::name(first->role)));
  finding.add("step", static_cast<std::int64_t>(first->step));
  finding.add("nan", static_cast<std::int64_t>(first->nan));
  finding.add("inf", static_cast<std::int64_t>(first->pos_inf + first->neg_inf));
  finding.add("tensors", static_cast<std::int64_t>(tensors));
  const bool rounded = first->rounding && first->rounding->to_inf != 0;
  finding.advice =
      rounded ? fmt::format(
                    "{} left the range of {} at step {}: {} finite results became infinite when rounded. Run that "
                    "op in float32, or use bfloat16; the loss scale does not act on it.",
                    first->name, amp::name(first->dtype), first->step, first->rounding->to_inf)
              : fmt::format("Not a scaling problem: {} already in {} at step {}. Look at its inputs and data.",
                            first->nan != 0 ? "NaN" : "infinity", first->name, first->step);
  findings.push_back(std::move(finding));
}

void find_buffers(const Answers& answers, std::vector<Finding>& findings) {
  const auto first = std::find_if(answers.tensors.begin(), answers.tensors.end(), [](const TensorRow& row) {
    return row.role == amp::TensorRole::buffer && row.nonfinite() != 0;
  });
  if (first == answers.tensors.end()) return;
  const auto& updates = answers.loss_scale.rows;
  const bool skipped = std::any_of(updates.begin(), updates.end(), [&](const ScaleRow& row) {
    return row.skipped && row.step == first->step && row.pid == first->pid;
  });
  Finding finding(FindingId::buffer_nonfinite);
  finding.title = fmt::format("buffer {} became non-finite in {}", first->name,
                              skipped ? "a skipped step" : fmt::format("step {}", first->step));
  finding.add("buffer", first->name);
  finding.add("step", static_cast<std::int64_t>(first->step));
  finding.add("step_was_skipped", std::string(skipped ? "yes" : "no"));
  finding.advice = fmt::format(
      "{} No later step cures it, and evaluation will use it. Keep the input of that layer in range (float32 or "
      "bfloat16){}.",
      skipped ? fmt::format("The forward pass of step {} updated it before the scaler skipped the step.", first->step)
              : fmt::format("The forward pass of step {} updated it.", first->step),
      skipped ? ", or put buffers back after a skipped step (amp::nn::BufferSnapshot)" : "");
  findings.push_back(std::move(finding));
}

void find_uncleared(const Answers& answers, std::vector<Finding>& findings) {
  const std::optional<NotCleared> found = find_not_cleared(answers.tensors);
  if (!found) return;
  Finding finding(FindingId::gradients_not_cleared);
  finding.title =
      fmt::format("The same parameters are {} since step {} although this backward is finite: gradients not cleared",
                  found->nan ? "NaN" : "inf", found->since_step);
  finding.add("since_step", static_cast<std::int64_t>(found->since_step));
  finding.add("seen_in_step", static_cast<std::int64_t>(found->seen_in_step));
  finding.add("parameters", found->parameters);
  finding.advice = fmt::format(
      "In step {} the backward pass gave finite gradients for {}, but they were added to what step {} had left. Call "
      "optimizer.zero_grad() in every iteration, also after a skipped step.",
      found->seen_in_step, found->parameters.front(), found->since_step);
  findings.push_back(std::move(finding));
}

}  // namespace

void find_gradient_findings(const Answers& answers, std::vector<Finding>& findings) {
  find_underflow(answers, findings);
  find_small_scale(answers, findings);
  find_uncleared(answers, findings);
  find_buffers(answers, findings);
  find_nonfinite(answers, findings);
}

}  // namespace ampprof::analysis
