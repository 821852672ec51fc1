// Cases from public reports, in libamp alone: what people saw go wrong with caches, scales, running statistics and
// epsilons. The number of a case is in its tags; tests/cases/run has those that are about the report.
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <thread>

#include "libamp/autocast/cast_cache.h"
#include "libamp/nn/buffer_snapshot.h"
#include "libamp/nn/layers.h"
#include "libamp/nn/norms.h"
#include "libamp/observe/in_process.h"
#include "tests/support/toy_training.h"

using namespace amp;
using namespace amp::testing;

namespace {

Tensor weight(std::int64_t out, std::int64_t in) {
  Tensor w = full({out, in}, 0.5);
  w.requires_grad_();
  return w;
}

AutocastOptions cuda_rules(DType dtype = kFloat16) { return {.dtype = dtype, .policy = Policy::cuda}; }

bool all_finite(const Tensor& tensor) {
  for (const double x : tensor.to_vector())
    if (!std::isfinite(x)) return false;
  return true;
}

}  // namespace

TEST_CASE("91 overflows in a row bring 131072 down to 2^-74, and update() runs once for each", "[cases][A01]") {
  const Tensor p = parameter({1, -2});
  SGD optimizer({p}, {.lr = 0.5});
  GradScaler scaler("cpu", {.init_scale = 131072});
  const observe::Recording recording;
  for (int step = 0; step < 94; ++step) {
    optimizer.zero_grad();
    scaler.scale(linear_loss(p, {1, 1})).backward();
    if (step >= 3) set_element(p.grad(), 1, kInf);
    CHECK(scaler.step(optimizer).skipped == (step >= 3));
    scaler.update();
  }
  CHECK(scaler.get_scale() == 0x1p-74);
  int backed_off = 0;
  for (const ScalerEvent& event : recording.scaler)
    backed_off +=
        event.action == static_cast<std::uint8_t>(ScalerAction::update) && event.scale_after == event.scale_before / 2;
  CHECK(backed_off == 91);
}

TEST_CASE("NaN in every gradient leaves the weights as they are, and a floor holds", "[cases][A03]") {
  for (const double floor : {0.0, 1.0}) {
    CAPTURE(floor);
    const Tensor p = parameter({1, -2});
    SGD optimizer({p}, {.lr = 0.5, .momentum = 0.9});
    GradScaler scaler("cpu", {.min_scale = floor});
    for (int step = 0; step < 400; ++step) {
      optimizer.zero_grad();
      scaler.scale(linear_loss(p, {kNaN, 0})).backward();
      CHECK(scaler.step(optimizer).skipped);
      scaler.update();
    }
    CHECK(scaler.get_scale() == floor);
    CHECK(p.to_vector() == std::vector<double>{1, -2});
  }
}

TEST_CASE("Scales whose inverse leaves float32 make no NaN of zeros and no infinity of what fits", "[cases][A03]") {
  // 2^-128 is the first: 1 / 2^-128 is not a float32. 0 * inf would be NaN, though nothing was wrong.
  struct Row {
    double scale, gradient, unscaled;
  };
  for (const bool fused : {false, true})
    for (const Row& row :
         {Row{0x1p-127, 0, 0}, Row{0x1p-127, 0x1p-127, 1}, Row{0x1p-128, 0, 0}, Row{0x1p-128, -0.0, 0},
          Row{0x1p-128, 0x1p-128, 1}, Row{0x1p-130, -0x1p-128, -4}, Row{0x1p-149, 0x1p-149, 1}, Row{0x1p-149, 0, 0}}) {
      CAPTURE(fused, row.scale, row.gradient);
      const Tensor p = parameter({0, 0});
      SGD optimizer({p}, {.lr = 1, .fused = fused});
      GradScaler scaler("cpu", {.init_scale = row.scale});
      scaler.scale(p.sum());
      p.set_grad(tensor({row.gradient, 0}));
      CHECK_FALSE(scaler.step(optimizer).skipped);
      CHECK(p.to_vector() == std::vector<double>{-row.unscaled, 0});
    }
}

TEST_CASE("A cast first made without gradients serves a forward that needs them", "[cases][A05]") {
  const auto gradients = [](bool no_grad_first, observe::Recording& recording) {
    const Tensor w = weight(4, 3);
    const autocast region(DeviceType::cpu, cuda_rules());
    if (no_grad_first) {
      const no_grad quiet;
      (void)linear(ones({2, 3}), w);
    }
    recording.casts.clear();
    linear(ones({2, 3}) * 0.25, w).to_float().sum().backward();
    REQUIRE(w.grad().defined());
    return w.grad().to_vector();
  };
  observe::Recording recording;
  const auto alone = gradients(false, recording);
  CHECK(gradients(true, recording) == alone);
  CHECK(alone == std::vector<double>(12, 0.5));
  // The log of the second forward names the weight's cast as one from the cache; only the activation's is new.
  int made = 0, cached = 0;
  for (const CastEvent& event : recording.casts)
    if (event.kind == static_cast<std::uint8_t>(CastKind::autocast)) ++(event.cached != 0 ? cached : made);
  CHECK(made == 1);
  CHECK(cached == 1);
}

