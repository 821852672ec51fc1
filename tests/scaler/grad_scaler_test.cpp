// GradScaler: arithmetic, stages, errors, state. The cases of PyTorch's own tests, and vectors worked out in double and
// rounded once to float32.
#include "libamp/scaler/grad_scaler.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "tests/support/toy_training.h"

using namespace amp;
using namespace amp::testing;

namespace {

bool same_float(double got, double need) {
  return (std::isnan(got) && std::isnan(need)) || static_cast<float>(got) == static_cast<float>(need);
}

// One iteration's calls by letter: s scale and backward, i the same with an infinite gradient, u unscale_, t step,
// p update.
struct Bench {
  Tensor param = parameter({1, -2});
  SGD optimizer;
  GradScaler scaler;
  explicit Bench(const GradScalerOptions& options, const SGDOptions& sgd = {.lr = 0.5})
      : optimizer({param}, sgd), scaler("cpu", options) {}

  void call(char letter) {
    switch (letter) {
      case 's':
      case 'i':
        optimizer.zero_grad();
        scaler.scale(linear_loss(param, {0.25, -0.5})).backward();
        if (letter == 'i') set_element(param.grad(), 0, kInf);
        break;
      case 'u':
        scaler.unscale_(optimizer);
        break;
      case 't':
        scaler.step(optimizer);
        break;
      case 'p':
        scaler.update();
        break;
      default:
        FAIL("unknown letter");
    }
  }
  void run(std::string_view letters) {
    for (const char c : letters) call(c);
  }
};

}  // namespace

TEST_CASE("gradients are multiplied by the inverse of the scale, rounded once", "[scaler]") {
  struct Row {
    double scale, inverse;
  };
  const Row rows[] = {
      {65536, 1.52587890625e-05},
      {3, 0.3333333432674408},
      {10, 0.10000000149011612},
      {1000, 0.0010000000474974513},
      {0x1p-127, 1.7014118346046923e38},
      {0x1p-128, kInf},
      {0x1p-149, kInf},
      {0, kInf},
      {1e38, 1.0000000751754868e-38},
      {std::numeric_limits<float>::max(), 2.938735877055719e-39},  // subnormal: not flushed
  };
  for (const Row& row : rows) {
    CAPTURE(row.scale);
    Bench bench({.init_scale = row.scale});
    bench.scaler.scale(bench.param.sum());
    bench.param.set_grad(tensor({1, -1}));
    bench.scaler.unscale_(bench.optimizer);
    CHECK(same_float(bench.param.grad().to_vector()[0], row.inverse));
    CHECK(same_float(bench.param.grad().to_vector()[1], -row.inverse));
  }
}

TEST_CASE("the scale grows and backs off in double and is rounded once", "[scaler]") {
  struct Row {
    double scale, factor;
    bool overflow;
    double after;
  };
  const Row rows[] = {
      {65536, 2, false, 131072},
      {3, 1.1, false, 3.299999952316284},
      {1.5, 1.0000001, false, 1.5000001192092896},
      {1e38, 16, false, 1e38},
      {0x1p127, 2, false, 0x1p127},
      {65536, 0.5, true, 32768},
      {3, 0.3, true, 0.8999999761581421},
      {0x1p-149, 0.5, true, 0},
      {0x1p-148, 0.75, true, 0x1p-148},
  };
  for (const Row& row : rows) {
    CAPTURE(row.scale, row.factor);
    GradScalerOptions options{.init_scale = row.scale, .growth_interval = 1};
    (row.overflow ? options.backoff_factor : options.growth_factor) = row.factor;
    Bench bench(options);
    bench.run(row.overflow ? "itp" : "stp");
    CHECK(same_float(bench.scaler.get_scale(), row.after));
    CHECK(bench.scaler.state_dict().at("_growth_tracker") == 0);
  }
}

