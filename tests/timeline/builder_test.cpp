// From records to tracks, slices and links, also where a capture has holes.
#include "profiler/timeline/builder.h"

#include <catch2/catch_test_macros.hpp>

#include "tests/analysis/tiny_run.h"

using namespace ampprof;
using namespace ampprof::timeline;
using test::TinyRun;

TEST_CASE("pushes and pops become nested slices", "[timeline]") {
  TinyRun run;
  run.begin_op("outer").wait(10).op("inner", 5).wait(1).op("inner", 7).end().op("after", 3);
  const Timeline t = run.finish();
  REQUIRE(t.slices.size() == 4);
  CHECK(t.slices[0].dur_ns() == 23);
  CHECK(t.slices[1].parent == 0);
  CHECK(t.slices[2].parent == 0);
  CHECK(t.slices[2].depth == 1);
  CHECK(t.slices[3].parent == kNone);
  CHECK(t.op_kinds.size() == 3);  // the two inner calls share one row
}

TEST_CASE("a range without an end is closed at the last time its process was seen, and counted", "[timeline]") {
  TinyRun run(false);
  run.step(0).begin_op("outer").wait(10).begin_op("inner").wait(5).alloc(1, 4, 4, amp::MemoryCause::other);
  const std::int64_t last = run.now;
  const Timeline t = run.finish();
  CHECK(t.unclosed_ranges == 2);
  CHECK(t.slices[0].end_ns == last);
  CHECK(t.slices[1].end_ns == last);
  CHECK(t.slices[0].unclosed);
  REQUIRE(t.steps.size() == 1);
  CHECK(t.steps[0].unclosed);
  CHECK(t.steps[0].end_ns == last);
}

TEST_CASE("an end without a begin is counted as a loss and changes nothing", "[timeline]") {
  TinyRun run;
  run.end().op("op", 4).end();
  const Timeline t = run.finish();
  CHECK(t.losses.at("range ends without a begin") == 2);
  REQUIRE(t.slices.size() == 1);
  CHECK(t.slices[0].dur_ns() == 4);
}

TEST_CASE("a time that runs backwards on a thread is held, so that no duration is negative", "[timeline]") {
  TinyRun run;
  run.begin_op("op").wait(-50).end().op("next", 5);
  const Timeline t = run.finish();
  CHECK(t.slices[0].dur_ns() == 0);
  CHECK(t.slices[1].start_ns >= t.slices[0].end_ns);
  CHECK(t.losses.contains("times that ran backwards"));
}

TEST_CASE("domains of one thread nest independently of each other", "[timeline]") {
  TinyRun run;
  const std::uint32_t other = run.builder.track(0, 77, "my domain");
  run.begin_op("op").wait(1);
  run.builder.begin_range(other, run.now, "range");
  run.wait(1).end().wait(1);
  run.builder.end(other, run.now);
  const Timeline t = run.finish();
  REQUIRE(t.slices.size() == 2);
  CHECK(t.slices[0].dur_ns() == 2);
  CHECK(t.slices[1].dur_ns() == 2);
  CHECK(t.slices[1].parent == kNone);
}

TEST_CASE("an overlapping range may be ended by a thread that is read first", "[timeline]") {
  TinyRun run;
  run.builder.end_overlap_range(0, 9, 500);
  run.builder.start_overlap_range(0, 9, 200, "d", "r");
  run.builder.start_overlap_range(0, 10, 300, "d", "never ended");
  const Timeline t = run.finish();
  REQUIRE(t.overlap_ranges.size() == 2);
  CHECK(t.overlap_ranges[0].end_ns == 500);
  CHECK_FALSE(t.overlap_ranges[0].unclosed);
  CHECK(t.overlap_ranges[1].unclosed);
  CHECK(t.unclosed_ranges == 1);
}

TEST_CASE("casts are linked to the op that caused them and follows at their side", "[timeline]") {
  using amp::DType;
  TinyRun run;
  run.cast("matmul", 3, DType::float32, DType::float16).cast("matmul", 3, DType::float32, DType::float16);
  run.begin_op("matmul").wait(2).cast("other", 1, DType::float16, DType::float32).wait(2).end();
  run.op("other", 5);  // the cast for it ran inside matmul, one level deeper: not this call's
  const Timeline t = run.finish();
  REQUIRE(t.links.size() == 2);
  CHECK(t.links[0].from == 0);
  CHECK(t.links[0].to == 2);
  CHECK(t.links[1].from == 1);
}

TEST_CASE("a step ends where it says so, or where the next one begins", "[timeline]") {
  TinyRun run;
  run.step(0).wait(10).step(1).wait(20).end_step().wait(5);
  const Timeline t = run.finish();
  REQUIRE(t.steps.size() == 2);
  CHECK(t.steps[0].end_ns - t.steps[0].start_ns == 10);
  CHECK(t.steps[1].end_ns - t.steps[1].start_ns == 20);
  CHECK_FALSE(t.steps[1].unclosed);
}
