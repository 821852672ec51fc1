// Name tables of record.h.
#include "profiler/capture/record.h"

namespace ampprof::capture {

std::string_view name(RecordKind kind) noexcept {
  switch (kind) {
    case RecordKind::none:
      return "none";
#define AMP_EVENT_BEGIN(Name, id, transport, text) \
  case RecordKind::Name:                           \
    return #Name;
#define AMP_FIELD(type, name, text)
#define AMP_ARRAY(type, name, length, text)
#define AMP_EVENT_END(Name)
#include "libamp/base/events.def"
#define AMPPROF_RECORD_BEGIN(Name, id, text) \
  case RecordKind::Name:                     \
    return #Name;
#define AMPPROF_FIELD(type, name, text)
#define AMPPROF_RECORD_END(Name)
#include "profiler/capture/record.def"
  }
  return "?";
}

std::string_view name(LossReason reason) noexcept {
  switch (reason) {
    case LossReason::none:
      return "none";
    case LossReason::write_failed:
      return "the capture could not be written";
    case LossReason::reentrant:
      return "recorded from a signal handler that interrupted the recorder";
    case LossReason::too_many_threads:
      return "more threads at once than the recorder has buffers for";
    case LossReason::callback_failed:
      return "the recorder failed inside a callback";
    case LossReason::oversized:
      return "longer than a record may be";
    case LossReason::bad_payload:
      return "a payload of an unknown schema or of an impossible size";
    case LossReason::count_:
      break;
  }
  return "?";
}

std::string_view name(Source source) noexcept {
  switch (source) {
    case Source::none:
      return "none";
    case Source::nvtx:
      return "NVTX";
    case Source::cupti:
      return "CUPTI";
    case Source::pm_sampling:
      return "PM sampling";
    case Source::count_:
      break;
  }
  return "?";
}

std::string_view name(SourceState state) noexcept {
  switch (state) {
    case SourceState::none:
      return "none";
    case SourceState::recording:
      return "recording";
    case SourceState::not_in_this_version:
      return "not in this version";
    case SourceState::taken_by_other_tool:
      return "taken by another tool";
    case SourceState::failed:
      return "failed";
    case SourceState::count_:
      break;
  }
  return "?";
}

}  // namespace ampprof::capture
