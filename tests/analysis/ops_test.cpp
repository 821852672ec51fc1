// How calls become rows of the op table, and whom casts are charged to.
#include "profiler/analysis/ops.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>

#include "profiler/analysis/casts.h"
#include "profiler/analysis/steps.h"
#include "tests/analysis/tiny_run.h"

using namespace ampprof;
using namespace ampprof::analysis;
using amp::DType;
using test::TinyRun;

namespace {
std::vector<OpRow> ops_of(const timeline::Timeline& t) { return find_ops(t, self_times(t)); }
}  // namespace

TEST_CASE("an op's time is its own, without nested ops and casts", "[analysis][ops]") {
  TinyRun run;
  run.begin_op("outer").wait(10).cast("inner", 4, DType::float32, DType::float16).op("inner", 20).wait(6).end();
  const auto ops = ops_of(run.finish());
  REQUIRE(ops.size() == 2);
  CHECK(ops[0].name == "inner");
  CHECK(ops[0].cpu_ns == 20);
  CHECK(ops[0].cast_ns == 4);
  CHECK(ops[1].cpu_ns == 16);
  CHECK(ops[1].total_ns == 40);
}

TEST_CASE("rows are told apart by dtype, reason and phase, and joined over modules", "[analysis][ops]") {
  const test::OpSpec half{DType::float16, amp::Reason::listed_lower, amp::Policy::cuda};
  test::OpSpec a = half, b = half, backward = half, off = half;
  a.module = "encoder.0";
  b.module = "encoder.1";
  backward.phase = amp::Phase::backward;
  off.dtype = DType::float32;
  off.reason = amp::Reason::nested_off;
  TinyRun run;
  run.op("linear", 5, a).op("linear", 7, b).op("linear", 5, a).op("linear", 100, backward).op("linear", 50, off);
  const auto ops = ops_of(run.finish());
  REQUIRE(ops.size() == 3);
  CHECK(ops[0].phase == amp::Phase::backward);
  CHECK(ops[1].reason == amp::Reason::nested_off);
  CHECK(ops[2].calls == 3);
  CHECK(ops[2].cpu_ns == 17);
  REQUIRE(ops[2].modules.size() == 2);
  CHECK(ops[2].modules[0].path == "encoder.0");
  CHECK(ops[2].modules[0].calls == 2);
}

TEST_CASE("unknown flops of one call make the row's flops unknown, not smaller", "[analysis][ops]") {
  test::OpSpec known, unknown;
  known.flops = 100;
  unknown.flops = std::numeric_limits<double>::quiet_NaN();
  unknown.module = "m";
  TinyRun run;
  run.op("op", 1, known).op("op", 1, unknown).op("op", 1, known).op("fine", 1, known).op("fine", 1, known);
  for (const OpRow& row : ops_of(run.finish())) {
    if (row.name == "op") CHECK_FALSE(row.flops);
    if (row.name == "fine") CHECK(row.flops == 200.0);
  }
}

TEST_CASE("casts are charged to the op that caused them, cached ones apart", "[analysis][casts]") {
  TinyRun run;
  run.cast("matmul", 30, DType::float32, DType::float16, 1000);
  run.cast("matmul", 0, DType::float32, DType::float16, 1000, 0, true);
  run.cast("matmul", 10, DType::float32, DType::float16, 4096, 4);
  run.cast("softmax", 5, DType::float16, DType::float32, 10);
  const auto t = run.finish();
  const auto casts = find_casts(t, self_times(t));
  REQUIRE(casts.size() == 2);
  CHECK(casts[0].cause_op == "matmul");
  CHECK(casts[0].count == 2);
  CHECK(casts[0].cached_count == 1);
  CHECK(casts[0].cpu_ns == 40);
  CHECK(casts[0].bytes == 5096 * 6);
  CHECK(casts[0].max_expansion == 1024);
  CHECK(casts[1].max_expansion == 1);
}

TEST_CASE("steps know the time of their ops and casts", "[analysis][steps]") {
  TinyRun run;
  run.step(0, true).op("a", 5).cast("b", 3, DType::float32, DType::float16).op("b", 7).end_step();
  run.op("outside", 100).step(1).op("a", 1);
  const auto t = run.finish();
  const auto self = self_times(t);
  const auto steps = find_steps(t, self);
  REQUIRE(steps.size() == 2);
  CHECK(steps[0].ops_ns == 12);
  CHECK(steps[0].cast_ns == 3);
  CHECK(steps[0].dur_ns == 15);
  CHECK(steps[0].sampled);
  CHECK_FALSE(steps[1].dur_ns);
  const auto ops = find_ops(t, self);
  CHECK(ops.front().name == "outside");
  CHECK(ops.front().step_calls == 0);
  CHECK(ops.back().step_calls == 2);
  CHECK(ops.back().step_ns == 6);
  const auto totals = find_totals(ops, find_casts(t, self), steps);
  CHECK(totals.ops_in_steps_ns == 13);
  CHECK(totals.ops_ns == 113);
  CHECK(totals.cast_share() == 3.0 / 116);
  CHECK_FALSE(Totals().cast_share());
}
