// What `ampprof run` itself adds to a capture: the begin and the end of the target.
#pragma once
#include <string>
#include <vector>

#include "profiler/capture/block.h"
#include "profiler/capture/capture_file.h"

namespace ampprof::capture {

struct RunBegin {
  std::vector<std::string> command;
  std::uint32_t stats_every = 0, steps_first = 0, steps_end = 0;
  struct SourceNote {
    Source source = Source::none;
    SourceState state = SourceState::none;
    std::string reason;
  };
  std::vector<SourceNote> sources;
};

/// Writes as a process of its own, one block for the begin and one for the end. False: not written, errno says why.
class RunRecord {
 public:
  explicit RunRecord(std::string path) : path_(std::move(path)) {}
  bool begin(const RunBegin& run);
  bool end(const TargetEndRecord& record);

 private:
  bool append(std::string_view payload);

  std::string path_;
  CaptureFile file_;
  std::uint64_t uid_ = make_process_uid();
  std::uint32_t sequence_ = 0;
};

}  // namespace ampprof::capture
