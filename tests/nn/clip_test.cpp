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

TEST_CASE("clip_grad_norm_ takes any norm, and one parameter", "[nn]") {
  const Tensor a = parameter({0, 0}), b = parameter({0});
  struct Row {
    double type, norm;
  };
  for (const Row& row : {Row{1, 7}, {2, 5}, {3, std::cbrt(27.0 + 64)}, {kInf, 4}}) {
    a.set_grad(tensor({3, 0}));
    b.set_grad(tensor({-4}));
    CAPTURE(row.type);
    CHECK(std::abs(nn::utils::clip_grad_norm_({a, b}, 1, row.type).item() - row.norm) < 1e-5);
    CHECK(std::abs(b.grad().item() + 4 / row.norm) < 1e-5);
  }
  a.set_grad(tensor({3, 4}));
  CHECK(nn::utils::clip_grad_norm_(a, 10).item() == 5);
  CHECK(nn::utils::clip_grad_norm_({parameter({1})}, 10).item() == 0);  // no gradients
}

TEST_CASE("a norm that is not finite is an error if asked, before anything is changed", "[nn]") {
  const Tensor a = parameter({0, 0});
  for (const double bad : {kInf, kNaN}) {
    a.set_grad(tensor({3, bad}));
    CHECK(error_code([&] { nn::utils::clip_grad_norm_({a}, 1, 2, true); }) == ErrorCode::runtime);
    CHECK(a.grad().to_vector()[0] == 3);
    nn::utils::clip_grad_norm_({a}, 1);
    CHECK(a.grad().to_vector()[0] != 3);
  }
}

TEST_CASE("half gradients are measured in float32", "[nn]") {
  const Tensor a = parameter({0, 0}, DType::float16);
  a.set_grad(tensor({60000, 60000}, {.dtype = DType::float16}));
  const Tensor norm = nn::utils::clip_grad_norm_({a}, 1);
  CHECK(norm.dtype() == DType::float32);
  CHECK(std::abs(norm.item() - 60000 * std::sqrt(2.0)) < 100);  // no float16, and its square overflows even more
  CHECK(std::abs(a.grad().to_vector()[0] - std::sqrt(0.5)) < 1e-3);
}

TEST_CASE("parameters become a vector and come back", "[nn]") {
  const Tensor a = parameter({1, 2}), b = tensor({3, 4, 5, 6}).view({2, 2});
  const Tensor all = nn::utils::parameters_to_vector({a, b});
  CHECK(all.to_vector() == std::vector<double>{1, 2, 3, 4, 5, 6});
  nn::utils::vector_to_parameters(all.detach() * 2.0, {a, b});
  CHECK(b.to_vector() == std::vector<double>{6, 8, 10, 12});
  CHECK(a.is_leaf());
  CHECK(error_code([&] { nn::utils::vector_to_parameters(all, {a}); }) == ErrorCode::runtime);
}
