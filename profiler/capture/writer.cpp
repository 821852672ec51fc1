// The hot path of recording (record, append, make_room), lanes coming and going, and fork. Flushing is in
// writer_flush.cpp.
#include "profiler/capture/writer.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

namespace ampprof::capture {
namespace {

std::atomic<std::uint64_t> writer_instances{0};

struct ThreadLane {
  std::uint64_t instance = 0;
  Lane* lane = nullptr;
};
thread_local ThreadLane thread_lane;

// A key rather than a thread_local with a destructor: it also runs for threads the program made without libstdc++, and
// lets a thread that records in another destructor have a lane again.
void leave_lane(void* lane) {
  thread_lane = {};
  static_cast<Lane*>(lane)->state.store(Lane::State::left, std::memory_order_release);
}
pthread_key_t lane_key() {
  static const pthread_key_t key = [] {
    pthread_key_t made = 0;
    pthread_key_create(&made, leave_lane);
    return made;
  }();
  return key;
}

std::uint32_t this_tid() noexcept { return static_cast<std::uint32_t>(::syscall(SYS_gettid)); }

}  // namespace

Writer::Writer(WriterOptions options)
    : options_(std::move(options)),
      instance_(writer_instances.fetch_add(1) + 1),
      uid_(make_process_uid()),
      pid_(::getpid()),
      next_handle_(kAmpDomain + 1) {
  StringRecord amp_domain;
  amp_domain.handle = kAmpDomain;
  keep(amp_domain, amp::kNvtxDomain);
  handles_.emplace(amp::kNvtxDomain, kAmpDomain);
}

Writer::~Writer() {
  stop_ = true;
  if (flusher_.load() == Flusher::running) pthread_join(flusher_thread_, nullptr);
  // This thread may live on; its key must not name a lane that is gone.
  if (thread_lane.instance == instance_) {
    pthread_setspecific(lane_key(), nullptr);
    thread_lane = {};
  }
}

bool Writer::start() noexcept {
  if (!file_.open(options_.path)) return false;
  flush_kept();
  return true;
}

void Writer::record(RecordKind kind, std::uint64_t time_ns, std::span<const std::byte> fixed,
                    std::span<const std::byte> tail) noexcept {
  if (tail.empty()) fixed = fixed.first(trimmed_bytes(fixed.data(), fixed.size()));
  if (fixed.size() + tail.size() > kMaxRecordPayloadBytes) {
    count_loss(kind, LossReason::oversized);
    return;
  }
  Lane* lane = this_lane(time_ns);
  if (lane == nullptr) {
    count_loss(kind, LossReason::too_many_threads);
    return;
  }
  if (!lane->enter()) {
    count_loss(kind, LossReason::reentrant);
    return;
  }
  append(*lane, kind, time_ns, fixed, tail);
  lane->leave();
}

void Writer::append(Lane& lane, RecordKind kind, std::uint64_t time_ns, std::span<const std::byte> fixed,
                    std::span<const std::byte> tail) noexcept {
  if (!lane.append(kind, time_ns, fixed, tail)) {
    make_room(lane);
    if (!lane.append(kind, time_ns, fixed, tail)) count_loss(kind, LossReason::oversized);
  }
  const Flusher flusher = flusher_.load(std::memory_order_relaxed);
  if (flusher == Flusher::none && options_.background) start_flusher();
  if (kind != RecordKind::StepEvent && flusher != Flusher::failed) return;
  const std::uint64_t oldest = lane.oldest_ns();
  const std::uint64_t limit = kind == RecordKind::StepEvent ? options_.step_flush_ns : options_.flush_interval_ns;
  if (oldest == 0 || time_ns < oldest + limit) return;
  const SignalsHeld held;  // a handler that jumps away would leave the lane locked for good
  if (!lane.try_lock()) return;
  if (kept_pending_.load(std::memory_order_relaxed)) flush_kept();
  flush_lane(lane);
  lane.unlock();
}

void Writer::make_room(Lane& lane) noexcept {
  const SignalsHeld held;
  if (kept_pending_.load(std::memory_order_relaxed)) flush_kept();
  lane.lock();
  flush_lane(lane);
  // Still full: the capture cannot be written. The newest records are kept, since they show how the run ends.
  if (lane.has_data()) lane.drop_all([this](RecordKind kind) { count_loss(kind, LossReason::write_failed); });
  lane.unlock();
}

Lane* Writer::this_lane(std::uint64_t time_ns) noexcept {
  if (thread_lane.instance == instance_) [[likely]]
    return thread_lane.lane;
  return acquire_lane(time_ns);
}

Lane* Writer::acquire_lane(std::uint64_t time_ns) noexcept {
  const SignalsHeld held;
  const std::lock_guard lock(lanes_mutex_);
  Lane* found = nullptr;
  const std::size_t count = lane_count_.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < count && found == nullptr; ++i) {
    Lane& lane = lanes_[i];
    if (lane.state.load(std::memory_order_acquire) == Lane::State::owned) continue;
    lane.lock();
    if (lane.has_data()) flush_lane(lane);
    if (!lane.has_data()) found = &lane;
    lane.unlock();
  }
  if (found == nullptr && count < kMaxLanes && lanes_[count].map()) {
    found = &lanes_[count];
    lane_count_.store(count + 1, std::memory_order_release);
  }
  if (found == nullptr) return nullptr;
  left_records_.fetch_add(found->records.exchange(0));
  found->ordinal = next_ordinal_++;
  found->tid = this_tid();
  found->sequence = 0;
  found->state.store(Lane::State::owned, std::memory_order_release);
  thread_lane = {instance_, found};
  pthread_setspecific(lane_key(), found);

