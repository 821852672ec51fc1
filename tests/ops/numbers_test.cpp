// C++ numbers beside tensors, empty tensors, and random numbers in narrow types.
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <type_traits>

#include "libamp/amp.h"

using namespace amp;

TEST_CASE("a whole number leaves the dtype of an integer tensor alone") {
  const Tensor ids = arange(3);
  CHECK((ids + 1).dtype() == kInt64);
  CHECK((ids - 1).dtype() == kInt64);
  CHECK((3 * ids).dtype() == kInt64);
  CHECK((ids + std::int64_t{1}).to_vector() == std::vector<double>{1, 2, 3});
  CHECK((ids / 2).dtype() == kFloat32);
  CHECK((ids + 1.5).dtype() == kFloat32);
  CHECK((ones({2}, {.dtype = kFloat16}) * 3).dtype() == kFloat16);
}

TEST_CASE("item of an integer tensor is exact above 2^53") {
  const std::int64_t large = (std::int64_t{1} << 53) + 1;
  CHECK(from_memory(&large, {}, kInt64).item<std::int64_t>() == large);
}

TEST_CASE("an empty tensor is contiguous, and its products are empty") {
  CHECK(matmul(ones({3, 0, 4}), ones({4, 5})).sizes() == Shape{3, 0, 5});
  CHECK(transpose(zeros({0, 2}), 0, 1).is_contiguous());
  const Tensor product = mm(randn({3, 2}), transpose(zeros({0, 2}), 0, 1));
  CHECK(product.sizes() == Shape{3, 0});
}

TEST_CASE("uniform numbers stay below the end of their range in every type") {
  manual_seed(3);
  for (const DType dtype : {kFloat32, kFloat16, kBFloat16}) {
    CHECK(rand({100000}, {.dtype = dtype}).max().item() < 1);
    CHECK(zeros({100000}, {.dtype = dtype}).uniform_(0, 1).max().item() < 1);
  }
}

TEST_CASE("AdamW has its own default of weight_decay, whatever else is named") {
  const auto step = [](const auto& options) {
    const Tensor w = full({1}, 100.0);
    w.requires_grad_();
    AdamW optimizer({w}, options);
    w.set_grad(zeros({1}));
    optimizer.step();
    return w.item();
  };
  CHECK(step(AdamWOptions{.lr = 0.1}) < 99.91);
  CHECK(step(AdamWOptions{.lr = 0.1, .weight_decay = 0}) == 100);
  CHECK(step(AdamOptions{.lr = 0.1}) == 100);
  const Tensor w = full({1}, 100.0);
  w.requires_grad_();
  AdamW optimizer({w}, {.lr = 0.1});
  w.set_grad(zeros({1}));
  optimizer.step();
  CHECK(w.item() < 99.91);
}

TEST_CASE("the gradient of lerp keeps the precision of its weight") {
  const Tensor a = tensor({1.0}, {.dtype = kFloat64}), b = tensor({2.0}, {.dtype = kFloat64});
  a.requires_grad_();
  lerp(a, b, 0.3).backward();
  CHECK(a.grad().item() == 1 - 0.3);
}
