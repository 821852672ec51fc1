// The timeline: what a run did, in the form every analysis asks its questions of. Built by TimelineBuilder, from a
// capture (from_capture.h) or by hand in tests; immutable afterwards. Times are nanoseconds on one clock of the
// machine.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "libamp/base/event.h"
#include "profiler/timeline/string_table.h"

namespace ampprof::timeline {

inline constexpr std::uint32_t kNone = 0xffffffffu;

struct Process {
  std::uint32_t pid = 0, parent_pid = 0;
  std::vector<std::string> command;
  std::int64_t start_ns = 0, end_ns = 0;  ///< first and last time seen
  bool ended = false;                     ///< its end was recorded
  bool has_libamp = false;                ///< at least one event of the domain "amp" came from it
};

/// A lane on which slices nest: the ranges of one NVTX domain on one thread. Domains nest independently of each other.
struct Track {
  std::uint32_t process = 0;  ///< index into processes
  std::uint64_t tid = 0;
  std::string domain;  ///< "amp" for libamp's ops and casts
  std::string thread_name;
};

/// Everything about an op call except when it ran; calls that repeat share one row.
struct OpKind {
  amp::OpEvent event;  ///< step and string handles are 0
  StringId name, module;
};
struct CastKind {
  amp::CastEvent event;  ///< step and string handles are 0
  StringId cause, module;
};
/// A range of some other NVTX domain, by its message.
struct RangeKind {
  StringId name;
};

enum class SliceKind : std::uint8_t { op, cast, range };

struct Slice {
  std::int64_t start_ns = 0, end_ns = 0;
  std::uint32_t track = 0;
  std::uint32_t parent = kNone;  ///< index into slices
  std::uint32_t detail = 0;      ///< index into op_kinds, cast_kinds or range_kinds
  std::uint32_t step = amp::kNoStep;
  std::uint16_t depth = 0;
  SliceKind kind = SliceKind::op;
  bool unclosed = false;  ///< had no end in the capture; closed at the last time its process was seen

  [[nodiscard]] std::int64_t dur_ns() const noexcept { return end_ns - start_ns; }
};

/// An arrow between two slices: from a cast to the op that caused it and runs right after it.
struct Link {
  std::uint32_t from = 0, to = 0;  ///< indices into slices
};

/// A range that was started and ended by id rather than pushed and popped; may overlap anything.
struct OverlapRange {
  std::uint32_t process = 0;
  StringId domain, name;
  std::int64_t start_ns = 0, end_ns = 0;
  bool unclosed = false;
};
struct Mark {
  std::uint32_t process = 0;
  std::uint64_t tid = 0;
  StringId domain, name;
  std::int64_t time_ns = 0;
};

struct Step {
  std::uint32_t process = 0, track = 0;
  std::uint32_t step = 0;
  std::int64_t start_ns = 0, end_ns = 0;
  bool sampled = false;
  bool unclosed = false;
};

struct ScalerRecord {
  std::uint32_t process = 0;
  std::int64_t time_ns = 0;
  amp::ScalerEvent event;
  StringId first_nonfinite;
};

struct TensorStat {
  std::uint32_t process = 0;
  std::int64_t time_ns = 0;
  amp::TensorStatEvent event;
  StringId name;
  std::vector<std::uint64_t> counts;  ///< counts[i]: elements with floor(log2|x|) == event.exponent_first + i
};

enum class MemoryAction : std::uint8_t { alloc, free, cause };
struct MemoryRecord {
  std::int64_t time_ns = 0;
  std::uint32_t process = 0;
  MemoryAction action = MemoryAction::alloc;
  amp::AllocEvent event;  ///< free uses `allocation` only, cause `allocation` and `cause`
};

/// How the command that was run ended, written by `ampprof run` after it.
struct TargetEnd {
  int exit_code = 0;  ///< 128 + n after signal n
  int signal = 0;     ///< 0: none
  std::uint64_t wall_ns = 0;
};

struct Timeline {
  StringTable strings;
  std::vector<Process> processes;
  std::vector<Track> tracks;
  std::vector<OpKind> op_kinds;
  std::vector<CastKind> cast_kinds;
  std::vector<RangeKind> range_kinds;
  std::vector<Slice> slices;  ///< a parent before its children; on one track in order of start
  std::vector<Link> links;
  std::vector<OverlapRange> overlap_ranges;
  std::vector<Mark> marks;
  std::vector<Step> steps;
  std::vector<ScalerRecord> scaler;  ///< in order of time
  std::vector<TensorStat> tensors;   ///< in order of time
  std::vector<MemoryRecord> memory;  ///< in order of time
  std::map<std::string, std::string> facts;
  std::map<std::string, std::uint64_t> losses;  ///< what was lost, by kind
  std::vector<std::string> notes;               ///< what the reader must know, as sentences
  std::vector<std::string> command;             ///< of the run
  std::string host;
  std::optional<TargetEnd> target_end;
  std::int64_t start_ns = 0, end_ns = 0;
  std::uint64_t unclosed_ranges = 0;

  [[nodiscard]] bool has_libamp() const noexcept {
    for (const Process& p : processes)
      if (p.has_libamp) return true;
    return false;
  }
};

}  // namespace ampprof::timeline
