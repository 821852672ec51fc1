// The buffer between one thread, which appends records without lock or allocation, and whoever flushes it: a ring with
// one producer (the owning thread) and one consumer (the holder of the flush lock).
#pragma once
#include <atomic>
#include <cstdint>
#include <span>

#include "profiler/capture/block.h"

namespace ampprof::capture {

class Lane {
 public:
  static constexpr std::size_t kRingBytes = 256 * 1024;

  Lane() = default;
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;
  ~Lane();

  /// Maps the ring (once). False where there is no memory.
  bool map() noexcept;

  // Owning thread ------------------------------------------------------------------------------------------------
  /// False if this thread is already inside: a signal handler interrupted the recorder.
  bool enter() noexcept {
    if (busy_.load(std::memory_order_relaxed)) return false;
    busy_.store(true, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    return true;
  }
  void leave() noexcept {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    busy_.store(false, std::memory_order_relaxed);
  }
  /// Appends a record of payload `fixed` followed by `tail`; false if there is no room.
  bool append(RecordKind kind, std::uint64_t time_ns, std::span<const std::byte> fixed,
              std::span<const std::byte> tail) noexcept;
  /// Time of the oldest record not flushed; 0 if there is none.
  [[nodiscard]] std::uint64_t oldest_ns() const noexcept { return oldest_ns_.load(std::memory_order_relaxed); }

  // Holder of the flush lock ---------------------------------------------------------------------------------------
  bool try_lock() noexcept { return !flushing_.exchange(true, std::memory_order_acquire); }
  void lock() noexcept;
  void unlock() noexcept { flushing_.store(false, std::memory_order_release); }

  /// Whole records at the front of the ring, of at most `limit` bytes, in two pieces where the ring wraps.
  struct Chunk {
    std::span<const std::byte> first, second;
    std::uint64_t end = 0;  ///< pass to consume()
    [[nodiscard]] bool empty() const noexcept { return first.empty(); }
  };
  [[nodiscard]] Chunk front(std::size_t limit) const noexcept;
  void consume(std::uint64_t end) noexcept;
  /// Throws away everything buffered; calls count(kind) for each record.
  template <class Count>
  void drop_all(Count&& count) noexcept {
    const std::uint64_t head = head_.load(std::memory_order_acquire);
    std::uint64_t at = tail_.load(std::memory_order_relaxed);
    while (at < head) {
      RecordKind kind;
      at += record_bytes(at, kind);
      count(kind);
    }
    consume(at);
  }
  [[nodiscard]] bool has_data() const noexcept {
    return head_.load(std::memory_order_acquire) != tail_.load(std::memory_order_relaxed);
  }

  // Identity, set by the writer while nobody else uses the lane.
  std::uint32_t ordinal = 0, tid = 0, sequence = 0;
  /// Who owns the lane: free lanes may be taken, left ones are free once they are flushed.
  enum class State : int { free, owned, left };
  std::atomic<State> state{State::free};
  std::atomic<std::uint64_t> records{0};

  /// Forgets content and locks: in the child of a fork, where no other thread exists.
  void reset() noexcept;

 private:
  std::size_t record_bytes(std::uint64_t at, RecordKind& kind) const noexcept;
  void copy_in(std::uint64_t at, const void* from, std::size_t bytes) noexcept;
  void copy_out(std::uint64_t at, void* to, std::size_t bytes) const noexcept;

  std::byte* ring_ = nullptr;
  std::atomic<bool> busy_{false};
  std::uint64_t cached_tail_ = 0;  // owner's: as far as it knows the flusher got
  alignas(64) std::atomic<std::uint64_t> head_{0};
  std::atomic<std::uint64_t> oldest_ns_{0};
  alignas(64) std::atomic<std::uint64_t> tail_{0};
  std::atomic<bool> flushing_{false};
};

}  // namespace ampprof::capture
