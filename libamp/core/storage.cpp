// Storage, its announcements, and the running total of bytes.
#include "libamp/core/storage.h"

#include "libamp/base/error.h"
#include "libamp/core/allocator.h"
#include "libamp/core/observer.h"
#include "libamp/core/step_clock.h"

namespace amp {
namespace {

std::atomic<std::size_t> allocated_bytes{0};
std::atomic<std::size_t> peak_bytes{0};
std::atomic<std::uint64_t> next_allocation{1};

void count_allocated(std::size_t bytes) {
  const std::size_t now = allocated_bytes.fetch_add(bytes) + bytes;
  std::size_t peak = peak_bytes.load(std::memory_order_relaxed);
  while (now > peak && !peak_bytes.compare_exchange_weak(peak, now)) {
  }
}

}  // namespace

Storage::Storage(std::size_t bytes, std::size_t bytes_if_fp32, DType dtype, Device device)
    : bytes_(bytes), device_(device) {
  require_available(device.type, "allocate");
  data_ = cpu_allocator::allocate(bytes);
  const Context& now = context();
  if (data_ == nullptr)
    fail(ErrorCode::out_of_memory, now.op == OpId::none ? "allocate" : op_info(now.op).name,
         "out of memory: need " + std::to_string(bytes) + " bytes on " + to_string(device) + ", libamp holds " +
             std::to_string(allocated_bytes.load()) + " bytes");
  count_allocated(bytes);
  if (!observe::active()) return;
  allocation_ = next_allocation.fetch_add(1);
  AllocEvent event;
  event.allocation = allocation_;
  event.bytes = bytes;
  event.bytes_if_fp32 = bytes_if_fp32;
  event.alias_of = now.alias_of;
  event.step = step_clock::current();
  event.op = static_cast<std::uint16_t>(now.op);
  event.cause = static_cast<std::uint8_t>(now.cause);
  event.dtype = static_cast<std::uint8_t>(dtype);
  event.device = static_cast<std::uint8_t>(device.type);
  observe::notify([&](Observer& o) { o.mark(event); });
}

Storage::~Storage() {
  cpu_allocator::release(data_, bytes_);
  allocated_bytes.fetch_sub(bytes_);
  if (allocation_ == 0 || !observe::active()) return;
  FreeEvent event;
  event.allocation = allocation_;
  observe::notify([&](Observer& o) { o.mark(event); });
}

void Storage::set_cause(MemoryCause cause) const {
  if (allocation_ == 0 || !observe::active()) return;
  CauseEvent event;
  event.allocation = allocation_;
  event.cause = static_cast<std::uint8_t>(cause);
  observe::notify([&](Observer& o) { o.mark(event); });
}

MemoryStats memory_stats() noexcept { return {allocated_bytes.load(), peak_bytes.load()}; }
void reset_peak_memory_stats() noexcept { peak_bytes.store(allocated_bytes.load()); }

Workspace::Workspace(std::size_t bytes, bool exists_in_fp32) {
  const CauseScope cause(&Context::cause, MemoryCause::workspace);
  const ContextScope<std::uint64_t> no_alias(&Context::alias_of, 0);
  storage_ = std::make_unique<Storage>(bytes, exists_in_fp32 ? bytes : 0, DType::float32, kCPU);
}

}  // namespace amp
