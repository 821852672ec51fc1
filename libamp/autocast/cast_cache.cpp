// The map behind cast_cache.h.
#include "libamp/autocast/cast_cache.h"

#include <atomic>
#include <map>
#include <mutex>

#include "libamp/autocast/scope.h"
#include "libamp/core/grad_mode.h"
#include "libamp/core/observer.h"
#include "libamp/tape/node.h"

namespace amp::cast_cache {
namespace {

struct Entry {
  std::weak_ptr<TensorImpl> source;  // keeps the address from being reused while the entry is there
  std::uint32_t version = 0;
  Tensor cast;
};
struct Cache {
  std::mutex mutex;
  std::map<std::pair<const TensorImpl*, DType>, Entry> entries;
};
Cache& cache() {
  static auto* instance = new Cache;  // leaked: a region may close while statics die
  return *instance;
}
std::atomic<bool> checked{false};

// Few, and none as a rule: the count spares the lock.
std::atomic<std::size_t> static_count{0};
std::map<const TensorImpl*, std::weak_ptr<TensorImpl>>& statics() {
  static auto* instance = new std::map<const TensorImpl*, std::weak_ptr<TensorImpl>>;
  return *instance;
}
bool is_static(const Tensor& tensor) {
  if (static_count.load(std::memory_order_relaxed) == 0) return false;
  const std::lock_guard lock(cache().mutex);
  const auto found = statics().find(tensor.impl());
  return found != statics().end() && !found->second.expired();
}

}  // namespace

bool is_cacheable(const Tensor& source, DType target, DType fast) {
  if (target != fast || source.dtype() != DType::float32 || source.impl()->is_view) return false;
  const auto& meta = source.impl()->autograd;
  if (!meta || !meta->requires_grad || meta->node) return false;  // must be a leaf that requires a gradient
  return autocast_state().cache_enabled && !grad_mode().inference && !is_static(source);
}

Tensor find(const Tensor& source, DType target) {
  auto& c = cache();
  const std::lock_guard lock(c.mutex);
  const auto found = c.entries.find({source.impl(), target});
  if (found == c.entries.end()) return {};
  if (checked && found->second.version != source.version())
    fail(ErrorCode::runtime, "autocast",
         "stale cast: " + describe(source) + " '" + observe::text(source.name()) +
             "' was changed in place after it was cast to " + std::string(name(target)) +
             " in this region; need one region per forward, clear_autocast_cache(), or cache_enabled = false");
  return found->second.cast;
}

void insert(const Tensor& source, DType target, const Tensor& cast) {
  auto& c = cache();
  const std::lock_guard lock(c.mutex);
  c.entries[{source.impl(), target}] = {source.impl_ptr(), source.version(), cast};
}

void clear() {
  std::map<std::pair<const TensorImpl*, DType>, Entry> dropped;
  auto& c = cache();
  {
    const std::lock_guard lock(c.mutex);
    dropped.swap(c.entries);
  }
  // The tensors die outside the lock: freeing them announces.
}

void add_static(const Tensor& tensor) {
  const std::lock_guard lock(cache().mutex);
  statics()[tensor.impl()] = tensor.impl_ptr();
  static_count = statics().size();
}
void remove_static(const Tensor& tensor) {
  const std::lock_guard lock(cache().mutex);
  statics().erase(tensor.impl());
  static_count = statics().size();
}

Size size() {
  auto& c = cache();
  const std::lock_guard lock(c.mutex);
  Size total{c.entries.size(), 0};
  for (const auto& [key, entry] : c.entries) total.bytes += entry.cast.impl()->storage->bytes();
  return total;
}

void set_checked(bool on) { checked = on; }

}  // namespace amp::cast_cache
