// PyTorch's tests of GradScaler in training, by their names: a model trained with the scaler, with one iteration whose
// gradients overflow, against the same model trained without it and without that iteration's step.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <functional>

#include "libamp/nn/clip.h"
#include "libamp/nn/layers.h"
#include "libamp/observe/in_process.h"
#include "tests/support/toy_training.h"

using namespace amp;
using namespace amp::testing;

namespace {

constexpr int kSkipAt = 2, kIterations = 4;

struct Model {
  nn::Sequential layers{nn::Linear(8, 8), nn::Linear(8, 8)};
  Tensors params = layers.parameters();
  /// The weight whose gradient is made infinite.
  [[nodiscard]] Tensor poisoned() const { return params[2]; }
};

// What a run works with; `scaling` false: plain float32 training that leaves out the skipped step.
struct Case {
  Model& model;
  Optimizer& optimizer;
  GradScaler& scaler;
  const std::vector<std::pair<Tensor, Tensor>>& data;
  bool scaling;

  [[nodiscard]] bool skips(int i) const { return i == kSkipAt && scaler.is_enabled(); }
  void poison(int i) const {
    if (skips(i)) model.poisoned().grad().fill_(kInf);
  }
};

using MakeOptimizer = std::function<std::unique_ptr<Optimizer>(const Tensors&)>;
std::unique_ptr<Optimizer> plain_sgd(const Tensors& params) {
  return std::make_unique<SGD>(params, SGDOptions{.lr = 1});
}

std::vector<std::pair<Tensor, Tensor>> make_data() {
  manual_seed(21);
  std::vector<std::pair<Tensor, Tensor>> data;
  for (int i = 0; i < kIterations; ++i) data.emplace_back(randn({8, 8}), randn({8, 8}));
  return data;
}

// Runs both, with the scaler on and off, and compares the parameters.
void run_scaling_case(const std::function<void(Case)>& run, int unskipped, int skipped, double tolerance,
                      const MakeOptimizer& make = plain_sgd, const MakeOptimizer& make_control = plain_sgd) {
  const auto data = make_data();
  for (const bool enabled : {true, false}) {
    Model control, scaled;
    scaled.layers.load_state_dict(control.layers.state_dict());
    const auto control_optimizer = make_control(control.params), scaled_optimizer = make(scaled.params);
    GradScaler scaler("cpu", {.init_scale = 128, .growth_factor = 2, .growth_interval = 1, .enabled = enabled});
    run({control, *control_optimizer, scaler, data, false});
    run({scaled, *scaled_optimizer, scaler, data, true});
    CHECK(scaler.get_scale() == (enabled ? 128 * std::pow(2.0, unskipped) * std::pow(0.5, skipped) : 1));
    double worst = 0;
    for (std::size_t p = 0; p < control.params.size(); ++p) {
      const auto a = control.params[p].to_vector(), b = scaled.params[p].to_vector();
      for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(a[i] - b[i]));
    }
    CAPTURE(enabled);
    CHECK(worst <= tolerance);
  }
}

// The plain loop. `autocast` also covers what must be as accurate as half precision lets it.
void train(Case c, std::optional<DType> fast, bool pickle_each_iteration, bool separate_unscale) {
  for (int i = 0; i < kIterations; ++i) {
    const auto& [input, target] = c.data[static_cast<std::size_t>(i)];
    c.optimizer.zero_grad();
    Tensor loss;
    {
      const autocast region(
          "cpu", {.dtype = fast.value_or(kBFloat16), .enabled = c.scaling && fast.has_value(), .policy = Policy::cuda});
      loss = mse_loss(c.model.layers(input), target);
    }
    if (!c.scaling) {
      loss.backward();
      if (!c.skips(i)) c.optimizer.step();
      continue;
    }
    c.scaler.scale(loss).backward();
    c.poison(i);
    if (separate_unscale) c.scaler.unscale_(c.optimizer);
    CHECK(c.scaler.step(c.optimizer).skipped == c.skips(i));
    c.scaler.update();
    if (pickle_each_iteration) c.scaler = c.scaler.clone();
  }
}

double clipped_norm(Case c, double max_norm) { return nn::utils::clip_grad_norm_(c.model.params, max_norm).item(); }

}  // namespace

TEST_CASE("test_grad_scaling_autocast") {
  for (const bool pickle : {false, true})
    run_scaling_case([&](Case c) { train(c, kFloat16, pickle, false); }, 3, 1, 1e-3);
  run_scaling_case([&](Case c) { train(c, {}, false, false); }, 3, 1, 1e-6);  // float32 throughout: only the scale
}