TEST_CASE("the tracker counts clean updates and growth asks for equality", "[scaler]") {
  Bench bench({.init_scale = 4, .backoff_factor = 0.25, .growth_interval = 2});
  const std::pair<const char*, std::pair<double, double>> rows[] = {{"stp", {4, 1}}, {"stp", {8, 0}}, {"itp", {2, 0}}};
  for (const auto& [letters, expected] : rows) {
    bench.run(letters);
    CHECK(bench.scaler.get_scale() == expected.first);
    CHECK(bench.scaler.state_dict().at("_growth_tracker") == expected.second);
  }
  Bench past({.init_scale = 4, .growth_interval = 5});
  past.run("stpstpstp");
  past.scaler.set_growth_interval(2);
  for (const double tracker : {4.0, 5.0, 6.0}) {
    past.run("stp");
    CHECK(past.scaler.state_dict().at("_growth_tracker") == tracker);
    CHECK(past.scaler.get_scale() == 4);
  }
}

TEST_CASE("calls out of order are PyTorch's kind of error", "[scaler]") {
  struct Row {
    const char* letters;
    std::optional<ErrorCode> code;  // of the last call; the others must succeed
    const char* says;
  };
  const Row rows[] = {
      {"stp", {}, ""},
      {"sutp", {}, ""},
      {"u", ErrorCode::assertion, "need scale(loss)"},
      {"t", ErrorCode::assertion, "need scale(loss)"},
      {"p", ErrorCode::assertion, "need scale(loss)"},
      {"suu", ErrorCode::runtime, "already been called"},
      {"stu", ErrorCode::runtime, "after step()"},
      {"stt", ErrorCode::runtime, "already been called"},
      {"sp", ErrorCode::assertion, "no inf checks"},
      {"stpp", ErrorCode::assertion, "no inf checks"},
      {"stpsutp", {}, ""},
      {"sup", {}, ""},  // a step that the program itself leaves out
      {"supstp", {}, ""},
  };
  for (const Row& row : rows) {
    CAPTURE(row.letters);
    Bench bench({.init_scale = 4});
    std::string_view letters = row.letters;
    bench.run(letters.substr(0, letters.size() - 1));
    const auto last = [&] { bench.call(letters.back()); };
    std::optional<ErrorCode> code;
    std::string message;
    try {
      last();
    } catch (const Error& e) {
      code = e.code();
      message = e.what();
    }
    CHECK(code == row.code);
    CHECK(message.find(row.says) != std::string::npos);
  }
}

TEST_CASE("an optimizer without gradients has nothing to check", "[scaler]") {
  const Tensor used = parameter({1, 2}), unused = parameter({1});
  SGD first({used}), second({unused});
  GradScaler scaler("cpu");
  scaler.scale(used.sum()).backward();
  CHECK(error_code([&] { scaler.step(second); }) == ErrorCode::assertion);
  // The stage is UNSCALED by then, as in PyTorch.
  CHECK(error_code([&] { scaler.unscale_(second); }) == ErrorCode::runtime);
  scaler.step(first);
  scaler.update();
}

TEST_CASE("float16 gradients are refused before any gradient is changed", "[scaler]") {
  const Tensor wide = parameter({1, 2}), half = parameter({1}, DType::float16);
  SGD optimizer({wide, half});
  GradScaler scaler("cpu", {.init_scale = 8});
  scaler.scale(wide.sum() + half.sum().to_float()).backward();
  CHECK(error_code([&] { scaler.unscale_(optimizer); }) == ErrorCode::value);
  CHECK(wide.grad().to_vector() == std::vector<double>{8, 8});
  half.set_grad({});
  scaler.unscale_(optimizer);  // the stage stayed READY
  CHECK(wide.grad().to_vector() == std::vector<double>{1, 1});
}

