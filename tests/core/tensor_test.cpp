// Views, strides, in-place rules and single values.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <functional>
#include <limits>
#include <utility>

#include "libamp/autograd/autograd.h"
#include "libamp/ops/ops.h"

using namespace amp;
using Catch::Matchers::ContainsSubstring;

namespace {
Tensor iota(const Shape& sizes) { return arange(numel_of(sizes)).to(DType::float32).view(sizes); }
}  // namespace

TEST_CASE("views share memory and read in their own order") {
  const Tensor x = iota({2, 3, 4});
  CHECK(x.permute({2, 0, 1}).sizes() == Shape{4, 2, 3});
  CHECK(x.permute({2, 0, 1}).to_vector()[1] == 4);
  CHECK(x.transpose(0, 2).contiguous().to_vector() == x.permute({2, 1, 0}).to_vector());
  CHECK(x.select(1, -1).to_vector() == std::vector<double>{8, 9, 10, 11, 20, 21, 22, 23});
  CHECK(x.narrow(2, 1, 2).select(0, 1).to_vector() == std::vector<double>{13, 14, 17, 18, 21, 22});
  CHECK(x.unsqueeze(-1).squeeze().sizes() == Shape{2, 3, 4});
  x.select(0, 0).fill_(7);
  CHECK(x.to_vector()[11] == 7);
  CHECK(x.to_vector()[12] == 12);
}

TEST_CASE("reshape views where strides allow it and copies where they do not") {
  const Tensor x = iota({2, 3, 4});
  CHECK(x.view({6, -1}).raw() == x.raw());
  CHECK(x.transpose(0, 1).reshape({3, 8}).to_vector()[4] == 12);
  CHECK_THROWS_WITH(x.transpose(0, 1).view({6, 4}), ContainsSubstring("[view]") && ContainsSubstring("reshape"));
  // Splitting a dim of a permuted tensor is a view.
  CHECK(x.permute({2, 0, 1}).view({2, 2, 2, 3}).raw() == x.raw());
  CHECK_THROWS_WITH(x.view({5, -1}), ContainsSubstring("does not fit"));
  CHECK_THROWS_WITH(x.view({-1, -1}), ContainsSubstring("only one size"));
  CHECK(zeros({0, 3}).view({3, 0}).numel() == 0);
}

TEST_CASE("expand repeats without copying, and its gradient sums") {
  Tensor x = iota({3, 1});
  x.requires_grad_();
  const Tensor wide = x.expand({2, 3, 4});
  CHECK(wide.strides() == Shape{0, 1, 0});
  wide.sum().backward();
  CHECK(x.grad().to_vector() == std::vector<double>{8, 8, 8});
}

TEST_CASE("item needs exactly one element") {
  CHECK(iota({1, 1}).item() == 0);
  CHECK_THROWS_WITH(iota({2}).item(), ContainsSubstring("float32[2]"));
  CHECK(tensor({9007199254740993.0}, {.dtype = DType::int64}).item_as_int64() == 9007199254740992);
}

TEST_CASE("conversions truncate, saturate nothing and keep bool a truth value") {
  const Tensor x = tensor({-1.7, 0.0, 2.9});
  CHECK(x.to(DType::int32).to_vector() == std::vector<double>{-1, 0, 2});
  CHECK(x.to(DType::bool_).to_vector() == std::vector<double>{1, 0, 1});
  CHECK(x.to(DType::float32).is_same(x));
}

TEST_CASE("in-place changes keep the left dtype and refuse what cannot be kept") {
  Tensor f = tensor({1, 2}), h = tensor({0.5, 0.25}, {.dtype = DType::float16});
  f.add_(h);
  CHECK(f.to_vector() == std::vector<double>{1.5, 2.25});
  h.add_(f);
  CHECK(h.dtype() == DType::float16);
  CHECK(h.to_vector() == std::vector<double>{2, 2.5});
  Tensor i = tensor({1, 2}, {.dtype = DType::int64});
  CHECK_THROWS_WITH(i.add_(f), ContainsSubstring("wrong dtype"));
  CHECK_THROWS_WITH(f.add_(zeros({3, 2})), ContainsSubstring("wrong shape"));
}

