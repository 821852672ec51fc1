// The one place that names the observers: attaches NVTX if a tool injected itself into this process.
#include "libamp/core/observer.h"
#include "libamp/core/thread_pool.h"
#if __has_include("libamp/observe/nvtx_observer.h")
#include "libamp/observe/nvtx_observer.h"
#endif

namespace amp::observe {
namespace {

[[maybe_unused]] void state_fact(Observer& observer, const char* key, const std::string& value) {
  FactEvent event;
  event.key = intern(key);
  event.value = intern(value);
  observer.mark(event);
}

}  // namespace

void attach_tools() {
#if __has_include("libamp/observe/nvtx_observer.h")
  static NvtxObserver* const observer = NvtxObserver::create().release();  // lives as long as the process
  if (observer == nullptr) return;
  attach(Slot::tool, observer);
  state_fact(*observer, "libamp.event_version", std::to_string(kEventVersion));
  state_fact(*observer, "libamp.threads", std::to_string(num_threads()));
#endif
}

}  // namespace amp::observe
