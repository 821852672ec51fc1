// Clipping: by norm before and after unscaling, and by value.
#include "libamp/nn/clip.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "tests/support/toy_training.h"

using namespace amp;
using namespace amp::testing;

TEST_CASE("clip_grad_norm_ scales all gradients by one factor", "[nn]") {
  const Tensor a = parameter({0, 0}), b = parameter({0}), idle = parameter({1});
  for (const double max_norm : {1.0, 100.0}) {
    a.set_grad(tensor({3, 0}));
    b.set_grad(tensor({-4}));
    CHECK(nn::utils::clip_grad_norm_({a, b, idle}, max_norm).item() == 5);
    const double factor = std::min(1.0, max_norm / 5);
    CHECK(std::abs(a.grad().to_vector()[0] - 3 * factor) < 1e-5);
    CHECK(std::abs(b.grad().item() + 4 * factor) < 1e-5);
  }
  CHECK_FALSE(idle.grad().defined());
}

TEST_CASE("clipping after unscale_ equals clipping without a scaler", "[nn]") {
  const auto train = [](bool scaled) {
    const Tensor p = parameter({1, 1});
    SGD optimizer({p}, {.lr = 1});
    GradScaler scaler("cpu", {.init_scale = 512, .enabled = scaled});
    scaler.scale(linear_loss(p, {6, 8})).backward();
    scaler.unscale_(optimizer);
    nn::utils::clip_grad_norm_({p}, 1);
    scaler.step(optimizer);
    scaler.update();
    return p.to_vector();
  };
  CHECK(train(true) == train(false));
  CHECK(std::abs(train(true)[0] - 0.4) < 1e-5);
}

TEST_CASE("clip_grad_value_ limits each element", "[nn]") {
  const Tensor p = parameter({0, 0, 0});
  p.set_grad(tensor({-3, 0.5, 2}));
  nn::utils::clip_grad_value_({p}, 1);
  CHECK(p.grad().to_vector() == std::vector<double>{-1, 0.5, 1});
}
