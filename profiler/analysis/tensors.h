// Statistics of tensors on sampled steps, as shares.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "profiler/timeline/timeline.h"

namespace ampprof::analysis {

struct Rounding {
  std::uint64_t to_zero = 0, to_inf = 0;
};

struct TensorRow {
  std::string name;
  amp::TensorRole role{};
  amp::DType dtype{};
  std::uint32_t step = 0, pid = 0;
  std::uint64_t count = 0, zero = 0, nan = 0, pos_inf = 0, neg_inf = 0;
  std::optional<double> min_abs_nonzero, max_abs;  ///< empty: no finite non-zero value
  double scale = 1;
  std::int32_t exponent_first = 0;
  std::vector<std::uint64_t> exponent_counts;
  double underflow[amp::kNarrowTypeCount] = {}, overflow[amp::kNarrowTypeCount] = {};  ///< shares of count
  std::optional<Rounding> rounding;

  [[nodiscard]] std::uint64_t nonfinite() const { return nan + pos_inf + neg_inf; }
  [[nodiscard]] std::uint64_t finite_nonzero() const {
    const std::uint64_t other = zero + nonfinite();
    return count > other ? count - other : 0;
  }
};

/// One row for each statistic, in order of time. Every step is kept; thinning is the report's business.
std::vector<TensorRow> find_tensors(const timeline::Timeline& timeline);

bool is_gradient(amp::TensorRole role);

}  // namespace ampprof::analysis
