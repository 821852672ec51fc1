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

// What an observer hears: the one list, from which the base and each observer declare their functions.
//   mark(CastEvent)        a cast served from the cache
//   mark(TensorStatEvent)  counts[i] elements have floor(log2|x|) == event.exponent_first + i
#define AMP_OBSERVER_FUNCTIONS(F)                                              \
  F(begin_op(const OpEvent& event))                                            \
  F(end_op(const OpEvent& event))                                              \
  F(begin_cast(const CastEvent& event))                                        \
  F(end_cast(const CastEvent& event))                                          \
  F(mark(const CastEvent& event))                                              \
  F(mark(const ScalerEvent& event))                                            \
  F(mark(const TensorStatEvent& event, std::span<const std::uint64_t> counts)) \
  F(mark(const AllocEvent& event))                                             \
  F(mark(const FreeEvent& event))                                              \
  F(mark(const CauseEvent& event))                                             \
  F(mark(const StepEvent& event))                                              \
  F(mark(const FactEvent& event))
#define AMP_OBSERVER_VIRTUAL(signature) virtual void signature noexcept = 0;
#define AMP_OBSERVER_OVERRIDE(signature) void signature noexcept override;

/// Receives events in the thread in which they happen. Strings in events are StringIds. Implementations must not
/// throw and must not call libamp ops. Events of one thread come in order; threads may call at the same time.
class Observer {
 public:
  virtual ~Observer() = default;
  AMP_OBSERVER_FUNCTIONS(AMP_OBSERVER_VIRTUAL)
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
