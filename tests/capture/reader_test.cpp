// The reader on intact and damaged captures: it never crashes, and what it does not hand out it counts.
#include "profiler/capture/reader.h"

#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <filesystem>

#include "libamp/base/event.h"
#include "profiler/capture/crc32.h"
#include "tests/capture/capture_support.h"

using namespace ampprof;
using namespace ampprof::capture;
using ampprof::test::OwnedReader;

namespace {

std::size_t read_through(Reader& reader) {
  std::size_t records = 0;
  reader.rewind();
  for (RecordView record; reader.next(record);) {
    ++records;
    // Touch what a consumer touches.
    REQUIRE(record.process < reader.processes().size());
    REQUIRE(record.thread < reader.process(record.process).threads.size());
    if (record.kind == RecordKind::OpEvent) {
      const auto op = read_event<amp::OpEvent>(record);
      static_cast<void>(reader.string(record.process, op.op_name));
    }
    static_cast<void>(record_text(record));
    static_cast<void>(exponent_count(record, 0));
  }
  return records;
}

}  // namespace

TEST_CASE("A checksum is the one zlib computes") {
  CHECK(crc32(0, "123456789", 9) == 0xcbf43926u);
  const std::string text = "mixed precision training, in pieces";
  const auto whole = crc32(0, text.data(), text.size());
  for (std::size_t cut = 0; cut <= text.size(); ++cut)
    CHECK(crc32(crc32(0, text.data(), cut), text.data() + cut, text.size() - cut) == whole);
}

TEST_CASE("An intact capture reads back whole") {
  OwnedReader reader(test::make_capture(4));
  REQUIRE(reader);
  CHECK(read_through(*reader) == 2 + 4 * 2 * 6);
  CHECK(!reader->losses().any());
  CHECK(reader->losses().damaged_bytes == 0);
  CHECK(reader->losses().unended_processes == 1);
  REQUIRE(reader->processes().size() == 1);
  const ProcessInfo& process = reader->process(0);
  CHECK(process.pid == 4711);
  CHECK(process.command == std::vector<std::string>{"train", "--fp16"});
  CHECK(process.start_ns == 100);
  CHECK(process.threads.size() == 3);
  CHECK(process.threads[2].tid == 4712);
  CHECK(reader->string(0, 2) == "matmul");
  CHECK(reader->string(0, 0).empty());
  CHECK(reader->losses().unknown_strings == 0);
  CHECK(reader->string(0, 99) == "(lost string)");
  CHECK(reader->string(0, 99) == "(lost string)");
  CHECK(reader->losses().unknown_strings == 1);
}

TEST_CASE("Records of one thread keep their order") {
  OwnedReader reader(test::make_capture(5));
  REQUIRE(reader);
  std::vector<std::uint64_t> last(3);
  for (RecordView record; reader->next(record);) {
    CHECK(record.time_ns >= last[record.thread]);
    last[record.thread] = record.time_ns;
  }
}

TEST_CASE("A capture cut at any byte reads up to the cut") {
  const std::string whole = test::make_capture(3);
  std::size_t before = 0;
  for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
    OwnedReader reader(whole.substr(0, cut));
    if (!reader) {
      CHECK(before == 0);
      CHECK(!reader.error.empty());
      continue;
    }
    const std::size_t records = read_through(*reader);
    CHECK(records >= before);  // a longer file never shows less
    before = records;
    const Losses& losses = reader->losses();
    CHECK(losses.damaged_bytes + losses.truncated_tail_bytes < 1024);
    const bool at_block_end = losses.damaged_bytes + losses.truncated_tail_bytes == 0;
    CHECK(losses.any() == !at_block_end);
  }
  CHECK(before == 2 + 3 * 2 * 6);
}

TEST_CASE("One flipped bit costs one block, and is counted") {
  const std::string whole = test::make_capture(3);
  OwnedReader intact(whole);
  REQUIRE(intact);
  const std::size_t all = read_through(*intact);
  for (std::size_t at = 0; at < whole.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      OwnedReader reader(damaged);
      REQUIRE(reader);
      CHECK(read_through(*reader) >= all - 6);
      CHECK(read_through(*reader) < all);
      CHECK(reader->losses().damaged_bytes + reader->losses().truncated_tail_bytes > 0);
      CHECK(reader->losses().any());
    }
}

