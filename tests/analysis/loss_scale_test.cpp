// The story of a loss scale: calibration, collapse and normal search are told apart.
#include "profiler/analysis/loss_scale.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>

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
