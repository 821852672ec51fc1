// Size-class caching on top of aligned_alloc. Under a sanitizer nothing is cached, so that it sees every use after
// free.
#include "libamp/core/allocator.h"

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace amp::cpu_allocator {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kCache = false;
#else
constexpr bool kCache = true;
#endif
constexpr std::size_t kAlignment = 64;
constexpr std::size_t kMostCachedBytes = std::size_t{1} << 30;

// Rounds up so that at most an eighth is wasted and nearly equal requests share blocks.
std::size_t size_class(std::size_t bytes) {
  std::size_t quantum = kAlignment;
  while (quantum * 8 < bytes) quantum *= 2;
  const std::size_t n = bytes == 0 ? 1 : bytes;
  return (n + quantum - 1) / quantum * quantum;
}

struct Cache {
  std::mutex mutex;
  std::unordered_map<std::size_t, std::vector<void*>> blocks;
  std::size_t bytes = 0;
};
Cache& cache() {
  static auto* instance = new Cache;  // leaked: tensors in statics may be freed after it
  return *instance;
}

std::atomic<std::size_t> used_bytes{0};

void* system_allocate(std::size_t bytes) noexcept { return std::aligned_alloc(kAlignment, bytes); }

// A block of exactly this size class; null if none is kept.
void* take_cached(std::size_t rounded) noexcept {
  if (!kCache) return nullptr;
  auto& c = cache();
  const std::lock_guard lock(c.mutex);
  const auto found = c.blocks.find(rounded);
  if (found == c.blocks.end() || found->second.empty()) return nullptr;
  void* block = found->second.back();
  found->second.pop_back();
  c.bytes -= rounded;
  return block;
}

}  // namespace

void* allocate(std::size_t bytes) noexcept {
  const std::size_t rounded = size_class(bytes);
  if (rounded < bytes) return nullptr;
  void* block = take_cached(rounded);
  if (block == nullptr) block = system_allocate(rounded);
  if (block == nullptr) {
    empty_cache();
    block = system_allocate(rounded);
  }
  if (block != nullptr) used_bytes.fetch_add(rounded, std::memory_order_relaxed);
  return block;
}

void release(void* block, std::size_t bytes) noexcept {
  if (block == nullptr) return;
  const std::size_t rounded = size_class(bytes);
  used_bytes.fetch_sub(rounded, std::memory_order_relaxed);
  if (kCache) {
    auto& c = cache();
    const std::lock_guard lock(c.mutex);
    if (c.bytes + rounded <= kMostCachedBytes) {
      try {
        c.blocks[rounded].push_back(block);
        c.bytes += rounded;
        return;
      } catch (...) {  // no memory for the list itself: fall through and free the block
      }
    }
  }
  std::free(block);
}

Statistics statistics() noexcept {
  auto& c = cache();
  const std::lock_guard lock(c.mutex);
  return {used_bytes.load(std::memory_order_relaxed), c.bytes};
}

void empty_cache() noexcept {
  auto& c = cache();
  const std::lock_guard lock(c.mutex);
  for (auto& [size, list] : c.blocks)
    for (void* block : list) std::free(block);
  c.blocks.clear();
  c.bytes = 0;
}

}  // namespace amp::cpu_allocator