TEST_CASE("Random bytes and garbage between blocks are stepped over") {
  const std::string block = test::make_capture(1);
  std::string noise;
  std::uint32_t state = 1;
  for (int i = 0; i < 20'000; ++i) noise += static_cast<char>((state = state * 1664525u + 1013904223u) >> 24);
  const std::string magic(reinterpret_cast<const char*>(kBlockMagic), sizeof kBlockMagic);
  for (const std::string& between : {noise, magic, magic + magic.substr(0, 5), std::string(300'000, '\0')}) {
    OwnedReader reader(between + block + between);
    REQUIRE(reader);
    CHECK(read_through(*reader) == 2 + 2 * 6);
    CHECK(reader->losses().damaged_bytes + reader->losses().truncated_tail_bytes == 2 * between.size());
    CHECK(reader->losses().any());
  }
}

TEST_CASE("What is no capture is refused with a reason") {
  const std::string magic(reinterpret_cast<const char*>(kBlockMagic), sizeof kBlockMagic);
  const struct {
    std::string bytes, says;
  } rows[] = {{"", "is empty"}, {"hello", "is not an ampprof capture"}, {magic + "xx", "holds no intact block"}};
  for (const auto& row : rows) {
    OwnedReader reader(row.bytes);
    CHECK(!reader);
    CHECK(reader.error.find(row.says) != std::string::npos);
  }
  std::string error;
  CHECK(!Reader::open("/nonexistent/capture", error));
  CHECK(error.find("/nonexistent/capture") != std::string::npos);
  CHECK(!Reader::open("/dev/null", error));
  CHECK(error.find("not a regular file") != std::string::npos);
}

TEST_CASE("A missing block shows as a gap, a repeated one is read once") {
  std::string payload;
  append_record(payload, RangePopRecord{}, 5);
  const auto block = [&](std::uint32_t sequence) { return test::make_block({.sequence = sequence}, payload); };
  OwnedReader reader(block(0) + block(1) + block(1) + block(4));
  REQUIRE(reader);
  CHECK(read_through(*reader) == 3);
  CHECK(reader->losses().missing_blocks == 2);
  CHECK(reader->losses().duplicate_blocks == 1);
  CHECK(reader->process(0).threads[1].missing_blocks == 2);
}

TEST_CASE("A torn block that was written again is no loss, one that was not is") {
  std::string payload;
  append_record(payload, RangePopRecord{}, 5);
  const std::string first = test::make_block({.sequence = 0}, payload),
                    second = test::make_block({.sequence = 1}, payload);
  const std::string torn = second.substr(0, second.size() - 3);
  OwnedReader rewritten(first + torn + second);
  REQUIRE(rewritten);
  CHECK(rewritten->losses().damaged_regions == 1);
  CHECK(!rewritten->losses().any());
  OwnedReader lost(first + torn + test::make_block({.uid = 5, .sequence = 0}, payload));
  REQUIRE(lost);
  CHECK(lost->losses().missing_blocks == 1);
  CHECK(lost->losses().any());
}

TEST_CASE("A record that runs over the end of its block is counted, not read") {
  std::string payload;
  append_record(payload, RangePopRecord{}, 5);
  std::byte header[kRecordHeaderBytes];
  encode_record_header(header, RecordKind::OpEvent, 500, 6);
  payload.append(reinterpret_cast<const char*>(header), sizeof header);
  OwnedReader reader(test::make_block({}, payload));
  REQUIRE(reader);
  CHECK(read_through(*reader) == 1);
  CHECK(reader->losses().bad_records == 1);
}

TEST_CASE("Events of a shorter and of a longer struct read as zero-extended and cut") {
  amp::OpEvent op;
  op.step = 9;
  const auto bytes = std::as_bytes(std::span(&op, 1));
  RecordView record;
  record.kind = RecordKind::OpEvent;
  record.payload = bytes.first(4);
  CHECK(read_event<amp::OpEvent>(record).step == 9);
  CHECK(read_event<amp::OpEvent>(record).flops == 0);
  std::string longer(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  longer += "future";
  record.payload = std::as_bytes(std::span(longer));
  CHECK(read_event<amp::OpEvent>(record).step == 9);
}

TEST_CASE("Exponent counts are found from the end, whatever the writer's struct was") {
  amp::TensorStatEvent stat;
  stat.count = 3;
  stat.exponent_bins = 2;
  const std::uint64_t counts[2] = {1, 2};
  // A writer of before the last three fields, and one of after four more.
  for (const std::size_t fixed_bytes :
       {offsetof(amp::TensorStatEvent, rounding_measured), sizeof stat, sizeof stat + 32}) {
    std::string payload(fixed_bytes, '\0');
    std::memcpy(payload.data(), &stat, std::min(fixed_bytes, sizeof stat));
    payload.append(reinterpret_cast<const char*>(counts), sizeof counts);
    RecordView record;
    record.kind = RecordKind::TensorStatEvent;
    record.payload = std::as_bytes(std::span(payload));
    const auto read = read_event<amp::TensorStatEvent>(record);
    CHECK(read.count == 3);
    CHECK(read.rounded_to_inf == 0);
    CHECK(exponent_count(record, 0) == 1);
    CHECK(exponent_count(record, 1) == 2);
    CHECK(exponent_count(record, 2) == 0);
  }
}

TEST_CASE("Text is the end of a record, and impossible lengths give none") {
  StringRecord string;
  string.text_bytes = 3;
  string.handle = 7;
  std::string payload(reinterpret_cast<const char*>(&string), sizeof string);
  payload += "abc";
  RecordView record;
  record.payload = std::as_bytes(std::span(payload));
  CHECK(record_text(record) == "abc");
  CHECK(read_record<StringRecord>(record).handle == 7);
  payload[2] = 1;  // text_bytes is now far beyond the payload
  CHECK(record_text(record).empty());
}
