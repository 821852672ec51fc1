// Device names and availability.
#include "libamp/core/device.h"

#include "libamp/base/error.h"

namespace amp {

Device device(std::string_view text) {
  const auto bad = [&] {
    fail(ErrorCode::runtime, "device", "unknown device: got '" + std::string(text) + "', need cpu, cuda or cuda:N");
  };
  if (text == "cpu") return kCPU;
  if (text == "cuda") return kCUDA;
  if (!text.starts_with("cuda:") || text.size() == 5 || text.size() > 8) bad();
  int index = 0;
  for (const char c : text.substr(5)) {
    if (c < '0' || c > '9') bad();
    index = index * 10 + (c - '0');
  }
  return {DeviceType::cuda, index};
}

std::string to_string(Device d) { return d.type == DeviceType::cpu ? "cpu" : "cuda:" + std::to_string(d.index); }

bool is_available(DeviceType type) noexcept { return type == DeviceType::cpu; }

void require_available(DeviceType type, std::string_view where) {
  if (!is_available(type))
    fail(ErrorCode::runtime, where,
         "no backend for device '" + std::string(name(type)) + "': this build of libamp runs on the CPU only");
}

}  // namespace amp
