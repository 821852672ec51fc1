// The story of a loss scale: calibration, collapse and normal search are told apart.
#include "profiler/analysis/loss_scale.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <tuple>

#include "tests/analysis/tiny_run.h"

using namespace ampprof;
using analysis::find_loss_scale;
using analysis::Verdict;
using test::TinyRun;

namespace {

/// Steps of a scaler with the usual factors: 2 on growth after `growth_interval` clean steps, 0.5 on overflow.
struct Driver {
  TinyRun run;
  double scale = 65536, floor = 0;
  std::uint32_t step = 0, clean = 0, growth_interval = 2000;

  void go(std::uint32_t steps, bool overflow, const char* culprit = "fc.weight") {
    for (std::uint32_t i = 0; i < steps; ++i, ++step) {
      double after = scale;
      clean = overflow ? 0 : clean + 1;
      if (overflow) after = std::max(scale * 0.5, floor);
      if (clean == growth_interval) after = scale * 2, clean = 0;
      run.scaler_step(step, scale, after, overflow, overflow ? culprit : "", floor);
      scale = after;
    }
  }
  analysis::LossScaleResult result() { return find_loss_scale(run.finish()); }
};

}  // namespace

TEST_CASE("true gradients of 4 from a scale of 65536: three skips, called calibration", "[analysis][scale]") {
  Driver d;
  d.go(3, true);
  d.go(17, false);
  const auto r = d.result();
  CHECK(r.verdict == Verdict::calibration);
  CHECK(r.skipped_steps == 3);
  CHECK(r.steps_attempted == 20);
  CHECK(r.steps_applied == 17);
  REQUIRE(r.runs.size() == 1);
  CHECK(r.runs[0].scale_after == 8192);
  CHECK(r.rows[0].scale == 65536);
  CHECK(*r.rows[0].scale_after == 32768);
  CHECK(r.rows[0].first_nonfinite == "fc.weight");
  CHECK(r.rows[5].first_nonfinite.empty());
}

TEST_CASE("91 consecutive skips are one run, and every change is in the history", "[analysis][scale]") {
  Driver d;
  d.scale = 131072;
  d.go(1, false);
  d.go(91, true);
  const auto r = d.result();
  REQUIRE(r.runs.size() == 1);
  CHECK(r.runs[0].skipped == 91);
  CHECK(r.runs[0].first_step == 1);
  CHECK(r.runs[0].first_nonfinite == "fc.weight");
  CHECK(r.runs[0].scale_after == std::ldexp(1.0, -74));
  CHECK(r.rows.size() == 92);
  CHECK(r.verdict == Verdict::collapse);
}

TEST_CASE("NaN in every step is a collapse, with a floor and without one", "[analysis][scale]") {
  for (const double floor : {0.0, 1.0}) {
    Driver d;
    d.floor = floor;
    d.go(400, true);
    const auto r = d.result();
    CHECK(r.verdict == Verdict::collapse);
    REQUIRE(r.runs.size() == 1);
    CHECK(r.runs[0].skipped == 400);
    CHECK(r.steps_applied == 0);
  }
}

TEST_CASE("more than 20 skips in 100 updates are unstable, spread out they are occasional", "[analysis][scale]") {
  Driver often;
  often.growth_interval = 2;
  often.go(30, false);
  for (int i = 0; i < 25; ++i) often.go(1, true), often.go(2, false);
  CHECK(often.result().verdict == Verdict::unstable);

  Driver seldom;
  seldom.go(100, false);
  seldom.go(1, true);
  seldom.go(100, false);
  const auto r = seldom.result();
  CHECK(r.verdict == Verdict::occasional);
  REQUIRE(r.runs.size() == 1);
  CHECK_FALSE(r.runs[0].at_start);
}

TEST_CASE("a skip that takes back a growth is the normal search", "[analysis][scale]") {
  Driver d;
  d.growth_interval = 50;
  d.go(50, false);
  d.go(1, true);
  d.go(40, false);
  const auto r = d.result();
  CHECK(r.verdict == Verdict::stable);
  CHECK(r.growths == 1);
  CHECK(r.backoffs == 1);
  CHECK(r.runs[0].after_growth);
}

TEST_CASE("without skips the scale is stable, without a scaler there is none, without libamp nothing is known",
          "[analysis][scale]") {
  Driver d;
  d.go(10, false);
  CHECK(d.result().verdict == Verdict::stable);
  TinyRun plain;
  plain.op("op", 1);
  CHECK(find_loss_scale(plain.finish()).verdict == Verdict::no_scaler);
  CHECK(find_loss_scale(timeline::TimelineBuilder().finish()).verdict == Verdict::not_measured);
}

