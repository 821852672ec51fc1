// The CPU allocator: keeps freed blocks for reuse, since asking the system for fresh pages each step costs more than
// many ops. Not stream-aware; device allocators live with their backend.
#pragma once
#include <cstddef>

namespace amp::cpu_allocator {

/// 64-byte aligned block of at least `bytes` bytes; null if there is no memory even after dropping the cache.
void* allocate(std::size_t bytes) noexcept;
/// `bytes` as given to allocate.
void release(void* block, std::size_t bytes) noexcept;
/// Bytes now, in size classes (a little more than was asked for).
struct Statistics {
  std::size_t used = 0;    ///< allocated and not released
  std::size_t cached = 0;  ///< released and kept for reuse
};
Statistics statistics() noexcept;
/// Gives all cached blocks back to the system.
void empty_cache() noexcept;

}  // namespace amp::cpu_allocator
