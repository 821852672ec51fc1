// See steps.h.
#include "profiler/analysis/steps.h"

namespace ampprof::analysis {

std::vector<StepRow> find_steps(const timeline::Timeline& timeline, const std::vector<std::int64_t>& self_ns) {
  std::vector<StepRow> rows;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> at;  // process, step -> its latest row
  for (const timeline::Step& step : timeline.steps) {
    StepRow row;
    row.step = step.step;
    row.pid = timeline.processes[step.process].pid;
    row.start_ns = step.start_ns;
    if (!step.unclosed) row.dur_ns = step.end_ns - step.start_ns;
    row.sampled = step.sampled;
    at[{step.process, step.step}] = rows.size();
    rows.push_back(row);
  }
  for (std::size_t i = 0; i < timeline.slices.size(); ++i) {
    const timeline::Slice& slice = timeline.slices[i];
    if (slice.kind == timeline::SliceKind::range || slice.step == amp::kNoStep) continue;
    const auto found = at.find({timeline.tracks[slice.track].process, slice.step});
    if (found == at.end()) continue;
    StepRow& row = rows[found->second];
    row.recorded = true;
    (slice.kind == timeline::SliceKind::op ? row.ops_ns : row.cast_ns) += self_ns[i];
  }
  return rows;
}

Totals find_totals(const std::vector<OpRow>& ops, const std::vector<CastRow>& casts,
                   const std::vector<StepRow>& steps) {
  Totals totals;
  for (const OpRow& op : ops) {
    totals.ops_ns += op.cpu_ns;
    totals.op_calls += op.calls;
    totals.autocast_used |= op.policy != amp::Policy::none;
    DTypeShare& share = totals.by_compute_dtype[op.compute_dtype];
    share.calls += op.calls;
    share.cpu_ns += op.cpu_ns;
    share.step_ns += op.step_ns;
    totals.ops_in_steps_ns += op.step_ns;
    share.flops += op.flops.value_or(0);
  }
  for (const CastRow& cast : casts) {
    totals.cast_ns += cast.cpu_ns;
    totals.casts += cast.count;
    totals.casts_cached += cast.cached_count;
  }
  for (const StepRow& step : steps) totals.step_ns += step.dur_ns.value_or(0);
  return totals;
}

}  // namespace ampprof::analysis
