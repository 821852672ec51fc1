// The one function that captures, see ambient.h.
#include "libamp/core/ambient.h"

#include <atomic>

namespace amp::ambient {
namespace {
std::atomic<Capture> current{nullptr};
}

void set_capture(Capture capture) noexcept { current = capture; }

Enter capture() {
  const Capture capture = current;
  return capture != nullptr ? capture() : Enter();
}

}  // namespace amp::ambient
