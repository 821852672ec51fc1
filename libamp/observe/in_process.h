// An observer for programs and tests that want to see what libamp decides: every event is kept, or handed to callbacks.
#pragma once
#include <functional>
#include <mutex>
#include <vector>

#include "libamp/core/observer.h"

namespace amp::observe {

/// Keeps the events it hears while it lives. Attached to the in-process slot on construction, detached on destruction;
/// one at a time. Read the vectors only while no other thread runs ops.
class Recording final : public Observer {
 public:
  Recording();
  ~Recording() override;
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  struct Stat {  ///< one histogram: the event and its counts
    TensorStatEvent event;
    std::vector<std::uint64_t> counts;
  };
  std::vector<OpEvent> ops;
  std::vector<CastEvent> casts;  // cached ones too
  std::vector<ScalerEvent> scaler;
  std::vector<Stat> stats;
  std::vector<AllocEvent> allocs;
  std::vector<FreeEvent> frees;
  std::vector<CauseEvent> causes;
  std::vector<StepEvent> steps;
  std::vector<FactEvent> facts;

  AMP_OBSERVER_FUNCTIONS(AMP_OBSERVER_OVERRIDE)

 private:
  template <typename T>
  void keep(std::vector<T>& list, const T& value) noexcept;
  std::mutex mutex_;
};

}  // namespace amp::observe