  char thread_name[17] = {};
  ::prctl(PR_GET_NAME, thread_name);
  ThreadRecord thread;
  thread.tid = found->tid;
  thread.text_bytes = static_cast<std::uint32_t>(std::strlen(thread_name));
  found->append(ThreadRecord::kKind, time_ns, std::as_bytes(std::span(&thread, 1)),
                std::as_bytes(std::span(thread_name, thread.text_bytes)));
  return found;
}

// Losses
// ---------------------------------------------------------------------------------------------------------------

std::size_t Writer::kind_slot(RecordKind kind) noexcept {
  const auto value = static_cast<std::uint16_t>(kind);
  constexpr std::size_t half = kKindSlots / 2;
  if (value < half) return value;
  if (value >= kFirstOwnKind && value < kFirstOwnKind + half) return half + value - kFirstOwnKind;
  return 0;
}

RecordKind Writer::slot_kind(std::size_t slot) noexcept {
  constexpr std::size_t half = kKindSlots / 2;
  return static_cast<RecordKind>(slot < half ? slot : slot - half + kFirstOwnKind);
}

void Writer::count_loss(RecordKind kind, LossReason reason, std::uint64_t count) noexcept {
  lost_[kind_slot(kind)][static_cast<std::size_t>(reason)].fetch_add(count, std::memory_order_relaxed);
  losses_counted_.fetch_add(count, std::memory_order_relaxed);
  kept_pending_.store(true, std::memory_order_relaxed);
}

std::uint64_t Writer::lost(RecordKind kind, LossReason reason) const noexcept {
  return lost_[kind_slot(kind)][static_cast<std::size_t>(reason)].load();
}

std::string_view Writer::cut(RecordKind kind, std::string_view text) noexcept {
  if (text.size() <= kMaxTextBytes) return text;
  count_loss(kind, LossReason::oversized);
  return text.substr(0, kMaxTextBytes);
}

// Kept records
// ---------------------------------------------------------------------------------------------------------

std::uint64_t Writer::add_string(std::string_view text) noexcept try {
  const SignalsHeld held;
  std::unique_lock lock(kept_mutex_);
  std::string bounded(cut(RecordKind::StringRecord, text));
  if (const auto found = handles_.find(bounded); found != handles_.end()) return found->second;
  StringRecord string;
  string.handle = next_handle_++;
  string.text_bytes = static_cast<std::uint32_t>(bounded.size());
  const auto fixed = std::as_bytes(std::span(&string, 1));
  if (handle_bytes_ < kMaxKeptBytes && keep_locked(StringRecord::kKind, fixed, bounded)) {
    handle_bytes_ += bounded.size() + 64;  // about what the map spends on a row
    handles_.emplace(std::move(bounded), string.handle);
  } else {
    lock.unlock();
    record(StringRecord::kKind, monotonic_ns(), fixed, std::as_bytes(std::span(bounded)));
  }
  return string.handle;
} catch (...) {
  count_loss(RecordKind::StringRecord, LossReason::callback_failed);
  return 0;
}

void Writer::keep(RecordKind kind, std::span<const std::byte> fixed, std::string_view text) noexcept try {
  const SignalsHeld held;
  std::unique_lock lock(kept_mutex_);
  if (keep_locked(kind, fixed, text)) return;
  lock.unlock();
  record(kind, monotonic_ns(), fixed, std::as_bytes(std::span(text)));
} catch (...) {
  count_loss(kind, LossReason::callback_failed);
}

bool Writer::keep_locked(RecordKind kind, std::span<const std::byte> fixed, std::string_view text) {
  const std::size_t payload = fixed.size() + text.size();
  if (kept_.size() + kRecordHeaderBytes + payload > kMaxKeptBytes) return false;
  std::byte header[kRecordHeaderBytes];
  encode_record_header(header, kind, payload, monotonic_ns());
  kept_.reserve(std::max(kept_.capacity(), kept_.size() + sizeof header + payload));  // then nothing below can throw
  kept_.append(reinterpret_cast<const char*>(header), sizeof header);
  kept_.append(reinterpret_cast<const char*>(fixed.data()), fixed.size());
  kept_.append(text);
  kept_pending_.store(true, std::memory_order_relaxed);
  return true;
}

// Fork
// -----------------------------------------------------------------------------------------------------------------

void Writer::before_fork() noexcept {
  lanes_mutex_.lock();
  kept_mutex_.lock();
  file_.lock();
}

void Writer::after_fork_in_parent() noexcept {
  file_.unlock();
  kept_mutex_.unlock();
  lanes_mutex_.unlock();
}

void Writer::after_fork_in_child() noexcept {
  uid_ = make_process_uid();
  pid_ = ::getpid();
  forked_ = true;
  next_ordinal_ = 1;
  Lane* own = thread_lane.instance == instance_ ? thread_lane.lane : nullptr;
  const std::size_t count = lane_count_.load();
  for (std::size_t i = 0; i < count; ++i) {
    Lane& lane = lanes_[i];
    lane.reset();
    lane.state = &lane == own ? Lane::State::owned : Lane::State::free;
  }
  if (own != nullptr) {
    own->ordinal = next_ordinal_++;
    own->tid = this_tid();
  }
  left_records_ = 0;
  kept_written_ = 0;
  kept_sequence_ = 0;
  process_record_due_ = true;
  kept_pending_ = true;
  repeat_kept_ = false;
  bytes_since_repeat_ = retry_at_ns_ = backoff_ns_ = 0;
  for (auto& reasons : lost_)
    for (auto& count_of : reasons) count_of = 0;
  losses_counted_ = losses_written_ = 0;
  flusher_ = Flusher::none;  // threads do not survive a fork; the first record starts it again
  after_fork_in_parent();
}

}  // namespace ampprof::capture
