// Entering and leaving regions.
#include "libamp/autocast/scope.h"

#include <cstdio>

#include "libamp/autocast/cast_cache.h"
#include "libamp/base/error.h"

namespace amp {
namespace {

void warn(const std::string& message) { std::fprintf(stderr, "libamp warning: [autocast] %s\n", message.c_str()); }

// PyTorch warns and disables the region where the device cannot do what was asked; it does not raise.
bool usable(DeviceType device, DType dtype) {
  if (device == DeviceType::cuda) {
    if (is_available(DeviceType::cuda)) return true;
    warn("device 'cuda' was asked for, but CUDA is not available: the region is disabled");
    return false;
  }
  if (dtype == DType::bfloat16 || dtype == DType::float16) return true;
  warn("on the CPU autocast supports bfloat16 and float16, got " + std::string(name(dtype)) +
       ": the region is disabled");
  return false;
}

}  // namespace

DeviceType autocast_device(std::string_view text) {
  if (text == "cpu") return DeviceType::cpu;
  if (text == "cuda") return DeviceType::cuda;
  fail(ErrorCode::runtime, "autocast",
       "unknown device type: got '" + std::string(text) + "', need 'cpu' or 'cuda' (no index)");
}
bool is_autocast_available(std::string_view device) {
  for (const char* other : {"xpu", "mps", "mtia", "maia", "hpu", "ipu", "xla", "hip", "meta"})
    if (device == other) return false;
  autocast_device(device);
  return true;
}

AutocastState& autocast_state() noexcept {
  thread_local AutocastState state;
  return state;
}

autocast::autocast(DeviceType device, const AutocastOptions& options) : device_(device) {
  AutocastState& state = autocast_state();
  before_ = state.of(device);
  cache_before_ = state.cache_enabled;
  DeviceAutocast now = before_;
  now.dtype = options.dtype.value_or(before_.dtype);
  now.policy = options.policy.value_or(before_.enabled              ? before_.policy
                                       : device == DeviceType::cuda ? Policy::cuda
                                                                    : Policy::cpu);
  const bool on = options.enabled && usable(device, now.dtype);
  now.nested_off = !on && (before_.enabled || before_.nested_off);
  now.enabled = on;
  state.of(device) = now;
  state.cache_enabled = options.cache_enabled.value_or(cache_before_);
  ++state.depth;
}

autocast::autocast(std::string_view device, const AutocastOptions& options)
    : autocast(autocast_device(device), options) {}

autocast::~autocast() {
  AutocastState& state = autocast_state();
  if (--state.depth == 0) clear_autocast_cache();
  state.of(device_) = before_;
  state.cache_enabled = cache_before_;
}

void clear_autocast_cache() { cast_cache::clear(); }

AutocastReplay::AutocastReplay(const AutocastState& remembered) : before_(autocast_state()) {
  AutocastState& state = autocast_state();
  state = remembered;
  state.depth = before_.depth + 1;
}
AutocastReplay::~AutocastReplay() {
  if (before_.depth == 0) clear_autocast_cache();
  autocast_state() = before_;
}

AutocastSuspended::AutocastSuspended()
    : cpu_(autocast_state().cpu.enabled), cuda_(autocast_state().cuda.enabled), suspended_(autocast_state().suspended) {
  AutocastState& state = autocast_state();
  state.suspended = suspended_ || cpu_ || cuda_;
  state.cpu.enabled = state.cuda.enabled = false;
}
AutocastSuspended::~AutocastSuspended() {
  AutocastState& state = autocast_state();
  state.cpu.enabled = cpu_;
  state.cuda.enabled = cuda_;
  state.suspended = suspended_;
}

}  // namespace amp
