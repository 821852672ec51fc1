// The ring of one thread. Positions only grow; a position's place in the ring is its low bits.
#include "profiler/capture/lane.h"

#include <sched.h>
#include <sys/mman.h>

#include <algorithm>

namespace ampprof::capture {
namespace {
constexpr std::uint64_t kMask = Lane::kRingBytes - 1;
static_assert((Lane::kRingBytes & kMask) == 0);
}  // namespace

Lane::~Lane() {
  if (ring_ != nullptr) ::munmap(ring_, kRingBytes);
}

bool Lane::map() noexcept {
  if (ring_ != nullptr) return true;
  // Not from malloc: the thread may be inside it, and the program's heap should look as it does without us.
  void* memory = ::mmap(nullptr, kRingBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  ring_ = static_cast<std::byte*>(memory);
  return true;
}

bool Lane::append(RecordKind kind, std::uint64_t time_ns, std::span<const std::byte> fixed,
                  std::span<const std::byte> tail) noexcept {
  const std::size_t payload = fixed.size() + tail.size();
  const std::size_t whole = kRecordHeaderBytes + payload;
  const std::uint64_t head = head_.load(std::memory_order_relaxed);
  if (head + whole - cached_tail_ > kRingBytes) {
    cached_tail_ = tail_.load(std::memory_order_acquire);
    if (head + whole - cached_tail_ > kRingBytes) return false;
  }
  std::byte header[kRecordHeaderBytes];
  encode_record_header(header, kind, payload, time_ns);
  copy_in(head, header, sizeof header);
  copy_in(head + sizeof header, fixed.data(), fixed.size());
  copy_in(head + sizeof header + fixed.size(), tail.data(), tail.size());
  // Before head: whoever sees the record sees a time for it. A flush in between may leave it set with nothing
  // buffered, which only makes the next flush early.
  if (oldest_ns_.load(std::memory_order_relaxed) == 0) oldest_ns_.store(time_ns, std::memory_order_relaxed);
  head_.store(head + whole, std::memory_order_release);
  records.store(records.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  return true;
}

void Lane::lock() noexcept {
  while (!try_lock()) ::sched_yield();
}

std::size_t Lane::record_bytes(std::uint64_t at, RecordKind& kind) const noexcept {
  std::uint16_t fields[2];
  copy_out(at, fields, sizeof fields);
  kind = static_cast<RecordKind>(fields[0]);
  return kRecordHeaderBytes + fields[1];
}

Lane::Chunk Lane::front(std::size_t limit) const noexcept {
  const std::uint64_t head = head_.load(std::memory_order_acquire);
  const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
  std::uint64_t end = tail;
  if (head - tail <= limit) {
    end = head;
  } else {
    for (RecordKind kind; end < head;) {
      const std::size_t bytes = record_bytes(end, kind);
      if (end + bytes - tail > limit) break;
      end += bytes;
    }
  }
  const std::size_t begin_at = tail & kMask;
  const std::size_t bytes = end - tail;
  const std::size_t first = std::min(bytes, kRingBytes - begin_at);
  return {{ring_ + begin_at, first}, {ring_, bytes - first}, end};
}

void Lane::consume(std::uint64_t end) noexcept {
  oldest_ns_.store(0, std::memory_order_relaxed);
  tail_.store(end, std::memory_order_release);
}

void Lane::reset() noexcept {
  head_ = tail_ = cached_tail_ = 0;
  oldest_ns_ = 0;
  busy_ = flushing_ = false;
  records = 0;
  ordinal = tid = sequence = 0;
}

void Lane::copy_in(std::uint64_t at, const void* from, std::size_t bytes) noexcept {
  const std::size_t begin_at = at & kMask;
  const std::size_t first = std::min(bytes, kRingBytes - begin_at);
  if (first > 0) std::memcpy(ring_ + begin_at, from, first);
  if (bytes > first) std::memcpy(ring_, static_cast<const std::byte*>(from) + first, bytes - first);
}

void Lane::copy_out(std::uint64_t at, void* to, std::size_t bytes) const noexcept {
  const std::size_t begin_at = at & kMask;
  const std::size_t first = std::min(bytes, kRingBytes - begin_at);
  std::memcpy(to, ring_ + begin_at, first);
  if (bytes > first) std::memcpy(static_cast<std::byte*>(to) + first, ring_, bytes - first);
}

}  // namespace ampprof::capture
