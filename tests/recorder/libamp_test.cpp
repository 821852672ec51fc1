// From libamp through NVTX and the recorder into a capture: what a program announced is there, every field of every
// event.
#include <fmt/format.h>

#include <catch2/catch_test_macros.hpp>

#include "tests/capture/capture_support.h"
#include "tests/observe/event_digest.h"
#include "tests/recorder/child_process.h"

using namespace ampprof;
using namespace ampprof::capture;
using namespace ampprof::test;

namespace {

template <class Event>
std::string digest_line(Reader& reader) {
  amp::test::EventDigest digest;
  reader.rewind();
  for (RecordView record; reader.next(record);) {
    if (record.kind != record_kind(Event::kId)) continue;
    auto event = read_event<Event>(record);
    if constexpr (Event::kId == amp::EventId::ScalerEvent) event.optimizer = 0;  // an address: differs from run to run
    add_event(digest, event, [&](std::uint64_t handle) { return reader.string(record.process, handle); });
    if constexpr (Event::kId == amp::EventId::TensorStatEvent)
      for (std::uint32_t i = 0; i < event.exponent_bins; ++i) {
        const std::uint64_t count = exponent_count(record, i);
        digest.add(&count, sizeof count);
      }
  }
  return fmt::format("{} {} {:016x}\n", Event::kName, digest.events, digest.hash);
}

}  // namespace

TEST_CASE("A capture holds exactly what libamp announced") {
  const TempDir dir;
  const auto child = run_child(
      {AMP_TEST_PROGRAM_DIR "/observed"},
      {.environment = {
           {"NVTX_INJECTION64_PATH", recorder_library()}, {"AMPPROF_CAPTURE", dir / "c"}, {"AMP_STATS", "every=2"}}});
  REQUIRE(child.exit_code == 0);
  CHECK(child.err.empty());
  std::string error;
  const auto reader = Reader::open(dir / "c", error);
  INFO(error);
  REQUIRE(reader);
  const std::string recorded = digest_line<amp::OpEvent>(*reader) + digest_line<amp::CastEvent>(*reader) +
                               digest_line<amp::ScalerEvent>(*reader) + digest_line<amp::TensorStatEvent>(*reader) +
                               digest_line<amp::AllocEvent>(*reader) + digest_line<amp::FreeEvent>(*reader) +
                               digest_line<amp::CauseEvent>(*reader) + digest_line<amp::StepEvent>(*reader);
  CHECK(recorded == child.out);
  CHECK(child.out.find(" 0 ") == std::string::npos);  // each kind did occur
  CHECK(!reader->losses().any());
  CHECK(reader->losses().unknown_strings == 0);
  CHECK(count_of(*reader, RecordKind::FactEvent) > 0);
}

TEST_CASE("Every op and cast of libamp that begins also ends, inside the one around it") {
  const TempDir dir;
  run_child({AMP_TEST_PROGRAM_DIR "/observed"},
            {.environment = {{"NVTX_INJECTION64_PATH", recorder_library()}, {"AMPPROF_CAPTURE", dir / "c"}}});
  std::string error;
  const auto reader = Reader::open(dir / "c", error);
  REQUIRE(reader);
  std::vector<int> open(reader->process(0).threads.size());
  std::size_t ranges = 0;
  for (RecordView record; reader->next(record);) {
    if (record.kind == RecordKind::OpEvent ||
        (record.kind == RecordKind::CastEvent && read_event<amp::CastEvent>(record).cached == 0)) {
      ++open[record.thread];
      ++ranges;
    } else if (record.kind == RecordKind::RangePopRecord) {
      --open[record.thread];
      REQUIRE(open[record.thread] >= 0);
    }
  }
  CHECK(ranges > 50);
  for (const int left : open) CHECK(left == 0);
}

TEST_CASE("libamp runs the same with and without a tool") {
  const TempDir dir;
  const auto alone = run_child({AMP_TEST_PROGRAM_DIR "/observed"}, {.environment = {{"AMP_STATS", "every=2"}}});
  const auto recorded = run_child(
      {AMP_TEST_PROGRAM_DIR "/observed"},
      {.environment = {
           {"NVTX_INJECTION64_PATH", recorder_library()}, {"AMPPROF_CAPTURE", dir / "c"}, {"AMP_STATS", "every=2"}}});
  CHECK(alone.exit_code == 0);
  CHECK(alone.out == recorded.out);
}