TEST_CASE("bfloat16 and float64 gradients are unscaled in their own type, whatever their strides", "[scaler]") {
  for (const DType dtype : {DType::bfloat16, DType::float64, DType::float32}) {
    const Tensor param = full({2, 3}, 1, {.dtype = dtype, .requires_grad = true});
    const Tensor wide = full({3, 4}, 10, {.dtype = dtype});
    for (std::int64_t bad = -1; bad < 6; ++bad) {
      SGD optimizer({param});
      GradScaler scaler("cpu", {.init_scale = 4});
      scaler.scale(param.sum());
      wide.fill_(10);
      const Tensor grad = wide.narrow(1, 1, 2).t();  // 2 x 3, not contiguous
      if (bad >= 0) grad.select(0, bad / 3).select(0, bad % 3).fill_(bad % 2 ? kNaN : -kInf);
      param.set_grad(grad);
      scaler.unscale_(optimizer);
      const auto values = param.grad().to_vector();
      for (std::int64_t i = 0; i < 6; ++i)
        CHECK((i == bad ? !std::isfinite(values[static_cast<std::size_t>(i)])
                        : values[static_cast<std::size_t>(i)] == 2.5));
      CHECK(wide.to_vector()[0] == 10);  // what lies beside the view is left alone
      CHECK(scaler.step(optimizer).skipped == (bad >= 0));
    }
  }
}

TEST_CASE("scale promotes as a product with a 0-dim float32 tensor", "[scaler]") {
  struct Row {
    DType dtype;
    Shape sizes;
    DType result;
  };
  const Row rows[] = {{DType::float16, {}, DType::float32},
                      {DType::float16, {1}, DType::float16},
                      {DType::bfloat16, {1}, DType::bfloat16},
                      {DType::float64, {}, DType::float64},
                      {DType::float32, {2}, DType::float32}};
  for (const Row& row : rows) {
    GradScaler scaler("cpu", {.init_scale = 2});
    const Tensor scaled = scaler.scale(ones(row.sizes, {.dtype = row.dtype}));
    CHECK(scaled.dtype() == row.result);
    CHECK(scaled.to_vector()[0] == 2);
  }
}

TEST_CASE("containers of outputs keep their type", "[scaler]") {
  GradScaler scaler("cpu", {.init_scale = 4});
  const Tensor one = ones({2});
  const auto [list, pair] = scaler.scale(std::pair(Tensors{one, one}, std::tuple(one, std::array{one})));
  CHECK(list.size() == 2);
  CHECK(list[1].to_vector()[0] == 4);
  CHECK(std::get<1>(pair)[0].to_vector()[1] == 4);
  CHECK(error_code([&] { scaler.scale(Tensor()); }) == ErrorCode::value);
}

TEST_CASE("construction checks the factors, and only those", "[scaler]") {
  CHECK(error_code([] { GradScaler("cpu", {.growth_factor = 1}); }) == ErrorCode::assertion);
  CHECK(error_code([] { GradScaler("cpu", {.backoff_factor = 1}); }) == ErrorCode::assertion);
  CHECK_FALSE(error_code([] { GradScaler("cpu", {.growth_factor = 1, .enabled = false}); }));
  CHECK_FALSE(error_code([] { GradScaler("cpu", {.init_scale = -1, .backoff_factor = -3, .growth_interval = 0}); }));
  CHECK(error_code([] { GradScaler("tpu"); }) == ErrorCode::runtime);
  if (!is_available(DeviceType::cuda)) CHECK_FALSE(GradScaler("cuda").is_enabled());
}

TEST_CASE("a disabled scaler is not there", "[scaler]") {
  Bench bench({.enabled = false});
  const Tensor loss = bench.param.sum();
  CHECK(bench.scaler.scale(loss).is_same(loss));
  loss.backward();
  bench.scaler.unscale_(bench.optimizer);
  bench.scaler.update();
  CHECK_FALSE(bench.scaler.step(bench.optimizer).skipped);
  CHECK(bench.param.to_vector() == std::vector<double>{0.5, -2.5});
  CHECK(bench.scaler.get_scale() == 1);
  CHECK(bench.scaler.state_dict().empty());
  bench.scaler.load_state_dict({});
  CHECK(error_code([&] { (void)bench.scaler.get_growth_factor(); }) == ErrorCode::runtime);
  CHECK(error_code([&] { (void)bench.scaler.get_growth_interval(); }) == ErrorCode::runtime);
  int evaluated = 0;
  bench.scaler.step(bench.optimizer, [&] {
    ++evaluated;
    return bench.param.sum();
  });
  CHECK(evaluated == 1);
}

