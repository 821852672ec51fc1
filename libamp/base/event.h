// The plain structs that cross from libamp to a listener, generated from events.def. They are the contract between
// the two halves of the project: libamp fills them, NVTX carries them, the recorder stores their bytes.
#pragma once
#include <cstdint>
#include <type_traits>

#include "libamp/base/words.h"

namespace amp {

/// Name of the NVTX domain that carries every event.
inline constexpr char kNvtxDomain[] = "amp";
/// Version of events.def: raised when the meaning of a field changes, not when one is appended.
inline constexpr std::uint32_t kEventVersion = 1;
/// Step of work done outside training steps, such as evaluation after the last step.
inline constexpr std::uint32_t kNoStep = 0xffffffffu;
inline constexpr std::size_t kMaxEventInputs = 6;
inline constexpr std::size_t kMaxEventDims = 24;

/// How an event travels: `range` has a begin and an end, `mark` is a point in time.
enum class Transport : std::uint8_t { mark = 0, range = 1 };

/// Id of each event; 0 is none. These are also the ids of its NVTX payload schema (plus an offset) and capture record.
enum class EventId : std::uint16_t {
  none = 0,
#define AMP_EVENT_BEGIN(Name, id, transport, text) Name = id,
#define AMP_FIELD(type, name, text)
#define AMP_ARRAY(type, name, length, text)
#define AMP_EVENT_END(Name)
#include "libamp/base/events.def"
};

namespace event_field {
using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i32 = std::int32_t;
using f64 = double;
/// A string handle: in libamp an id of observe/strings, on the wire an NVTX registered string; 0 is "no string".
using string = std::uint64_t;
}  // namespace event_field

#define AMP_EVENT_BEGIN(Name, id, transport_kind, text)                \
  struct Name {                                                        \
    static constexpr EventId kId = EventId::Name;                      \
    static constexpr Transport kTransport = Transport::transport_kind; \
    static constexpr const char* kName = #Name;
#define AMP_FIELD(type, name, text) event_field::type name{};
#define AMP_ARRAY(type, name, length, text) event_field::type name[length]{};
#define AMP_EVENT_END(Name) \
  }                         \
  ;                         \
  static_assert(std::is_trivially_copyable_v<Name> && std::is_standard_layout_v<Name>);
#include "libamp/base/events.def"

/// NVTX payload schema id of an event. NVTX reserves ids from 2^24 up to 2^32 for static ids such as these.
inline constexpr std::uint64_t kFirstSchemaId = 0x0a3d0000u;
constexpr std::uint64_t schema_id(EventId id) { return kFirstSchemaId + static_cast<std::uint64_t>(id); }

}  // namespace amp
