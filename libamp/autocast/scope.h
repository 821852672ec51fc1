// Autocast regions: the RAII guard and the wrapper for callables, over thread-local state.
// PyTorch: `with torch.autocast("cuda", dtype=torch.float16):`   here: `amp::autocast guard("cuda", amp::kFloat16);`
#pragma once
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "libamp/autocast/cast_rule.h"
#include "libamp/core/device.h"

namespace amp {

inline constexpr DType kFloat16 = DType::float16;
inline constexpr DType kBFloat16 = DType::bfloat16;
inline constexpr DType kFloat32 = DType::float32;
inline constexpr DType kFloat64 = DType::float64;
inline constexpr DType kInt64 = DType::int64;
inline constexpr DType kInt32 = DType::int32;
inline constexpr DType kUInt8 = DType::uint8;
inline constexpr DType kBool = DType::bool_;

/// All autocast state of a thread. Threads start with everything off; state does not flow into new threads.
struct AutocastState {
  DeviceAutocast cpu{false, DType::bfloat16, Policy::cpu, false};
  DeviceAutocast cuda{false, DType::float16, Policy::cuda, false};
  bool cache_enabled = true;
  int depth = 0;           ///< open regions, of whatever device type and whether enabled or not
  bool suspended = false;  ///< off because a listed op is running

  /// One device type's part.
  DeviceAutocast& of(DeviceType type) { return type == DeviceType::cuda ? cuda : cpu; }
  [[nodiscard]] const DeviceAutocast& of(DeviceType type) const { return type == DeviceType::cuda ? cuda : cpu; }
};

/// This thread's state.
AutocastState& autocast_state() noexcept;

/// Arguments of a region. What is left out is taken from the thread's state when the guard is made.
struct AutocastOptions {
  std::optional<DType> dtype = {};
  bool enabled = true;
  std::optional<bool> cache_enabled = {};
  /// Whose rules: the device's own unless given. {.policy = Policy::cuda} on the CPU previews a GPU run.
  std::optional<Policy> policy = {};
};

/// "cpu" or "cuda"; anything else (an index too) is Error(runtime).
DeviceType autocast_device(std::string_view text);

/// An autocast region, open while the guard lives: give it a name, or it closes at once. Each guard keeps its own saved
/// state, so recursion is safe (a deliberate deviation: PyTorch's region object overwrites its state when entered
/// twice). Errors: an unknown device type is Error(runtime). A dtype the CPU cannot autocast to (not bfloat16 or
/// float16) prints a warning and leaves the region disabled, as in PyTorch; so does device cuda where there is no CUDA.
/// When the thread's outermost region closes, the cast cache is cleared.
class autocast {
 public:
  [[nodiscard]] explicit autocast(DeviceType device, const AutocastOptions& options = {});
  [[nodiscard]] explicit autocast(std::string_view device, const AutocastOptions& options = {});
  [[nodiscard]] autocast(std::string_view device, DType dtype, bool enabled = true)
      : autocast(device, AutocastOptions{.dtype = dtype, .enabled = enabled}) {}
  [[nodiscard]] autocast(Device device, const AutocastOptions& options = {}) : autocast(device.type, options) {}
  ~autocast();
  autocast(const autocast&) = delete;
  autocast& operator=(const autocast&) = delete;

 private:
  DeviceType device_;
  DeviceAutocast before_;
  bool cache_before_;
};

/// PyTorch's decorator: a callable that runs `f` inside a region. The dtype is taken when the wrapper is made. What
/// cannot be called does not compile.
template <typename F>
auto autocast_wrap(DeviceType device, AutocastOptions options, F f) {
  if (!options.dtype) options.dtype = autocast_state().of(device).dtype;
  return [device, options, f = std::move(f)](auto&&... args) -> decltype(f(std::forward<decltype(args)>(args)...)) {
    const autocast region(device, options);
    return f(std::forward<decltype(args)>(args)...);
  };
}

/// Low-level access, as torch.is_autocast_enabled and friends.
inline bool is_autocast_enabled(DeviceType device) { return autocast_state().of(device).enabled; }
inline DType get_autocast_dtype(DeviceType device) { return autocast_state().of(device).dtype; }
inline void set_autocast_enabled(DeviceType device, bool on) { autocast_state().of(device).enabled = on; }
inline void set_autocast_dtype(DeviceType device, DType dtype) { autocast_state().of(device).dtype = dtype; }
inline bool is_autocast_cache_enabled() { return autocast_state().cache_enabled; }
inline void set_autocast_cache_enabled(bool on) { autocast_state().cache_enabled = on; }
void clear_autocast_cache();
/// Does libamp have autocast for this device type? It has for "cuda" whether or not there is a GPU. False for PyTorch's
/// other device types, Error(runtime) for what is no device type.
bool is_autocast_available(std::string_view device);

/// Switches autocast off for both device types while it lives; used while a listed op runs.
class AutocastSuspended {
 public:
  AutocastSuspended();
  ~AutocastSuspended();
  AutocastSuspended(const AutocastSuspended&) = delete;
  AutocastSuspended& operator=(const AutocastSuspended&) = delete;

 private:
  bool cpu_, cuda_, suspended_;
};

/// Installs a whole state for a scope: hands a region over to another thread,
///   `const AutocastState state = autocast_state();  std::thread([state] { const AutocastStateScope scope(state); ...
///   });`
/// Does not touch the cache.
class AutocastStateScope {
 public:
  explicit AutocastStateScope(const AutocastState& state) : before_(autocast_state()) { autocast_state() = state; }
  ~AutocastStateScope() { autocast_state() = before_; }
  AutocastStateScope(const AutocastStateScope&) = delete;
  AutocastStateScope& operator=(const AutocastStateScope&) = delete;

 private:
  AutocastState before_;
};

/// Enters regions with a remembered state (checkpoint recomputation): the depth counts on, and leaving the outermost
/// one clears the cache.
class AutocastReplay {
 public:
  explicit AutocastReplay(const AutocastState& remembered);
  ~AutocastReplay();
  AutocastReplay(const AutocastReplay&) = delete;
  AutocastReplay& operator=(const AutocastReplay&) = delete;

 private:
  AutocastState before_;
};

}  // namespace amp
