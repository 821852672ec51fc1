// Findings about the run as a whole: what was lost, how it ended, and what was not measured at all.
#include <fmt/format.h>

#include "profiler/analysis/finding.h"
#include "profiler/capture/block.h"

namespace ampprof::analysis {

namespace {

/// A program that fails this early may end before its first record is written.
constexpr std::uint64_t kTooEarlyNs = 100'000'000;

/// No op was seen, but that says nothing: its record may be among those that are missing.
bool may_have_been_missed(const timeline::Timeline& timeline) {
  if (!timeline.losses.empty()) return true;
  for (const timeline::Process& process : timeline.processes)
    if (!process.ended) return true;
  const auto& end = timeline.target_end;
  return end && (end->signal != 0 || end->exit_code != 0) && end->wall_ns < kTooEarlyNs;
}

}  // namespace

void find_run_findings(const Answers& answers, std::vector<Finding>& findings) {
  const timeline::Timeline& timeline = answers.timeline;
  if (!timeline.losses.empty()) {
    Finding finding(FindingId::records_lost);
    // No sum: some kinds count records, some bytes.
    std::string missing;
    for (const auto& [kind, count] : timeline.losses) {
      finding.add(kind, static_cast<std::int64_t>(count));
      missing += fmt::format("{}{} {}", missing.empty() ? "" : ", ", count, kind);
    }
    finding.advice = fmt::format("Read every count in this report as \"at least\". Missing: {}.", missing);
    findings.push_back(std::move(finding));
  }
  std::vector<std::string> unended;
  for (const timeline::Process& process : timeline.processes)
    if (!process.ended) unended.push_back(fmt::format("{}", process.pid));
  if (!unended.empty()) {
    Finding finding(FindingId::ended_without_shutdown);
    finding.add("processes", static_cast<std::int64_t>(unended.size()));
    finding.advice = fmt::format(
        "Process {} ended without running its exit handlers; records of its last {} ms may be missing{}.",
        fmt::join(unended, ", "), capture::kFlushIntervalNs / 1'000'000,
        timeline.unclosed_ranges != 0
            ? fmt::format(", {} range{} had no end", timeline.unclosed_ranges, timeline.unclosed_ranges == 1 ? "" : "s")
            : "");
    finding.add("pids", std::move(unended));
    finding.add("unclosed_ranges", static_cast<std::int64_t>(timeline.unclosed_ranges));
    findings.push_back(std::move(finding));
  }
  if (!timeline.has_libamp()) {
    Finding finding(FindingId::no_libamp);
    finding.add("processes_recorded", static_cast<std::int64_t>(timeline.processes.size()));
    finding.advice =
        "Nothing announced an op. If the program uses libamp, check that it was built with AMP_OBSERVE=ON and that its "
        "environment kept NVTX_INJECTION64_PATH.";
    if (may_have_been_missed(timeline)) {
      finding.title = "No op had been recorded when the program ended";
      finding.advice =
          "Nothing of libamp had been written yet when the records end, so whether the program uses it is not known. "
          "Let it run longer, or end normally.";
    }
    findings.push_back(std::move(finding));
    return;
  }
  if (!answers.ops.empty() && !answers.totals.autocast_used) {
    Finding finding(FindingId::autocast_not_used);
    finding.add("ops", static_cast<std::int64_t>(answers.totals.op_calls));
    finding.advice = "Run the forward pass and the loss inside an autocast region to see what mixed precision brings.";
    findings.push_back(std::move(finding));
  }
  if (!answers.steps.empty() && answers.tensors.empty()) {
    Finding finding(FindingId::stats_off);
    finding.add("steps", static_cast<std::int64_t>(answers.steps.size()));
    finding.advice = "Run again with --stats every=10 to see which tensors would flush to zero or overflow.";
    findings.push_back(std::move(finding));
  }
}

}  // namespace ampprof::analysis