TEST_CASE("The cast cache holds one copy of each weight, and nothing after the region, in any thread", "[cases][A07]") {
  constexpr std::size_t kLayers = 24, kBytes = kLayers * 1024 * 1024 * 2;
  std::vector<Tensor> layers;
  for (std::size_t i = 0; i < kLayers; ++i) layers.push_back(weight(1024, 1024));
  const auto forwards = [&](int count) {
    const no_grad quiet;
    for (int i = 0; i < count; ++i) {
      Tensor x = ones({1, 1024});
      for (const Tensor& w : layers) x = linear(x, w) * 0;
      if (cast_cache::size().bytes > kBytes) return false;
    }
    return true;
  };
  std::atomic<bool> other_bounded{false};
  bool bounded = false;
  {
    const autocast region(DeviceType::cpu, cuda_rules());
    std::thread other([&] {
      const autocast region_there(DeviceType::cpu, cuda_rules());
      other_bounded = forwards(2);
    });
    bounded = forwards(3);
    other.join();
    bounded = bounded && forwards(1);
    CHECK(cast_cache::size().bytes == kBytes);
    CHECK(cast_cache::size().entries == kLayers);
  }
  CHECK(bounded);
  CHECK(other_bounded);
  CHECK(cast_cache::size().entries == 0);
}

TEST_CASE("step() says that it skipped, and a scheduler can still ask after update()", "[cases][A11]") {
  // The true gradient 2^-6 overflows float16 at scales of 2^24, 2^23 and 2^22.
  const Tensor w = weight(1, 1);
  SGD optimizer({w}, {.lr = 1});
  GradScaler scaler("cpu", {.init_scale = 0x1p24});
  int attempted = 0, applied = 0, scheduled = 0;
  for (int step = 0; step < 10; ++step) {
    optimizer.zero_grad();
    Tensor loss;
    {
      const autocast region(DeviceType::cpu, cuda_rules());
      loss = linear(ones({1, 1}), w).to_float().sum() * 0x1p-6;
    }
    scaler.scale(loss).backward();
    const bool skipped = scaler.step(optimizer).skipped;
    scaler.update();
    ++attempted;
    applied += skipped ? 0 : 1;
    scheduled += scaler.step_was_skipped(optimizer) ? 0 : 1;
    CHECK(skipped == (step < 3));
  }
  CHECK(attempted == 10);
  CHECK(applied == 7);
  CHECK(scheduled == 7);
  CHECK(w.item() == 0.5 - 7 * 0x1p-6);
}

TEST_CASE("Running statistics of a skipped step can be put back, and evaluation works after it", "[cases][C01]") {
  for (const bool restores : {false, true}) {
    CAPTURE(restores);
    nn::Sequential model(nn::Conv2d(1, 2, 3, {.bias = false}), nn::BatchNorm2d(2));
    const Tensors params = model.parameters();
    {
      const no_grad quiet;
      params[0].fill_(1);
    }
    SGD optimizer(params, {.lr = 1e-3});
    GradScaler scaler("cpu", {.init_scale = 256});
    const Tensor input = arange(64, {.dtype = kFloat32}).reshape({1, 1, 8, 8}) / 64;
    for (int step = 0; step < 3; ++step) {
      const nn::BufferSnapshot before(model);
      optimizer.zero_grad();
      Tensor loss;
      {
        const autocast region(DeviceType::cpu, cuda_rules());
        loss = (model(input * (step == 1 ? 60000 : 1)).to_float() * 0.01).sum();  // 60000 x 9: beyond 65504
      }
      scaler.scale(loss).backward();
      const bool skipped = scaler.step(optimizer).skipped;
      scaler.update();
      CHECK(skipped == (step == 1));
      if (skipped && restores) before.restore();
    }
    for (const auto& [name, buffer] : model.named_buffers()) {
      INFO(name);
      CHECK((all_finite(buffer) || !restores));
      if (name == "1.num_batches_tracked") CHECK(buffer.item() == (restores ? 2 : 3));
    }
    model.eval();
    CHECK(all_finite(model(input)) == restores);
  }
}

TEST_CASE("Adam on half parameters makes no NaN of a row without gradient, whatever its epsilon rounds to",
          "[cases][C03]") {
  for (const bool master : {true, false})
    for (const double eps : {1e-8, 1e-7, 1e-4}) {
      CAPTURE(master, eps);
      Tensor p = ones({2, 3}, {.dtype = kFloat16});
      p.requires_grad_();
      Adam optimizer({p}, {.lr = 0.25, .eps = eps, .master_weights = master});
      for (int step = 0; step < 3; ++step) {
        p.set_grad(tensor(std::initializer_list<double>{0, 0, 0, 1, 1, 1}, {.dtype = kFloat16}).reshape({2, 3}));
        optimizer.step();
      }
      CHECK(all_finite(p));
      const auto values = p.to_vector();
      CHECK(values[0] == 1);     // nothing to go by, nothing done
      CHECK(values[3] == 0.25);  // a constant gradient moves by lr a step
    }
}

TEST_CASE("A first scale that is too high costs as many skips as it is powers of two too high", "[cases][C09]") {
  const Tensor w = weight(1, 1);
  SGD optimizer({w}, {.lr = 0});
  GradScaler scaler("cpu");
  std::vector<double> skipped_at;
  for (int step = 0; step < 20; ++step) {
    optimizer.zero_grad();
    Tensor loss;
    {
      const autocast region(DeviceType::cpu, cuda_rules());
      loss = linear(ones({1, 1}), w).to_float().sum() * 4;
    }
    const double scale = scaler.get_scale();
    scaler.scale(loss).backward();
    if (scaler.step(optimizer).skipped) skipped_at.push_back(scale);
    scaler.update();
  }
  CHECK(skipped_at == std::vector<double>{65536, 32768, 16384});  // 4 x 16384 is 65536: already infinite
  CHECK(scaler.get_scale() == 8192);
}
