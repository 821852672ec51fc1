// What ran in which dtype, why, and how long: one row for each op x phase x rule x reason x dtypes.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "profiler/timeline/timeline.h"

namespace ampprof::analysis {

struct ModuleShare {
  std::string path;  ///< "" outside modules
  std::uint64_t calls = 0;
  std::int64_t cpu_ns = 0;
};

struct OpRow {
  std::string name;
  amp::Phase phase{};
  amp::CastRule rule{};
  amp::Reason reason{};
  amp::Policy policy{};
  amp::DeviceType device{};
  std::vector<amp::DType> input_dtypes;
  amp::DType compute_dtype{}, output_dtype = amp::DType::count_;
  bool composite = false;
  std::uint64_t calls = 0;
  std::int64_t cpu_ns = 0;             ///< self time: without nested ops and casts
  std::int64_t total_ns = 0;           ///< with them
  std::int64_t cast_ns = 0;            ///< of the casts this op caused, which run just before it
  std::int64_t step_ns = 0;            ///< the part of cpu_ns inside training steps
  std::optional<double> flops, bytes;  ///< empty: unknown for this op
  std::uint64_t step_calls = 0;
  std::vector<ModuleShare> modules;  ///< most time first
};

/// Self time of every slice, by index: its duration without that of its children.
std::vector<std::int64_t> self_times(const timeline::Timeline& timeline);

/// Rows in order of falling cpu_ns.
std::vector<OpRow> find_ops(const timeline::Timeline& timeline, const std::vector<std::int64_t>& self_ns);

}  // namespace ampprof::analysis
