// See builder.h.
#include "profiler/timeline/builder.h"

#include <algorithm>
#include <cstring>

namespace ampprof::timeline {
namespace {

/// An op has at most a few inputs; casts that no op claims must not pile up.
constexpr std::size_t kMaxWaitingCasts = 64;

template <typename... Parts>
std::string key_of(const Parts&... parts) {
  std::string key;
  (key.append(reinterpret_cast<const char*>(&parts), sizeof(parts)), ...);
  return key;
}

}  // namespace

TimelineBuilder::TimelineBuilder() = default;

std::uint32_t TimelineBuilder::add_process(Process process) {
  timeline_.processes.push_back(std::move(process));
  const auto index = static_cast<std::uint32_t>(timeline_.processes.size() - 1);
  Process& added = timeline_.processes.back();
  if (added.start_ns != 0) see(index, added.start_ns);
  return index;
}

std::uint32_t TimelineBuilder::track(std::uint32_t process, std::uint64_t tid, std::string_view domain) {
  std::string key = key_of(process, tid);
  key += domain;
  const auto [it, fresh] = tracks_.try_emplace(std::move(key), static_cast<std::uint32_t>(timeline_.tracks.size()));
  if (fresh) {
    timeline_.tracks.push_back({process, tid, std::string(domain), {}});
    state_.emplace_back();
  }
  return it->second;
}

void TimelineBuilder::name_thread(std::uint32_t process, std::uint64_t tid, std::string_view name) {
  thread_names_[key_of(process, tid)] = name;
}

void TimelineBuilder::see(std::uint32_t process, std::int64_t time_ns) {
  Process& p = timeline_.processes[process];
  if (p.start_ns == 0 || time_ns < p.start_ns) p.start_ns = time_ns;
  p.end_ns = std::max(p.end_ns, time_ns);
  timeline_.start_ns = seen_any_ ? std::min(timeline_.start_ns, time_ns) : time_ns;
  timeline_.end_ns = seen_any_ ? std::max(timeline_.end_ns, time_ns) : time_ns;
  seen_any_ = true;
}

std::int64_t TimelineBuilder::hold(std::uint32_t track, std::int64_t time_ns) {
  OpenTrack& state = state_[track];
  if (time_ns < state.last_ns) {
    lose("times that ran backwards");
    time_ns = state.last_ns;
  }
  state.last_ns = time_ns;
  see(timeline_.tracks[track].process, time_ns);
  return time_ns;
}

std::int64_t TimelineBuilder::libamp_at(std::uint32_t track, std::int64_t time_ns) {
  timeline_.processes[timeline_.tracks[track].process].has_libamp = true;
  return hold(track, time_ns);
}

void TimelineBuilder::push(std::uint32_t track, std::int64_t time_ns, SliceKind kind, std::uint32_t detail,
                           std::uint32_t step) {
  OpenTrack& state = state_[track];
  Slice slice;
  slice.start_ns = slice.end_ns = time_ns;
  slice.track = track;
  slice.parent = state.open.empty() ? kNone : state.open.back();
  slice.depth = static_cast<std::uint16_t>(std::min<std::size_t>(state.open.size(), 0xffff));
  slice.detail = detail;
  slice.step = step;
  slice.kind = kind;
  state.open.push_back(static_cast<std::uint32_t>(timeline_.slices.size()));
  timeline_.slices.push_back(slice);
}

void TimelineBuilder::begin_op(std::uint32_t track, std::int64_t time_ns, const amp::OpEvent& event,
                               std::string_view name, std::string_view module) {
  time_ns = libamp_at(track, time_ns);
  OpKind kind{event, timeline_.strings.intern(name), timeline_.strings.intern(module)};
  kind.event.step = 0;
  kind.event.op_name = kind.event.module_path = 0;
  std::string key = key_of('o', kind.name, kind.module, kind.event);
  const auto [it, fresh] = kinds_.try_emplace(std::move(key), static_cast<std::uint32_t>(timeline_.op_kinds.size()));
  if (fresh) timeline_.op_kinds.push_back(kind);
  push(track, time_ns, SliceKind::op, it->second, event.step);
  // An op's casts run just before it and beside it; whatever else waits was caused by something not recorded.
  const auto op = static_cast<std::uint32_t>(timeline_.slices.size() - 1);
  for (const std::uint32_t cast : state_[track].casts)
    if (timeline_.slices[cast].parent == timeline_.slices[op].parent &&
        timeline_.cast_kinds[timeline_.slices[cast].detail].cause == kind.name)
      timeline_.links.push_back({cast, op});
  state_[track].casts.clear();
}

void TimelineBuilder::begin_cast(std::uint32_t track, std::int64_t time_ns, const amp::CastEvent& event,
                                 std::string_view cause, std::string_view module) {
  time_ns = libamp_at(track, time_ns);
  CastKind kind{event, timeline_.strings.intern(cause), timeline_.strings.intern(module)};
  kind.event.step = 0;
  kind.event.cause_name = kind.event.module_path = 0;
  std::string key = key_of('c', kind.cause, kind.module, kind.event);
  const auto [it, fresh] = kinds_.try_emplace(std::move(key), static_cast<std::uint32_t>(timeline_.cast_kinds.size()));
  if (fresh) timeline_.cast_kinds.push_back(kind);
  push(track, time_ns, SliceKind::cast, it->second, event.step);
  if (event.cached != 0)
    state_[track].open.pop_back();
  else if (state_[track].casts.size() < kMaxWaitingCasts)
    state_[track].casts.push_back(static_cast<std::uint32_t>(timeline_.slices.size() - 1));
}

void TimelineBuilder::begin_range(std::uint32_t track, std::int64_t time_ns, std::string_view name) {
  time_ns = hold(track, time_ns);
  const StringId id = timeline_.strings.intern(name);
  const auto [it, fresh] =
      kinds_.try_emplace(key_of('r', id), static_cast<std::uint32_t>(timeline_.range_kinds.size()));
  if (fresh) timeline_.range_kinds.push_back({id});
  push(track, time_ns, SliceKind::range, it->second, amp::kNoStep);
}

void TimelineBuilder::end(std::uint32_t track, std::int64_t time_ns) {
  time_ns = hold(track, time_ns);
  OpenTrack& state = state_[track];
  if (state.open.empty()) {
    lose("range ends without a begin");
    return;
  }
  timeline_.slices[state.open.back()].end_ns = time_ns;
  state.open.pop_back();
}

void TimelineBuilder::start_overlap_range(std::uint32_t process, std::uint64_t id, std::int64_t time_ns,
                                          std::string_view domain, std::string_view name) {
  see(process, time_ns);
  OverlapRange range{process, timeline_.strings.intern(domain), timeline_.strings.intern(name), time_ns, time_ns, true};
  const std::string key = key_of(process, id);
  if (const auto early = early_ends_.find(key); early != early_ends_.end()) {
    range.end_ns = std::max(time_ns, early->second);
    range.unclosed = false;
    early_ends_.erase(early);
  } else {
    overlapping_[key] = static_cast<std::uint32_t>(timeline_.overlap_ranges.size());
  }
  timeline_.overlap_ranges.push_back(range);
}

void TimelineBuilder::end_overlap_range(std::uint32_t process, std::uint64_t id, std::int64_t time_ns) {
  see(process, time_ns);
  const auto it = overlapping_.find(key_of(process, id));
  if (it == overlapping_.end()) {  // threads come block by block: its start may still follow
    early_ends_[key_of(process, id)] = time_ns;
    return;
  }
  OverlapRange& range = timeline_.overlap_ranges[it->second];
  range.end_ns = std::max(range.start_ns, time_ns);
  range.unclosed = false;
  overlapping_.erase(it);
}

void TimelineBuilder::mark(std::uint32_t process, std::uint64_t tid, std::int64_t time_ns, std::string_view domain,
                           std::string_view name) {
  see(process, time_ns);
  timeline_.marks.push_back({process, tid, timeline_.strings.intern(domain), timeline_.strings.intern(name), time_ns});
}

void TimelineBuilder::step(std::uint32_t track, std::int64_t time_ns, const amp::StepEvent& event) {
  time_ns = libamp_at(track, time_ns);
  OpenTrack& state = state_[track];
  if (state.open_step != kNone) {  // a step ends where it says so, or where the next one begins
    Step& open = timeline_.steps[state.open_step];
    open.end_ns = time_ns;
    open.sampled |= event.end != 0 && event.sampled != 0;
    open.unclosed = false;
    state.open_step = kNone;
  }
  if (event.end != 0) return;
  state.open_step = static_cast<std::uint32_t>(timeline_.steps.size());
  timeline_.steps.push_back(
      {timeline_.tracks[track].process, track, event.step, time_ns, time_ns, event.sampled != 0, true});
}

void TimelineBuilder::scaler(std::uint32_t track, std::int64_t time_ns, const amp::ScalerEvent& event,
                             std::string_view first_nonfinite) {
  time_ns = libamp_at(track, time_ns);
  timeline_.scaler.push_back(
      {timeline_.tracks[track].process, time_ns, event, timeline_.strings.intern(first_nonfinite)});
}

void TimelineBuilder::tensor(std::uint32_t track, std::int64_t time_ns, const amp::TensorStatEvent& event,
                             std::string_view name, std::span<const std::uint64_t> counts) {
  time_ns = libamp_at(track, time_ns);
  timeline_.tensors.push_back({timeline_.tracks[track].process, time_ns, event, timeline_.strings.intern(name),
                               std::vector<std::uint64_t>(counts.begin(), counts.end())});
}

void TimelineBuilder::memory(std::uint32_t track, std::int64_t time_ns, MemoryAction action,
                             const amp::AllocEvent& event) {
  time_ns = libamp_at(track, time_ns);
  timeline_.memory.push_back({time_ns, timeline_.tracks[track].process, action, event});
}

void TimelineBuilder::alloc(std::uint32_t track, std::int64_t time_ns, const amp::AllocEvent& event) {
  memory(track, time_ns, MemoryAction::alloc, event);
}

void TimelineBuilder::free(std::uint32_t track, std::int64_t time_ns, const amp::FreeEvent& event) {
  amp::AllocEvent which;
  which.allocation = event.allocation;
  memory(track, time_ns, MemoryAction::free, which);
}

void TimelineBuilder::cause(std::uint32_t track, std::int64_t time_ns, const amp::CauseEvent& event) {
  amp::AllocEvent which;
  which.allocation = event.allocation;
  which.cause = event.cause;
  memory(track, time_ns, MemoryAction::cause, which);
}

void TimelineBuilder::fact(std::uint32_t track, std::string_view key, std::string_view value) {
  timeline_.processes[timeline_.tracks[track].process].has_libamp = true;
  timeline_.facts[std::string(key)] = value;
}

void TimelineBuilder::lose(std::string_view kind, std::uint64_t count) {
  if (count != 0) timeline_.losses[std::string(kind)] += count;
}

Timeline TimelineBuilder::finish() {
  lose("range ends without a begin", early_ends_.size());
  for (std::uint32_t t = 0; t < state_.size(); ++t) {
    const std::int64_t last = timeline_.processes[timeline_.tracks[t].process].end_ns;
    for (const std::uint32_t index : state_[t].open) {
      timeline_.slices[index].end_ns = std::max(last, timeline_.slices[index].start_ns);
      timeline_.slices[index].unclosed = true;
      ++timeline_.unclosed_ranges;
    }
    if (state_[t].open_step != kNone) timeline_.steps[state_[t].open_step].end_ns = last;
    const auto it = thread_names_.find(key_of(timeline_.tracks[t].process, timeline_.tracks[t].tid));
    if (it != thread_names_.end()) timeline_.tracks[t].thread_name = it->second;
  }
  for (OverlapRange& range : timeline_.overlap_ranges) {
    if (!range.unclosed) continue;
    range.end_ns = std::max(range.start_ns, timeline_.processes[range.process].end_ns);
    ++timeline_.unclosed_ranges;
  }
  const auto by_time = [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; };
  std::stable_sort(timeline_.scaler.begin(), timeline_.scaler.end(), by_time);
  std::stable_sort(timeline_.tensors.begin(), timeline_.tensors.end(), by_time);
  std::stable_sort(timeline_.memory.begin(), timeline_.memory.end(), by_time);
  std::stable_sort(timeline_.marks.begin(), timeline_.marks.end(), by_time);
  return std::move(timeline_);
}

}  // namespace ampprof::timeline
