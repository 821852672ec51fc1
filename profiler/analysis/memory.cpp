// See memory.h. Two passes: the first finds the last cause each allocation was given (what it is for often becomes
// known only later, as when a tensor becomes a parameter), the second replays in order of time.
#include "profiler/analysis/memory.h"

#include <algorithm>
#include <unordered_map>

namespace ampprof::analysis {
namespace {

using timeline::MemoryAction;
using timeline::MemoryRecord;

struct Id {
  std::uint32_t process = 0;
  std::uint64_t allocation = 0;
  friend bool operator==(const Id&, const Id&) = default;
};
struct IdHash {
  std::size_t operator()(const Id& id) const noexcept {
    return std::hash<std::uint64_t>()(id.allocation * 0x9e3779b97f4a7c15ull + id.process);
  }
};

std::size_t cause_index(std::uint8_t cause) { return cause < kCauseCount ? cause : 0; }

/// Keeps the largest of both values in each stretch of time, so that thinning never hides a peak.
class PointLog {
 public:
  explicit PointLog(std::size_t changes) : stretch_((changes + kMaxMemoryPoints - 1) / kMaxMemoryPoints) {}
  void add(const MemoryPoint& point) {
    if (filled_ == 0) {
      current_ = point;
    } else {
      current_.bytes = std::max(current_.bytes, point.bytes);
      current_.bytes_if_fp32 = std::max(current_.bytes_if_fp32, point.bytes_if_fp32);
    }
    if (++filled_ >= stretch_) flush();
  }
  void flush() {
    if (filled_ != 0) points_.push_back(current_);
    filled_ = 0;
  }
  std::vector<MemoryPoint> take() {
    flush();
    return std::move(points_);
  }

 private:
  std::size_t stretch_, filled_ = 0;
  MemoryPoint current_;
  std::vector<MemoryPoint> points_;
};

class Replay {
 public:
  explicit Replay(const timeline::Timeline& timeline) : timeline_(timeline), log_(timeline.memory.size()) {}

  MemoryResult run() {
    for (const MemoryRecord& record : timeline_.memory)
      if (record.action == MemoryAction::cause)
        final_cause_[{record.process, record.event.allocation}] = record.event.cause;
    for (const MemoryRecord& record : timeline_.memory) {
      if (record.action == MemoryAction::alloc) {
        step_ = record.event.step;
        allocate(record);
      } else if (record.action == MemoryAction::free) {
        release(record);
      } else {
        continue;
      }
      note(record.time_ns);
    }
    result_.measured = result_.allocations != 0;
    result_.end_bytes = bytes_;
    result_.points = log_.take();
    return std::move(result_);
  }

 private:
  struct Allocation {
    std::uint64_t bytes = 0;
    std::size_t cause = 0;
    std::uint32_t group = 0;
  };
  /// Allocations that a float32 run would have as one.
  struct Group {
    std::uint64_t bytes = 0;
    std::size_t cause = 0;
    std::uint32_t members = 0;
  };

  void allocate(const MemoryRecord& record) {
    const amp::AllocEvent& e = record.event;
    const Id id{record.process, e.allocation};
    const auto relabelled = final_cause_.find(id);
    const std::size_t cause = cause_index(relabelled == final_cause_.end() ? e.cause : relabelled->second);
    const auto source = e.alias_of == 0 ? live_.end() : live_.find({record.process, e.alias_of});
    std::uint32_t group = static_cast<std::uint32_t>(groups_.size());
    if (source != live_.end()) {
      // A cast has no bytes of its own there, not even one that wrote out what was expanded: it would stay expanded.
      group = source->second.group;
    } else {
      groups_.push_back({e.bytes_if_fp32, cause, 0});
      fp32_by_cause_[cause] += e.bytes_if_fp32;
      fp32_bytes_ += e.bytes_if_fp32;
    }
    ++groups_[group].members;
    if (!live_.emplace(id, Allocation{e.bytes, cause, group}).second) {  // an identity is never reused: a lost free
      release(record);
      live_.emplace(id, Allocation{e.bytes, cause, group});
    }
    ++result_.allocations;
    bytes_ += e.bytes;
    by_cause_[cause] += e.bytes;
    result_.cause_peak[cause] = std::max(result_.cause_peak[cause], by_cause_[cause]);
  }

  void release(const MemoryRecord& record) {
    const auto it = live_.find({record.process, record.event.allocation});
    if (it == live_.end()) {
      ++result_.unknown_frees;
      return;
    }
    ++result_.frees;
    const Allocation freed = it->second;
    live_.erase(it);
    bytes_ -= freed.bytes;
    by_cause_[freed.cause] -= freed.bytes;
    Group& group = groups_[freed.group];
    if (--group.members != 0) return;
    fp32_bytes_ -= group.bytes;
    fp32_by_cause_[group.cause] -= group.bytes;
  }

  void note(std::int64_t time_ns) {
    if (bytes_ > result_.peak.bytes) result_.peak = {bytes_, time_ns, step_, by_cause_};
    if (fp32_bytes_ > result_.peak_if_fp32.bytes) result_.peak_if_fp32 = {fp32_bytes_, time_ns, step_, fp32_by_cause_};
    if (step_ != amp::kNoStep) {  // peaks come with allocations, and those know their step
      result_.in_steps = true;
      if (bytes_ > result_.step_peak.bytes) result_.step_peak = {bytes_, time_ns, step_, by_cause_};
      if (fp32_bytes_ > result_.step_peak_if_fp32.bytes)
        result_.step_peak_if_fp32 = {fp32_bytes_, time_ns, step_, fp32_by_cause_};
    }
    log_.add({time_ns, bytes_, fp32_bytes_});
  }

  const timeline::Timeline& timeline_;
  PointLog log_;
  MemoryResult result_;
  std::unordered_map<Id, std::uint8_t, IdHash> final_cause_;
  std::unordered_map<Id, Allocation, IdHash> live_;
  std::vector<Group> groups_;
  std::uint64_t bytes_ = 0, fp32_bytes_ = 0;
  CauseBytes by_cause_{}, fp32_by_cause_{};
  std::uint32_t step_ = amp::kNoStep;
};

}  // namespace

MemoryResult replay_memory(const timeline::Timeline& timeline) { return Replay(timeline).run(); }

}  // namespace ampprof::analysis
