// The hot path of the recorder: clock, payload or message, into the thread's lane.
#include "profiler/recorder/nvtx_record.h"

#include <cstring>

#include "libamp/base/event.h"

namespace ampprof::recorder {
namespace {

using capture::kAmpDomain;
using capture::LossReason;
using capture::RecordKind;

template <class T>
T plain_record(std::uint32_t domain, const nvtxEventAttributes_t* attributes) {
  T record;
  record.domain = domain;
  if (attributes != nullptr) {
    record.color = attributes->colorType == NVTX_COLOR_ARGB ? attributes->color : 0;
    record.category = attributes->category;
  }
  return record;
}

template <class T>
void write_plain(Recorder& recorder, T record, std::uint64_t now_ns, const nvtxEventAttributes_t* attributes,
                 std::string_view message) {
  if (attributes == nullptr) return recorder.writer.record(now_ns, record, message);
  switch (attributes->messageType) {
    case NVTX_MESSAGE_TYPE_ASCII:
      return recorder.writer.record(now_ns, record, bounded(attributes->message.ascii));
    case NVTX_MESSAGE_TYPE_UNICODE:
      return recorder.writer.record(now_ns, record, NarrowText(attributes->message.unicode));
    case NVTX_MESSAGE_TYPE_REGISTERED:
      record.message = string_id(attributes->message.registered);
      break;
    default:
      break;
  }
  recorder.writer.record(now_ns, record, std::string_view());
}

void record_plain(Recorder& recorder, Call call, std::uint32_t domain, std::uint64_t now_ns,
                  const nvtxEventAttributes_t* attributes, std::string_view message, std::uint64_t range) {
  switch (call) {
    case Call::push:
      write_plain(recorder, plain_record<capture::RangePushRecord>(domain, attributes), now_ns, attributes, message);
      break;
    case Call::start: {
      auto record = plain_record<capture::RangeStartRecord>(domain, attributes);
      record.range = range;
      write_plain(recorder, record, now_ns, attributes, message);
      break;
    }
    case Call::mark:
      write_plain(recorder, plain_record<capture::MarkRecord>(domain, attributes), now_ns, attributes, message);
      break;
  }
}

/// The least bytes a payload of an event must have: its fields up to the last of the first version are not all known
/// here, so a struct that grew or shrank passes; one without even a first field does not.
constexpr std::size_t kLeastEventBytes = 4;
/// Schema ids from kFirstSchemaId on that belong to events: as many as there are kinds below the recorder's own.
constexpr std::uint64_t kEndSchemaId = amp::kFirstSchemaId + capture::kFirstOwnKind;

/// True if one of the payloads was an event of libamp and is recorded (or counted as lost).
bool record_event(Recorder& recorder, std::uint64_t now_ns, const nvtxPayloadData_t* payloads, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const nvtxPayloadData_t& data = payloads[i];
    if (data.schemaId <= amp::kFirstSchemaId || data.schemaId >= kEndSchemaId) continue;
    const auto kind = static_cast<RecordKind>(data.schemaId - amp::kFirstSchemaId);
    if (data.payload == nullptr || data.size < kLeastEventBytes || data.size == SIZE_MAX) {
      recorder.writer.count_loss(kind, LossReason::bad_payload);
      return false;
    }
    const std::span bytes(static_cast<const std::byte*>(data.payload), data.size);
    if (kind == RecordKind::TensorStatEvent)
      recorder.writer.record(kind, now_ns, {}, bytes);  // its counts end it: zeros there must stay
    else
      recorder.writer.record(kind, now_ns, bytes);
    return true;
  }
  return false;
}

}  // namespace

std::string_view bounded(const char* text) noexcept {
  return text == nullptr ? std::string_view() : std::string_view(text, ::strnlen(text, capture::kMaxTextBytes + 1));
}

NarrowText::NarrowText(const wchar_t* text) noexcept {
  static_assert(sizeof(wchar_t) == 4);
  for (; text != nullptr && *text != 0 && size_ + 4 <= sizeof bytes_; ++text) {
    const auto c = static_cast<char32_t>(*text);
    const auto put = [&](char32_t byte) { bytes_[size_++] = static_cast<char>(byte); };
    if (c < 0x80) {
      put(c);
    } else if (c < 0x800) {
      put(0xc0 | c >> 6);
      put(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
      put(0xe0 | c >> 12);
      put(0x80 | (c >> 6 & 0x3f));
      put(0x80 | (c & 0x3f));
    } else {
      put(0xf0 | (c >> 18 & 0x07));
      put(0x80 | (c >> 12 & 0x3f));
      put(0x80 | (c >> 6 & 0x3f));
      put(0x80 | (c & 0x3f));
    }
  }
}

void record_attributes(Recorder& recorder, Call call, std::uint32_t domain, const nvtxEventAttributes_t* attributes,
                       std::uint64_t range) {
  const std::uint64_t now_ns = capture::monotonic_ns();
  if (domain == kAmpDomain && attributes != nullptr && attributes->payloadType == NVTX_PAYLOAD_TYPE_EXT &&
      call != Call::start) {
    const auto* payloads =
        reinterpret_cast<const nvtxPayloadData_t*>(static_cast<std::uintptr_t>(attributes->payload.ullValue));
    const auto count = static_cast<std::size_t>(attributes->reserved0 < 0 ? 0 : attributes->reserved0);
    if (payloads != nullptr && record_event(recorder, now_ns, payloads, count)) return;
  }
  record_plain(recorder, call, domain, now_ns, attributes, {}, range);
}

void record_message(Recorder& recorder, Call call, std::uint32_t domain, std::string_view message,
                    std::uint64_t range) {
  record_plain(recorder, call, domain, capture::monotonic_ns(), nullptr, message, range);
}

void record_payload(Recorder& recorder, Call call, std::uint32_t domain, const nvtxPayloadData_t* payloads,
                    std::size_t count, std::uint64_t range) {
  const std::uint64_t now_ns = capture::monotonic_ns();
  if (domain == kAmpDomain && call != Call::start && payloads != nullptr &&
      record_event(recorder, now_ns, payloads, count))
    return;
  record_plain(recorder, call, domain, now_ns, nullptr, {}, range);
}

void record_pop(Recorder& recorder, std::uint32_t domain) {
  capture::RangePopRecord record;
  record.domain = domain;
  recorder.writer.record(capture::monotonic_ns(), record);
}

void record_end(Recorder& recorder, std::uint64_t range) {
  capture::RangeEndRecord record;
  record.range = range;
  recorder.writer.record(capture::monotonic_ns(), record);
}

}  // namespace ampprof::recorder
