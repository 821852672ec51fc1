// Where a tensor lives.
#pragma once
#include <string>

#include "libamp/base/words.h"

namespace amp {

struct Device {  ///< a type of device and the number of one of them
  DeviceType type = DeviceType::cpu;
  int index = 0;
  friend bool operator==(const Device&, const Device&) = default;
};

inline constexpr Device kCPU{DeviceType::cpu, 0};
inline constexpr Device kCUDA{DeviceType::cuda, 0};

/// Parses "cpu", "cuda" or "cuda:1"; throws Error(runtime) naming what it got.
Device device(std::string_view text);
/// "cpu", "cuda:0"
std::string to_string(Device device);
/// True if this build and this machine can run ops there.
bool is_available(DeviceType type) noexcept;
/// Throws an error naming the device and what is missing, unless is_available(type).
void require_available(DeviceType type, std::string_view where);

}  // namespace amp
