// The blocks of `ampprof run`.
#include "profiler/capture/run_record.h"

#include <unistd.h>

namespace ampprof::capture {

bool RunRecord::begin(const RunBegin& run) {
  std::string command;
  for (std::size_t i = 0; i < run.command.size(); ++i) {
    if (i > 0) command += '\0';
    command += run.command[i];
  }
  command.resize(std::min(command.size(), kMaxTextBytes));
  TargetBeginRecord record;
  record.text_bytes = static_cast<std::uint32_t>(command.size());
  record.stats_every = run.stats_every;
  record.realtime_offset_ns = realtime_offset_ns();
  record.steps_first = run.steps_first;
  record.steps_end = run.steps_end;
  std::string payload;
  append_record(payload, record, monotonic_ns(), command);
  for (const auto& note : run.sources) {
    SourceRecord source;
    source.source = static_cast<std::uint32_t>(note.source);
    source.state = static_cast<std::uint32_t>(note.state);
    const std::string_view reason = std::string_view(note.reason).substr(0, kMaxTextBytes);
    source.text_bytes = static_cast<std::uint32_t>(reason.size());
    append_record(payload, source, monotonic_ns(), reason);
  }
  return file_.open(path_) && append(payload);
}

bool RunRecord::end(const TargetEndRecord& record) {
  std::string payload;
  append_record(payload, record, monotonic_ns());
  return append(payload);
}

bool RunRecord::append(std::string_view payload) {
  BlockHeader header{};
  header.process_uid = uid_;
  header.pid = static_cast<std::uint32_t>(::getpid());
  header.sequence = sequence_;
  header.written_ns = monotonic_ns();
  if (file_.append(header, std::as_bytes(std::span(payload))) == CaptureFile::Outcome::failed) return false;
  ++sequence_;
  return true;
}

}  // namespace ampprof::capture
