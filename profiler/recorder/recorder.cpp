// Starting the recorder once a process, and keeping up with fork and exit.
#include "profiler/recorder/recorder.h"

#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace ampprof::recorder {
namespace {

std::atomic<Recorder*> instance{nullptr};

// The only line the recorder ever prints. write(2): the program's stdio buffers are not ours to touch.
void say(const char* what, const char* detail) noexcept {
  char line[512];
  const int length = std::snprintf(line, sizeof line, "ampprof: nothing is recorded of process %d: %s%s\n",
                                   static_cast<int>(::getpid()), what, detail);
  if (length > 0) {
    const auto bytes =
        static_cast<std::size_t>(length) < sizeof line ? static_cast<std::size_t>(length) : sizeof line - 1;
    [[maybe_unused]] const ssize_t ignored = ::write(STDERR_FILENO, line, bytes);
  }
}

void make_recorder() noexcept try {
  const char* path = std::getenv(kCaptureVariable);
  if (path == nullptr || *path == '\0') return say(kCaptureVariable, " is not set");
  auto* recorder = new Recorder(path);  // never deleted: threads may record while the process ends
  if (!recorder->writer.start()) {
    char detail[256];
    std::snprintf(detail, sizeof detail, "cannot write %s: %s", path, std::strerror(errno));
    say(detail, "");
    return;
  }
  instance.store(recorder, std::memory_order_release);
  pthread_atfork(
      [] {
        if (auto* r = active()) r->writer.before_fork();
      },
      [] {
        if (auto* r = active()) r->writer.after_fork_in_parent();
      },
      [] {
        if (auto* r = active()) r->writer.after_fork_in_child();
      });
} catch (...) {
  say("out of memory", "");
}

// Runs in exit() after the program's own handlers. _exit, exec and signals skip it: that is what the flusher is for.
__attribute__((destructor)) void at_exit() {
  if (Recorder* recorder = active()) recorder->writer.end();
}

}  // namespace

Recorder::Recorder(std::string capture_path) : writer({std::move(capture_path)}) {
  constexpr char prefix[] = "callback:";
  const char* fault = std::getenv(kFaultVariable);
  if (fault != nullptr && std::strncmp(fault, prefix, sizeof prefix - 1) == 0)
    failing_callback = std::strtoull(fault + sizeof prefix - 1, nullptr, 10);
}

Recorder* active() noexcept { return instance.load(std::memory_order_acquire); }

bool start() noexcept {
  static const bool started = (make_recorder(), true);
  return started && active() != nullptr;
}

void fail_if_planted(Recorder& recorder) {
  if (recorder.callbacks.fetch_add(1) + 1 == recorder.failing_callback) static_cast<void>(std::string().at(1));
}

}  // namespace ampprof::recorder
