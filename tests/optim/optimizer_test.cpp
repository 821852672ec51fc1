// SGD, Adam and AdamW against their formulas written down again in double, with every option.
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "libamp/scaler/grad_scaler.h"
#include "tests/support/toy_training.h"

using namespace amp;
using namespace amp::testing;

namespace {

constexpr int kSteps = 6;
const std::vector<double> kStart = {1, -2, 0.5};

// Gradients of step t, multiples of 1/16.
std::vector<double> gradient_of(int t) { return {0.25 * (t % 3) - 0.125, -0.5 + 0.0625 * t, t == 2 ? 0.0 : 0.375}; }

struct SgdReference {
  SGDOptions o;
  std::vector<double> w = kStart, m = {};
  void step(const std::vector<double>& gradient) {
    const bool first = m.empty();
    if (first) m.resize(w.size());
    for (std::size_t i = 0; i < w.size(); ++i) {
      double d = (o.maximize ? -gradient[i] : gradient[i]) + o.weight_decay * w[i];
      if (o.momentum != 0) {
        m[i] = first ? d : o.momentum * m[i] + (1 - o.dampening) * d;
        d = o.nesterov ? d + o.momentum * m[i] : m[i];
      }
      w[i] -= o.lr * d;
    }
  }
};

struct AdamReference {
  AdamOptions o;
  bool decoupled;
  std::vector<double> w = kStart, m = {0, 0, 0}, v = {0, 0, 0}, largest = {0, 0, 0};
  int t = 0;
  void step(const std::vector<double>& gradient) {
    ++t;
    for (std::size_t i = 0; i < w.size(); ++i) {
      double d = o.maximize ? -gradient[i] : gradient[i];
      if (decoupled)
        w[i] *= 1 - o.lr * o.weight_decay;
      else
        d += o.weight_decay * w[i];
      m[i] = o.beta1 * m[i] + (1 - o.beta1) * d;
      v[i] = o.beta2 * v[i] + (1 - o.beta2) * d * d;
      largest[i] = std::max(largest[i], v[i]);
      const double second = (o.amsgrad ? largest[i] : v[i]) / (1 - std::pow(o.beta2, t));
      w[i] -= o.lr * (m[i] / (1 - std::pow(o.beta1, t))) / (std::sqrt(second) + o.eps);
    }
  }
};

void check_close(const Tensor& got, const std::vector<double>& need, double relative) {
  const auto values = got.to_vector();
  for (std::size_t i = 0; i < need.size(); ++i) {
    CAPTURE(i, values[i], need[i]);
    CHECK(std::abs(values[i] - need[i]) <= relative * (std::abs(need[i]) + 0.1));
  }
}

template <typename Opt, typename Reference>
void compare(const Reference& fresh, DType dtype) {
  Reference reference = fresh;
  const Tensor param = tensor(kStart, {.dtype = dtype, .requires_grad = true});
  Opt optimizer({param}, reference.o);
  for (int t = 0; t < kSteps; ++t) {
    param.set_grad(tensor(gradient_of(t), {.dtype = dtype}));
    optimizer.step();
    reference.step(gradient_of(t));
  }
  // Half parameters are rounded copies of a float32 master: one rounding, however many steps.
  check_close(param, reference.w,
              dtype == DType::float16    ? 0x1p-11
              : dtype == DType::bfloat16 ? 0x1p-8
              : dtype == DType::float64  ? 1e-6
                                         : 2e-6);
}

const SGDOptions kSgd[] = {
    {.lr = 0.1},
    {.lr = 0.1, .momentum = 0.9},
    {.lr = 0.1, .momentum = 0.9, .dampening = 0.25, .weight_decay = 0.01},
    {.lr = 0.05, .momentum = 0.5, .weight_decay = 0.1, .nesterov = true},
    {.lr = 0.1, .momentum = 0.9, .maximize = true},
};
const AdamOptions kAdam[] = {
    {.lr = 0.1},
    {.lr = 0.01, .beta1 = 0.4, .beta2 = 0.5, .eps = 1e-3},
    {.lr = 0.1, .weight_decay = 0.1},
    {.lr = 0.1, .weight_decay = 0.1, .amsgrad = true},
    {.lr = 0.1, .maximize = true},
};

}  // namespace

