// Threads: whose state backward runs in, and several of them at work on shared parameters.
#include <catch2/catch_test_macros.hpp>
#include <thread>

#include "libamp/autocast/scope.h"
#include "libamp/autograd/autograd.h"
#include "libamp/autograd/checkpoint.h"
#include "libamp/ops/ops.h"

using namespace amp;

namespace {

// A product made in float32; its gradient is 2.0 in a bfloat16 region and 2.002 outside.
struct Product {
  Tensor p = full({2, 2}, 1.0009765625, {.requires_grad = true}), q = full({2, 2}, 1.001);
  Tensor out = matmul(p, q);
  [[nodiscard]] double gradient() const { return p.grad().to_vector()[0]; }
};

}  // namespace

TEST_CASE("backward runs in the state of the thread that calls it") {
  const Product without, handed_over;
  {
    const autocast region("cpu", kBFloat16);
    const AutocastState state = autocast_state();
    std::thread([&] { without.out.backward(ones({2, 2})); }).join();
    std::thread([&, state] {
      const AutocastStateScope scope(state);
      handed_over.out.backward(ones({2, 2}));
    }).join();
  }
  CHECK(without.gradient() > 2.0015);
  CHECK(handed_over.gradient() == 2.0);
}

TEST_CASE("a graph made in a region by one thread is back-propagated by another in the dtypes it recorded") {
  const Tensor w = full({2, 2}, 1, {.requires_grad = true});
  Tensor loss;
  {
    const autocast region("cpu", kBFloat16);
    const Tensor y = matmul(ones({2, 2}), w);
    CHECK(y.dtype() == kBFloat16);
    loss = y.sum();
  }
  std::thread([&] { loss.backward(); }).join();
  CHECK(w.grad().dtype() == kFloat32);
  CHECK(w.grad().to_vector() == std::vector<double>{2, 2, 2, 2});
}

TEST_CASE("threads that train shared parameters at once add up all their gradients") {
  const Tensor w = full({4, 4}, 1, {.requires_grad = true}), bias = full({4}, 0, {.requires_grad = true});
  constexpr int kThreads = 4, kRounds = 50;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < kRounds; ++i) {
        Tensor loss;
        {
          const autocast region("cpu", {.dtype = t % 2 == 0 ? kBFloat16 : kFloat16, .enabled = t != 3});
          const auto block = [&](const Tensor& x) { return linear(x, w, bias); };
          loss = i % 2 == 0 ? block(ones({1, 4})).sum() : checkpoint(block, ones({1, 4})).sum();
        }
        loss.backward();
      }
    });
  for (std::thread& t : threads) t.join();
  CHECK(w.grad().to_vector() == std::vector<double>(16, kThreads * kRounds));
  CHECK(bias.grad().to_vector() == std::vector<double>(4, kThreads * kRounds));
}

TEST_CASE("several threads may back-propagate through one retained graph") {
  const Tensor x = full({8}, 0.5, {.requires_grad = true});
  const Tensor plain = sin(x) * x;
  const Tensor y = checkpoint([](const Tensor& t) { return cos(t) * t; }, plain).sum();
  y.backward({}, true);
  const auto once = x.grad().to_vector();
  x.set_grad({});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) threads.emplace_back([&] { y.backward({}, true); });
  for (std::thread& t : threads) t.join();
  for (std::size_t i = 0; i < once.size(); ++i) CHECK(std::abs(x.grad().to_vector()[i] - 4 * once[i]) < 1e-6);
}
