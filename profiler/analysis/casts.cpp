// See casts.h.
#include "profiler/analysis/casts.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace ampprof::analysis {

std::vector<CastRow> find_casts(const timeline::Timeline& timeline, const std::vector<std::int64_t>& self_ns) {
  struct Sum {
    std::uint64_t calls = 0;
    std::int64_t cpu_ns = 0;
  };
  std::vector<Sum> sums(timeline.cast_kinds.size());
  for (std::size_t i = 0; i < timeline.slices.size(); ++i) {
    const timeline::Slice& slice = timeline.slices[i];
    if (slice.kind != timeline::SliceKind::cast) continue;
    ++sums[slice.detail].calls;
    sums[slice.detail].cpu_ns += self_ns[i];
  }

  using Key = std::tuple<std::uint32_t, std::uint8_t, std::uint8_t, std::uint8_t, std::uint8_t>;
  std::map<Key, CastRow> rows;
  for (std::size_t k = 0; k < sums.size(); ++k) {
    if (sums[k].calls == 0) continue;
    const timeline::CastKind& kind = timeline.cast_kinds[k];
    const amp::CastEvent& e = kind.event;
    CastRow& row = rows[Key{kind.cause.value, e.from, e.to, e.kind, e.phase}];
    row.cause_op = timeline.strings.text(kind.cause);
    row.from = static_cast<amp::DType>(e.from);
    row.to = static_cast<amp::DType>(e.to);
    row.kind = static_cast<amp::CastKind>(e.kind);
    row.phase = static_cast<amp::Phase>(e.phase);
    if (e.cached != 0) {
      row.cached_count += sums[k].calls;
      continue;
    }
    row.count += sums[k].calls;
    row.elements += e.elements * sums[k].calls;
    row.bytes += e.bytes * sums[k].calls;
    row.cpu_ns += sums[k].cpu_ns;
    if (e.source_elements == 0) continue;
    const double expansion = static_cast<double>(e.elements) / static_cast<double>(e.source_elements);
    if (expansion <= row.max_expansion) continue;
    row.max_expansion = expansion;
    row.expanded_elements = e.elements;
    row.expanded_source_elements = e.source_elements;
    row.expanded_module = timeline.strings.text(kind.module);
  }
  std::vector<CastRow> result;
  for (auto& [key, row] : rows) result.push_back(std::move(row));
  std::stable_sort(result.begin(), result.end(), [](const auto& a, const auto& b) { return a.cpu_ns > b.cpu_ns; });
  return result;
}

}  // namespace ampprof::analysis
