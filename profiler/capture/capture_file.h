// The file that every process of a run appends its blocks to. Lives inside other people's programs: it never changes
// what they can see, and a write that fails is a value, never a signal.
#pragma once
#include <signal.h>

#include <cstdint>
#include <mutex>
#include <span>
#include <string>

#include "profiler/capture/block.h"

namespace ampprof::capture {

/// Holds back all signals of this thread while it lives, so that no handler of the program runs while the recorder
/// holds a lock, and takes back the one signal that a write of ours may raise. May be nested.
class SignalsHeld {
 public:
  SignalsHeld() noexcept;
  ~SignalsHeld();
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;
  /// A write past the file size limit (ulimit -f) raises SIGXFSZ in the writing thread, which by default ends the
  /// program. Takes it back unless it was pending before, so that the program's own handling stays as it was.
  void take_back_file_limit_signal() noexcept;

 private:
  sigset_t before_;
  bool held_ = false, was_pending_ = false;
  int cancel_before_ = 0;
};

/// append() may be called by any thread; other processes may have the same file open and append at the same time.
class CaptureFile {
 public:
  enum class Outcome {
    written,
    written_to_new_file,  ///< the file had been removed: this block begins a new one
    failed,
  };

  CaptureFile() = default;
  CaptureFile(const CaptureFile&) = delete;
  CaptureFile& operator=(const CaptureFile&) = delete;
  ~CaptureFile();

  /// Opens or creates the file. False: errno says why; later appends try again.
  bool open(const std::string& path) noexcept;

  /// Seals the header and appends the block in one write, whole or (outcome failed) not whole.
  Outcome append(BlockHeader& header, std::span<const std::byte> first,
                 std::span<const std::byte> second = {}) noexcept;

  [[nodiscard]] const std::string& path() const { return path_; }

  // Around fork(), so that no thread of the parent leaves the lock taken in the child.
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  bool make_ready(bool& fresh) noexcept;
  bool reopen() noexcept;
  [[nodiscard]] bool still_ours(bool& removed) const noexcept;

  std::string path_;
  std::mutex mutex_;
  int fd_ = -1;
  std::uint64_t device_ = 0, inode_ = 0;
};

/// CLOCK_MONOTONIC in nanoseconds.
std::uint64_t monotonic_ns() noexcept;
/// CLOCK_REALTIME minus CLOCK_MONOTONIC.
std::uint64_t realtime_offset_ns() noexcept;
/// A random identity for a process; never 0.
std::uint64_t make_process_uid() noexcept;

}  // namespace ampprof::capture
