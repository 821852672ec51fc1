// The recorder in real processes that speak NVTX: what arrives in the capture, and that the process notices nothing.
#include <signal.h>

#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <filesystem>

#include "libamp/base/event.h"
#include "tests/capture/capture_support.h"
#include "tests/recorder/child_process.h"

using namespace ampprof;
using namespace ampprof::capture;
using namespace ampprof::test;

namespace {

struct Recorded {
  ChildResult child;
  std::unique_ptr<Reader> reader;
};

Recorded record(const std::vector<std::string>& words,
                std::vector<std::pair<std::string, std::string>> environment = {}) {
  const TempDir dir;
  std::vector<std::string> command{nvtx_producer()};
  command.insert(command.end(), words.begin(), words.end());
  environment.emplace_back("NVTX_INJECTION64_PATH", recorder_library());
  environment.emplace_back("AMPPROF_CAPTURE", dir / "c");
  Recorded recorded{run_child(command, {.environment = environment}), nullptr};
  std::string error;
  recorded.reader = Reader::open(dir / "c", error);
  INFO(error << recorded.child.err);
  REQUIRE(recorded.reader);
  return recorded;
}

std::vector<std::string> without_recorder_lane(const std::vector<std::string>& lines) {
  std::vector<std::string> kept;
  for (const std::string& line : lines)
    if (!line.starts_with("0.0 ")) kept.push_back(line);
  return kept;
}

}  // namespace

TEST_CASE("Events of domain amp arrive field by field") {
  const auto recorded = record({"steps:1"});
  CHECK(recorded.child.exit_code == 0);
  CHECK(recorded.child.err.empty());
  CHECK(without_recorder_lane(stable_dump(*recorded.reader)) ==
        std::vector<std::string>{
            "0.1 StepEvent",
            "0.1 OpEvent op=7 input_count=2 op_name=\"matmul\" module_path=\"encoder.0\" dims=[64,0,0,32]",
            "0.1 CastEvent to=2 cause_name=\"matmul\" elements=2048",
            "0.1 RangePopRecord domain=1",
            "0.1 RangePopRecord domain=1",
            "0.1 ScalerEvent scale_before=65536 scale_after=65536",
            "0.1 TensorStatEvent tensor_name=\"0.weight\" count=12 exponent_first=-3 exponent_bins=4 counts=[1,0,11,0]",
            "0.1 StepEvent end=1",
        });
  CHECK(!recorded.reader->losses().any());
  CHECK(recorded.reader->losses().unended_processes == 0);
}

TEST_CASE("Plain NVTX of other domains arrives by name") {
  const auto recorded = record({"plain"});
  const auto lines = stable_dump(*recorded.reader);
  CHECK(without_recorder_lane(lines) ==
        std::vector<std::string>{
            "0.1 RangePushRecord \"epoch\"",
            "0.1 RangePushRecord color=4278255360 category=3 domain=2 message=\"read batch\"",
            "0.1 MarkRecord \"wide \\xc3\\xbc \\xe2\\x82\\xac \\xf0\\x9f\\x98\\x80\"",
            "0.1 RangePopRecord domain=2",
            "0.1 RangeStartRecord range=1 \"overlap\"",
            "0.1 RangePopRecord",
            "0.1 RangeEndRecord range=1",
            "0.1 MarkRecord domain=2",
        });
  CHECK(std::count(lines.begin(), lines.end(), "0.0 CategoryRecord category=3 domain=2 \"input\"") == 1);
  CHECK(recorded.reader->string(0, 2) == "loader");
  CHECK(recorded.reader->process(0).threads.at(1).name == "main thread");
  REQUIRE(recorded.reader->sources().size() == 1);
  CHECK(recorded.reader->sources()[0].source == Source::nvtx);
  CHECK(recorded.reader->sources()[0].state == SourceState::recording);
}

TEST_CASE("Names that are no text and calls that make no sense are taken as they come") {
  const auto recorded = record({"hostile"});
  CHECK(recorded.child.exit_code == 0);
  const auto pushes = records_of(*recorded.reader, RecordKind::RangePushRecord);
  REQUIRE(pushes.size() == 1);
  RecordView view;
  view.payload = pushes[0];
  CHECK(record_text(view) == "\xc0\x9f\x01\"\\");
  CHECK(count_of(*recorded.reader, RecordKind::MarkRecord) == 5);
  const auto& lost = recorded.reader->losses().recorded;
  REQUIRE(lost.size() == 2);
  CHECK((lost[0].kind == RecordKind::OpEvent && lost[0].reason == LossReason::bad_payload && lost[0].count == 1));
  CHECK((lost[1].kind == RecordKind::MarkRecord && lost[1].reason == LossReason::oversized && lost[1].count == 1));
}

TEST_CASE("Every thread has its own lane") {
  const auto recorded = record({"threads:3"});
  CHECK(count_of(*recorded.reader, RecordKind::OpEvent) == 9);
  CHECK(recorded.reader->process(0).threads.size() == 4);
  CHECK(recorded.reader->losses().unended_processes == 0);
}

