// The inferred step counter.
#include "libamp/core/step_clock.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <mutex>

#include "libamp/core/observer.h"

namespace amp::step_clock {
namespace {

struct Clock {
  std::mutex mutex;
  std::uint32_t next = 0;
  bool manual = false;
  std::uint32_t every = 0;  // 0: no statistics
  std::uint32_t window_begin = 0, window_end = std::numeric_limits<std::uint32_t>::max();
  // Read without the lock on every op.
  std::atomic<std::uint32_t> current{kNoStep};
  std::atomic<bool> sampled{false}, recorded{true}, optimizer_done{false};

  Clock() {
    if (const char* text = std::getenv("AMP_STATS")) parse_sampling(text);
    if (const char* text = std::getenv("AMP_STEPS")) parse_window(text);
    recorded = window_begin == 0;
  }

  bool parse_sampling(const char* text) {
    if (std::strcmp(text, "off") == 0) {
      every = 0;
      return true;
    }
    constexpr char kPrefix[] = "every=";
    if (std::strncmp(text, kPrefix, sizeof(kPrefix) - 1) != 0) return false;
    char* end = nullptr;
    const unsigned long n = std::strtoul(text + sizeof(kPrefix) - 1, &end, 10);
    if (end == text + sizeof(kPrefix) - 1 || *end != 0 || n == 0 || n >= kNoStep) return false;
    every = static_cast<std::uint32_t>(n);
    return true;
  }

  bool parse_window(const char* text) {
    char* end = nullptr;
    const unsigned long begin = std::strtoul(text, &end, 10);
    if (end == text || *end != ':') return false;
    const char* rest = end + 1;
    const unsigned long stop = std::strtoul(rest, &end, 10);
    if (end == rest || *end != 0 || stop <= begin || stop >= kNoStep) return false;
    window_begin = static_cast<std::uint32_t>(begin);
    window_end = static_cast<std::uint32_t>(stop);
    return true;
  }

  void announce(std::uint32_t step, bool end) {
    StepEvent event;
    event.step = step;
    event.end = end ? 1 : 0;
    event.sampled = sampled ? 1 : 0;
    observe::notify([&](Observer& o) { o.mark(event); });
  }

  void end_current() {
    if (current != kNoStep) announce(current, true);
    current = kNoStep;
    sampled = false;
    optimizer_done = false;
  }

  void begin_next() {
    const std::uint32_t step = next++;
    const bool inside = step >= window_begin && step < window_end;
    recorded = inside;
    sampled = inside && every != 0 && (step - window_begin) % every == 0;
    current = step;
    announce(step, false);
  }
};

Clock& clock() {
  static auto* instance = new Clock;  // leaked: threads may still ask while statics die
  return *instance;
}

}  // namespace

std::uint32_t current() noexcept { return clock().current.load(std::memory_order_relaxed); }
bool sampled() noexcept { return clock().sampled.load(std::memory_order_relaxed); }
bool recorded() noexcept { return clock().recorded.load(std::memory_order_relaxed); }

void note_forward_op(bool records_gradient) {
  auto& c = clock();
  const bool running = c.current.load(std::memory_order_relaxed) != kNoStep;
  if (running && !c.optimizer_done.load(std::memory_order_relaxed)) return;
  if (!running && !records_gradient) return;
  const std::lock_guard lock(c.mutex);
  if (c.manual) return;
  if (c.optimizer_done) c.end_current();
  if (records_gradient && c.current == kNoStep) c.begin_next();
}

void note_optimizer_step() {
  auto& c = clock();
  if (c.current.load(std::memory_order_relaxed) != kNoStep) c.optimizer_done = true;
}

void mark_step() {
  if (!observe::active()) return;
  auto& c = clock();
  const std::lock_guard lock(c.mutex);
  c.manual = true;
  c.end_current();
  c.begin_next();
}

bool set_sampling(const char* text) {
  auto& c = clock();
  const std::lock_guard lock(c.mutex);
  return c.parse_sampling(text);
}
bool set_window(const char* text) {
  auto& c = clock();
  const std::lock_guard lock(c.mutex);
  if (!c.parse_window(text)) return false;
  c.recorded = c.window_begin == 0;
  return true;
}
void reset() {
  auto& c = clock();
  const std::lock_guard lock(c.mutex);
  c.next = 0;
  c.manual = false;
  c.current = kNoStep;
  c.sampled = false;
  c.optimizer_done = false;
  c.recorded = c.window_begin == 0;
}

}  // namespace amp::step_clock