TEST_CASE("test_grad_scaling_autocast_foreach") {
  // "foreach" optimizers take the ordinary path of the scaler; here it is the only one that is not fused.
  run_scaling_case([&](Case c) { train(c, kFloat16, false, true); }, 3, 1, 1e-3);
}

TEST_CASE("test_grad_scaling_autocast_fused") {
  const MakeOptimizer fused = [](const Tensors& params) {
    return std::make_unique<SGD>(params, SGDOptions{.lr = 1, .fused = true});
  };
  for (const bool pickle : {false, true})
    run_scaling_case([&](Case c) { train(c, kFloat16, pickle, false); }, 3, 1, 1e-3, fused);
}

TEST_CASE("test_grad_scaling_autocast_fused_optimizers") {
  const auto adam = [](const Tensors& params, bool fused) {
    return std::make_unique<Adam>(params, AdamOptions{.lr = 0.1, .fused = fused});
  };
  const auto adamw = [](const Tensors& params, bool fused) {
    return std::make_unique<AdamW>(params, AdamOptions{.lr = 0.1, .weight_decay = 0.01, .fused = fused});
  };
  const auto sgd = [](const Tensors& params, bool fused) {
    return std::make_unique<SGD>(params, SGDOptions{.lr = 0.1, .momentum = 0.9, .fused = fused});
  };
  const std::function<std::unique_ptr<Optimizer>(const Tensors&, bool)> makers[] = {adam, adamw, sgd};
  const auto data = make_data();
  for (const auto& make : makers)
    for (const bool separate_unscale : {false, true}) {
      Model models[2];
      models[1].layers.load_state_dict(models[0].layers.state_dict());
      std::vector<std::unique_ptr<Optimizer>> optimizers;
      for (const int fused : {0, 1}) optimizers.push_back(make(models[fused].params, fused == 1));
      GradScaler scalers[2] = {GradScaler("cpu", {.init_scale = 128}), GradScaler("cpu", {.init_scale = 128})};
      for (int i = 0; i < kIterations; ++i) {
        std::vector<std::vector<double>> outcome[2];
        for (const int fused : {0, 1}) {
          Model& model = models[fused];
          const auto& [input, target] = data[static_cast<std::size_t>(i)];
          Optimizer& optimizer = *optimizers[static_cast<std::size_t>(fused)];
          optimizer.zero_grad();
          Tensor loss;
          {
            const autocast region("cpu", {.dtype = kFloat16, .policy = Policy::cuda});
            loss = mse_loss(model.layers(input), target);
          }
          scalers[fused].scale(loss).backward();
          if (i == kSkipAt) model.poisoned().grad().fill_(kInf);
          if (separate_unscale) scalers[fused].unscale_(optimizer);
          scalers[fused].step(optimizer);
          scalers[fused].update();
          outcome[fused].push_back(loss.to_vector());
          for (const Tensor& p : model.params) {
            outcome[fused].push_back(p.to_vector());
            // A fused step that was skipped leaves its gradients scaled (the difference PyTorch has, too).
            if (i != kSkipAt) outcome[fused].push_back(p.grad().to_vector());
          }
          for (const auto& [key, tensor] : optimizer.state_dict())
            if (key.starts_with("state.")) outcome[fused].push_back(tensor.to_vector());
        }
        CHECK(outcome[0] == outcome[1]);
        CHECK(scalers[0].get_scale() == scalers[1].get_scale());
      }
    }
}

TEST_CASE("test_grad_scaling_clipping") {
  // Scaled gradients are clipped to a scaled norm.
  run_scaling_case(
      [](Case c) {
        const double max_norm = 0.2;
        for (int i = 0; i < kIterations; ++i) {
          const auto& [input, target] = c.data[static_cast<std::size_t>(i)];
          c.optimizer.zero_grad();
          const Tensor loss = mse_loss(c.model.layers(input), target);
          if (c.scaling) {
            c.scaler.scale(loss).backward();
            const double norm = clipped_norm(c, max_norm * c.scaler.get_scale());
            CHECK(norm > max_norm * c.scaler.get_scale());  // clipping does something
            c.poison(i);
            c.scaler.step(c.optimizer);
            c.scaler.update();
          } else {
            loss.backward();
            clipped_norm(c, max_norm);
            if (!c.skips(i)) c.optimizer.step();
          }
        }
      },
      3, 1, 1e-5);
}

