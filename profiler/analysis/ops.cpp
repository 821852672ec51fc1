// See ops.h.
#include "profiler/analysis/ops.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace ampprof::analysis {
namespace {

using timeline::OpKind;
using timeline::Slice;
using timeline::SliceKind;
using timeline::Timeline;

struct KindSum {
  std::uint64_t calls = 0, step_calls = 0;
  std::int64_t cpu_ns = 0, total_ns = 0, cast_ns = 0, step_ns = 0;
};

/// Adds up the calls of each op kind, with the casts that are linked to each.
std::vector<KindSum> sum_kinds(const Timeline& timeline, const std::vector<std::int64_t>& self_ns) {
  std::vector<KindSum> sums(timeline.op_kinds.size());
  for (std::size_t i = 0; i < timeline.slices.size(); ++i) {
    const Slice& slice = timeline.slices[i];
    if (slice.kind != SliceKind::op) continue;
    KindSum& sum = sums[slice.detail];
    ++sum.calls;
    sum.cpu_ns += self_ns[i];
    sum.total_ns += slice.dur_ns();
    if (slice.step == amp::kNoStep) continue;
    ++sum.step_calls;
    sum.step_ns += self_ns[i];
  }
  for (const timeline::Link& link : timeline.links)
    sums[timeline.slices[link.to].detail].cast_ns += timeline.slices[link.from].dur_ns();
  return sums;
}

std::vector<amp::DType> input_dtypes(const amp::OpEvent& event) {
  const std::size_t n = std::min<std::size_t>(event.input_count, amp::kMaxEventInputs);
  std::vector<amp::DType> dtypes;
  for (std::size_t i = 0; i < n; ++i) dtypes.push_back(static_cast<amp::DType>(event.input_dtypes[i]));
  return dtypes;
}

void add_cost(std::optional<double>& total, double one, std::uint64_t calls, bool first) {
  if (first) total = 0.0;
  if (!std::isfinite(one)) total.reset();  // unknown for one call is unknown for the row
  if (total) *total += one * static_cast<double>(calls);
}

void add_kind(OpRow& row, const OpKind& kind, const KindSum& sum, std::string module) {
  const bool first = row.calls == 0;
  row.calls += sum.calls;
  row.cpu_ns += sum.cpu_ns;
  row.total_ns += sum.total_ns;
  row.cast_ns += sum.cast_ns;
  row.step_ns += sum.step_ns;
  row.step_calls += sum.step_calls;
  add_cost(row.flops, kind.event.flops, sum.calls, first);
  add_cost(row.bytes, kind.event.bytes, sum.calls, first);
  auto at = std::find_if(row.modules.begin(), row.modules.end(), [&](const auto& m) { return m.path == module; });
  if (at == row.modules.end()) at = row.modules.insert(at, {std::move(module), 0, 0});
  at->calls += sum.calls;
  at->cpu_ns += sum.cpu_ns;
}

}  // namespace

std::vector<std::int64_t> self_times(const Timeline& timeline) {
  std::vector<std::int64_t> self(timeline.slices.size());
  for (std::size_t i = 0; i < self.size(); ++i) self[i] = timeline.slices[i].dur_ns();
  for (const Slice& slice : timeline.slices)
    if (slice.parent != timeline::kNone) self[slice.parent] -= slice.dur_ns();
  return self;
}

std::vector<OpRow> find_ops(const Timeline& timeline, const std::vector<std::int64_t>& self_ns) {
  const std::vector<KindSum> sums = sum_kinds(timeline, self_ns);
  using Key = std::tuple<std::uint32_t, std::uint8_t, std::uint8_t, std::uint8_t, std::uint8_t, std::uint8_t,
                         std::uint8_t, std::uint8_t, std::uint8_t, std::vector<amp::DType>>;
  std::map<Key, OpRow> rows;
  for (std::size_t k = 0; k < sums.size(); ++k) {
    if (sums[k].calls == 0) continue;
    const OpKind& kind = timeline.op_kinds[k];
    const amp::OpEvent& e = kind.event;
    std::vector<amp::DType> inputs = input_dtypes(e);
    OpRow& row = rows[Key{kind.name.value, e.phase, e.rule, e.reason, e.policy, e.device, e.compute_dtype,
                          e.output_dtype, e.composite, inputs}];
    if (row.calls == 0) {
      row.name = timeline.strings.text(kind.name);
      row.phase = static_cast<amp::Phase>(e.phase);
      row.rule = static_cast<amp::CastRule>(e.rule);
      row.reason = static_cast<amp::Reason>(e.reason);
      row.policy = static_cast<amp::Policy>(e.policy);
      row.device = static_cast<amp::DeviceType>(e.device);
      row.input_dtypes = std::move(inputs);
      row.compute_dtype = static_cast<amp::DType>(e.compute_dtype);
      row.output_dtype = static_cast<amp::DType>(e.output_dtype);
      row.composite = e.composite != 0;
    }
    add_kind(row, kind, sums[k], std::string(timeline.strings.text(kind.module)));
  }
  std::vector<OpRow> result;
  for (auto& [key, row] : rows) {
    std::stable_sort(row.modules.begin(), row.modules.end(),
                     [](const auto& a, const auto& b) { return a.cpu_ns > b.cpu_ns; });
    result.push_back(std::move(row));
  }
  std::stable_sort(result.begin(), result.end(), [](const auto& a, const auto& b) { return a.cpu_ns > b.cpu_ns; });
  return result;
}

}  // namespace ampprof::analysis