TEST_CASE("SGD follows its formula", "[optim]") {
  for (const SGDOptions& options : kSgd)
    for (const DType dtype : {DType::float32, DType::float64, DType::float16, DType::bfloat16}) {
      CAPTURE(options.momentum, options.dampening, options.nesterov, options.maximize, name(dtype));
      compare<SGD>(SgdReference{options}, dtype);
    }
}

TEST_CASE("Adam and AdamW follow their formulas", "[optim]") {
  for (const AdamOptions& options : kAdam)
    for (const DType dtype : {DType::float32, DType::float64, DType::float16}) {
      CAPTURE(options.beta1, options.weight_decay, options.amsgrad, options.maximize, name(dtype));
      compare<Adam>(AdamReference{options, false}, dtype);
      compare<AdamW>(AdamReference{options, true}, dtype);
    }
}

TEST_CASE("Adam's small eps does not vanish for float16 parameters", "[optim]") {
  const Tensor param = parameter({1, 1}, DType::float16);
  Adam optimizer({param}, {.lr = 0.1});
  param.set_grad(tensor({0, 1}, {.dtype = DType::float16}));
  optimizer.step();
  CHECK(param.to_vector()[0] == 1);  // 0 / (0 + eps), not 0 / 0
  CHECK(std::abs(param.to_vector()[1] - 0.9) < 1e-3);
}

TEST_CASE("a fused optimizer takes scale and skip from the scaler, with the same result", "[optim]") {
  struct Result {
    std::vector<double> param;
    double scale;
    int skipped;
  };
  const auto train = [](auto make, bool separate_unscale) {
    const Tensor param = tensor(kStart, {.requires_grad = true});
    auto optimizer = make(param);
    GradScaler scaler("cpu", {.init_scale = 128, .growth_interval = 2});
    Result result{};
    for (int t = 0; t < kSteps; ++t) {
      optimizer.zero_grad();
      const Tensor direction = tensor(gradient_of(t));
      scaler.scale((param * direction).sum()).backward();
      if (t == 0 || t == 3) set_element(param.grad(), 1, t == 0 ? kInf : kNaN);
      if (separate_unscale) scaler.unscale_(optimizer);
      result.skipped += scaler.step(optimizer).skipped ? 1 : 0;
      scaler.update();
    }
    result.param = param.to_vector();
    result.scale = scaler.get_scale();
    return result;
  };
  const auto check_same = [&](auto plain, auto fused) {
    for (const bool separate : {false, true}) {
      const Result a = train(plain, separate), b = train(fused, separate);
      CHECK(a.param == b.param);  // the scale is a power of two: division and reciprocal agree
      CHECK(a.scale == b.scale);
      CHECK(a.skipped == 2);
      CHECK(b.skipped == 2);
    }
  };
  for (SGDOptions o : kSgd) {
    const auto with = [o](bool fused) {
      return [o, fused](const Tensor& p) mutable { return o.fused = fused, SGD({p}, o); };
    };
    check_same(with(false), with(true));
  }
  for (AdamOptions o : kAdam) {
    const auto with = [o](bool fused) {
      return [o, fused](const Tensor& p) mutable { return o.fused = fused, AdamW({p}, o); };
    };
    check_same(with(false), with(true));
  }
}

TEST_CASE("a fused update divides, and leaves scaled gradients when it skips", "[optim]") {
  const Tensor param = parameter({1, 1});
  SGD optimizer({param}, {.lr = 1, .fused = true});
  GradScaler scaler("cpu", {.init_scale = 3});
  scaler.scale(linear_loss(param, {1, 0.5})).backward();
  scaler.step(optimizer);
  CHECK(param.grad().to_vector() == std::vector<double>{1, 0.5});
  scaler.update();
  optimizer.zero_grad();
  scaler.scale(linear_loss(param, {1, 0.5})).backward();
  set_element(param.grad(), 0, kInf);
  CHECK(scaler.step(optimizer).skipped);
  CHECK(param.grad().to_vector()[1] == 1.5);
  CHECK_FALSE(optimizer.grad_scale.defined());
  CHECK_FALSE(optimizer.found_inf.defined());
}

