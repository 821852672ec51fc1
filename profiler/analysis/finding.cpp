// The table of findings and the list of who looks for them.
#include "profiler/analysis/finding.h"

#include <algorithm>

namespace ampprof::analysis {
namespace {

constexpr FindingRow kRows[] = {
#define AMPPROF_FINDING(id, severity, title, text) {#id, Severity::severity, title, text},
#include "profiler/analysis/findings.def"
};

}  // namespace

const char* name(Severity severity) {
  switch (severity) {
    case Severity::info:
      return "info";
    case Severity::warning:
      return "warning";
    case Severity::critical:
      return "critical";
  }
  return "?";
}

const FindingRow& finding_row(FindingId id) { return kRows[static_cast<std::size_t>(id)]; }

Answers find_answers(const timeline::Timeline& timeline) {
  const std::vector<std::int64_t> self_ns = self_times(timeline);
  Answers answers{timeline,
                  find_ops(timeline, self_ns),
                  find_casts(timeline, self_ns),
                  find_tensors(timeline),
                  find_loss_scale(timeline),
                  replay_memory(timeline),
                  find_steps(timeline, self_ns),
                  {}};
  answers.totals = find_totals(answers.ops, answers.casts, answers.steps);
  return answers;
}

std::vector<Finding> find_findings(const Answers& answers) {
  std::vector<Finding> findings;
  find_run_findings(answers, findings);
  find_gradient_findings(answers, findings);
  find_scale_findings(answers, findings);
  find_cost_findings(answers, findings);
  std::stable_sort(findings.begin(), findings.end(),
                   [](const Finding& a, const Finding& b) { return a.severity > b.severity; });
  return findings;
}

}  // namespace ampprof::analysis
