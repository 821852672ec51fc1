// What optimizers share: half parameters, the scaler's part, state dicts, groups, refusals. Formulas:
// formulas_test.cpp.
#include "tests/optim/optimizer_reference.h"

using namespace amp;
using namespace amp::testing;

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
  for (AdagradOptions o : kAdagrad) {
    const auto with = [o](bool fused) {
      return [o, fused](const Tensor& p) mutable { return o.fused = fused, Adagrad({p}, o); };
    };
    check_same(with(false), with(true));
  }
  for (RMSpropOptions o : kRmsprop) {
    const auto with = [o](bool fused) {
      return [o, fused](const Tensor& p) mutable { return o.fused = fused, RMSprop({p}, o); };
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
      {"lr_decay", [&] { Adagrad({p}, {.lr_decay = -1}); }},
      {"initial_accumulator_value", [&] { Adagrad({p}, {.initial_accumulator_value = -1}); }},
      {"alpha", [&] { RMSprop({p}, {.alpha = -1}); }},
      {"momentum", [&] { RMSprop({p}, {.momentum = -1}); }},
      {"fused differs", [&] { SGD({p}, {.fused = true}).add_param_group({parameter({1})}, {}); }},
      {"no such group", [&] { (void)SGD({p}).group(1); }},
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

TEST_CASE("a refused group leaves the optimizer as it was", "[optim]") {
  const Tensor a = parameter({1}), b = parameter({1});
  SGD optimizer({a}, {.lr = 0.5});
  CHECK(error_code([&] { optimizer.add_param_group({b, a}); }) == ErrorCode::value);
  optimizer.add_param_group({b});  // not known from the call before; with the options of the constructor
  CHECK(optimizer.group(1).lr == 0.5);
  CHECK(optimizer.group_count() == 2);
}

TEST_CASE("state dicts have PyTorch's entries", "[optim]") {
  const Tensor a = parameter({1}), b = parameter({1, 2}, DType::float16);
  RMSprop optimizer({a}, {.lr = 0.5, .momentum = 0.5});
  optimizer.add_param_group({b}, {.centered = true});
  (a.sum() + b.sum()).backward();
  optimizer.step();
  const StateDict state = optimizer.state_dict();
  const auto names = [&](const std::string& prefix) {
    std::string all;
    for (const auto& [key, value] : state)
      if (key.starts_with(prefix)) all += key.substr(prefix.size()) + " ";
    return all;
  };
  CHECK(names("state.0.") == "momentum_buffer square_avg step ");
  CHECK(names("state.1.") == "grad_avg master square_avg step ");
  CHECK(names("param_groups.1.") == "alpha centered eps lr maximize momentum params weight_decay ");
  CHECK(state.at("param_groups.1.params").to_vector() == std::vector<double>{1});
  CHECK(state.at("param_groups.1.centered").item() == 1);
  CHECK(state.at("state.1.square_avg").dtype() == DType::float32);
  Adam adam({parameter({1})}, {.beta1 = 0.5});
  CHECK(adam.state_dict().at("param_groups.0.betas").to_vector() == std::vector<double>{0.5, 0.999});
  CHECK(&optimizer.state(b) != nullptr);
  CHECK(optimizer.state(b).at("step").item() == 1);
  CHECK(error_code([&] { (void)optimizer.state(ones({1})); }) == ErrorCode::value);
}

TEST_CASE("a state that does not fit is refused, and nothing is changed", "[optim]") {
  const Tensor a = parameter({1, 2});
  Adam optimizer({a}, {.lr = 0.5});
  a.sum().backward();
  optimizer.step();
  const StateDict good = optimizer.state_dict();
  const auto refused = [&](auto change) {
    StateDict bad = good;
    bad["param_groups.0.lr"] = scalar_tensor(7);
    change(bad);
    const bool threw = error_code([&] { optimizer.load_state_dict(bad); }) == ErrorCode::value;
    return threw && optimizer.group().lr == 0.5 && optimizer.state(a).at("step").item() == 1;
  };
  CHECK(refused([](StateDict& s) { s["param_groups.0.params"] = ones({2}); }));
  CHECK(refused([](StateDict& s) { s["param_groups.0.betas"] = ones({3}); }));
  CHECK(refused([](StateDict& s) { s["state.0.exp_avg"] = ones({3}); }));
  CHECK(refused([](StateDict& s) { s["state.0.exp_avg"] = Tensor(); }));
  CHECK(error_code([&] { optimizer.load_state_dict({}); }) == ErrorCode::value);

  // amsgrad wants what the state does not have.
  StateDict other = good;
  other["param_groups.0.amsgrad"] = ones({}, {.dtype = DType::bool_});
  optimizer.load_state_dict(other);
  CHECK(error_message([&] { optimizer.step(); }).find("max_exp_avg_sq") != std::string::npos);
}

TEST_CASE("loaded state is brought to the type of the arithmetic", "[optim]") {
  const Tensor half = parameter({1, 2}, DType::float16);
  Adam optimizer({half});
  half.sum().backward();
  optimizer.step();
  StateDict state = optimizer.state_dict();
  state["state.0.exp_avg"] = state["state.0.exp_avg"].to(DType::float16);
  state["state.0.step"] = state["state.0.step"].to(DType::int64);
  optimizer.load_state_dict(state);
  CHECK(optimizer.state(half).at("exp_avg").dtype() == DType::float32);
  CHECK(optimizer.state(half).at("step").dtype() == DType::float32);
  optimizer.step();
  CHECK(optimizer.state(half).at("step").item() == 2);
}

TEST_CASE("a half parameter that the program changes is not put back by its master", "[optim]") {
  const Tensor param = parameter({1, 1, 1}, DType::float16);
  SGD optimizer({param}, {.lr = 0x1p-13});
  const auto step = [&] {
    param.set_grad(tensor({1, 1, 1}, {.dtype = DType::float16}));
    optimizer.step();
  };
  for (int i = 0; i < 2; ++i) step();
  set_element(param, 1, 5);
  step();
  const auto master = optimizer.state(param).at("master").to_vector();
  CHECK(master == std::vector<double>{1 - 3 * 0x1p-13, 5 - 0x1p-13, 1 - 3 * 0x1p-13});  // the others keep their digits
  CHECK(param.to_vector()[1] == 5);
  // A resumed run: the loaded master fits the loaded parameter to the bit, and nothing is taken over.
  const Tensor copy = tensor(param.to_vector(), {.dtype = DType::float16, .requires_grad = true});
  SGD resumed({copy}, {.lr = 0x1p-13});
  resumed.load_state_dict(optimizer.state_dict());
  step();
  copy.set_grad(tensor({1, 1, 1}, {.dtype = DType::float16}));
  resumed.step();
  CHECK(resumed.state(copy).at("master").to_vector() == optimizer.state(param).at("master").to_vector());
}
