// The parts of report.json whose length grows with the run, each bounded: tensors, steps, and the page's timeline.
#pragma once
#include "profiler/report/json_writer.h"
#include "profiler/report/report.h"

namespace ampprof::report {

inline constexpr std::size_t kMaxTensorRows = 10000;
inline constexpr std::size_t kMaxStepRows = 5000;
inline constexpr std::size_t kMaxPageSlices = 20000;
inline constexpr std::size_t kMaxCounterPoints = 5000;

void write_tensors(JsonWriter& json, const Report& report);   ///< keys tensors, tensors_left_out
void write_steps(JsonWriter& json, const Report& report);     ///< keys steps, steps_left_out
void write_timeline(JsonWriter& json, const Report& report);  ///< key timeline

}  // namespace ampprof::report
