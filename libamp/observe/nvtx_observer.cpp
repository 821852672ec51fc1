// From events to NVTX calls. Runs only with a tool attached; a name is made and registered once, then looked up.
#include "libamp/observe/nvtx_observer.h"

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

#include <cstring>
#include <string>
#include <unordered_map>
#include <vector>

namespace amp {

struct NvtxObserver::Look {
  std::uint64_t name = 0;  // the tool's string handle
  std::uint32_t color = 0;
};

namespace {

constexpr std::uint32_t kNeutral = 0xff9aa5b1, kScaler = 0xffc9a227;

/// ARGB by dtype, the report page's colours.
std::uint32_t color_of(std::uint8_t dtype) {
  switch (static_cast<DType>(dtype)) {
    case DType::float32:
      return 0xff7390b0;
    case DType::float64:
      return 0xff3f5a78;
    case DType::float16:
      return 0xffe08a2b;
    case DType::bfloat16:
      return 0xff3b9a63;
    case DType::float8_e4m3fn:
    case DType::float8_e5m2:
      return 0xff8e44ad;
    default:
      return kNeutral;
  }
}

std::string dtype_text(std::uint8_t dtype) { return std::string(short_name(static_cast<DType>(dtype))); }

std::string arrow(std::string name, std::uint8_t from, std::uint8_t to) {
  name += ' ';
  if (from != to) name += dtype_text(from) + "->";
  return name + dtype_text(to);
}

nvtxDomainHandle_t domain_of(void* domain) { return static_cast<nvtxDomainHandle_t>(domain); }

nvtxEventAttributes_t attributes_of(const nvtxPayloadData_t& payload, std::uint64_t name, std::uint32_t color) {
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.colorType = NVTX_COLOR_ARGB;
  attributes.color = color;
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = reinterpret_cast<nvtxStringHandle_t>(static_cast<std::uintptr_t>(name));
  attributes.payloadType = NVTX_PAYLOAD_TYPE_EXT;
  attributes.reserved0 = 1;
  attributes.payload.ullValue = NVTX_POINTER_AS_PAYLOAD_ULLVALUE(&payload);
  return attributes;
}

// What this thread has registered already. Per thread, so that looking up takes no lock; a tool gives equal strings
// equal handles or not, both are fine.
struct ThreadNames {
  std::vector<std::uint64_t> by_id;
  std::unordered_map<std::uint64_t, std::uint64_t> by_key;
  std::vector<std::byte> bytes;
};
ThreadNames& thread_names() {
  thread_local ThreadNames names;
  return names;
}

// Keys of made names: an event's id, a string id and two dtypes.
std::uint64_t key_of(EventId event, StringId string, std::uint8_t from, std::uint8_t to) {
  return string << 24 | static_cast<std::uint64_t>(event) << 16 | std::uint64_t{from} << 8 | to;
}

// Strings of an event become the tool's handles, whatever fields it has: expanded from events.def.
#define AMP_MAP_u8(name)
#define AMP_MAP_u16(name)
#define AMP_MAP_u32(name)
#define AMP_MAP_u64(name)
#define AMP_MAP_i32(name)
#define AMP_MAP_f64(name)
#define AMP_MAP_string(name) event.name = handle(event.name);
#define AMP_EVENT_BEGIN(Name, id, transport, text) \
  template <class Handle>                          \
  void map_strings([[maybe_unused]] Name& event, [[maybe_unused]] Handle&& handle) {
#define AMP_FIELD(type, name, text) AMP_MAP_##type(name)
#define AMP_ARRAY(type, name, length, text)
#define AMP_EVENT_END(Name) }
#include "libamp/base/events.def"

/// An observer must not throw; the only thing that can go wrong is memory, and then the event is lost.
template <class Body>
void quietly(Body&& body) noexcept {
  try {
    body();
  } catch (...) {
  }
}

}  // namespace

std::unique_ptr<NvtxObserver> NvtxObserver::create() {
  // NVTX's functions do nothing and return null until a tool attaches, which it does at the first call or never.
  nvtxDomainHandle_t domain = nvtxDomainCreateA(kNvtxDomain);
  if (domain == nullptr) return nullptr;
  register_nvtx_schemas(domain);
  return std::unique_ptr<NvtxObserver>(new NvtxObserver(domain));
}

std::uint64_t NvtxObserver::handle(StringId id) const {
  if (id == 0) return 0;
  auto& known = thread_names().by_id;
  if (id >= known.size()) known.resize(id + 64);
  if (known[id] == 0)
    known[id] = reinterpret_cast<std::uintptr_t>(nvtxDomainRegisterStringA(domain_of(domain_), observe::text(id)));
  return known[id];
}

template <class Make>
std::uint64_t NvtxObserver::made_handle(std::uint64_t key, Make&& make) const {
  auto& known = thread_names().by_key;
  const auto [entry, is_new] = known.try_emplace(key, 0);
  if (is_new)
    entry->second =
        reinterpret_cast<std::uintptr_t>(nvtxDomainRegisterStringA(domain_of(domain_), std::string(make()).c_str()));
  return entry->second;
}

NvtxObserver::Look NvtxObserver::look_of_op(const OpEvent& event) const {
  const std::uint8_t from = event.input_count > 0 ? event.input_dtypes[0] : event.compute_dtype;
  const auto name = made_handle(key_of(EventId::OpEvent, event.op_name, from, event.compute_dtype),
                                [&] { return arrow(observe::text(event.op_name), from, event.compute_dtype); });
  return {name, color_of(event.compute_dtype)};
}

NvtxObserver::Look NvtxObserver::look_of_cast(const CastEvent& event) const {
  const bool cached = event.cached != 0;
  const auto name = made_handle(key_of(EventId::CastEvent, cached ? 1 : 0, event.from, event.to),
                                [&] { return arrow("cast", event.from, event.to) + (cached ? " (cached)" : ""); });
  return {name, color_of(event.to)};
}

template <class Event>
void NvtxObserver::push(Event event, const Look& look) const {
  map_strings(event, [this](StringId id) { return handle(id); });
  const nvtxPayloadData_t payload{schema_id(Event::kId), sizeof event, &event};
  const nvtxEventAttributes_t attributes = attributes_of(payload, look.name, look.color);
  nvtxDomainRangePushEx(domain_of(domain_), &attributes);
}

template <class Event>
void NvtxObserver::send_mark(Event event) const {
  map_strings(event, [this](StringId id) { return handle(id); });
  const nvtxPayloadData_t payload{schema_id(Event::kId), sizeof event, &event};
  const auto name = made_handle(key_of(Event::kId, 0, 0, 0), [] { return Event::kName; });
  const std::uint32_t color = Event::kId == EventId::ScalerEvent ? kScaler : kNeutral;
  const nvtxEventAttributes_t attributes = attributes_of(payload, name, color);
  nvtxDomainMarkEx(domain_of(domain_), &attributes);
}

void NvtxObserver::begin_op(const OpEvent& event) noexcept {
  quietly([&] { push(event, look_of_op(event)); });
}
void NvtxObserver::end_op(const OpEvent&) noexcept { nvtxDomainRangePop(domain_of(domain_)); }
void NvtxObserver::begin_cast(const CastEvent& event) noexcept {
  quietly([&] { push(event, look_of_cast(event)); });
}
void NvtxObserver::end_cast(const CastEvent&) noexcept { nvtxDomainRangePop(domain_of(domain_)); }

void NvtxObserver::mark(const CastEvent& event) noexcept {
  quietly([&] {
    CastEvent mapped = event;
    map_strings(mapped, [this](StringId id) { return handle(id); });
    const nvtxPayloadData_t payload{schema_id(CastEvent::kId), sizeof mapped, &mapped};
    const Look look = look_of_cast(event);
    const nvtxEventAttributes_t attributes = attributes_of(payload, look.name, look.color);
    nvtxDomainMarkEx(domain_of(domain_), &attributes);
  });
}

void NvtxObserver::mark(const TensorStatEvent& event, std::span<const std::uint64_t> counts) noexcept {
  quietly([&] {
    TensorStatEvent mapped = event;
    map_strings(mapped, [this](StringId id) { return handle(id); });
    mapped.exponent_bins = static_cast<std::uint32_t>(counts.size());
    auto& bytes = thread_names().bytes;
    bytes.resize(sizeof mapped + counts.size_bytes());
    std::memcpy(bytes.data(), &mapped, sizeof mapped);
    if (!counts.empty()) std::memcpy(bytes.data() + sizeof mapped, counts.data(), counts.size_bytes());
    const nvtxPayloadData_t payload{schema_id(TensorStatEvent::kId), bytes.size(), bytes.data()};
    const auto name = made_handle(key_of(TensorStatEvent::kId, 0, 0, 0), [] { return TensorStatEvent::kName; });
    const nvtxEventAttributes_t attributes = attributes_of(payload, name, color_of(event.dtype));
    nvtxDomainMarkEx(domain_of(domain_), &attributes);
  });
}

void NvtxObserver::mark(const ScalerEvent& event) noexcept {
  quietly([&] { send_mark(event); });
}
void NvtxObserver::mark(const AllocEvent& event) noexcept {
  quietly([&] { send_mark(event); });
}
void NvtxObserver::mark(const FreeEvent& event) noexcept {
  quietly([&] { send_mark(event); });
}
void NvtxObserver::mark(const CauseEvent& event) noexcept {
  quietly([&] { send_mark(event); });
}
void NvtxObserver::mark(const StepEvent& event) noexcept {
  quietly([&] { send_mark(event); });
}
void NvtxObserver::mark(const FactEvent& event) noexcept {
  quietly([&] { send_mark(event); });
}

}  // namespace amp
