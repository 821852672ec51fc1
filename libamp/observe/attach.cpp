// The one place that names the observers: attaches NVTX if a tool injected itself into this process.
#include <unistd.h>

#include <string>

#include "libamp/core/observer.h"
#include "libamp/core/thread_pool.h"
#include "libamp/observe/nvtx_observer.h"

namespace amp::observe {
namespace {

void state_fact(Observer& observer, const char* key, const std::string& value) {
  FactEvent event;
  event.key = intern(key);
  event.value = intern(value);
  observer.mark(event);
}

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "";
}

}  // namespace

void attach_tools() {
  static NvtxObserver* const observer = NvtxObserver::create().release();  // lives as long as the process
  if (observer == nullptr) return;
  attach(Slot::tool, observer);
  if (const std::string host = host_name(); !host.empty()) state_fact(*observer, "host", host);
  state_fact(*observer, "libamp.event_version", std::to_string(kEventVersion));
  state_fact(*observer, "libamp.threads", std::to_string(num_threads()));
}

}  // namespace amp::observe