TEST_CASE("closures are refused while the scaler is enabled", "[scaler]") {
  Bench bench({});
  bench.call('s');
  CHECK(error_code([&] { bench.scaler.step(bench.optimizer, [&] { return bench.param.sum(); }); }) ==
        ErrorCode::runtime);
}

TEST_CASE("update takes a number or a tensor, and forgets the stages", "[scaler]") {
  Bench bench({.init_scale = 4, .growth_interval = 2});
  bench.run("stp");
  bench.run("st");
  bench.scaler.update(32.0);
  CHECK(bench.scaler.get_scale() == 32);
  CHECK(bench.scaler.state_dict().at("_growth_tracker") == 1);  // not reset
  bench.run("st");
  bench.scaler.update(tensor({0.5}));
  CHECK(bench.scaler.get_scale() == 0.5);
  bench.scaler.update(tensor({3}, {.dtype = DType::float64}));  // no check is asked for
  CHECK(bench.scaler.get_scale() == 3);
  CHECK(error_code([&] { bench.scaler.update(tensor({1, 2})); }) == ErrorCode::assertion);
  CHECK(error_code([&] { bench.scaler.update(parameter({1})); }) == ErrorCode::assertion);
  CHECK(error_code([&] { bench.scaler.update(Tensor()); }) == ErrorCode::assertion);
}

TEST_CASE("state goes from one scaler to another, before and after its first scale()", "[scaler]") {
  Bench from({.init_scale = 2, .growth_factor = 3, .backoff_factor = 0.25, .growth_interval = 7});
  from.run("stpstp");
  const GradScaler::State saved = from.scaler.state_dict();
  CHECK(saved == GradScaler::State{{"scale", 2},
                                   {"growth_factor", 3},
                                   {"backoff_factor", 0.25},
                                   {"growth_interval", 7},
                                   {"_growth_tracker", 2}});
  for (const char* letters : {"", "stp"}) {
    Bench to({});
    to.run(letters);
    to.scaler.load_state_dict(saved);
    CHECK(to.scaler.state_dict() == saved);
    to.run("stpstpstpstpstp");
    CHECK(to.scaler.get_scale() == 6);
  }
  Bench to({});
  CHECK(error_code([&] { to.scaler.load_state_dict({}); }) == ErrorCode::runtime);
  auto incomplete = saved;
  incomplete.erase("growth_interval");
  CHECK(error_message([&] { to.scaler.load_state_dict(incomplete); }).find("growth_interval") != std::string::npos);
  CHECK(to.scaler.get_scale() == 65536);
}

TEST_CASE("a scaler is copied between iterations only", "[scaler]") {
  Bench bench({.init_scale = 4, .growth_interval = 2});
  bench.run("stp");
  GradScaler copy = bench.scaler.clone();
  CHECK(copy.state_dict() == bench.scaler.state_dict());
  bench.run("su");
  CHECK(error_code([&] { (void)bench.scaler.clone(); }) == ErrorCode::assertion);
}

TEST_CASE("several optimizers: each is skipped on its own, the scale backs off once", "[scaler]") {
  const Tensor a = parameter({1}), b = parameter({1});
  SGD first({a}, {.lr = 1}), second({b}, {.lr = 1});
  GradScaler scaler("cpu", {.init_scale = 8});
  scaler.scale(linear_loss(a, {0.5}) + linear_loss(b, {0.5})).backward();
  set_element(a.grad(), 0, kInf);
  scaler.unscale_(first);
  CHECK(scaler.step(first).skipped);
  CHECK_FALSE(scaler.step(second).skipped);
  CHECK(scaler.step_was_skipped(first));
  CHECK_FALSE(scaler.step_was_skipped(second));
  scaler.update();
  CHECK(scaler.step_was_skipped(first));  // still known, for schedulers
  CHECK(a.to_vector()[0] == 1);
  CHECK(b.to_vector()[0] == 0.5);
  CHECK(scaler.get_scale() == 4);
}

