// Slots of the attached observers, the string table, and the thread context.
#include "libamp/core/observer.h"

#include <deque>
#include <mutex>
#include <string>
#include <unordered_map>

namespace amp {

Context& context() noexcept {
  thread_local Context current;
  return current;
}

namespace observe {
namespace {

std::atomic<Observer*> slots[2];

struct StringTable {
  std::mutex mutex;
  std::deque<std::string> strings;  // a deque: growing never moves the strings that text() handed out
  std::unordered_map<std::string_view, StringId> ids;
};
StringTable& table() {
  static auto* strings = new StringTable;  // leaked on purpose: threads may still announce while statics die
  return *strings;
}

}  // namespace

#if AMP_OBSERVE
std::atomic<int> observer_count{0};
namespace {
[[maybe_unused]] const bool attached_at_start = (attach_tools(), true);
}
#endif

Observer* attach(Slot slot, Observer* observer) noexcept {
  Observer* before = slots[static_cast<int>(slot)].exchange(observer);
#if AMP_OBSERVE
  observer_count.fetch_add((observer != nullptr ? 1 : 0) - (before != nullptr ? 1 : 0));
#endif
  return before;
}

Observer* attached(Slot slot) noexcept { return slots[static_cast<int>(slot)].load(std::memory_order_acquire); }

StringId intern(std::string_view wanted) {
  auto& t = table();
  const std::lock_guard lock(t.mutex);
  if (const auto found = t.ids.find(wanted); found != t.ids.end()) return found->second;
  t.strings.emplace_back(wanted);
  const StringId id = t.strings.size();
  t.ids.emplace(t.strings.back(), id);
  return id;
}

const char* text(StringId id) noexcept {
  auto& t = table();
  const std::lock_guard lock(t.mutex);
  return id == 0 || id > t.strings.size() ? "" : t.strings[id - 1].c_str();
}

}  // namespace observe
}  // namespace amp
