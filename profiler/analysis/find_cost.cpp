// Findings about time: casts that dominate, a cast that wrote an expanded tensor, an op kept in float32 that costs
// most.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "profiler/analysis/finding.h"

namespace ampprof::analysis {
namespace {

/// Well set up, casts of weights are cached and casts of activations are one pass over memory beside ops of many: a
/// tenth of the time or less. A quarter means that ops are too small or dtypes change too often.
constexpr double kCastShareWarning = 0.25;
constexpr double kCastShareCritical = 0.5;
/// Fewer conversions than this are a program's start, not its habit.
constexpr std::uint64_t kFewCasts = 20;
/// An expansion by 8 in more than 64 Ki elements is no broadcast of a bias any more.
constexpr double kExpansion = 8;
constexpr std::uint64_t kExpandedElements = 65536;
/// An op is worth naming when it alone has this share of the time of all ops.
constexpr double kOpShare = 0.2;

void find_cast_share(const Answers& answers, std::vector<Finding>& findings) {
  const std::optional<double> share = answers.totals.cast_share();
  if (!share || *share < kCastShareWarning || answers.totals.casts < kFewCasts) return;
  std::map<std::string, std::pair<std::int64_t, std::uint64_t>> by_cause;
  for (const CastRow& cast : answers.casts) {
    by_cause[cast.cause_op].first += cast.cpu_ns;
    by_cause[cast.cause_op].second += cast.count;
  }
  const auto worst = std::max_element(by_cause.begin(), by_cause.end(),
                                      [](const auto& a, const auto& b) { return a.second.first < b.second.first; });
  const CastRow& row = answers.casts.front();
  Finding finding(FindingId::casts_dominate);
  if (*share >= kCastShareCritical) finding.severity = Severity::critical;
  const std::string cause = worst->first.empty() ? "explicit casts" : worst->first;
  finding.add("share", *share);
  finding.add("casts", static_cast<std::int64_t>(answers.totals.casts));
  finding.add("cast_ns", answers.totals.cast_ns);
  finding.add("casts_per_op", static_cast<double>(answers.totals.casts) /
                                  static_cast<double>(std::max<std::uint64_t>(1, answers.totals.op_calls)));
  finding.add("worst_cause", cause);
  finding.add("worst_cause_casts", static_cast<std::int64_t>(worst->second.second));
  finding.add("worst_cause_ns", worst->second.first);
  finding.advice = fmt::format(
      "Most of it is caused by {} ({} conversions, mostly {} -> {}). Let its neighbours run in the same dtype, keep "
      "its "
      "input in {}, or take it out of the region.",
      cause, worst->second.second, amp::name(row.from), amp::name(row.to), amp::name(row.to));
  findings.push_back(std::move(finding));
}

void find_expanded(const Answers& answers, std::vector<Finding>& findings) {
  const CastRow* worst = nullptr;
  for (const CastRow& cast : answers.casts) {
    // The gradient of a sum is one value expanded, and nobody but autograd could cast it sooner.
    if (cast.kind == amp::CastKind::gradient) continue;
    if (cast.max_expansion < kExpansion || cast.expanded_elements < kExpandedElements) continue;
    if (worst == nullptr || cast.expanded_elements > worst->expanded_elements) worst = &cast;
  }
  if (worst == nullptr) return;
  Finding finding(FindingId::cast_expanded);
  finding.title = fmt::format("A cast materialised a {:.0f}x larger tensor", worst->max_expansion);
  finding.add("expansion", worst->max_expansion);
  finding.add("elements", static_cast<std::int64_t>(worst->expanded_elements));
  finding.add("source_elements", static_cast<std::int64_t>(worst->expanded_source_elements));
  finding.add("cause_op", worst->cause_op);
  if (!worst->expanded_module.empty()) finding.add("module", worst->expanded_module);
  const std::string where = worst->expanded_module.empty() ? "" : fmt::format(" in {}", worst->expanded_module);
  finding.advice = fmt::format(
      "The input of {}{} has {} distinct elements, its cast to {} wrote {}. Convert it before expanding it.",
      worst->cause_op.empty() ? "an explicit cast" : worst->cause_op, where, worst->expanded_source_elements,
      amp::name(worst->to), worst->expanded_elements);
  findings.push_back(std::move(finding));
}

const char* advice_for(amp::Reason reason) {
  switch (reason) {
    case amp::Reason::listed_fp32:
      return "It is on the float32 list because its range or its sums need it. Make it rarer or smaller before you "
             "lower its precision by hand.";
    case amp::Reason::nested_off:
      return "It ran inside a region with autocast disabled. Make that region smaller, or give this op its low "
             "precision "
             "type explicitly.";
    case amp::Reason::promoted_widest:
      return "One of its inputs is float32, so the others were widened. Bring that input in low precision.";
    case amp::Reason::explicit_dtype:
      return "The call asks for float32. Leave the dtype out if that is not needed.";
    case amp::Reason::autocast_off:
      return "It ran outside the autocast region. Move it inside.";
    case amp::Reason::not_listed:
      return "No rule covers it, so it ran in the dtype of its inputs. Give it low precision inputs.";
    default:
      return "See the reason column.";
  }
}

void find_fp32_op(const Answers& answers, std::vector<Finding>& findings) {
  if (!answers.totals.autocast_used) return;
  struct Sum {
    std::int64_t cpu_ns = 0, fp32_ns = 0;
    const OpRow* largest = nullptr;  // the float32 row with most time
  };
  // Evaluation after training and the optimizer, which must keep float32, do not count; gradients count for their op.
  std::map<std::string, Sum> by_op;
  std::int64_t all = 0;
  bool low_used = false;
  for (const OpRow& op : answers.ops) {
    if (op.phase == amp::Phase::optimizer) continue;
    const std::int64_t ns = answers.steps.empty() ? op.cpu_ns : op.step_ns;
    Sum& sum = by_op[op.name];
    sum.cpu_ns += ns;
    all += ns;
    low_used |= amp::is_low_precision(op.compute_dtype);
    if (op.compute_dtype != amp::DType::float32 || op.reason == amp::Reason::gradient_formula ||
        op.reason == amp::Reason::inside_listed_op) {
      if (op.compute_dtype == amp::DType::float32) sum.fp32_ns += ns;
      continue;
    }
    sum.fp32_ns += ns;
    if (sum.largest == nullptr || ns > (answers.steps.empty() ? sum.largest->cpu_ns : sum.largest->step_ns))
      sum.largest = &op;
  }
  if (!low_used || all <= 0) return;
  // An op that only computes gradients has its dtype from the forward op: that one is to be named, if any.
  const auto cost = [](const Sum& sum) { return sum.largest == nullptr && sum.fp32_ns == sum.cpu_ns ? 0 : sum.cpu_ns; };
  const auto most = std::max_element(by_op.begin(), by_op.end(),
                                     [&](const auto& a, const auto& b) { return cost(a.second) < cost(b.second); });
  const Sum& sum = most->second;
  const double share = static_cast<double>(sum.fp32_ns) / static_cast<double>(all);
  if (sum.largest == nullptr || sum.fp32_ns * 2 < sum.cpu_ns || share < kOpShare) return;
  Finding finding(FindingId::fp32_op_costs_most);
  finding.title = fmt::format("{} ran in float32 and costs most", most->first);
  finding.add("op", most->first);
  finding.add("share_of_op_time", share);
  finding.add("cpu_ns", sum.fp32_ns);
  finding.add("reason", std::string(amp::name(sum.largest->reason)));
  finding.add("rule", std::string(amp::name(sum.largest->rule)));
  if (!sum.largest->modules.empty() && !sum.largest->modules.front().path.empty())
    finding.add("module", sum.largest->modules.front().path);
  finding.advice = fmt::format("{} took {:.0f} % of the op time in float32 ({}). {}", most->first, 100 * share,
                               amp::name(sum.largest->reason), advice_for(sum.largest->reason));
  findings.push_back(std::move(finding));
}

}  // namespace

void find_cost_findings(const Answers& answers, std::vector<Finding>& findings) {
  find_cast_share(answers, findings);
  find_expanded(answers, findings);
  find_fp32_op(answers, findings);
}

}  // namespace ampprof::analysis