TEST_CASE("A forked child is recorded as itself, with the strings of its parent") {
  const auto recorded = record({"steps:1", "fork", "fork-idle", "steps:1"});
  REQUIRE(recorded.reader->processes().size() == 2);
  const auto& parent = recorded.reader->process(0);
  const auto& child = recorded.reader->process(1);
  CHECK(!parent.forked);
  CHECK(child.forked);
  CHECK(child.parent_pid == parent.pid);
  CHECK((parent.ended && child.ended));
  std::vector<std::size_t> ops(2);
  recorded.reader->rewind();
  for (RecordView view; recorded.reader->next(view);)
    if (view.kind == RecordKind::OpEvent) {
      ++ops[view.process];
      CHECK(recorded.reader->string(view.process, read_event<amp::OpEvent>(view).op_name) == "matmul");
    }
  CHECK(ops == std::vector<std::size_t>{2, 2});
  CHECK(!recorded.reader->losses().any());
}

TEST_CASE("However a process ends, what was recorded before the last flush is there") {
  const struct {
    const char* how;
    int exit_code, signal;
    bool in_order;
  } rows[] = {{"end:return", 0, 0, true},           {"end:exit", 3, 0, true},         {"end:_exit", 4, 0, false},
              {"end:abort", -1, SIGABRT, false},    {"end:term", -1, SIGTERM, false}, {"end:kill", -1, SIGKILL, false},
              {"end:exception", -1, SIGABRT, false}};
  for (const auto& row : rows) {
    INFO(row.how);
    const auto recorded = record({"steps:5", "pause:400", row.how});
    CHECK(recorded.child.exit_code == row.exit_code);
    CHECK(recorded.child.signal == row.signal);
    CHECK(count_of(*recorded.reader, RecordKind::OpEvent) == 5);
    CHECK(recorded.reader->process(0).ended == row.in_order);
    CHECK(recorded.reader->losses().unended_processes == (row.in_order ? 0 : 1));
    CHECK(!recorded.reader->losses().any());
  }
}

TEST_CASE("A callback that fails costs one record, and the program nothing") {
  const auto whole = record({"steps:2", "plain"});
  const std::size_t all = stable_dump(*whole.reader).size();
  std::size_t failures = 0;
  for (int n = 1; n <= 40; n += 3) {
    const auto recorded = record({"steps:2", "plain"}, {{"AMPPROF_TEST_FAULT", "callback:" + std::to_string(n)}});
    CHECK(recorded.child.exit_code == 0);
    CHECK(recorded.child.out == "done\n");
    CHECK(recorded.child.err.empty());
    std::uint64_t counted = 0;
    for (const auto& lost : recorded.reader->losses().recorded)
      if (lost.reason == LossReason::callback_failed) counted += lost.count;
    CHECK(counted <= 1);
    if (counted == 1) {
      ++failures;
      CHECK(recorded.reader->losses().any());
    }
    CHECK(stable_dump(*recorded.reader).size() <= all + 2);
  }
  CHECK(failures > 5);
}

TEST_CASE("A full disk is nothing to the program") {
  const auto recorded = record({"steps:2", "small-files:20000", "flood:100000"});
  CHECK(recorded.child.exit_code == 0);
  CHECK(recorded.child.out == "done\n");
  CHECK(recorded.child.err.empty());
  CHECK(recorded.reader->file_bytes() <= 20'000);
  CHECK(recorded.reader->losses().unended_processes == 1);
}

TEST_CASE("A program that closes every descriptor is still recorded") {
  const auto recorded = record({"steps:1", "close-all", "steps:1"});
  CHECK(count_of(*recorded.reader, RecordKind::OpEvent) == 2);
  CHECK(!recorded.reader->losses().any());
}

TEST_CASE("A flood of records from one thread is written whole") {
  const auto recorded = record({"flood:300000"});
  CHECK(count_of(*recorded.reader, RecordKind::MarkRecord) == 300'000);
  CHECK(!recorded.reader->losses().any());
}

TEST_CASE("Without a capture to write to the program runs as if there were no recorder") {
  const struct {
    const char *capture, *says;
  } rows[] = {{"", "AMPPROF_CAPTURE is not set"}, {"/nonexistent/dir/c", "cannot write /nonexistent/dir/c"}};
  for (const auto& row : rows) {
    const auto child =
        run_child({nvtx_producer(), "steps:2", "plain", "say:hello"},
                  {.environment = {{"NVTX_INJECTION64_PATH", recorder_library()}, {"AMPPROF_CAPTURE", row.capture}}});
    CHECK(child.exit_code == 0);
    CHECK(child.out == "hello\ndone\n");
    CHECK(child.err.find(row.says) != std::string::npos);
    CHECK(std::count(child.err.begin(), child.err.end(), '\n') == 1);
  }
}

TEST_CASE("The recorder brings along nothing but the C library and shows only its entry points") {
  const auto needed = run_child({"sh", "-c", "readelf -d " + recorder_library() + " | grep NEEDED; true"});
  for (const char* library : {"libstdc++", "libgcc", "libz", "libfmt", "libamp", "libcuda"})
    CHECK(needed.out.find(library) == std::string::npos);
  CHECK(needed.out.find("libc.so") != std::string::npos);
}
