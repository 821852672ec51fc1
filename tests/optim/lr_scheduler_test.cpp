// Schedulers: the chained form against the closed form, PyTorch's published examples, groups, state, warnings.
#include "libamp/optim/lr_scheduler.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <numbers>

#include "libamp/optim/lr_sequence.h"
#include "tests/support/printed.h"
#include "tests/support/toy_training.h"

using namespace amp;
using namespace amp::testing;

namespace {

constexpr double kPi = std::numbers::pi;

struct Bench {
  Tensor param = parameter({1});
  SGD optimizer{{param}, {.lr = 0.5}};
  double lr() { return optimizer.group().lr; }
};

using Made = std::unique_ptr<LRScheduler>;
struct Row {
  const char* what;
  std::function<Made(Optimizer&)> make;
  std::function<double(int)> factor;  // of the initial rate, at an epoch
};

double power(double base, int n) { return std::pow(base, n); }

const Row kRows[] = {
    {"LambdaLR",
     [](Optimizer& o) {
       return std::make_unique<LambdaLR>(o, [](std::int64_t e) { return power(0.95, static_cast<int>(e)); });
     },
     [](int e) { return power(0.95, e); }},
    {"MultiplicativeLR",
     [](Optimizer& o) { return std::make_unique<MultiplicativeLR>(o, [](std::int64_t) { return 0.9; }); },
     [](int e) { return power(0.9, e); }},
    {"StepLR", [](Optimizer& o) { return std::make_unique<StepLR>(o, 3, 0.5); },
     [](int e) { return power(0.5, e / 3); }},
    {"MultiStepLR",
     [](Optimizer& o) {
       return std::make_unique<MultiStepLR>(o, std::vector<std::int64_t>{6, 2, 6}, 0.1);
     },
     [](int e) { return power(0.1, (e >= 2) + 2 * (e >= 6)); }},
    {"ExponentialLR", [](Optimizer& o) { return std::make_unique<ExponentialLR>(o, 0.8); },
     [](int e) { return power(0.8, e); }},
    {"ConstantLR", [](Optimizer& o) { return std::make_unique<ConstantLR>(o, 0.25, 4); },
     [](int e) { return e < 4 ? 0.25 : 1; }},
    {"LinearLR", [](Optimizer& o) { return std::make_unique<LinearLR>(o, 0.5, 1, 4); },
     [](int e) { return e < 4 ? 0.5 + 0.125 * e : 1; }},
    {"PolynomialLR", [](Optimizer& o) { return std::make_unique<PolynomialLR>(o, 5, 2); },
     [](int e) { return e < 5 ? power(1 - e / 5.0, 2) : 0; }},
    {"CosineAnnealingLR", [](Optimizer& o) { return std::make_unique<CosineAnnealingLR>(o, 5); },
     [](int e) { return (1 + std::cos(kPi * e / 5)) / 2; }},
    {"CosineAnnealingWarmRestarts", [](Optimizer& o) { return std::make_unique<CosineAnnealingWarmRestarts>(o, 3, 2); },
     [](int e) {
       const int start = e < 3 ? 0 : e < 9 ? 3 : 9, length = e < 3 ? 3 : e < 9 ? 6 : 12;
       return (1 + std::cos(kPi * (e - start) / length)) / 2;
     }},
};

bool near(double a, double b) { return std::abs(a - b) <= 1e-12; }

}  // namespace

TEST_CASE("schedulers follow their closed forms", "[optim]") {
  for (const Row& row : kRows) {
    Bench bench;
    const Made scheduler = row.make(bench.optimizer);
    for (int epoch = 0; epoch < 14; ++epoch) {
      CAPTURE(row.what, epoch, bench.lr());
      CHECK(near(bench.lr(), 0.5 * row.factor(epoch)));
      CHECK(scheduler->get_last_lr() == std::vector<double>{bench.lr()});
      CHECK(scheduler->last_epoch() == epoch);
      bench.optimizer.step();
      scheduler->step();
    }
  }
}

TEST_CASE("step(epoch) goes to an epoch directly", "[optim]") {
  for (const Row& row : kRows) {
    if (std::string_view(row.what) == "MultiplicativeLR") continue;  // has no closed form
    Bench bench;
    const Made scheduler = row.make(bench.optimizer);
    bench.optimizer.step();
    for (const int epoch : {7, 2, 0, 4}) {
      scheduler->step(epoch);
      CAPTURE(row.what, epoch);
      CHECK(near(bench.lr(), 0.5 * row.factor(epoch)));
    }
  }
  Bench bench;
  CosineAnnealingWarmRestarts restarts(bench.optimizer, 4);
  bench.optimizer.step();
  restarts.step(4.5);
  CHECK(near(bench.lr(), 0.5 * (1 + std::cos(kPi * 0.5 / 4)) / 2));
}