TEST_CASE("test_grad_scaling_clipping_separate_unscale") {
  run_scaling_case(
      [](Case c) {
        for (int i = 0; i < kIterations; ++i) {
          const auto& [input, target] = c.data[static_cast<std::size_t>(i)];
          c.optimizer.zero_grad();
          const Tensor loss = mse_loss(c.model.layers(input), target);
          if (c.scaling) {
            c.scaler.scale(loss).backward();
            c.poison(i);
            c.scaler.unscale_(c.optimizer);
            clipped_norm(c, 0.2);  // makes NaN of the poisoned gradients; the step is skipped all the same
            CHECK(c.scaler.step(c.optimizer).skipped == c.skips(i));
            c.scaler.update();
          } else {
            loss.backward();
            clipped_norm(c, 0.2);
            if (!c.skips(i)) c.optimizer.step();
          }
        }
      },
      3, 1, 1e-6);
}

TEST_CASE("test_grad_scaling_penalty") {
  run_scaling_case(
      [](Case c) {
        for (int i = 0; i < kIterations; ++i) {
          const auto& [input, target] = c.data[static_cast<std::size_t>(i)];
          c.optimizer.zero_grad();
          Tensor loss = mse_loss(c.model.layers(input), target);
          Tensors grads;
          if (c.scaling) {
            const double inverse = 1 / c.scaler.get_scale();
            for (const Tensor& g : grad({c.scaler.scale(loss)}, c.model.params, {}, true, true))
              grads.push_back(g * inverse);
          } else {
            grads = grad({loss}, c.model.params, {}, true, true);
          }
          Tensor norm;
          for (const Tensor& g : grads) norm = norm.defined() ? norm + pow(g, 2).sum() : pow(g, 2).sum();
          loss = loss + sqrt(norm);
          if (c.scaling) {
            c.scaler.scale(loss).backward();
            c.poison(i);
            c.scaler.step(c.optimizer);
            c.scaler.update();
          } else {
            loss.backward();
            if (!c.skips(i)) c.optimizer.step();
          }
        }
      },
      3, 1, 1e-5);
}

TEST_CASE("test_grad_scaling_accumulation") {
  run_scaling_case(
      [](Case c) {
        for (int i = 0; i < kIterations; ++i) {
          const auto& [input, target] = c.data[static_cast<std::size_t>(i)];
          const Tensor loss = mse_loss(c.model.layers(input), target) / 2.0;
          if (c.scaling)
            c.scaler.scale(loss).backward();
          else
            loss.backward();
          if (i % 2 == 0) continue;
          if (c.scaling) {
            c.scaler.step(c.optimizer);
            c.scaler.update();
          } else {
            c.optimizer.step();
          }
          c.optimizer.zero_grad();
        }
      },
      2, 0, 1e-6);
}

TEST_CASE("test_grad_scaling_multiple") {
  const auto data = make_data();
  for (const bool enabled : {true, false}) {
    Model control[2], scaled[2];
    for (const int m : {0, 1}) scaled[m].layers.load_state_dict(control[m].layers.state_dict());
    GradScaler scaler("cpu", {.init_scale = 128, .growth_factor = 2, .growth_interval = 1, .enabled = enabled});
    const auto run = [&](Model* models, bool scaling) {
      SGD first(models[0].params, {.lr = 1}), second(models[1].params, {.lr = 1});
      for (int i = 0; i < kIterations; ++i) {
        const auto& [input, target] = data[static_cast<std::size_t>(i)];
        first.zero_grad();
        second.zero_grad();
        const Tensor a = models[0].layers(input), b = models[1].layers(input);
        const Tensor loss0 = mse_loss(a * 0.3 + b * 0.7, target), loss1 = mse_loss(a * 0.6 - b * 0.4, target);
        if (!scaling) {
          loss0.backward({}, true);
          loss1.backward();
          first.step();
          if (!enabled || i != kSkipAt) second.step();
          continue;
        }
        scaler.scale(loss0).backward({}, true);
        scaler.scale(loss1).backward();
        if (enabled && i == kSkipAt) models[1].poisoned().grad().fill_(kInf);
        scaler.unscale_(first);  // one of them early, as a user who clips does
        CHECK_FALSE(scaler.step(first).skipped);
        CHECK(scaler.step(second).skipped == (enabled && i == kSkipAt));
        scaler.update();
      }
    };
    run(control, false);
    run(scaled, true);
    CHECK(scaler.get_scale() == (enabled ? 128 * 8 * 0.5 : 1));  // once an update, whoever was skipped
    for (const int m : {0, 1})
      for (std::size_t p = 0; p < 4; ++p) {
        const auto a = control[m].params[p].to_vector(), b = scaled[m].params[p].to_vector();
        for (std::size_t k = 0; k < a.size(); ++k) CHECK(std::abs(a[k] - b[k]) < 1e-6);
      }
  }
}

