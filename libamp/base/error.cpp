// The throwing half of error.h, out of line so that the hot paths stay small.
#include "libamp/base/error.h"

namespace amp {

void fail(ErrorCode code, std::string_view where, std::string_view message) {
  std::string text;
  text.reserve(where.size() + message.size() + 3);
  text.append("[").append(where).append("] ").append(message);
  throw Error(code, text);
}

}  // namespace amp
