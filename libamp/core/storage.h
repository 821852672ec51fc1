// A block of memory shared by tensors and their views, and the announcements of its birth and death.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "libamp/core/device.h"

namespace amp {

/// Bytes owned by one allocation. The version counter tells saved tensors that their data was changed in place.
class Storage {
 public:
  /// Allocates `bytes` (64-byte aligned, uninitialised) and announces it with the thread's memory cause.
  /// bytes_if_fp32: what the same allocation would take in a float32 run (see AllocEvent).
  /// Throws Error(out_of_memory) naming the request and the current op.
  Storage(std::size_t bytes, std::size_t bytes_if_fp32, DType dtype, Device device);
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] Device device() const { return device_; }
  /// Identity in AllocEvents; 0 if nobody listened when it was made.
  [[nodiscard]] std::uint64_t allocation() const { return allocation_; }
  /// Announces what the bytes turned out to be for.
  void set_cause(MemoryCause cause) const;

  [[nodiscard]] std::uint32_t version() const { return version_.load(std::memory_order_relaxed); }
  void bump_version() { version_.fetch_add(1, std::memory_order_relaxed); }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  Device device_;
  std::uint64_t allocation_ = 0;
  std::atomic<std::uint32_t> version_{0};
};

/// Bytes libamp holds on the CPU now, and the most it held since the last reset. Counted in requested bytes.
struct MemoryStats {
  std::size_t allocated_bytes = 0;
  std::size_t peak_bytes = 0;
};
MemoryStats memory_stats() noexcept;
void reset_peak_memory_stats() noexcept;

/// Temporary memory of an op body; announced with cause workspace.
class Workspace {
 public:
  /// exists_in_fp32: false for buffers that only half precision needs, such as operands widened to float32.
  Workspace(std::size_t bytes, bool exists_in_fp32);
  template <typename T>
  T* data() const {
    return static_cast<T*>(storage_->data());
  }

 private:
  std::unique_ptr<Storage> storage_;
};

}  // namespace amp
