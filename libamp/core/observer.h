// How libamp announces what it did. An Observer listens; with none attached each announcement costs one branch.
// observe/ has the two observers there are: NVTX (for tools) and the in-process one (for programs and tests).
#pragma once
#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>

#include "libamp/base/event.h"
#include "libamp/core/context.h"

namespace amp {

/// Receives events in the thread in which they happen. Strings in events are StringIds. Implementations must not
/// throw and must not call libamp ops. Events of one thread come in order; threads may call at the same time.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void begin_op(const OpEvent& event) noexcept = 0;
  virtual void end_op(const OpEvent& event) noexcept = 0;
  virtual void begin_cast(const CastEvent& event) noexcept = 0;
  virtual void end_cast(const CastEvent& event) noexcept = 0;
  virtual void mark(const CastEvent& event) noexcept = 0;  ///< a cast served from the cache
  virtual void mark(const ScalerEvent& event) noexcept = 0;
  /// counts[i] elements have floor(log2|x|) == event.exponent_first + i
  virtual void mark(const TensorStatEvent& event, std::span<const std::uint64_t> counts) noexcept = 0;
  virtual void mark(const AllocEvent& event) noexcept = 0;
  virtual void mark(const FreeEvent& event) noexcept = 0;
  virtual void mark(const CauseEvent& event) noexcept = 0;
  virtual void mark(const StepEvent& event) noexcept = 0;
  virtual void mark(const FactEvent& event) noexcept = 0;
};

namespace observe {

/// The two places an observer can sit; each holds at most one.
enum class Slot { tool = 0, in_process = 1 };

/// Attaches an observer (null detaches) and returns the one that was there. The caller keeps ownership and must
/// keep it alive until no op runs in any thread after detaching. [any thread]
Observer* attach(Slot slot, Observer* observer) noexcept;

#if AMP_OBSERVE
extern std::atomic<int> observer_count;
/// Is anybody listening? The one branch that announcing costs when nobody is.
inline bool active() noexcept { return observer_count.load(std::memory_order_relaxed) != 0; }
#else
constexpr bool active() noexcept { return false; }
#endif

Observer* attached(Slot slot) noexcept;

/// Calls f(observer) for each attached observer.
template <typename F>
void notify(F&& f) {
  for (const Slot slot : {Slot::tool, Slot::in_process})
    if (Observer* observer = attached(slot)) f(*observer);
}

/// Interns a string; equal strings have equal ids. Never freed: meant for names, of which there are few. [any thread]
StringId intern(std::string_view text);
/// The string of an id, "" for 0 or an unknown id. Valid until the program ends. [any thread]
const char* text(StringId id) noexcept;

/// Looks for a profiling tool in the environment and attaches to it. Called once, at start.
/// Defined in observe/attach.cpp, the one place that names the observers.
void attach_tools();

}  // namespace observe
}  // namespace amp
