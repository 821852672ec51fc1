// The thread's gradient mode.
#include "libamp/core/grad_mode.h"

namespace amp {

GradMode& grad_mode() noexcept {
  thread_local GradMode mode;
  return mode;
}

}  // namespace amp
