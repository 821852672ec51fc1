// Every field of every record, expanded from the .def files, so that a new field shows without a change here.
#include "profiler/capture/dump.h"

#include <fmt/format.h>

#include "profiler/capture/block.h"

namespace ampprof::capture {
namespace {

struct FieldWriter {
  const Reader& reader;
  std::uint32_t process;
  std::string& out;

  // A string handle and a plain u64 are the same type; the field's declared type, as text, tells them apart.
  template <class T>
  void field(std::string_view type, std::string_view field_name, const T& value) {
    if (field_name == "text_bytes" || value == T{}) return;
    if (type == "string")
      fmt::format_to(std::back_inserter(out), " {}=\"{}\"", field_name, escaped(reader.string(process, value)));
    else
      fmt::format_to(std::back_inserter(out), " {}={}", field_name, value);
  }
  template <class T, std::size_t N>
  void array(std::string_view field_name, const T (&values)[N]) {
    std::size_t used = N;
    while (used > 0 && values[used - 1] == T{}) --used;
    if (used == 0) return;
    fmt::format_to(std::back_inserter(out), " {}=[", field_name);
    for (std::size_t i = 0; i < used; ++i) fmt::format_to(std::back_inserter(out), "{},", values[i]);
    out.back() = ']';
  }
};

#define AMP_EVENT_BEGIN(Name, id, transport, text)                             \
  void write_fields(FieldWriter writer, const RecordView& record, amp::Name) { \
    [[maybe_unused]] const auto value = read_event<amp::Name>(record);
#define AMP_FIELD(type, name, text) writer.field(#type, #name, value.name);
#define AMP_ARRAY(type, name, length, text) writer.array(#name, value.name);
#define AMP_EVENT_END(Name) }
#include "libamp/base/events.def"
#define AMPPROF_RECORD_BEGIN(Name, id, text)                              \
  void write_fields(FieldWriter writer, const RecordView& record, Name) { \
    [[maybe_unused]] const auto value = read_record<Name>(record);
#define AMPPROF_FIELD(type, name, text) writer.field(#type, #name, value.name);
#define AMPPROF_RECORD_END(Name) }
#include "profiler/capture/record.def"

template <class T>
constexpr bool kHasText = requires(T t) {
  t.text_bytes;
};

void write_text(const RecordView& record, std::string& out) {
  if (const auto text = record_text(record); !text.empty())
    fmt::format_to(std::back_inserter(out), " \"{}\"", escaped(text));
}

void write_record(const Reader& reader, const RecordView& record, std::string& out) {
  FieldWriter writer{reader, record.process, out};
  switch (record.kind) {
#define AMP_EVENT_BEGIN(Name, id, transport, text) \
  case RecordKind::Name:                           \
    write_fields(writer, record, amp::Name{});     \
    break;
#define AMP_FIELD(type, name, text)
#define AMP_ARRAY(type, name, length, text)
#define AMP_EVENT_END(Name)
#include "libamp/base/events.def"
#define AMPPROF_RECORD_BEGIN(Name, id, text)     \
  case RecordKind::Name:                         \
    write_fields(writer, record, Name{});        \
    if (kHasText<Name>) write_text(record, out); \
    break;
#define AMPPROF_FIELD(type, name, text)
#define AMPPROF_RECORD_END(Name)
#include "profiler/capture/record.def"
    case RecordKind::none:
    default:
      fmt::format_to(std::back_inserter(out), " {} bytes", record.payload.size());
  }
  if (record.kind != RecordKind::TensorStatEvent) return;
  const std::uint32_t bins = read_event<amp::TensorStatEvent>(record).exponent_bins;
  if (bins == 0 || bins > record.payload.size() / 8) return;
  out += " counts=[";
  for (std::uint32_t i = 0; i < bins; ++i) fmt::format_to(std::back_inserter(out), "{},", exponent_count(record, i));
  out.back() = ']';
}

using Line = std::function<void(const std::string&)>;

void dump_losses(const Reader& reader, const Line& line) {
  const Losses& losses = reader.losses();
  const auto row = [&](std::uint64_t count, std::string_view what) {
    if (count > 0) line(fmt::format("lost: {} {}", count, what));
  };
  row(losses.damaged_bytes, "bytes damaged");
  row(losses.damaged_regions, "damaged regions");
  row(losses.unexplained_regions, "damaged regions of unknown blocks");
  row(losses.truncated_tail_bytes, "bytes of a block cut off at the end");
  row(losses.missing_blocks, "blocks missing");
  row(losses.missing_records, "records missing");
  row(losses.duplicate_blocks, "blocks seen twice");
  row(losses.bad_records, "records running over their block");
  row(losses.unknown_strings, "strings");
  row(losses.unended_processes, "processes without an end");
  for (const auto& lost : losses.recorded)
    line(fmt::format("lost: {} {}: {}", lost.count, name(lost.kind), name(lost.reason)));
}

}  // namespace

std::string escaped(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    if (c == '"' || c == '\\')
      (out += '\\') += c;
    else if (c >= 0x20 && c < 0x7f)
      out += c;
    else
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(c));
  }
  return out;
}

void dump(Reader& reader, const DumpOptions& options, const Line& line) {
  reader.rewind();
  std::uint64_t first_ns = UINT64_MAX;
  for (RecordView record; reader.next(record);) first_ns = std::min(first_ns, record.time_ns);
  reader.rewind();
  for (RecordView record; reader.next(record);) {
    if (options.stable && (record.kind == RecordKind::ProcessRecord || record.kind == RecordKind::ThreadRecord ||
                           record.kind == RecordKind::ProcessEndRecord ||
                           record.kind == RecordKind::TargetBeginRecord || record.kind == RecordKind::TargetEndRecord))
      continue;
    std::string out = fmt::format("{}.{}", record.process, record.thread);
    if (!options.stable)
      fmt::format_to(std::back_inserter(out), " {:.6f}", static_cast<double>(record.time_ns - first_ns) * 1e-9);
    const auto kind = name(record.kind);
    if (kind == "?")
      fmt::format_to(std::back_inserter(out), " kind {:#x}", static_cast<unsigned>(record.kind));
    else
      fmt::format_to(std::back_inserter(out), " {}", kind);
    write_record(reader, record, out);
    line(out);
  }
  dump_losses(reader, line);
}

}  // namespace ampprof::capture
