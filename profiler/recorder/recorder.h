// The one recorder of a process: the writer, and what its NVTX callbacks share. Injected by NVTX_INJECTION64_PATH; it
// must never hurt the program it watches, so every way in goes through guarded().
#pragma once
#include <atomic>
#include <string>

#include "profiler/capture/writer.h"

namespace ampprof::recorder {

/// Environment variables the recorder reads.
inline constexpr char kCaptureVariable[] = "AMPPROF_CAPTURE";   ///< path of the capture
inline constexpr char kFaultVariable[] = "AMPPROF_TEST_FAULT";  ///< "callback:N": the Nth callback fails (tests)

class Recorder {
 public:
  explicit Recorder(std::string capture_path);

  capture::Writer writer;
  std::atomic<std::uint64_t> next_range{1};
  std::atomic<std::uint64_t> callbacks{0};
  std::uint64_t failing_callback = 0;  ///< 0: none
};

/// The recorder of this process; null before start() or where it failed.
Recorder* active() noexcept;

/// Makes and starts the recorder at the first call. False where that failed: one line on standard error says why.
bool start() noexcept;

/// The planted fault of AMPPROF_TEST_FAULT: fails as a container of the standard library would.
void fail_if_planted(Recorder& recorder);

/// Runs one callback's body. An exception must not leave: the caller is C, or code built without exceptions; it is
/// counted as a lost record of `kind`.
template <class R, class Body>
R guarded(capture::RecordKind kind, R fallback, Body&& body) noexcept {
  Recorder* recorder = active();
  if (recorder == nullptr) return fallback;
  try {
    if (recorder->failing_callback != 0) fail_if_planted(*recorder);
    return body(*recorder);
  } catch (...) {
    recorder->writer.count_loss(kind, capture::LossReason::callback_failed);
    return fallback;
  }
}
template <class Body>
void guarded(capture::RecordKind kind, Body&& body) noexcept {
  guarded(kind, 0, [&](Recorder& recorder) {
    body(recorder);
    return 0;
  });
}

}  // namespace ampprof::recorder
