// What a capture holds: records, one list for the recorder, the writer and every reader. Kinds below 0x1000 are
// libamp's events (EventId), stored as the bytes that crossed; the others are the PODs of record.def.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

#include "libamp/base/event.h"

namespace ampprof::capture {

namespace event_field = amp::event_field;

enum class RecordKind : std::uint16_t {
  none = 0,
#define AMP_EVENT_BEGIN(Name, id, transport, text) Name = id,
#define AMP_FIELD(type, name, text)
#define AMP_ARRAY(type, name, length, text)
#define AMP_EVENT_END(Name)
#include "libamp/base/events.def"
#define AMPPROF_RECORD_BEGIN(Name, id, text) Name = id,
#define AMPPROF_FIELD(type, name, text)
#define AMPPROF_RECORD_END(Name)
#include "profiler/capture/record.def"
};
/// First kind that is the recorder's own; below it a kind is an amp::EventId.
inline constexpr std::uint16_t kFirstOwnKind = 0x1000;
constexpr bool is_event(RecordKind kind) { return static_cast<std::uint16_t>(kind) < kFirstOwnKind; }
constexpr RecordKind record_kind(amp::EventId id) { return static_cast<RecordKind>(id); }

#define AMPPROF_RECORD_BEGIN(Name, id, text) \
  struct Name {                              \
    static constexpr RecordKind kKind = RecordKind::Name;
#define AMPPROF_FIELD(type, name, text) event_field::type name{};
#define AMPPROF_RECORD_END(Name) \
  }                              \
  ;                              \
  static_assert(std::has_unique_object_representations_v<Name> && std::is_standard_layout_v<Name>);
#include "profiler/capture/record.def"

/// The string handle of domain "amp", the same in every process.
inline constexpr std::uint32_t kAmpDomain = 1;

/// Why the recorder lost records. Values are written to captures: append only.
enum class LossReason : std::uint32_t {
  none = 0,
  write_failed = 1,      ///< the capture could not be written: disk full, file limit, I/O error, file gone
  reentrant = 2,         ///< recorded from a signal handler that interrupted the recorder
  too_many_threads = 3,  ///< more threads at once than the recorder has buffers for
  callback_failed = 4,   ///< the recorder itself failed inside a callback
  oversized = 5,         ///< longer than a record may be; cut where it is text, dropped where it is not
  bad_payload = 6,       ///< a payload in domain amp of an unknown schema or of an impossible size
  count_
};

enum class Source : std::uint32_t { none = 0, nvtx = 1, cupti = 2, pm_sampling = 3, count_ };
enum class SourceState : std::uint32_t {
  none = 0,
  recording = 1,
  not_in_this_version = 2,
  taken_by_other_tool = 3,  ///< the user's environment names another injection library: left alone
  failed = 4,
  count_
};

// Texts for reports and dumps; out-of-range values give "?": they come from files.
std::string_view name(RecordKind kind) noexcept;  ///< "OpEvent", "RangePushRecord"
std::string_view name(LossReason reason) noexcept;
std::string_view name(Source source) noexcept;
std::string_view name(SourceState state) noexcept;

/// One record as the reader hands it out. The payload lives until the next call of Reader::next.
struct RecordView {
  RecordKind kind = RecordKind::none;  ///< may be a value this build does not know: skip it
  std::uint32_t process = 0;           ///< index for Reader::process
  std::uint32_t thread = 0;            ///< index into ProcessInfo::threads
  std::uint64_t time_ns = 0;           ///< CLOCK_MONOTONIC
  std::span<const std::byte> payload;
};

namespace detail {
template <class T>
T zero_extend(std::span<const std::byte> bytes) {
  T value{};
  if (!bytes.empty()) std::memcpy(&value, bytes.data(), bytes.size() < sizeof(T) ? bytes.size() : sizeof(T));
  return value;
}
}  // namespace detail

/// Reads the fixed part of an event or record; fields the writer did not have are zero.
template <class T>
T read_event(const RecordView& record) {
  std::span<const std::byte> fixed = record.payload;
  if constexpr (std::is_same_v<T, amp::TensorStatEvent>) {
    // The exponent counts follow the writer's struct, which may be shorter than ours.
    const std::uint64_t tail = 8ull * detail::zero_extend<T>(fixed).exponent_bins;
    if (tail <= fixed.size()) fixed = fixed.first(fixed.size() - tail);
  } else if constexpr (requires(T t) { t.text_bytes; }) {
    const std::uint64_t tail = detail::zero_extend<T>(fixed).text_bytes;
    if (tail <= fixed.size()) fixed = fixed.first(fixed.size() - tail);
  }
  return detail::zero_extend<T>(fixed);
}
template <class T>
T read_record(const RecordView& record) {
  return read_event<T>(record);
}

/// The text of a record that has one: the last text_bytes bytes. Empty if the record is too short to be true.
inline std::string_view record_text(const RecordView& record) {
  const std::uint32_t length = detail::zero_extend<std::uint32_t>(record.payload);
  if (length > record.payload.size()) return {};
  const auto tail = record.payload.last(length);
  return {reinterpret_cast<const char*>(tail.data()), tail.size()};
}

/// Count `i` of the exponent counts that follow a TensorStatEvent; 0 past the end.
inline std::uint64_t exponent_count(const RecordView& record, std::uint32_t i) {
  const std::uint64_t bins = detail::zero_extend<amp::TensorStatEvent>(record.payload).exponent_bins;
  if (i >= bins || bins * 8 > record.payload.size()) return 0;
  return detail::zero_extend<std::uint64_t>(record.payload.subspan(record.payload.size() - 8 * (bins - i), 8));
}

}  // namespace ampprof::capture
