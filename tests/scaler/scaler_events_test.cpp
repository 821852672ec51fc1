// What a scaler and an optimizer announce: actions, the first parameter that is not finite, statistics once a step.
#include <catch2/catch_test_macros.hpp>

#include "libamp/core/step_clock.h"
#include "libamp/dispatch/announce.h"
#include "libamp/observe/in_process.h"
#include "tests/support/toy_training.h"

using namespace amp;
using namespace amp::testing;

namespace {

struct Watched {
  Watched() {
    step_clock::set_sampling("every=1");
    step_clock::reset();
  }
  ~Watched() {
    step_clock::set_sampling("off");
    step_clock::reset();
  }
  observe::Recording recording;

  [[nodiscard]] int stats(TensorRole role, std::uint32_t step) const {
    int n = 0;
    for (const auto& stat : recording.stats)
      n += stat.event.role == static_cast<std::uint8_t>(role) && stat.event.step == step;
    return n;
  }
};

void iterate(GradScaler& scaler, Optimizer& optimizer, const Tensor& a, const Tensor& b, double planted) {
  optimizer.zero_grad();
  scaler.scale(linear_loss(a, {0.5, 0.25}) + linear_loss(b, {1})).backward();
  if (planted != 0) set_element(b.grad(), 0, planted);
  scaler.step(optimizer);
  scaler.update();
}

}  // namespace

TEST_CASE("scaler events name the actions, the scale and the first parameter at fault", "[scaler]") {
  Watched watched;
  const Tensor a = parameter({1, 2}), b = parameter({3});
  a.set_name(observe::intern("0.weight"));
  b.set_name(observe::intern("0.bias"));
  SGD optimizer({a, b});
  GradScaler scaler("cpu", {.init_scale = 8, .growth_interval = 1, .min_scale = 2});
  iterate(scaler, optimizer, a, b, 0);
  iterate(scaler, optimizer, a, b, kNaN);
  const auto& events = watched.recording.scaler;
  struct Row {
    ScalerAction action;
    std::uint32_t step;
    int found_inf, skipped;
    double before, after;
    const char* name;
  };
  const Row rows[] = {
      {ScalerAction::init, 0, 0, 0, 8, 8, ""},
      {ScalerAction::unscale, 0, 0, 0, 8, 8, ""},
      {ScalerAction::step, 0, 0, 0, 8, 8, ""},
      {ScalerAction::update, 0, 0, 0, 8, 16, ""},
      {ScalerAction::unscale, 1, 1, 0, 16, 16, "0.bias"},
      {ScalerAction::step, 1, 1, 1, 16, 16, ""},
      {ScalerAction::update, 1, 1, 0, 16, 8, ""},
  };
  REQUIRE(events.size() == std::size(rows));
  for (std::size_t i = 0; i < std::size(rows); ++i) {
    CAPTURE(i);
    CHECK(events[i].action == static_cast<std::uint8_t>(rows[i].action));
    CHECK(events[i].step == rows[i].step);
    CHECK(events[i].found_inf == rows[i].found_inf);
    CHECK(events[i].skipped == rows[i].skipped);
    CHECK(events[i].scale_before == rows[i].before);
    CHECK(events[i].scale_after == rows[i].after);
    CHECK(std::string(observe::text(events[i].first_nonfinite)) == rows[i].name);
    CHECK(events[i].min_scale == 2);
  }
  CHECK(events[4].params == 2);
  CHECK(events[4].nonfinite_params == 1);
  CHECK(announce::loss_scale() == 8);
}

TEST_CASE("weights and unscaled gradients are announced once a step and parameter", "[scaler]") {
  const Tensor a = parameter({1, 2}), b = parameter({3});
  struct Row {
    bool enabled, fused;
    double planted;
    int gradients;
  };
  for (const Row& row : {Row{true, false, 0, 2}, Row{false, false, 0, 2}, Row{true, true, 0, 2},
                         Row{true, false, kInf, 2}, Row{true, true, kInf, 0}}) {
    CAPTURE(row.enabled, row.fused, row.planted);
    Watched watched;
    SGD optimizer({a, b}, {.lr = 0, .fused = row.fused});
    GradScaler scaler("cpu", {.init_scale = 8, .enabled = row.enabled});
    iterate(scaler, optimizer, a, b, row.planted);
    CHECK(watched.stats(TensorRole::weight, 0) == 2);
    CHECK(watched.stats(TensorRole::unscaled_gradient, 0) == row.gradients);
    for (const auto& stat : watched.recording.stats)
      if (stat.event.role == static_cast<std::uint8_t>(TensorRole::unscaled_gradient) && row.planted == 0)
        CHECK(stat.event.max_abs <= 1);  // not scaled any more
    iterate(scaler, optimizer, a, b, 0);
    CHECK(watched.stats(TensorRole::weight, 1) == 2);
  }
}

TEST_CASE("updates are ops of the optimizer's phase", "[optim]") {
  Watched watched;
  const Tensor a = parameter({1, 2}), b = parameter({3});
  SGD optimizer({a, b}, {.momentum = 0.9});
  GradScaler scaler("cpu");
  iterate(scaler, optimizer, a, b, 0);
  int updates = 0;
  for (const OpEvent& op : watched.recording.ops) {
    const bool is_update = op.op == static_cast<std::uint16_t>(OpId::sgd_step_);
    updates += is_update;
    if (is_update) CHECK(op.phase == static_cast<std::uint8_t>(Phase::optimizer));
  }
  CHECK(updates == 2);
  int state = 0;
  for (const AllocEvent& alloc : watched.recording.allocs)
    state += alloc.cause == static_cast<std::uint8_t>(MemoryCause::optimizer_state) &&
             alloc.op == static_cast<std::uint16_t>(OpId::none) && alloc.bytes >= 4;
  CHECK(state >= 2);
}