TEST_CASE("a scheduler saved and loaded goes on as if nothing had happened", "[optim]") {
  for (const Row& row : kRows) {
    Bench whole, part;
    const Made first = row.make(whole.optimizer);
    whole.optimizer.step();
    for (int i = 0; i < 4; ++i) first->step();
    const StateDict state = first->state_dict(), optimizer_state = whole.optimizer.state_dict();
    const Made second = row.make(part.optimizer);
    second->load_state_dict(state);
    part.optimizer.load_state_dict(optimizer_state);
    CAPTURE(row.what);
    for (int i = 0; i < 6; ++i) {
      CHECK(part.lr() == whole.lr());
      CHECK(second->get_last_lr() == first->get_last_lr());
      first->step();
      second->step();
    }
    StateDict bad = state;
    bad.erase("last_epoch");
    CHECK(error_message([&] { second->load_state_dict(bad); }).find("last_epoch") != std::string::npos);
    bad = state;
    bad["base_lrs"] = ones({2});
    CHECK(error_code([&] { second->load_state_dict(bad); }) == ErrorCode::value);
  }
}

TEST_CASE("every group is scheduled from its own rate", "[optim]") {
  Bench bench;
  bench.optimizer.add_param_group({parameter({2})}, {.lr = 4});
  LambdaLR scheduler(bench.optimizer, {[](std::int64_t) { return 0.5; },
                                       [](std::int64_t e) { return 1.0 / static_cast<double>(1 + e); }});
  bench.optimizer.step();
  scheduler.step();
  CHECK(scheduler.get_last_lr() == std::vector<double>{0.25, 2});
  CHECK(error_code([&] { LambdaLR(bench.optimizer, std::vector<LRLambda>{[](std::int64_t) { return 1.0; }}); }) ==
        ErrorCode::value);
}

TEST_CASE("a warm-up and a cosine decay in sequence", "[optim]") {
  Bench bench;
  SequentialLR scheduler(
      bench.optimizer,
      {std::make_shared<LinearLR>(bench.optimizer, 0.1, 1, 4), std::make_shared<CosineAnnealingLR>(bench.optimizer, 6)},
      {4});
  const auto expected = [](int e) { return e < 4 ? 0.1 + 0.9 * e / 4 : (1 + std::cos(kPi * (e - 4) / 6)) / 2; };
  StateDict saved;
  for (int epoch = 0; epoch <= 10; ++epoch) {
    CAPTURE(epoch, bench.lr());
    CHECK(near(bench.lr(), 0.5 * expected(epoch)));
    CHECK(scheduler.get_last_lr()[0] == bench.lr());
    if (epoch == 6) saved = scheduler.state_dict();
    bench.optimizer.step();
    scheduler.step();
  }
  Bench resumed;
  SequentialLR again(resumed.optimizer,
                     {std::make_shared<LinearLR>(resumed.optimizer, 0.1, 1, 4),
                      std::make_shared<CosineAnnealingLR>(resumed.optimizer, 6)},
                     {4});
  again.load_state_dict(saved);
  resumed.optimizer.group().lr = again.get_last_lr()[0];
  again.step();
  CHECK(near(resumed.lr(), 0.5 * expected(7)));
  const auto one = std::make_shared<StepLR>(bench.optimizer, 3);
  CHECK(error_code([&] { SequentialLR(bench.optimizer, {one}, {1}); }) == ErrorCode::value);
  CHECK(error_code([&] { SequentialLR(resumed.optimizer, {one}, {}); }) == ErrorCode::value);
}

TEST_CASE("chained schedulers multiply", "[optim]") {
  // PyTorch's example: ConstantLR(0.1, 2) with ExponentialLR(0.9).
  Bench bench;
  bench.optimizer.group().lr = 1;
  ChainedScheduler scheduler(
      {std::make_shared<ConstantLR>(bench.optimizer, 0.1, 2), std::make_shared<ExponentialLR>(bench.optimizer, 0.9)});
  for (const double lr : {0.1, 0.09, 0.81, 0.729, 0.6561}) {
    CHECK(near(bench.lr(), lr));
    bench.optimizer.step();
    scheduler.step();
  }
}

