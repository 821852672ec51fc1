// What conversions cost, charged to the op that forced them: one row for each op x from x to x kind x phase.
#pragma once
#include <string>
#include <vector>

#include "profiler/timeline/timeline.h"

namespace ampprof::analysis {

struct CastRow {
  std::string cause_op;  ///< "" for an explicit cast outside any op
  amp::DType from{}, to{};
  amp::CastKind kind{};
  amp::Phase phase{};
  std::uint64_t count = 0;         ///< conversions done
  std::uint64_t cached_count = 0;  ///< conversions the cast cache saved
  std::uint64_t elements = 0, bytes = 0;
  std::int64_t cpu_ns = 0;
  double max_expansion = 1;  ///< largest elements / source elements of one cast
  std::uint64_t expanded_elements = 0, expanded_source_elements = 0;  ///< of the cast max_expansion comes from
  std::string expanded_module;
};

/// Rows in order of falling cpu_ns.
std::vector<CastRow> find_casts(const timeline::Timeline& timeline, const std::vector<std::int64_t>& self_ns);

}  // namespace ampprof::analysis
