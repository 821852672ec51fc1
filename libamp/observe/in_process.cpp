// Keeping events in vectors. Out of memory drops the event rather than the program.
#include "libamp/observe/in_process.h"

namespace amp::observe {

Recording::Recording() { attach(Slot::in_process, this); }
Recording::~Recording() { attach(Slot::in_process, nullptr); }

template <typename T>
void Recording::keep(std::vector<T>& list, const T& value) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    list.push_back(value);
  } catch (...) {
  }
}

void Recording::begin_op(const OpEvent& event) noexcept { keep(ops, event); }
void Recording::end_op(const OpEvent&) noexcept {}
void Recording::begin_cast(const CastEvent& event) noexcept { keep(casts, event); }
void Recording::end_cast(const CastEvent&) noexcept {}
void Recording::mark(const CastEvent& event) noexcept { keep(casts, event); }
void Recording::mark(const ScalerEvent& event) noexcept { keep(scaler, event); }
void Recording::mark(const TensorStatEvent& event, std::span<const std::uint64_t> counts) noexcept {
  try {
    keep(stats, Stat{event, {counts.begin(), counts.end()}});
  } catch (...) {
  }
}
void Recording::mark(const AllocEvent& event) noexcept { keep(allocs, event); }
void Recording::mark(const FreeEvent& event) noexcept { keep(frees, event); }
void Recording::mark(const CauseEvent& event) noexcept { keep(causes, event); }
void Recording::mark(const StepEvent& event) noexcept { keep(steps, event); }
void Recording::mark(const FactEvent& event) noexcept { keep(facts, event); }

}  // namespace amp::observe