TEST_CASE("OneCycleLR goes up to max_lr and down, momentum the other way", "[optim]") {
  for (const std::string strategy : {"cos", "linear"}) {
    const Tensor p = parameter({1});
    AdamW optimizer({p}, {.lr = 7});
    OneCycleLR scheduler(optimizer, 1, {.total_steps = 10, .pct_start = 0.5, .anneal_strategy = strategy});
    std::vector<double> lrs, momenta;
    for (int i = 0; i < 10; ++i) {
      lrs.push_back(optimizer.group().lr);
      momenta.push_back(optimizer.group().beta1);
      optimizer.step();
      if (i < 9) scheduler.step();
    }
    CHECK(near(lrs[0], 1.0 / 25));
    CHECK(near(lrs[4], 1));
    CHECK(near(lrs[9], 1.0 / 25 / 1e4));
    CHECK(near(momenta[0], 0.95));
    CHECK(near(momenta[4], 0.85));
    CHECK(near(momenta[9], 0.95));
    CHECK(near(lrs[2], 0.04 + 0.96 * 0.5));  // half way up, in both strategies
    CHECK(near(lrs[1], 0.04 + 0.96 * (strategy == "cos" ? (1 - std::cos(kPi / 4)) / 2 : 0.25)));
    scheduler.step();
    CHECK(error_code([&] { scheduler.step(); }) == ErrorCode::value);
  }
  Bench bench;
  CHECK(error_code([&] { OneCycleLR(bench.optimizer, 1, {.total_steps = 10}); }) == ErrorCode::value);  // no momentum
  CHECK(error_code([&] { OneCycleLR(bench.optimizer, 1, {.cycle_momentum = false}); }) == ErrorCode::value);
  OneCycleLR three(
      bench.optimizer, 1,
      {.epochs = 2, .steps_per_epoch = 10, .pct_start = 0.4, .cycle_momentum = false, .three_phase = true});
  bench.optimizer.step();
  for (int i = 0; i < 14; ++i) three.step();
  CHECK(near(bench.lr(), 0.04));  // back at the start after both slopes
}

TEST_CASE("ReduceLROnPlateau waits, lowers and cools down", "[optim]") {
  Bench bench;
  ReduceLROnPlateau scheduler(bench.optimizer,
                              {.factor = 0.5, .patience = 1, .threshold = 0, .cooldown = 1, .min_lr = 0.2});
  const auto after = [&](std::initializer_list<double> losses) {
    for (const double loss : losses) scheduler.step(loss);
    return bench.lr();
  };
  CHECK(after({3, 2, 2}) == 0.5);
  CHECK(after({kNaN}) == 0.25);  // the second step in a row that is not better
  CHECK(after({2, 2}) == 0.25);  // one of cooldown, one bad
  CHECK(after({1, 1}) == 0.25);  // better again
  CHECK(after({1}) == 0.2);      // not below min_lr
  const StateDict state = scheduler.state_dict();
  CHECK(state.at("best").item() == 1);
  Bench other;
  ReduceLROnPlateau copy(other.optimizer);
  copy.load_state_dict(state);
  CHECK(copy.state_dict().at("last_epoch").item() == 9);
  CHECK(error_code([&] { copy.load_state_dict({}); }) == ErrorCode::value);
  CHECK(error_code([&] { ReduceLROnPlateau(bench.optimizer, {.factor = 1}); }) == ErrorCode::value);
  CHECK(error_code([&] { ReduceLROnPlateau(bench.optimizer, {.mode = "most"}); }) == ErrorCode::value);
}

TEST_CASE("a scheduler that starts in the middle needs the initial rates", "[optim]") {
  Bench bench;
  CHECK(error_message([&] { StepLR(bench.optimizer, 3, 0.1, 5); }).find("initial_lr") != std::string::npos);
  StepLR first(bench.optimizer, 3, 0.5);
  bench.optimizer.step();
  for (int i = 0; i < 4; ++i) first.step();
  Bench resumed;
  resumed.optimizer.load_state_dict(bench.optimizer.state_dict());
  StepLR second(resumed.optimizer, 3, 0.5, 4);  // makes the step to epoch 5
  first.step();
  CHECK(resumed.lr() == bench.lr());
  CHECK(second.last_epoch() == 5);
}

TEST_CASE("the warning about order knows of skipped steps", "[optim]") {
  const auto run = [](bool step_first, bool overflow) {
    Bench bench;
    return printed([&] {
      StepLR scheduler(bench.optimizer, 10);
      GradScaler scaler("cpu", {.init_scale = 4});
      if (step_first) {
        scaler.scale(linear_loss(bench.param, {1})).backward();
        if (overflow) set_element(bench.param.grad(), 0, kInf);
        CHECK(scaler.step(bench.optimizer).skipped == overflow);
        scaler.update();
      }
      scheduler.step();
      scheduler.step();  // said once
    });
  };
  CHECK(run(true, false).empty());
  CHECK(run(true, true).empty());
  const std::string text = run(false, false);
  CHECK(text.find("[StepLR] scheduler.step() was called before optimizer.step()") != std::string::npos);
  CHECK(text.find("libamp warning") == text.rfind("libamp warning"));
}

TEST_CASE("an empty function is refused", "[optim]") {
  Bench bench;
  CHECK(error_code([&] { LambdaLR scheduler(bench.optimizer, LRLambda()); }) == ErrorCode::value);
  CHECK(error_code([&] { MultiplicativeLR scheduler(bench.optimizer, LRLambda()); }) == ErrorCode::value);
}
