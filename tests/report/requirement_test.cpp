// The expressions of `ampprof check`, and what `ampprof diff` calls a change.
#include "profiler/report/requirement.h"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "profiler/report/report.h"
#include "profiler/report/report_diff.h"
#include "tests/analysis/tiny_run.h"
#include "tests/report/sample_run.h"

using namespace ampprof;
using nlohmann::json;
using report::BadExpression;
using report::check_requirement;

namespace {

json report_of(const timeline::Timeline& timeline) {
  std::string text;
  report::write_json(report::make_report(timeline, "capture.amptrace"), text);
  return json::parse(text);
}

const json& sample() {
  static const json report = report_of(test::SampleRun().make());
  return report;
}

json foreign() {
  test::TinyRun run;
  run.builder.begin_range(run.builder.track(0, 77, "theirs"), run.now, "range");
  return report_of(run.finish());
}

}  // namespace

TEST_CASE("requirements are decided on the report's figures", "[report][check]") {
  const struct {
    const char* expression;
    bool satisfied;
  } rows[] = {
      {"loss_scale.skipped_steps == 3", true},
      {"loss_scale.skipped_steps <= 2", false},
      {"loss_scale.skipped_steps != 3", false},
      {"loss_scale.verdict == 'calibration'", true},
      {"loss_scale.verdict == \"stable\"", false},
      {"memory.saved_bytes > 0", false},
      {"memory.saved_bytes < 0 && memory.peak_bytes < 3MiB", true},
      {"memory.peak_bytes_if_fp32 - memory.peak_bytes == memory.saved_bytes", true},
      {"totals.cast_share < 10%", true},
      {"totals.cast_share < 0.01", false},
      {"target.wall_ns < 1s", true},
      {"target.wall_ns < 1us", false},
      {"findings[id=overflow_skip]", true},
      {"!findings[id=overflow_skip]", false},
      {"findings[id=overflow_skip].severity == 'info'", true},
      {"findings[id=overflow_skip].severity != 'critical'", true},
      {"findings[id='overflow_skip'].evidence.longest_run == 3", true},
      {"findings[id=fp16_underflow].severity == 'critical'", false},  // no such finding: cannot be equal
      {"findings[id=fp16_underflow].severity != 'critical'", false},  // nor different
      {"!findings[id=fp16_underflow]", true},
      {"count(findings[id=fp16_underflow]) == 0", true},
      {"count(ops[name=linear, phase=forward]) == 2", true},
      {"sum(ops[compute_dtype=float16].calls) > sum(ops[compute_dtype=float32].calls)", true},
      {"max(ops.cpu_ns) == ops[0].cpu_ns", true},
      {"min(ops.cpu_ns) < ops[0].cpu_ns", true},
      {"count(loss_scale.events) == 40", true},
      {"loss_scale.events[2].scale == 16384", true},
      {"capture.steps_total * 2 - 10 == 7 * (8 + 2)", true},
      {"capture.steps_total / 4 > -1", true},
      {"(1 > 2 || 3 > 2) && !(1 > 2)", true},
      {"target.processes[0].has_libamp == true", true},
      {"sum(findings[id=none].evidence) == 0", true},
  };
  for (const auto& row : rows) {
    INFO(row.expression);
    CHECK(check_requirement(sample(), row.expression).satisfied == row.satisfied);
  }
}

TEST_CASE("a figure that was not measured satisfies neither a comparison nor its opposite", "[report][check]") {
  const json report = foreign();
  for (const char* expression :
       {"memory.saved_bytes > 0", "memory.saved_bytes <= 0", "!(memory.saved_bytes > 0)", "memory.saved_bytes != 1",
        "loss_scale.skipped_steps == 0", "1 > 2 || memory.peak_bytes > 0", "1 < 2 && memory.peak_bytes > 0",
        "memory.peak_bytes > 0 && 1 < 2", "memory.peak_bytes + 1 > 0", "max(ops.cpu_ns) < 5"}) {
    INFO(expression);
    const auto result = check_requirement(report, expression);
    CHECK_FALSE(result.satisfied);
    CHECK_FALSE(result.why.empty());
  }
  CHECK(
      check_requirement(report, "memory.saved_bytes > 0").why ==
      "memory.saved_bytes: not measured: no libamp was seen in this run: nothing announced ops, casts, allocations or "
      "a loss scale");
  // The other side of an "or" may still decide, and one can ask whether a figure is there.
  CHECK(check_requirement(report, "memory.peak_bytes > 0 || 1 < 2").satisfied);
  CHECK(check_requirement(report, "1 < 2 || memory.peak_bytes > 0").satisfied);
  CHECK(check_requirement(report, "!measured(memory.peak_bytes)").satisfied);
  CHECK(check_requirement(sample(), "measured(memory.peak_bytes)").satisfied);
  // A row of its own path: ops[].gpu_ns is null in every row.
  const auto gpu = check_requirement(sample(), "ops[0].gpu_ns < 5");
  CHECK_FALSE(gpu.satisfied);
  CHECK(gpu.why.find("ops[0].gpu_ns: not measured: the run used no GPU") == 0);
  CHECK_FALSE(check_requirement(sample(), "sum(ops.gpu_ns) >= 0").satisfied);
}

