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

  struct Stat {
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

  void begin_op(const OpEvent& event) noexcept override;
  void end_op(const OpEvent& event) noexcept override;
  void begin_cast(const CastEvent& event) noexcept override;
  void end_cast(const CastEvent& event) noexcept override;
  void mark(const CastEvent& event) noexcept override;
  void mark(const ScalerEvent& event) noexcept override;
  void mark(const TensorStatEvent& event, std::span<const std::uint64_t> counts) noexcept override;
  void mark(const AllocEvent& event) noexcept override;
  void mark(const FreeEvent& event) noexcept override;
  void mark(const CauseEvent& event) noexcept override;
  void mark(const StepEvent& event) noexcept override;
  void mark(const FactEvent& event) noexcept override;

 private:
  template <typename T>
  void keep(std::vector<T>& list, const T& value) noexcept;
  std::mutex mutex_;
};

}  // namespace amp::observe
