// The half of the writer that writes: lanes, kept records and losses into blocks; the thread that does it in time.
#include <unistd.h>

#include <cerrno>
#include <ctime>

#include "profiler/capture/proc.h"
#include "profiler/capture/writer.h"

namespace ampprof::capture {
namespace {

// Major * 1000000 + minor * 1000 + patch.
constexpr std::uint32_t kRecorderVersion = 1000;

constexpr std::uint64_t kFirstBackoffNs = 50'000'000, kLongestBackoffNs = 2'000'000'000;
// The first flush comes this soon, then each waits twice as long up to the interval: short programs lose little.
constexpr std::uint64_t kFirstFlushNs = 2'000'000;

}  // namespace

void Writer::flush() noexcept {
  flush_kept();
  const std::size_t count = lane_count_.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < count; ++i) {
    Lane& lane = lanes_[i];
    if (lane.state.load(std::memory_order_acquire) == Lane::State::free) continue;
    lane.lock();
    flush_lane(lane);
    if (!lane.has_data()) {
      Lane::State left = Lane::State::left;
      lane.state.compare_exchange_strong(left, Lane::State::free);
    }
    lane.unlock();
  }
}

bool Writer::has_recorded() const noexcept {
  for (const Lane& lane : lanes_)
    if (lane.records.load() > 0) return true;
  return left_records_.load() > 0;
}

void Writer::end() noexcept try {
  if (forked_ && !has_recorded()) return;
  flush();
  flush_kept(/*ending=*/true);
  ProcessEndRecord record;
  record.records = left_records_.load();
  for (const Lane& lane : lanes_) record.records += lane.records.load();
  std::string payload;
  append_record(payload, record, monotonic_ns());
  const SignalsHeld held;
  const std::lock_guard lock(kept_mutex_);
  write_small_block(payload);
} catch (...) {
  count_loss(RecordKind::ProcessEndRecord, LossReason::callback_failed);
}

void Writer::flush_lane(Lane& lane) noexcept {
  // A bound, since a fast thread may append as fast as we write.
  for (std::size_t written = 0; written <= Lane::kRingBytes;) {
    const Lane::Chunk chunk = lane.front(kBlockPayloadBytes);
    if (chunk.empty()) return;
    if (!write_block(lane.ordinal, lane.tid, lane.sequence, chunk.first, chunk.second)) return;
    written += chunk.first.size() + chunk.second.size();
    lane.consume(chunk.end);
  }
}

void Writer::flush_kept(bool ending) noexcept try {
  if (!ending && !kept_pending_.load(std::memory_order_relaxed) && !repeat_kept_.load(std::memory_order_relaxed))
    return;
  const SignalsHeld held;
  const std::lock_guard lock(kept_mutex_);
  // Once more at the end only where something was written since: a damaged first block then costs no names.
  const bool repeat_at_end = ending && bytes_since_repeat_.load() > kBlockPayloadBytes;
  if (repeat_kept_.exchange(false) || repeat_at_end) {
    kept_written_ = 0;
    process_record_due_ = true;
    bytes_since_repeat_ = 0;
  }
  kept_pending_ = false;
  if (process_record_due_) {
    std::string payload;
    append_process_record(payload);
    if (!write_block(0, 0, kept_sequence_, std::as_bytes(std::span(payload)), {})) {
      kept_pending_ = true;
      return;
    }
    process_record_due_ = false;
  }
  while (kept_written_ < kept_.size())
    if (!write_kept_block()) {
      kept_pending_ = true;
      return;
    }
  const std::uint64_t counted = losses_counted_.load();
  if (counted == losses_written_) return;
  std::string payload;
  append_losses(payload);
  if (write_block(0, 0, kept_sequence_, std::as_bytes(std::span(payload)), {}))
    losses_written_ = counted;
  else
    kept_pending_ = true;
} catch (...) {
  kept_pending_ = true;  // no memory: at the next flush, perhaps
}

bool Writer::write_kept_block() noexcept {
  std::size_t end = kept_written_;
  while (end < kept_.size()) {
    std::uint16_t payload_bytes;
    std::memcpy(&payload_bytes, kept_.data() + end + 2, 2);
    if (end > kept_written_ && end + kRecordHeaderBytes + payload_bytes - kept_written_ > kBlockPayloadBytes) break;
    end += kRecordHeaderBytes + payload_bytes;
  }
  const auto piece = std::as_bytes(std::span(kept_).subspan(kept_written_, end - kept_written_));
  if (!write_block(0, 0, kept_sequence_, piece, {})) return false;
  kept_written_ = end;
  return true;
}

