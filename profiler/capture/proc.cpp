// Reading /proc.
#include "profiler/capture/proc.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace ampprof::capture {

std::string process_command_line(std::size_t limit) {
  std::string text;
  const int saved_errno = errno;
  if (const int fd = ::open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC); fd >= 0) {
    text.resize(limit);
    std::size_t filled = 0;
    for (ssize_t got; filled < limit && (got = ::read(fd, text.data() + filled, limit - filled)) > 0;)
      filled += static_cast<std::size_t>(got);
    ::close(fd);
    text.resize(filled);
    while (!text.empty() && text.back() == '\0') text.pop_back();
  }
  errno = saved_errno;
  return text;
}

}  // namespace ampprof::capture