TEST_CASE("strided and broadcast operands give the same as contiguous ones") {
  const Tensor x = iota({4, 3});
  const Tensor y = iota({3, 4}).transpose(0, 1);
  CHECK((x + y).to_vector() == (x + y.contiguous()).to_vector());
  CHECK((x * iota({3})).select(0, 2).to_vector() == std::vector<double>{0, 7, 16});
  CHECK(y.sum(Shape{0}).to_vector() == std::vector<double>{6, 22, 38});
}

TEST_CASE("an expanded tensor is not changed in place, since its elements are one in memory") {
  const Tensor x = ones({1});
  CHECK_THROWS_WITH(x.expand({4}).add_(1), ContainsSubstring("need clone()"));
  CHECK(x.item() == 1);
  x.expand({4}).fill_(3);
  CHECK(x.item() == 3);
}

TEST_CASE("methods of an undefined tensor throw") {
  const std::pair<const char*, std::function<void(const Tensor&)>> methods[] = {
      {"sizes", [](const Tensor& t) { (void)t.sizes(); }},
      {"dim", [](const Tensor& t) { (void)t.dim(); }},
      {"numel", [](const Tensor& t) { (void)t.numel(); }},
      {"dtype", [](const Tensor& t) { (void)t.dtype(); }},
      {"device", [](const Tensor& t) { (void)t.device(); }},
      {"raw", [](const Tensor& t) { (void)t.raw(); }},
      {"is_contiguous", [](const Tensor& t) { (void)t.is_contiguous(); }},
      {"to_vector", [](const Tensor& t) { (void)t.to_vector(); }},
      {"half", [](const Tensor& t) { (void)t.half(); }},
      {"view", [](const Tensor& t) { (void)t.view({1}); }},
      {"select", [](const Tensor& t) { (void)t[0]; }},
      {"t", [](const Tensor& t) { (void)t.t(); }},
      {"mean", [](const Tensor& t) { (void)t.mean(); }},
      {"detach", [](const Tensor& t) { (void)t.detach(); }},
      {"grad", [](const Tensor& t) { (void)t.grad(); }},
      {"set_grad", [](const Tensor& t) { t.set_grad({}); }},
      {"requires_grad_", [](const Tensor& t) { (void)t.requires_grad_(); }},
      {"requires_grad_(false)", [](const Tensor& t) { (void)t.requires_grad_(false); }},
      {"is_leaf", [](const Tensor& t) { (void)t.is_leaf(); }},
      {"retain_grad", [](const Tensor& t) { t.retain_grad(); }},
      {"name", [](const Tensor& t) { (void)t.name(); }},
      {"set_name", [](const Tensor& t) { t.set_name(0); }},
  };
  for (const auto& [name, call] : methods) {
    CAPTURE(name);
    CHECK_THROWS_WITH(call(Tensor()), ContainsSubstring("got none"));
  }
  CHECK_FALSE(Tensor().requires_grad());
}

TEST_CASE("narrow refuses every range that leaves the dim") {
  const Tensor x = arange(6);
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  for (const auto& [start, length] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {1, kMost}, {0, kMost}, {kMost, 1}, {kMost, kMost}, {6, 1}, {7, 0}, {-7, 1}, {-kMost, 1}, {0, -1}})
    CHECK_THROWS_WITH(x.narrow(0, start, length), Catch::Matchers::ContainsSubstring("range leaves dim"));
  CHECK(x.narrow(0, 6, 0).numel() == 0);
  CHECK(x.narrow(0, -2, 2).to_vector() == std::vector<double>{4, 5});
}