void Writer::write_small_block(std::string_view payload) noexcept {
  write_block(0, 0, kept_sequence_, std::as_bytes(std::span(payload)), {});
}

bool Writer::write_block(std::uint32_t lane, std::uint32_t tid, std::uint32_t& sequence,
                         std::span<const std::byte> first, std::span<const std::byte> second) noexcept {
  // A child made by a bare clone() has our memory but ran no fork handler: the blocks are its parent's to write.
  if (::getpid() != pid_) return false;
  const std::uint64_t now_ns = monotonic_ns();
  if (now_ns < retry_at_ns_.load(std::memory_order_relaxed)) return false;
  BlockHeader header{};
  header.process_uid = uid_;
  header.pid = static_cast<std::uint32_t>(pid_);
  header.tid = tid;
  header.lane = lane;
  header.sequence = sequence;
  header.written_ns = now_ns;
  const CaptureFile::Outcome outcome = file_.append(header, first, second);
  if (outcome == CaptureFile::Outcome::failed) {
    // Each failed attempt may leave a torn block behind, so they come ever more seldom.
    const std::uint64_t wait = std::min(std::max(backoff_ns_.load() * 2, kFirstBackoffNs), kLongestBackoffNs);
    backoff_ns_ = wait;
    retry_at_ns_ = now_ns + wait;
    return false;
  }
  backoff_ns_ = 0;
  ++sequence;
  const std::uint64_t bytes = sizeof header + first.size() + second.size();
  if (bytes_since_repeat_.fetch_add(bytes) + bytes > kRepeatKeptBytes) repeat_kept_ = true;
  if (outcome == CaptureFile::Outcome::written_to_new_file) repeat_kept_ = true;
  return true;
}

void Writer::append_process_record(std::string& to) const {
  ProcessRecord record;
  const std::string command = process_command_line(kMaxTextBytes);
  record.text_bytes = static_cast<std::uint32_t>(command.size());
  record.pid = static_cast<std::uint32_t>(pid_);
  record.parent_pid = static_cast<std::uint32_t>(::getppid());
  record.event_version = amp::kEventVersion;
  record.recorder_version = kRecorderVersion;
  record.forked = forked_ ? 1 : 0;
  record.realtime_offset_ns = realtime_offset_ns();
  append_record(to, record, monotonic_ns(), command);
}

void Writer::append_losses(std::string& to) {
  for (std::size_t slot = 0; slot < kKindSlots; ++slot)
    for (std::size_t reason = 0; reason < lost_[slot].size(); ++reason) {
      LossRecord record;
      record.kind = static_cast<std::uint32_t>(slot_kind(slot));
      record.reason = static_cast<std::uint32_t>(reason);
      record.count = lost_[slot][reason].load();
      if (record.count > 0) append_record(to, record, monotonic_ns());
    }
}

// The flusher
// ----------------------------------------------------------------------------------------------------------

void Writer::start_flusher() noexcept {
  Flusher none = Flusher::none;
  if (!flusher_.compare_exchange_strong(none, Flusher::running)) return;
  const int saved_errno = errno;
  const SignalsHeld held;  // inherited: the program's signal handlers never run on our thread
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  if (pthread_create(&flusher_thread_, &attributes, &Writer::flusher_main, this) != 0)
    flusher_ = Flusher::failed;  // the threads that record then flush by themselves when it is time
  else
    pthread_setname_np(flusher_thread_, "ampprof");
  pthread_attr_destroy(&attributes);
  errno = saved_errno;
}

void* Writer::flusher_main(void* self) noexcept {
  auto& writer = *static_cast<Writer*>(self);
  std::uint64_t wait_ns = kFirstFlushNs;
  while (!writer.stop_.load(std::memory_order_relaxed)) {
    const timespec wait{static_cast<time_t>(wait_ns / 1'000'000'000), static_cast<long>(wait_ns % 1'000'000'000)};
    ::nanosleep(&wait, nullptr);
    wait_ns = std::min(wait_ns * 2, writer.options_.flush_interval_ns);
    writer.flush();
  }
  return nullptr;
}

}  // namespace ampprof::capture
