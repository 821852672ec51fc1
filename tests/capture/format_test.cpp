// FORMAT.md is true: its example is what the writer makes, byte for byte, and its tables are the rows of the .def
// files.
//   AMP_UPDATE_PAGES=1 ./profiler_tests "[pages]"   writes these parts anew
#include <fmt/format.h>

#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <fstream>

#include "libamp/base/event.h"
#include "tests/capture/capture_support.h"

using namespace ampprof;
using namespace ampprof::capture;

namespace {

std::string hex_dump(const std::string& bytes) {
  std::string text;
  for (std::size_t row = 0; row < bytes.size(); row += 16) {
    text += fmt::format("{:06x}", row);
    std::string ascii;
    for (std::size_t i = row; i < row + 16; ++i) {
      if (i % 8 == 0) text += ' ';
      if (i >= bytes.size()) {
        text += "   ";
        continue;
      }
      text += fmt::format(" {:02x}", static_cast<unsigned char>(bytes[i]));
      ascii += bytes[i] >= 0x20 && bytes[i] < 0x7f ? bytes[i] : '.';
    }
    text += "  " + ascii + "\n";
  }
  return text;
}

std::string example_bytes() {
  std::string names;
  StringRecord string;
  string.text_bytes = 6;
  string.handle = 2;
  append_record(names, string, 1'000, "matmul");
  std::string ops;
  static amp::OpEvent op;  // static: its padding is zero
  op.step = 3;
  op.op = 10;
  op.compute_dtype = static_cast<std::uint8_t>(amp::DType::float16);
  op.op_name = 2;
  std::byte header[kRecordHeaderBytes];
  const std::size_t bytes = trimmed_bytes(&op, sizeof op);
  encode_record_header(header, RecordKind::OpEvent, bytes, 2'000);
  ops.append(reinterpret_cast<const char*>(header), sizeof header);
  ops.append(reinterpret_cast<const char*>(&op), bytes);
  RangePopRecord pop;
  pop.domain = kAmpDomain;
  append_record(ops, pop, 2'500);
  return test::make_block({.tid = 0, .lane = 0}, names) + test::make_block({}, ops);
}

std::string example_part() {
  const std::string bytes = example_bytes();
  test::OwnedReader reader(bytes);
  REQUIRE(reader);
  std::string lines;
  dump(*reader, {}, [&](const std::string& line) { lines += line + "\n"; });
  return "```\n" + hex_dump(bytes) + "```\n\n`ampprof dump` shows it as\n\n```\n" + lines + "```\n";
}

std::string heading(std::string_view name, unsigned id, std::string_view text) {
  return fmt::format("**`{}`** {}: {}.\n\n| Field | Type | Meaning |\n|---|---|---|\n", name,
                     id < kFirstOwnKind ? fmt::format("{}", id) : fmt::format("{:#x}", id), text);
}

std::string records_part() {
  std::string text;
#define AMPPROF_RECORD_BEGIN(Name, id, meaning) text += heading(#Name, id, meaning);
#define AMPPROF_FIELD(type, name, meaning) text += "| `" #name "` | " #type " | " meaning " |\n";
#define AMPPROF_RECORD_END(Name) text += '\n';
#include "profiler/capture/record.def"
  text.pop_back();
  return text;
}

std::string events_part() {
  std::string text;
#define AMP_EVENT_BEGIN(Name, id, transport, meaning) text += heading(#Name, id, #transport ", " meaning);
#define AMP_FIELD(type, name, meaning) text += "| `" #name "` | " #type " | " meaning " |\n";
#define AMP_ARRAY(type, name, length, meaning) text += "| `" #name "` | " #type "[" #length "] | " meaning " |\n";
#define AMP_EVENT_END(Name) text += '\n';
#include "libamp/base/events.def"
  text.pop_back();
  return text;
}

/// The page with the part after `<!-- name -->` replaced.
std::string with_part(const std::string& page, const std::string& name, const std::string& part) {
  const std::string begin = "<!-- " + name + " -->\n";
  const std::size_t from = page.find(begin);
  REQUIRE(from != std::string::npos);
  const std::size_t to = page.find("<!-- end -->", from);
  REQUIRE(to != std::string::npos);
  return page.substr(0, from + begin.size()) + part + page.substr(to);
}

}  // namespace

TEST_CASE("FORMAT.md has the bytes the writer makes and the rows of the tables", "[pages]") {
  const std::string path = AMP_SOURCE_DIR "/profiler/capture/FORMAT.md";
  const std::string page = test::read_file(path);
  std::string expected = with_part(page, "example", example_part());
  expected = with_part(expected, "records", records_part());
  expected = with_part(expected, "events", events_part());
  if (std::getenv("AMP_UPDATE_PAGES") != nullptr) std::ofstream(path, std::ios::binary) << expected;
  const bool is_current = test::read_file(path) == expected;  // the difference of two pages would fill the screen
  CHECK(is_current);
}

TEST_CASE("The table of the block header has the offsets of the struct") {
  const std::string page = test::read_file(AMP_SOURCE_DIR "/profiler/capture/FORMAT.md");
#define AMPPROF_HEADER_FIELD(name) \
  CHECK(page.find(fmt::format("| {} | `{}` |", offsetof(BlockHeader, name), #name)) != std::string::npos);
  AMPPROF_HEADER_FIELD(magic)
  AMPPROF_HEADER_FIELD(version)
  AMPPROF_HEADER_FIELD(header_bytes)
  AMPPROF_HEADER_FIELD(payload_bytes)
  AMPPROF_HEADER_FIELD(process_uid)
  AMPPROF_HEADER_FIELD(pid)
  AMPPROF_HEADER_FIELD(tid)
  AMPPROF_HEADER_FIELD(lane)
  AMPPROF_HEADER_FIELD(sequence)
  AMPPROF_HEADER_FIELD(written_ns)
  AMPPROF_HEADER_FIELD(payload_crc)
  AMPPROF_HEADER_FIELD(header_crc)
#undef AMPPROF_HEADER_FIELD
}

TEST_CASE("Every record and event has its name, its own kind, and reads back through the dump") {
  std::vector<std::uint16_t> kinds;
  std::string payload;
  const auto add = [&](auto fixed, RecordKind kind, std::string_view kind_name) {
    CHECK(name(kind) == kind_name);
    kinds.push_back(static_cast<std::uint16_t>(kind));
    std::byte header[kRecordHeaderBytes];
    encode_record_header(header, kind, 0, 1);  // all zero: nothing but the kind is stored
    payload.append(reinterpret_cast<const char*>(header), sizeof header);
    static_cast<void>(fixed);
  };
#define AMPPROF_RECORD_BEGIN(Name, id, text) add(Name{}, RecordKind::Name, #Name);
#define AMPPROF_FIELD(type, name, text)
#define AMPPROF_RECORD_END(Name)
#include "profiler/capture/record.def"
#define AMP_EVENT_BEGIN(Name, id, transport, text) add(amp::Name{}, record_kind(amp::EventId::Name), #Name);
#define AMP_FIELD(type, name, text)
#define AMP_ARRAY(type, name, length, text)
#define AMP_EVENT_END(Name)
#include "libamp/base/events.def"
  std::vector<std::uint16_t> unique = kinds;
  std::sort(unique.begin(), unique.end());
  CHECK(std::adjacent_find(unique.begin(), unique.end()) == unique.end());
  add(0, static_cast<RecordKind>(0x0fff), "?");
  test::OwnedReader reader(test::make_block({}, payload));
  REQUIRE(reader);
  std::size_t lines = 0;
  dump(*reader, {}, [&](const std::string& line) { lines += line.starts_with("lost:") ? 0 : 1; });
  CHECK(lines == kinds.size());
}

TEST_CASE("Rows of the tables as a capture has them", "[records]") {
  // One line for each row that the other tests of this folder do not name: what the dump makes of it.
  std::string payload;
  ThreadRecord thread;
  thread.text_bytes = 6;
  thread.tid = 12;
  append_record(payload, thread, 1, "worker");
  LossRecord loss;
  loss.kind = static_cast<std::uint32_t>(RecordKind::OpEvent);
  loss.reason = static_cast<std::uint32_t>(LossReason::write_failed);
  loss.count = 9;
  append_record(payload, loss, 2);
  loss.count = 4;  // an older count: the largest stands
  append_record(payload, loss, 3);
  SourceRecord source;
  source.text_bytes = 3;
  source.source = static_cast<std::uint32_t>(Source::cupti);
  source.state = static_cast<std::uint32_t>(SourceState::not_in_this_version);
  append_record(payload, source, 4, "why");
  amp::CauseEvent cause;
  cause.allocation = 5;
  cause.cause = static_cast<std::uint8_t>(amp::MemoryCause::weights);
  std::byte header[kRecordHeaderBytes];
  encode_record_header(header, RecordKind::CauseEvent, sizeof cause, 5);
  payload.append(reinterpret_cast<const char*>(header), sizeof header);
  payload.append(reinterpret_cast<const char*>(&cause), sizeof cause);
  ProcessEndRecord end;
  end.records = 7;
  append_record(payload, end, 6);
  TargetEndRecord target;
  target.exit_code = -3;
  target.wall_ns = 1'000;
  std::string run;
  append_record(run, TargetBeginRecord{}, 1);
  append_record(run, target, 7);
  test::OwnedReader reader(test::make_block({.tid = 12, .lane = 1}, payload) +
                           test::make_block({.uid = 1, .tid = 0, .lane = 0}, run));
  REQUIRE(reader);
  std::vector<std::string> lines;
  dump(*reader, {.stable = true}, [&](const std::string& line) { lines.push_back(line); });
  CHECK(lines == std::vector<std::string>{
                     "0.1 LossRecord kind=1 reason=1 count=9",
                     "0.1 LossRecord kind=1 reason=1 count=4",
                     "0.1 SourceRecord source=2 state=2 \"why\"",
                     "0.1 CauseEvent allocation=5 cause=3",
                     "lost: 9 OpEvent: the capture could not be written",
                 });
  CHECK(reader->process(0).threads[1].name == "worker");
  CHECK(reader->process(0).ended);
  CHECK(reader->process(1).is_ampprof);
  CHECK(reader->target().exit_code == -3);
  CHECK(reader->target().wall_ns == 1'000);
  REQUIRE(reader->sources().size() == 1);
  CHECK(reader->sources()[0].reason == "why");
}
