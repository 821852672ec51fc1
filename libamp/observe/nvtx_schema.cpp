// The NVTX payload schemas of events.def: what lets a tool that knows nothing of libamp show every field by name.
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

#include <cstddef>
#include <string_view>
#include <vector>

#include "libamp/base/event.h"
#include "libamp/observe/nvtx_observer.h"

namespace amp {
namespace {

namespace nvtx_type {
constexpr std::uint64_t u8 = NVTX_PAYLOAD_ENTRY_TYPE_UINT8;
constexpr std::uint64_t u16 = NVTX_PAYLOAD_ENTRY_TYPE_UINT16;
constexpr std::uint64_t u32 = NVTX_PAYLOAD_ENTRY_TYPE_UINT32;
constexpr std::uint64_t u64 = NVTX_PAYLOAD_ENTRY_TYPE_UINT64;
constexpr std::uint64_t i32 = NVTX_PAYLOAD_ENTRY_TYPE_INT32;
constexpr std::uint64_t f64 = NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE;
constexpr std::uint64_t string = NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE;
}  // namespace nvtx_type

using Entry = nvtxPayloadSchemaEntry_t;

Entry entry(std::uint64_t flags, std::uint64_t type, const char* name, const char* text, std::uint64_t length,
            std::size_t offset) {
  Entry made{};
  made.flags = flags;
  made.type = type;
  made.name = name;
  made.description = text;
  made.arrayOrUnionDetail = length;
  made.offset = offset;
  return made;
}

void register_schema(nvtxDomainHandle_t domain, const char* name, EventId id, bool dynamic, std::size_t bytes,
                     const std::vector<Entry>& entries) {
  nvtxPayloadSchemaAttr_t schema{};
  schema.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID;
  schema.name = name;
  schema.type = dynamic ? NVTX_PAYLOAD_SCHEMA_TYPE_DYNAMIC : NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
  schema.entries = entries.data();
  schema.numEntries = entries.size();
  schema.schemaId = schema_id(id);
  if (!dynamic) {
    schema.fieldMask |= NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE;
    schema.payloadStaticSize = bytes;
  }
  nvtxPayloadSchemaRegister(domain, &schema);
}

}  // namespace

void register_nvtx_schemas(void* domain_handle) {
  auto* domain = static_cast<nvtxDomainHandle_t>(domain_handle);
  // Statistics are followed by their exponent counts, whose number is one of their fields: the one dynamic schema.
  std::size_t bins_index = 0;
#define AMP_EVENT_BEGIN(Name, id, transport, text) \
  {                                                \
    using Event = Name;                            \
    std::vector<Entry> entries;
#define AMP_FIELD(type, name, text)                                            \
  if (std::string_view(#name) == "exponent_bins") bins_index = entries.size(); \
  entries.push_back(entry(0, nvtx_type::type, #name, text, 0, offsetof(Event, name)));
#define AMP_ARRAY(type, name, length, text) \
  entries.push_back(                        \
      entry(NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE, nvtx_type::type, #name, text, length, offsetof(Event, name)));
#define AMP_EVENT_END(Name)                                                                                    \
  const bool dynamic = Event::kId == EventId::TensorStatEvent;                                                 \
  if (dynamic)                                                                                                 \
    entries.push_back(entry(NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_LENGTH_INDEX, nvtx_type::u64, "exponent_counts",     \
                            "elements by floor(log2|x|), from exponent_first on", bins_index, sizeof(Event))); \
  register_schema(domain, Event::kName, Event::kId, dynamic, sizeof(Event), entries);                          \
  }
#include "libamp/base/events.def"
}

}  // namespace amp