TEST_CASE("the answer names the figures", "[report][check]") {
  CHECK(check_requirement(sample(), "loss_scale.skipped_steps <= 2").why == "loss_scale.skipped_steps is 3");
  CHECK(check_requirement(sample(), "count(ops[name=sgd]) == 1").why == "count(ops[name=sgd]) is 1");
}

TEST_CASE("an expression that cannot be read, or asks for what reports do not have, is an error", "[report][check]") {
  for (const char* expression : {"",
                                 "memory.saved_bytes >",
                                 "memory.savd_bytes > 0",
                                 "memry.saved_bytes > 0",
                                 "memory.saved_bytes > 0 0",
                                 "loss_scale.skipped_steps",
                                 "5",
                                 "memory.saved_bytes > 'much'",
                                 "memory > 3",
                                 "average(ops.calls) > 1",
                                 "ops.calls > 1",
                                 "ops[nme=linear].calls > 1",
                                 "findings[id=overflow_skip",
                                 "'open",
                                 "(1 < 2",
                                 "1 < 5parsecs",
                                 "memory[0] > 1",
                                 "count(memory) > 1",
                                 "sum(ops.name) > 1",
                                 "1 < 2 <",
                                 "&& 1 < 2",
                                 "-'a' < 1"}) {
    INFO(expression);
    CHECK_THROWS_AS(check_requirement(sample(), expression), BadExpression);
  }
  CHECK_THROWS_AS(check_requirement(sample(), std::string(100000, '(')), BadExpression);
  CHECK_THROWS_AS(check_requirement(sample(), std::string(100000, '!')), BadExpression);
  CHECK_THROWS_AS(check_requirement(sample(), std::string(100000, '-')), BadExpression);
}

TEST_CASE("diff tells what changed", "[report][diff]") {
  using amp::DType;
  const auto run = [](bool half, int steps) {
    test::TinyRun r;
    r.builder.timeline().command = {"./train"};
    for (int step = 0; step < steps; ++step) {
      r.step(static_cast<std::uint32_t>(step));
      if (half) r.cast("linear", 10, DType::float32, DType::float16);
      const test::OpSpec spec{half ? DType::float16 : DType::float32,
                              half ? amp::Reason::listed_lower : amp::Reason::autocast_off,
                              half ? amp::Policy::cuda : amp::Policy::none};
      r.op("linear", half ? 400 : 1000, spec).op("relu", 50).end_step();
    }
    r.alloc(1, half ? 500 : 1000, 1000, amp::MemoryCause::activations);
    return report_of(r.finish());
  };
  const std::string text = report::diff_text(run(false, 10), "a", run(true, 20), "b");
  INFO(text);
  const auto has = [&](const char* what) { return text.find(what) != std::string::npos; };
  CHECK(has("times and counts below are per step"));
  CHECK(has("float32 -> float16"));
  CHECK(has("1 of 2 ops (name and phase) changed their dtype"));
  CHECK(has("-60.0 %"));
  CHECK(has("linear float32->float16"));
  CHECK(has("Gone finding autocast_not_used"));
  CHECK(has("listed low precision"));
  CHECK(has("-50.0 %"));  // peak memory
  const std::string same = report::diff_text(run(true, 5), "a", run(true, 5), "b");
  CHECK(same.find("0 of 2 ops (name and phase) changed their dtype") != std::string::npos);
  CHECK(same.find("Findings: the same in both.") != std::string::npos);
  const std::string other = report::diff_text(run(true, 5), "a", foreign(), "b");
  CHECK(other.find("not measured") != std::string::npos);
  CHECK(other.find("New finding no_libamp") != std::string::npos);
}
