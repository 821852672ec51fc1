// Builds a Timeline from events in the order they were recorded. Pushes and pops become nested slices; what has no end
// is closed at the last time its process was seen; times that run backwards on a thread are held, and counted.
#pragma once
#include <span>
#include <string_view>
#include <unordered_map>

#include "profiler/timeline/timeline.h"

namespace ampprof::timeline {

class TimelineBuilder {
 public:
  TimelineBuilder();

  /// Adds a process and returns its index.
  std::uint32_t add_process(Process process);
  Process& process(std::uint32_t index) { return timeline_.processes[index]; }
  /// The track of a domain on a thread, made on first use. The domain of libamp's events is amp::kNvtxDomain.
  std::uint32_t track(std::uint32_t process, std::uint64_t tid, std::string_view domain = amp::kNvtxDomain);
  void name_thread(std::uint32_t process, std::uint64_t tid, std::string_view name);

  void begin_op(std::uint32_t track, std::int64_t time_ns, const amp::OpEvent& event, std::string_view name,
                std::string_view module);
  /// A cast served from the cache (event.cached) has no duration and no end; it is a slice of length 0.
  void begin_cast(std::uint32_t track, std::int64_t time_ns, const amp::CastEvent& event, std::string_view cause,
                  std::string_view module);
  void begin_range(std::uint32_t track, std::int64_t time_ns, std::string_view name);
  /// Ends the innermost open slice of the track; an end without a begin is counted as a loss.
  void end(std::uint32_t track, std::int64_t time_ns);

  void start_overlap_range(std::uint32_t process, std::uint64_t id, std::int64_t time_ns, std::string_view domain,
                           std::string_view name);
  void end_overlap_range(std::uint32_t process, std::uint64_t id, std::int64_t time_ns);
  void mark(std::uint32_t process, std::uint64_t tid, std::int64_t time_ns, std::string_view domain,
            std::string_view name);

  void step(std::uint32_t track, std::int64_t time_ns, const amp::StepEvent& event);
  void scaler(std::uint32_t track, std::int64_t time_ns, const amp::ScalerEvent& event,
              std::string_view first_nonfinite);
  void tensor(std::uint32_t track, std::int64_t time_ns, const amp::TensorStatEvent& event, std::string_view name,
              std::span<const std::uint64_t> counts);
  void alloc(std::uint32_t track, std::int64_t time_ns, const amp::AllocEvent& event);
  void free(std::uint32_t track, std::int64_t time_ns, const amp::FreeEvent& event);
  void cause(std::uint32_t track, std::int64_t time_ns, const amp::CauseEvent& event);
  void fact(std::uint32_t track, std::string_view key, std::string_view value);

  /// The process was alive at this time.
  void see(std::uint32_t process, std::int64_t time_ns);
  void lose(std::string_view kind, std::uint64_t count = 1);
  void note(std::string_view sentence) { timeline_.notes.emplace_back(sentence); }
  Timeline& timeline() { return timeline_; }

  /// Closes what is open, orders what must be ordered, and gives the timeline away.
  Timeline finish();

 private:
  struct OpenTrack {
    std::vector<std::uint32_t> open;   // indices of slices
    std::vector<std::uint32_t> casts;  // done, waiting for the op that caused them
    std::int64_t last_ns = 0;
    std::uint32_t open_step = kNone;
  };
  std::int64_t hold(std::uint32_t track, std::int64_t time_ns);
  void push(std::uint32_t track, std::int64_t time_ns, SliceKind kind, std::uint32_t detail, std::uint32_t step);
  std::int64_t libamp_at(std::uint32_t track, std::int64_t time_ns);
  void memory(std::uint32_t track, std::int64_t time_ns, MemoryAction action, const amp::AllocEvent& event);

  Timeline timeline_;
  std::vector<OpenTrack> state_;                                // by track
  std::unordered_map<std::string, std::uint32_t> tracks_;       // process, thread and domain -> track
  std::unordered_map<std::string, std::uint32_t> kinds_;        // bytes of an op, cast or range -> its row
  std::unordered_map<std::string, std::uint32_t> overlapping_;  // process and id -> overlap_ranges
  std::unordered_map<std::string, std::int64_t> early_ends_;    // ends that were read before their start
  std::unordered_map<std::string, std::string> thread_names_;
  bool seen_any_ = false;
};

}  // namespace ampprof::timeline
