// Regions: nesting, restoring, inheriting, threads, warnings, callables.
#include "libamp/autocast/scope.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <functional>
#include <stdexcept>
#include <thread>

#include "libamp/autocast/cast_cache.h"
#include "libamp/autograd/autograd.h"
#include "libamp/ops/ops.h"

using namespace amp;
using Catch::Matchers::ContainsSubstring;

namespace {
AutocastOptions cuda_rules(DType dtype = kFloat16) { return {.dtype = dtype, .policy = Policy::cuda}; }
Tensor weight() {
  Tensor w = ones({3, 3});
  w.requires_grad_();
  return w;
}
}  // namespace

TEST_CASE("a thread starts with autocast off, cpu bfloat16 and cuda float16") {
  std::thread([] {
    CHECK_FALSE(is_autocast_enabled(DeviceType::cpu));
    CHECK(get_autocast_dtype(DeviceType::cpu) == kBFloat16);
    CHECK(get_autocast_dtype(DeviceType::cuda) == kFloat16);
    CHECK(is_autocast_cache_enabled());
  }).join();
}

TEST_CASE("regions nest, inherit the dtype they do not name, and restore on the way out") {
  {
    const autocast outer("cpu", kFloat16);
    CHECK(get_autocast_dtype(DeviceType::cpu) == kFloat16);
    {
      const autocast inner("cpu");
      CHECK(get_autocast_dtype(DeviceType::cpu) == kFloat16);  // inherited
      const autocast off("cpu", {.enabled = false});
      CHECK_FALSE(is_autocast_enabled(DeviceType::cpu));
      const autocast on_again("cpu", kBFloat16);
      CHECK(matmul(ones({2, 2}), ones({2, 2})).dtype() == kBFloat16);
    }
    CHECK(is_autocast_enabled(DeviceType::cpu));
    CHECK(matmul(ones({2, 2}), ones({2, 2})).dtype() == kFloat16);
  }
  CHECK_FALSE(is_autocast_enabled(DeviceType::cpu));
  CHECK(matmul(ones({2, 2}), ones({2, 2})).dtype() == kFloat32);
}

TEST_CASE("an exception leaves the state as it was") {
  try {
    const autocast region("cpu", kFloat16);
    throw std::runtime_error("inside");
  } catch (const std::runtime_error&) {
  }
  CHECK_FALSE(is_autocast_enabled(DeviceType::cpu));
  CHECK(autocast_state().depth == 0);
}

TEST_CASE("a disabled inner region casts nothing back, and mixing dtypes there is named") {
  const autocast region(DeviceType::cpu, cuda_rules());
  const Tensor half = matmul(ones({2, 2}), ones({2, 2}));
  const autocast off("cpu", {.enabled = false});
  CHECK(half.dtype() == kFloat16);
  CHECK_THROWS_WITH(matmul(half, ones({2, 2})),
                    ContainsSubstring("[matmul]") && ContainsSubstring("float16") && ContainsSubstring("float32"));
  CHECK(matmul(half.to_float(), ones({2, 2})).dtype() == kFloat32);
}

TEST_CASE("recursion through one wrapper restores the state, which PyTorch's region object does not") {
  std::function<int(int)> inner;
  const auto wrapped = autocast_wrap(DeviceType::cpu, cuda_rules(), [&](int depth) { return inner(depth); });
  inner = [&](int depth) { return depth == 0 ? (is_autocast_enabled(DeviceType::cpu) ? 1 : 0) : wrapped(depth - 1); };
  CHECK(wrapped(3) == 1);
  CHECK_FALSE(is_autocast_enabled(DeviceType::cpu));
}

TEST_CASE("a wrapper freezes the dtype of the moment it is made") {
  const auto made_outside = autocast_wrap(DeviceType::cpu, {}, [] { return get_autocast_dtype(DeviceType::cpu); });
  const autocast region("cpu", kFloat16);
  CHECK(made_outside() == kBFloat16);
}

TEST_CASE("device types that are not there are told apart from those that do not exist") {
  CHECK_THROWS_WITH(autocast("tpu"), ContainsSubstring("tpu"));
  CHECK_THROWS_WITH(autocast("cuda:0"), ContainsSubstring("cuda:0"));
  if (!is_available(DeviceType::cuda)) {
    const autocast region("cuda", kFloat16);  // warns and is disabled
    CHECK_FALSE(is_autocast_enabled(DeviceType::cuda));
    CHECK(get_autocast_dtype(DeviceType::cuda) == kFloat16);
  }
  const autocast region("cpu", kFloat32);  // not a dtype the CPU autocasts to: warns and is disabled
  CHECK_FALSE(is_autocast_enabled(DeviceType::cpu));
}

TEST_CASE("the two policies follow different lists") {
  const Tensor h = ones({4}).to(kBFloat16);
  {
    const autocast region("cpu", kBFloat16);
    CHECK(sum(h).dtype() == kBFloat16);  // not on the CPU's list
  }
  const autocast region(DeviceType::cpu, cuda_rules(kBFloat16));
  CHECK(sum(h).dtype() == kFloat32);
  CHECK(sum(h, kBFloat16).dtype() == kBFloat16);  // an explicit dtype wins
  CHECK(sum(ones({2}, {.dtype = kInt32})).dtype() == kInt64);
}

