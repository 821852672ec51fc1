// The one place that knows which backends this build has.
#include "libamp/backend/cpu/table.h"
#include "libamp/dispatch/backend.h"

namespace amp {

const Backend& backend(DeviceType device, std::string_view where) {
  require_available(device, where);
  return cpu::table();
}

}  // namespace amp