TEST_CASE("test_grad_scaling_multigpu") {
  // found_inf is kept for each device and optimizer, and added up for the step. With one device there is one entry an
  // optimizer; that they do not mix is what is left to see.
  const Tensor a = parameter({1}), b = parameter({1});
  SGD first({a}, {.lr = 1}), second({b}, {.lr = 1});
  GradScaler scaler("cpu", {.init_scale = 8, .growth_interval = 1});
  const auto iterate = [&](bool poison) {
    first.zero_grad();
    second.zero_grad();
    scaler.scale(a.sum() + b.sum()).backward();
    if (poison) set_element(a.grad(), 0, kNaN);
    const bool skipped[] = {scaler.step(first).skipped, scaler.step(second).skipped};
    scaler.update();
    return std::pair{skipped[0], skipped[1]};
  };
  CHECK(iterate(true) == std::pair{true, false});
  CHECK(scaler.get_scale() == 4);
  CHECK(iterate(false) == std::pair{false, false});  // nothing of the last iteration is left
  CHECK(scaler.get_scale() == 8);
}

namespace {

// The ops of an iteration. A captured graph replays one list, so the list must not depend on what was found.
std::vector<std::uint16_t> ops_of_iteration(Optimizer& optimizer, const Tensor& param, GradScaler& scaler,
                                            bool poison) {
  optimizer.zero_grad();
  scaler.scale(param.sum()).backward();
  if (poison) param.grad().fill_(kInf);
  observe::Recording recording;
  scaler.step(optimizer);
  scaler.update();
  std::vector<std::uint16_t> ops;
  for (const OpEvent& e : recording.ops) ops.push_back(e.op);
  return ops;
}

}  // namespace

TEST_CASE("test_graph_scaling_fused_optimizers") {
  // There are no graphs on the CPU. What a capture needs holds: with a fused optimizer a step that is skipped runs the
  // same ops as one that is not.
  const Tensor p = parameter({1, 2});
  Adam optimizer({p}, {.fused = true});
  GradScaler scaler("cpu", {.init_scale = 8});
  (void)ops_of_iteration(optimizer, p, scaler, false);  // makes the state
  const auto clean = ops_of_iteration(optimizer, p, scaler, false);
  CHECK(clean.size() > 2);
  CHECK(clean == ops_of_iteration(optimizer, p, scaler, true));
}

TEST_CASE("test_graph_grad_scaling") {
  // The same for unscale_ and update without a step: no op depends on what was found.
  const Tensor p = parameter({1, 2});
  SGD optimizer({p}, {.lr = 1});
  GradScaler scaler("cpu", {.init_scale = 8, .growth_interval = 1});
  const auto ops = [&](bool poison) {
    optimizer.zero_grad();
    scaler.scale(p.sum()).backward();
    if (poison) p.grad().fill_(kInf);
    observe::Recording recording;
    scaler.unscale_(optimizer);
    scaler.update();
    std::vector<std::uint16_t> list;
    for (const OpEvent& e : recording.ops) list.push_back(e.op);
    return list;
  };
  CHECK(ops(false) == ops(true));
  CHECK(scaler.get_scale() == 8);  // up and down again
}

TEST_CASE("test_fsdp_ddp_parity_with_grad_scaler") {
  // Shards of one model with an optimizer each, against the whole model with one: the same numbers and the same skip.
  const auto data = make_data();
  Model whole, sharded;
  sharded.layers.load_state_dict(whole.layers.state_dict());
  SGD one(whole.params, {.lr = 1});
  SGD shards[] = {SGD({sharded.params[0], sharded.params[1]}, {.lr = 1}),
                  SGD({sharded.params[2], sharded.params[3]}, {.lr = 1})};
  GradScaler scaler_one("cpu", {.init_scale = 128}), scaler_shards("cpu", {.init_scale = 128});
  for (int i = 0; i < kIterations; ++i) {
    const auto& [input, target] = data[static_cast<std::size_t>(i)];
    one.zero_grad();
    for (SGD& s : shards) s.zero_grad();
    scaler_one.scale(mse_loss(whole.layers(input), target)).backward();
    scaler_shards.scale(mse_loss(sharded.layers(input), target)).backward();
    if (i == kSkipAt) {
      // FSDP reduces found_inf over the ranks, so that all skip; here every shard sees an infinity.
      whole.params[0].grad().fill_(kInf);
      sharded.params[0].grad().fill_(kInf);
      sharded.params[2].grad().fill_(kInf);
    }
    const bool skipped = scaler_one.step(one).skipped;
    for (SGD& s : shards) CHECK(scaler_shards.step(s).skipped == skipped);
    scaler_one.update();
    scaler_shards.update();
    for (std::size_t p = 0; p < 4; ++p) CHECK(whole.params[p].to_vector() == sharded.params[p].to_vector());
  }
  CHECK(scaler_one.get_scale() == scaler_shards.get_scale());
}
