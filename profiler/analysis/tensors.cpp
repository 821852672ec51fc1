// See tensors.h.
#include "profiler/analysis/tensors.h"

#include <cmath>

namespace ampprof::analysis {

bool is_gradient(amp::TensorRole role) {
  return role == amp::TensorRole::gradient || role == amp::TensorRole::unscaled_gradient ||
         role == amp::TensorRole::activation_gradient;
}

std::vector<TensorRow> find_tensors(const timeline::Timeline& timeline) {
  std::vector<TensorRow> rows;
  rows.reserve(timeline.tensors.size());
  for (const timeline::TensorStat& stat : timeline.tensors) {
    const amp::TensorStatEvent& e = stat.event;
    TensorRow row;
    row.name = timeline.strings.text(stat.name);
    row.role = static_cast<amp::TensorRole>(e.role);
    row.dtype = static_cast<amp::DType>(e.dtype);
    row.step = e.step;
    row.pid = timeline.processes[stat.process].pid;
    row.count = e.count;
    row.zero = e.zero;
    row.nan = e.nan;
    row.pos_inf = e.pos_inf;
    row.neg_inf = e.neg_inf;
    if (e.min_abs_nonzero > 0 && std::isfinite(e.min_abs_nonzero)) row.min_abs_nonzero = e.min_abs_nonzero;
    if (e.max_abs > 0 && std::isfinite(e.max_abs)) row.max_abs = e.max_abs;
    row.scale = std::isfinite(e.scale) && e.scale > 0 ? e.scale : 1;
    row.exponent_first = e.exponent_first;
    row.exponent_counts = stat.counts;
    for (std::size_t t = 0; t < amp::kNarrowTypeCount; ++t) {
      const double all = e.count == 0 ? 1.0 : static_cast<double>(e.count);
      row.underflow[t] = static_cast<double>(e.underflow[t]) / all;
      row.overflow[t] = static_cast<double>(e.overflow[t]) / all;
    }
    if (e.rounding_measured != 0) row.rounding = Rounding{e.rounded_to_zero, e.rounded_to_inf};
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace ampprof::analysis