TEST_CASE("fused optimizers accept half gradients", "[optim]") {
  const Tensor param = parameter({1, 1}, DType::float16);
  SGD optimizer({param}, {.lr = 1, .fused = true});
  GradScaler scaler("cpu", {.init_scale = 4});
  scaler.scale(param.sum()).backward();
  CHECK_FALSE(scaler.step(optimizer).skipped);
  CHECK(param.to_vector() == std::vector<double>{0, 0});
}

TEST_CASE("an optimizer's state can be saved and loaded", "[optim]") {
  const auto run = [](Adam& optimizer, const Tensor& param, int begin, int end) {
    for (int t = begin; t < end; ++t) {
      param.set_grad(tensor(gradient_of(t)));
      optimizer.step();
    }
  };
  const Tensor whole = tensor(kStart, {.requires_grad = true});
  Adam first({whole}, {.lr = 0.1, .amsgrad = true});
  run(first, whole, 0, 3);
  const StateDict saved = first.state_dict();
  const Tensor part = tensor(whole.to_vector(), {.requires_grad = true});
  Adam second({part}, {.lr = 7, .amsgrad = true});
  second.load_state_dict(saved);
  CHECK(second.group().lr == 0.1);
  run(first, whole, 3, kSteps);
  run(second, part, 3, kSteps);
  CHECK(part.to_vector() == whole.to_vector());
  CHECK(saved.at("state.0.step").item() == 3);  // a copy, not the live tensor

  for (const char* key : {"state.1.exp_avg", "param_groups.1.lr", "param_groups.0.speed", "nonsense"}) {
    StateDict bad = saved;
    bad[key] = ones({});
    CHECK(error_message([&] { second.load_state_dict(bad); }).find(key) != std::string::npos);
  }
  StateDict bad = saved;
  bad["state.0.exp_avg"] = ones({2});
  CHECK(error_code([&] { second.load_state_dict(bad); }) == ErrorCode::value);
}

TEST_CASE("groups have their own options, and zero_grad drops or clears gradients", "[optim]") {
  const Tensor a = parameter({1}), b = parameter({1}), idle = parameter({5});
  SGD optimizer({a, idle}, {.lr = 1});
  optimizer.add_param_group({b}, {.lr = 0.5});
  (a + b).sum().backward();
  optimizer.step();
  CHECK(a.item() == 0);
  CHECK(b.item() == 0.5);
  CHECK(idle.item() == 5);
  optimizer.zero_grad(false);
  CHECK(a.grad().item() == 0);
  optimizer.zero_grad();
  CHECK_FALSE(a.grad().defined());
  optimizer.group(1).lr = 4;
  (a + b).sum().backward();
  const Tensor loss = optimizer.step([&] { return a.sum(); });
  CHECK(loss.requires_grad());
  CHECK(b.item() == -3.5);
}

TEST_CASE("wrong options and parameters are refused by name", "[optim]") {
  const Tensor p = parameter({1});
  const std::pair<const char*, std::function<void()>> rows[] = {
      {"lr", [&] { SGD({p}, {.lr = -1}); }},
      {"momentum", [&] { SGD({p}, {.momentum = -1}); }},
      {"nesterov", [&] { SGD({p}, {.nesterov = true}); }},
      {"beta2", [&] { Adam({p}, {.beta2 = 1}); }},
      {"eps", [&] { AdamW({p}, {.eps = -1}); }},
      {"empty", [&] { SGD(Tensors{}); }},
      {"more than one place",
       [&] {
         SGD({p, p});
       }},
      {"leaf", [&] { SGD({p * 2}); }},
      {"floating", [&] { SGD({ones({1}, {.dtype = DType::int64})}); }},
  };
  for (const auto& [says, make] : rows) {
    CAPTURE(says);
    CHECK(error_message(make).find(says) != std::string::npos);
  }
}