TEST_CASE("a run that ends between unscale and update keeps what it knew", "[analysis][scale]") {
  TinyRun run;
  amp::ScalerEvent e;
  e.step = 7;
  e.action = static_cast<std::uint8_t>(amp::ScalerAction::unscale);
  e.scale_before = e.scale_after = 1024;
  e.found_inf = 1;
  e.nonfinite_params = 3;
  run.builder.scaler(run.lane, run.now, e, "conv.bias");
  const auto r = find_loss_scale(run.finish());
  REQUIRE(r.rows.size() == 1);
  CHECK(std::string(r.rows[0].action) == "unfinished");
  CHECK_FALSE(r.rows[0].scale_after);
  CHECK(r.rows[0].first_nonfinite == "conv.bias");
  CHECK(r.rows[0].nonfinite_params == 3u);
}

TEST_CASE("steps without update() are told apart", "[analysis][scale]") {
  TinyRun run;
  for (std::uint32_t step = 0; step < 3; ++step) {
    amp::ScalerEvent e;
    e.step = step;
    e.scale_before = e.scale_after = 1024;
    e.found_inf = step == 1;
    e.skipped = step == 1;
    e.action = static_cast<std::uint8_t>(amp::ScalerAction::step);
    run.builder.scaler(run.lane, ++run.now, e, "");
  }
  const auto r = find_loss_scale(run.finish());
  REQUIRE(r.rows.size() == 2);  // the third is still pending and clean
  CHECK(std::string(r.rows[1].action) == "no_update");
  CHECK(r.skipped_steps == 1);
}

TEST_CASE("calibration is skips from the first update on; a skip after ten good steps is none", "[analysis][scale]") {
  Driver late;
  late.go(10, false);
  late.go(1, true);
  late.go(20, false);
  CHECK(late.result().verdict == Verdict::occasional);

  Driver pauses;  // 65536 at step 0, 32768 at 3, 16384 at 6
  for (int i = 0; i < 3; ++i) pauses.go(1, true), pauses.go(2, false);
  pauses.go(20, false);
  const auto r = pauses.result();
  CHECK(r.verdict == Verdict::calibration);
  CHECK(r.runs.size() == 3);
  CHECK(r.verdict_text ==
        "Calibration: 3 steps skipped at the start until the scale fitted (65536 -> 8192), none later.");

  Driver found;  // the scale had fitted for six steps
  found.go(1, true);
  found.go(6, false);
  found.go(1, true);
  found.go(20, false);
  CHECK(found.result().verdict == Verdict::occasional);
}

namespace {

void values(Driver& d, const char* name, amp::TensorRole role, std::uint64_t nan, std::uint64_t inf) {
  amp::TensorStatEvent e;
  e.step = d.step;
  e.role = static_cast<std::uint8_t>(role);
  e.count = 10;
  e.nan = nan;
  e.pos_inf = inf;
  d.run.builder.tensor(d.run.lane, ++d.run.now, e, name, {});
}

}  // namespace

TEST_CASE("a skip whose values show another cause is neither calibration nor search", "[analysis][scale]") {
  using amp::TensorRole;
  struct Row {
    const char* what;
    bool no_overflow;
    std::vector<std::tuple<TensorRole, std::uint64_t, std::uint64_t>> values;  // role, NaN, infinities
  };
  const std::vector<Row> rows = {
      {"NaN in the forward pass", true, {{TensorRole::activation, 1, 0}, {TensorRole::activation, 0, 0}}},
      {"the loss is infinite", true, {{TensorRole::activation, 0, 1}, {TensorRole::activation, 0, 1}}},
      {"only the scaled loss is infinite", false, {{TensorRole::activation, 0, 0}, {TensorRole::activation, 0, 1}}},
      {"a mask of infinities", false, {{TensorRole::activation, 0, 5}, {TensorRole::activation, 0, 0}}},
      {"NaN is first", true, {{TensorRole::activation_gradient, 2, 0}, {TensorRole::gradient, 0, 1}}},
      {"NaN comes of infinity", false, {{TensorRole::activation_gradient, 0, 1}, {TensorRole::gradient, 1, 0}}},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    const auto add = [&](Driver& d) {
      for (const auto& [role, nan, inf] : row.values) values(d, "x", role, nan, inf);
    };
    Driver start;
    add(start);
    start.go(1, true);
    start.go(20, false);
    CHECK(start.result().verdict == (row.no_overflow ? Verdict::occasional : Verdict::calibration));

    Driver grown;
    grown.growth_interval = 30;
    grown.go(30, false);
    add(grown);
    grown.go(1, true);
    grown.go(20, false);
    const auto r = grown.result();
    CHECK(r.verdict == (row.no_overflow ? Verdict::occasional : Verdict::stable));
    CHECK((r.verdict_text.find("without an overflow") != std::string::npos) == row.no_overflow);
  }
}