TEST_CASE("in-place and out forms are not cast and name the remedy") {
  const autocast region(DeviceType::cpu, cuda_rules());
  Tensor a = ones({2, 2});
  a.add_(ones({2, 2}).half());
  CHECK(a.dtype() == kFloat32);
}

TEST_CASE("float64 and integers are left alone; float64 next to half reaches the op mixed") {
  const autocast region(DeviceType::cpu, cuda_rules());
  CHECK(matmul(ones({2, 2}, {.dtype = kFloat64}), ones({2, 2}, {.dtype = kFloat64})).dtype() == kFloat64);
  CHECK(matmul(ones({2, 2}, {.dtype = kInt64}), ones({2, 2}, {.dtype = kInt64})).dtype() == kInt64);
  CHECK_THROWS_AS(matmul(ones({2, 2}, {.dtype = kFloat64}), ones({2, 2}).half()), Error);
}

TEST_CASE("a weight is cast once per region; activations, frozen weights and views each time") {
  const Tensor w = weight();
  {
    const autocast region(DeviceType::cpu, cuda_rules());
    (void)linear(ones({2, 3}), w);
    CHECK(cast_cache::size().entries == 1);
    CHECK(cast_cache::find(w, kFloat16).defined());
    (void)linear(ones({2, 3}), ones({3, 3}));
    (void)linear(ones({2, 3}), w.t());
    CHECK(cast_cache::size().entries == 1);
    {
      const autocast inner(DeviceType::cpu, cuda_rules());
      (void)linear(ones({2, 3}), w);
    }
    CHECK(cast_cache::size().entries == 1);  // closing an inner region clears nothing
  }
  CHECK(cast_cache::size().entries == 0);
}

TEST_CASE("a bfloat16 region inside a float16 one gets its own cast of the weight") {
  const Tensor w = weight();
  const autocast outer(DeviceType::cpu, cuda_rules());
  CHECK(linear(ones({2, 3}), w).dtype() == kFloat16);
  const autocast inner(DeviceType::cpu, cuda_rules(kBFloat16));
  CHECK(linear(ones({2, 3}), w).dtype() == kBFloat16);
  CHECK(cast_cache::size().entries == 2);
}

TEST_CASE("a cast first made under no_grad still carries gradients afterwards") {
  const Tensor w = weight();
  const autocast region(DeviceType::cpu, cuda_rules());
  {
    const no_grad quiet;
    CHECK_FALSE(linear(ones({2, 3}), w).requires_grad());
  }
  linear(ones({2, 3}), w).sum().backward();
  REQUIRE(w.grad().defined());
  CHECK(w.grad().to_vector()[0] == 2);
}

TEST_CASE("inference mode leaves the cache alone") {
  const Tensor w = weight();
  const autocast region(DeviceType::cpu, cuda_rules());
  {
    const inference_mode quiet;
    (void)linear(ones({2, 3}), w);
    CHECK(cast_cache::size().entries == 0);
  }
  linear(ones({2, 3}), w).sum().backward();
  CHECK(w.grad().defined());
}

TEST_CASE("uses of a cached cast share one node, so their gradients are summed in the low dtype") {
  // Weight 1, inputs 1, 1, 256 in bfloat16: 256 with the cache, 258 without (as PyTorch).
  for (const bool cached : {true, false}) {
    Tensor w = ones({1, 1});
    w.requires_grad_();
    Tensor total;
    {
      const autocast region(DeviceType::cpu, {.dtype = kBFloat16, .cache_enabled = cached, .policy = Policy::cuda});
      for (const double x : {1.0, 1.0, 256.0}) {
        const Tensor y = linear(full({1, 1}, x), w).to_float();
        total = total.defined() ? total + y : y;
      }
    }
    total.sum().backward();
    CHECK(w.grad().item() == (cached ? 256 : 258));
  }
}

TEST_CASE("a stale cast is used as PyTorch does, and refused in checked mode") {
  const Tensor w = weight();
  const autocast region(DeviceType::cpu, cuda_rules());
  const double before = linear(ones({1, 3}), w).to_vector()[0];
  {
    const no_grad quiet;
    w.mul_(2);
  }
  CHECK(linear(ones({1, 3}), w).to_vector()[0] == before);
  cast_cache::set_checked(true);
  CHECK_THROWS_WITH(linear(ones({1, 3}), w), ContainsSubstring("stale cast"));
  cast_cache::set_checked(false);
  clear_autocast_cache();
  CHECK(linear(ones({1, 3}), w).to_vector()[0] == 2 * before);
}

TEST_CASE("backward inside a region autocasts the formulas too") {
  // A float32 product built outside and back-propagated inside computes its gradient in bfloat16: 2.0, not 2.002.
  const double got[] = {[] {
                          Tensor p = full({2, 2}, 1.0009765625), q = full({2, 2}, 1.001);
                          p.requires_grad_();
                          const Tensor loss = matmul(p, q);
                          const autocast region(DeviceType::cpu, cuda_rules(kBFloat16));
                          loss.backward(ones({2, 2}));
                          return p.grad().to_vector()[0];
                        }(),
                        [] {
                          Tensor p = full({2, 2}, 1.0009765625), q = full({2, 2}, 1.001);
                          p.requires_grad_();
                          matmul(p, q).backward(ones({2, 2}));
                          return p.grad().to_vector()[0];
                        }()};
  CHECK(got[0] == 2.0);
  CHECK(got[1] > 2.0015);
}
