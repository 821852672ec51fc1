// Writes the records of one process: lanes for the threads that record, a store of what must not be lost (strings,
// names, the process itself), a thread that flushes. Knows nothing of NVTX; the recorder owns one, tests make their
// own.
#pragma once
#include <pthread.h>

#include <array>
#include <atomic>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "profiler/capture/capture_file.h"
#include "profiler/capture/lane.h"
#include "profiler/capture/record.h"

namespace ampprof::capture {

struct WriterOptions {
  std::string path;
  std::uint64_t flush_interval_ns = kFlushIntervalNs;
  /// A StepEvent flushes its thread if its oldest record is older.
  std::uint64_t step_flush_ns = 50'000'000;
  bool background = true;  ///< false: flush only when full, at steps, and when told
};

/// Memory is bounded: kMaxLanes rings, kMaxKeptBytes of kept records. Every function is noexcept: what cannot be done
/// is counted as a loss. Before a fork() call before_fork(), after it one of the other two.
class Writer {
 public:
  static constexpr std::size_t kMaxLanes = 256;
  static constexpr std::size_t kMaxKeptBytes = 4 * 1024 * 1024;
  /// Kept records are written again after this much, so that a damaged stretch of the file costs no names.
  static constexpr std::uint64_t kRepeatKeptBytes = 64 * 1024 * 1024;

  explicit Writer(WriterOptions options);
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  /// Opens the capture and writes the process record. False: it cannot be opened (errno), but later flushes try again.
  bool start() noexcept;

  /// Appends a record to this thread's lane: `fixed`, cut before its trailing zeros unless a tail follows it.
  void record(RecordKind kind, std::uint64_t time_ns, std::span<const std::byte> fixed,
              std::span<const std::byte> tail = {}) noexcept;
  template <class T>
  void record(std::uint64_t time_ns, const T& fixed) noexcept {
    record(T::kKind, time_ns, std::as_bytes(std::span(&fixed, 1)));
  }
  /// A record with a text, which is cut (and counted) past kMaxTextBytes. Sets text_bytes.
  template <class T>
  void record(std::uint64_t time_ns, T fixed, std::string_view text) noexcept {
    text = cut(T::kKind, text);
    fixed.text_bytes = static_cast<std::uint32_t>(text.size());
    record(T::kKind, time_ns, std::as_bytes(std::span(&fixed, 1)), std::as_bytes(std::span(text)));
  }

  /// Interns a string: equal strings have equal handles while the store has room. Handles are never 0. [any thread]
  std::uint64_t add_string(std::string_view text) noexcept;

  /// A record that says what others mean: kept, and written more than once. [any thread]
  template <class T>
  void keep(T fixed, std::string_view text) noexcept {
    text = cut(T::kKind, text);
    fixed.text_bytes = static_cast<std::uint32_t>(text.size());
    keep(T::kKind, std::as_bytes(std::span(&fixed, 1)), text);
  }

  void count_loss(RecordKind kind, LossReason reason, std::uint64_t count = 1) noexcept;
  [[nodiscard]] std::uint64_t lost(RecordKind kind, LossReason reason) const noexcept;

  /// Writes what all lanes hold. [any thread]
  void flush() noexcept;
  /// The process ends in order: flushes and says so. Records after it are still taken. A forked process that recorded
  /// nothing leaves no trace.
  void end() noexcept;

  /// Has this process (as opposed to the one it was forked from) recorded anything?
  [[nodiscard]] bool has_recorded() const noexcept;

  void before_fork() noexcept;
  void after_fork_in_parent() noexcept;
  /// The child is a process of its own: nothing of the parent's buffers, and no sign of life until it records.
  void after_fork_in_child() noexcept;

 private:
  static constexpr std::size_t kKindSlots = 128;
  static std::size_t kind_slot(RecordKind kind) noexcept;
  static RecordKind slot_kind(std::size_t slot) noexcept;

  std::string_view cut(RecordKind kind, std::string_view text) noexcept;
  void keep(RecordKind kind, std::span<const std::byte> fixed, std::string_view text) noexcept;
  bool keep_locked(RecordKind kind, std::span<const std::byte> fixed, std::string_view text);

  Lane* this_lane(std::uint64_t time_ns) noexcept;
  Lane* acquire_lane(std::uint64_t time_ns) noexcept;
  void append(Lane& lane, RecordKind kind, std::uint64_t time_ns, std::span<const std::byte> fixed,
              std::span<const std::byte> tail) noexcept;
  void make_room(Lane& lane) noexcept;

  void flush_lane(Lane& lane) noexcept;           // with the lane's lock
  void flush_kept(bool ending = false) noexcept;  // takes kept_mutex_
  bool write_kept_block() noexcept;
  void write_small_block(std::string_view payload) noexcept;
  bool write_block(std::uint32_t lane, std::uint32_t tid, std::uint32_t& sequence, std::span<const std::byte> first,
                   std::span<const std::byte> second) noexcept;
  void append_process_record(std::string& to) const;
  void append_losses(std::string& to);

  void start_flusher() noexcept;
  static void* flusher_main(void* self) noexcept;

  WriterOptions options_;
  std::uint64_t instance_;  // tells this writer from one that stood at the same address before
  CaptureFile file_;
  std::uint64_t uid_ = 0;
  pid_t pid_ = 0;
  bool forked_ = false;

  std::array<Lane, kMaxLanes> lanes_;
  std::atomic<std::size_t> lane_count_{0};
  std::mutex lanes_mutex_;
  std::uint32_t next_ordinal_ = 1;
  std::atomic<std::uint64_t> left_records_{0};  // of threads that ended

  std::mutex kept_mutex_;
  std::string kept_;  // encoded records
  std::size_t kept_written_ = 0;
  std::unordered_map<std::string, std::uint64_t> handles_;
  std::size_t handle_bytes_ = 0;
  std::uint64_t next_handle_;
  bool process_record_due_ = true;
  std::uint32_t kept_sequence_ = 0;
  std::atomic<bool> kept_pending_{true};

  std::atomic<bool> repeat_kept_{false};
  std::atomic<std::uint64_t> bytes_since_repeat_{0};
  std::atomic<std::uint64_t> retry_at_ns_{0}, backoff_ns_{0};

  std::array<std::array<std::atomic<std::uint64_t>, static_cast<std::size_t>(LossReason::count_)>, kKindSlots> lost_{};
  std::atomic<std::uint64_t> losses_counted_{0};
  std::uint64_t losses_written_ = 0;

  enum class Flusher : int { none, running, failed };
  std::atomic<Flusher> flusher_{Flusher::none};
  std::atomic<bool> stop_{false};
  pthread_t flusher_thread_{};
};

}  // namespace ampprof::capture
