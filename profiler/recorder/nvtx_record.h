// From the arguments of an NVTX call to a record. Shared by the core callbacks and those of the payload extension.
#pragma once
#ifndef NVTX_NO_IMPL
#define NVTX_NO_IMPL  // a tool needs NVTX's types, not its functions
#endif
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

#include <string_view>

#include "profiler/recorder/recorder.h"

namespace ampprof::recorder {

// Handles given to the program are string handles in pointer form: nothing to look up, nothing to free.
inline std::uint32_t domain_id(nvtxDomainHandle_t domain) noexcept {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(domain));
}
inline nvtxDomainHandle_t domain_handle(std::uint64_t id) noexcept {
  return reinterpret_cast<nvtxDomainHandle_t>(static_cast<std::uintptr_t>(id));
}
inline std::uint64_t string_id(nvtxStringHandle_t string) noexcept {
  return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(string));
}
inline nvtxStringHandle_t string_handle(std::uint64_t id) noexcept {
  return reinterpret_cast<nvtxStringHandle_t>(static_cast<std::uintptr_t>(id));
}

/// A C string as a view, no longer than a record keeps plus one (so that cutting it is counted).
std::string_view bounded(const char* text) noexcept;

/// UTF-8 of a wide string, in place: no allocation.
class NarrowText {
 public:
  explicit NarrowText(const wchar_t* text) noexcept;
  operator std::string_view() const noexcept { return {bytes_, size_}; }

 private:
  char bytes_[2048];
  std::size_t size_ = 0;
};

/// What kind of NVTX call carries the attributes or payload.
enum class Call { push, start, mark };

/// Records a call with attributes; those of domain amp with a payload become events. `range` for Call::start.
void record_attributes(Recorder& recorder, Call call, std::uint32_t domain, const nvtxEventAttributes_t* attributes,
                       std::uint64_t range = 0);
/// Records a call with a message and nothing else.
void record_message(Recorder& recorder, Call call, std::uint32_t domain, std::string_view message,
                    std::uint64_t range = 0);
/// Records a call with payloads and nothing else.
void record_payload(Recorder& recorder, Call call, std::uint32_t domain, const nvtxPayloadData_t* payloads,
                    std::size_t count, std::uint64_t range = 0);
void record_pop(Recorder& recorder, std::uint32_t domain);
void record_end(Recorder& recorder, std::uint64_t range);

/// Record kind that a loss in this kind of call is counted as.
constexpr capture::RecordKind kind_of(Call call) {
  return call == Call::push    ? capture::RecordKind::RangePushRecord
         : call == Call::start ? capture::RecordKind::RangeStartRecord
                               : capture::RecordKind::MarkRecord;
}

/// Set the callbacks of an NVTX instance. A process has one instance for each library that uses NVTX.
bool attach_core(NvtxGetExportTableFunc_t get_export_table) noexcept;
bool attach_payload(nvtxExtModuleInfo_t* module) noexcept;

}  // namespace ampprof::recorder