TEST_CASE("gradients that break after unscale_ are not checked again", "[scaler]") {
  for (const bool fused : {false, true}) {
    Bench bench({.init_scale = 4}, {.lr = 0.5, .fused = fused});
    bench.run("su");
    set_element(bench.param.grad(), 0, kInf);
    CHECK_FALSE(bench.scaler.step(bench.optimizer).skipped);
    CHECK_FALSE(std::isfinite(bench.param.to_vector()[0]));
  }
}

TEST_CASE("accumulation: scaled gradients add up and are unscaled once", "[scaler]") {
  Bench bench({.init_scale = 4, .growth_interval = 2});
  for (int iteration = 0; iteration < 4; ++iteration) {
    bench.scaler.scale(linear_loss(bench.param, {0.25, -0.5}) * 0.5).backward();
    if (iteration % 2 == 0) continue;
    bench.scaler.step(bench.optimizer);
    bench.scaler.update();
    bench.optimizer.zero_grad();
  }
  CHECK(bench.param.to_vector() == std::vector<double>{0.75, -1.5});
  CHECK(bench.scaler.get_scale() == 8);
}

TEST_CASE("a gradient penalty goes through the scale and back", "[scaler]") {
  const Tensor param = parameter({3});
  SGD optimizer({param}, {.lr = 1});
  GradScaler scaler("cpu", {.init_scale = 16});
  const Tensor loss = (param * param).sum();
  const Tensor scaled = grad({scaler.scale(loss)}, {param}, {}, true, true)[0];
  const Tensor penalty = (scaled * (1 / scaler.get_scale()) * scaled * (1 / scaler.get_scale())).sum();
  scaler.scale(loss + penalty).backward();  // d/dp (p^2 + (2p)^2) = 10 p
  scaler.unscale_(optimizer);
  CHECK(param.grad().to_vector()[0] == 30);
}

TEST_CASE("min_scale keeps a run whose gradients are never finite from reaching 0", "[scaler]") {
  struct Row {
    double min_scale, final_scale;
  };
  for (const Row& row : {Row{0, 0}, Row{1, 1}, Row{0.75, 0.75}}) {
    Bench bench({.init_scale = 65536, .min_scale = row.min_scale});
    for (int step = 0; step < 400; ++step) bench.run("itp");
    CHECK(bench.scaler.get_scale() == row.final_scale);
    CHECK(bench.param.to_vector() == std::vector<double>{1, -2});
    bench.run("stp");
    // Without a floor PyTorch's arithmetic multiplies a gradient of 0 by an infinite inverse.
    CHECK(std::isnan(bench.param.to_vector()[0]) == (row.min_scale == 0));
  }
}

TEST_CASE("skips are told: calibration from a start that is too large", "[scaler]") {
  // True gradient 4 in float16: 4 x 65536, 4 x 32768 and 4 x 16384 leave its range, 4 x 8192 fits.
  const Tensor param = parameter({1});
  SGD optimizer({param}, {.lr = 0});
  GradScaler scaler("cpu");
  int skipped = 0;
  for (int step = 0; step < 20; ++step) {
    optimizer.zero_grad();
    const Tensor half = param.to(DType::float16) * tensor({4}, {.dtype = DType::float16});
    scaler.scale(half.to_float()).sum().backward();
    skipped += scaler.step(optimizer).skipped ? 1 : 0;
    CHECK(scaler.step_was_skipped(optimizer) == (step < 3));
    scaler.update();
  }
  CHECK(skipped == 3);
  CHECK(scaler.get_scale() == 8192);
}
