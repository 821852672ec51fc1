// The callbacks of NVTX's payload extension. Schemas are not stored: libamp's are known by their ids, and what other
// programs attach to their ranges is not read in this version.
#include "profiler/recorder/nvtx_record.h"

namespace ampprof::recorder {
namespace {

using capture::RecordKind;

// Ids for schemas, enums and scopes that come without one.
std::uint64_t next_dynamic_id() noexcept {
  static std::atomic<std::uint64_t> next{NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START};
  return next.fetch_add(1, std::memory_order_relaxed);
}

std::uint64_t register_schema(nvtxDomainHandle_t, const nvtxPayloadSchemaAttr_t* attributes) noexcept {
  const bool has_id = attributes != nullptr && (attributes->fieldMask & NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID) != 0;
  return has_id ? attributes->schemaId : next_dynamic_id();
}
std::uint64_t register_enum(nvtxDomainHandle_t, const nvtxPayloadEnumAttr_t* attributes) noexcept {
  const bool has_id = attributes != nullptr && (attributes->fieldMask & NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID) != 0;
  return has_id ? attributes->schemaId : next_dynamic_id();
}
void mark(nvtxDomainHandle_t domain, const nvtxPayloadData_t* payloads, std::size_t count) noexcept {
  guarded(RecordKind::MarkRecord,
          [&](Recorder& r) { record_payload(r, Call::mark, domain_id(domain), payloads, count); });
}
int push(nvtxDomainHandle_t domain, const nvtxPayloadData_t* payloads, std::size_t count) noexcept {
  guarded(RecordKind::RangePushRecord,
          [&](Recorder& r) { record_payload(r, Call::push, domain_id(domain), payloads, count); });
  return NVTX_NO_PUSH_POP_TRACKING;
}
int pop(nvtxDomainHandle_t domain, const nvtxPayloadData_t*, std::size_t) noexcept {
  guarded(RecordKind::RangePopRecord, [&](Recorder& r) { record_pop(r, domain_id(domain)); });
  return NVTX_NO_PUSH_POP_TRACKING;
}
nvtxRangeId_t start_range(nvtxDomainHandle_t domain, const nvtxPayloadData_t* payloads, std::size_t count) noexcept {
  return guarded(RecordKind::RangeStartRecord, nvtxRangeId_t{0}, [&](Recorder& r) -> nvtxRangeId_t {
    const std::uint64_t range = r.next_range.fetch_add(1, std::memory_order_relaxed);
    record_payload(r, Call::start, domain_id(domain), payloads, count, range);
    return range;
  });
}
void end(nvtxDomainHandle_t, nvtxRangeId_t range, const nvtxPayloadData_t*, std::size_t) noexcept {
  guarded(RecordKind::RangeEndRecord, [&](Recorder& r) { record_end(r, range); });
}
std::uint8_t is_enabled(nvtxDomainHandle_t) noexcept { return 1; }

}  // namespace

bool attach_payload(nvtxExtModuleInfo_t* module) noexcept {
  if (module == nullptr) return false;
  // Other extensions (memory, counters) are none of ours: they stay off, which is what 0 says.
  if (module->moduleId != NVTX_EXT_PAYLOAD_MODULEID || module->segmentsCount < 1) return false;
  const struct {
    std::size_t id;
    std::intptr_t function;
  } rows[] = {
      {NVTX3EXT_CBID_nvtxPayloadSchemaRegister, reinterpret_cast<std::intptr_t>(&register_schema)},
      {NVTX3EXT_CBID_nvtxPayloadEnumRegister, reinterpret_cast<std::intptr_t>(&register_enum)},
      {NVTX3EXT_CBID_nvtxMarkPayload, reinterpret_cast<std::intptr_t>(&mark)},
      {NVTX3EXT_CBID_nvtxRangePushPayload, reinterpret_cast<std::intptr_t>(&push)},
      {NVTX3EXT_CBID_nvtxRangePopPayload, reinterpret_cast<std::intptr_t>(&pop)},
      {NVTX3EXT_CBID_nvtxRangeStartPayload, reinterpret_cast<std::intptr_t>(&start_range)},
      {NVTX3EXT_CBID_nvtxRangeEndPayload, reinterpret_cast<std::intptr_t>(&end)},
      {NVTX3EXT_CBID_nvtxDomainIsEnabled, reinterpret_cast<std::intptr_t>(&is_enabled)},
  };
  const nvtxExtModuleSegment_t& segment = module->segments[0];
  for (const auto& row : rows)
    if (row.id < segment.slotCount) segment.functionSlots[row.id] = row.function;
  return true;
}

}  // namespace ampprof::recorder
