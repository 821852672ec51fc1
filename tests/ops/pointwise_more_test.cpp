// The less common pointwise functions: values against plain arithmetic, edges, and functions that are put together from
// other ops, whose gradients are checked here since they have no row of their own.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <limits>

#include "libamp/autocast/scope.h"
#include "tests/support/gradcheck.h"

using namespace amp;
using amp::test::gradcheck;
using amp::test::gradgradcheck;
using amp::test::TensorFunction;
using amp::test::values;
using Catch::Matchers::ContainsSubstring;
using V = std::vector<double>;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
V numbers(const Tensor& t) { return t.to_vector(); }
Tensor row(std::initializer_list<double> of, DType dtype = kFloat64) { return tensor(of, {.dtype = dtype}); }

}  // namespace

TEST_CASE("functions of one operand are the C library's") {
  const struct {
    Tensor (*ours)(const Tensor&);
    double (*plain)(double);
  } cases[] = {{erfc, std::erfc}, {exp2, std::exp2}, {asinh, std::asinh}, {atanh, std::atanh}};
  for (const auto& c : cases) {
    const Tensor x = values({7}) * 0.8;
    const V got = numbers(c.ours(x)), at = numbers(x);
    for (std::size_t i = 0; i < at.size(); ++i) CHECK(got[i] == c.plain(at[i]));
  }
  CHECK(std::abs(acosh(row({2})).item() - std::log(2 + std::sqrt(3))) < 1e-15);
  CHECK(numbers(frac(row({1.5, -1.25}))) == V{0.5, -0.25});
  // Half precision: computed wider, rounded once.
  CHECK(erfc(row({0.7}, kFloat16)).dtype() == kFloat16);
  CHECK(erfc(row({0.7}, kFloat16)).item() ==
        full({}, std::erfc(row({0.7}, kFloat16).item()), {.dtype = kFloat16}).item());
}

TEST_CASE("division with remainder takes the signs that PyTorch gives") {
  const Tensor x = row({7, -7, 7, -7}), y = row({3, 3, -3, -3});
  CHECK(numbers(remainder(x, y)) == V{1, 2, -2, -1});
  CHECK(numbers(fmod(x, y)) == V{1, -1, 1, -1});
  CHECK(numbers(floor_divide(x, y)) == V{2, -3, -3, 2});
  CHECK(numbers(div(x, y, "trunc")) == V{2, -2, -2, 2});
  CHECK(numbers(div(x, y, "floor")) == numbers(floor_divide(x, y)));
  const Tensor i = x.to(kInt64), j = y.to(kInt64);
  CHECK(numbers(remainder(i, j)) == V{1, 2, -2, -1});
  CHECK(numbers(fmod(i, j)) == V{1, -1, 1, -1});
  CHECK(numbers(floor_divide(i, j)) == V{2, -3, -3, 2});
  CHECK(floor_divide(i, 2).dtype() == kInt64);
  CHECK(remainder(i, 2.5).dtype() == kFloat32);
  CHECK(div(i, j, "trunc").dtype() == kInt64);
  CHECK(numbers(floor_divide(row({1, -1, 0.5}), 0.1)) == V{9, -10, 4});  // 0.1 is a little more than a tenth; 0.5 too
  CHECK(floor_divide(row({1}), 0).item() == kInfinity);
  CHECK_THROWS_WITH(remainder(i, zeros({4}, {.dtype = kInt64})), ContainsSubstring("division by zero"));
  CHECK_THROWS_WITH(div(x, y, "ceil"), ContainsSubstring("'ceil'"));
}

TEST_CASE("bits") {
  const Tensor a = row({12, 10}, kInt32), b = row({10, 3}, kInt32);
  CHECK(numbers(bitwise_and(a, b)) == V{8, 2});
  CHECK(numbers(bitwise_or(a, b)) == V{14, 11});
  CHECK(numbers(bitwise_xor(a, b)) == V{6, 9});
  CHECK(numbers(bitwise_not(a)) == V{-13, -11});
  CHECK(bitwise_and(a, b).dtype() == kInt32);
  const Tensor t = row({1, 0}, kBool);
  CHECK(numbers(bitwise_not(t)) == V{0, 1});
  CHECK(bitwise_xor(t, t).dtype() == kBool);
  CHECK_THROWS_WITH(bitwise_and(row({1}), row({1})), ContainsSubstring("integers or bool"));
}

TEST_CASE("lerp, logaddexp, clamp with tensors, replacing NaN") {
  CHECK(numbers(lerp(row({0, 10}), row({1, 20}), 0.25)) == V{0.25, 12.5});
  CHECK(lerp(row({0.1}), row({0.7}), 1).item() == 0.7);  // the end itself
  CHECK(numbers(lerp(row({0, 10}), row({1, 20}), row({0, 1}))) == V{0, 20});
  CHECK_THROWS_WITH(lerp(row({0}), row({1}, kFloat32), 0.5), ContainsSubstring("same dtype"));
  CHECK(logaddexp(row({1000}), row({1000})).item() == 1000 + std::log(2));
  CHECK(logaddexp(row({-kInfinity}), row({-kInfinity})).item() == -kInfinity);
  CHECK(numbers(clamp(row({1, 5, 9}), row({2, 2, 2}), row({8, 4, 8}))) == V{2, 4, 8});
  CHECK(numbers(nan_to_num(row({kNan, 1}))) == V{0, 1});
  CHECK(numbers(nan_to_num(row({kInfinity, -kInfinity}, kFloat16))) == V{65504, -65504});
  CHECK(numbers(nan_to_num(row({kNan, kInfinity}), -1, 2)) == V{-1, 2});
}

TEST_CASE("closeness and equality") {
  CHECK(numbers(isclose(row({1, 1, kInfinity, kNan}), row({1 + 1e-9, 1.1, kInfinity, kNan}))) == V{1, 0, 1, 0});
  CHECK(allclose(row({kNan}), row({kNan}), 1e-5, 1e-8, true));
  CHECK_FALSE(allclose(row({kInfinity}), row({1})));
  CHECK(equal(row({1, 2}), row({1, 2})));
  CHECK_FALSE(equal(row({1, 2}), row({1, 2, 3})));
}

TEST_CASE("simulated quantisation rounds to its grid and passes gradients inside it") {
  const Tensor x = row({-3, 0.26, 0.24, 1, 9});
  x.requires_grad_();
  const Tensor q = fake_quantize_per_tensor_affine(x, 0.5, 1, -3, 5);
  CHECK(numbers(q) == V{-2, 0.5, 0, 1, 2});
  sum(q).backward();
  CHECK(numbers(x.grad()) == V{0, 1, 1, 1, 0});
  CHECK_THROWS_WITH(fake_quantize_per_tensor_affine(x, 0.5, 9, -3, 5), ContainsSubstring("zero_point"));
  const autocast region("cpu", {.dtype = kBFloat16});
  CHECK(fake_quantize_per_tensor_affine(x.detach().to(kBFloat16), 0.5, 1, -3, 5).dtype() == kFloat32);
}

TEST_CASE("gradients of functions made of other ops") {
  const struct {
    const char* name;
    TensorFunction function;
  } cases[] = {
      {"frac", [](const Tensors& a) { return frac(a[0]) * a[0]; }},
      {"nan_to_num", [](const Tensors& a) { return nan_to_num(a[0] * a[0]); }},
      {"clamp", [](const Tensors& a) { return clamp(a[0] * a[0], a[1], a[1] + 1.0); }},
      {"roll",
       [](const Tensors& a) {
         return roll(a[0] * a[0], {1, -1}, {0, 1});
       }},
      {"rot90", [](const Tensors& a) { return rot90(a[0] * a[0]); }},
      {"repeat",
       [](const Tensors& a) {
         return repeat(a[0] * a[0], {2, 1, 2});
       }},
      {"repeat_interleave", [](const Tensors& a) { return repeat_interleave(a[0] * a[0], 2, 1); }},
      {"pad circular",
       [](const Tensors& a) {
         return pad(a[0] * a[0], {1, 2}, "circular");
       }},
      {"take_along_dim", [](const Tensors& a) { return take_along_dim(a[0] * a[0], argsort(a[0], 1), 1); }},
      {"index_fill", [](const Tensors& a) { return index_fill(a[0] * a[0], 1, tensor({1}, {.dtype = kInt64}), 2); }},
      {"slice", [](const Tensors& a) { return slice(a[0] * a[0], 1, 0, 4, 2); }},
      {"diag", [](const Tensors& a) { return diag(a[0] * a[0], 1); }},
      {"movedim", [](const Tensors& a) { return movedim(a[0] * a[0], 0, 1); }},
      {"meshgrid",
       [](const Tensors& a) {
         return meshgrid({select(a[0], 0, 0), select(a[1], 0, 0)})[0] * 2.0;
       }},
      {"var_mean", [](const Tensors& a) { return var_mean(a[0], {1}).var * var_mean(a[0], {1}).mean; }},
      {"nanmean", [](const Tensors& a) { return nanmean(a[0] * a[0], {1}); }},
      {"diff", [](const Tensors& a) { return diff(a[0] * a[0]); }},
      {"lp_pool1d", [](const Tensors& a) { return lp_pool1d(unsqueeze(a[0] + 3.0, 0), 3, 2); }},
      {"adaptive_max_pool1d", [](const Tensors& a) { return adaptive_max_pool1d(unsqueeze(a[0] * a[0], 0), 3).first; }},
      {"multilabel_soft_margin_loss",
       [](const Tensors& a) { return multilabel_soft_margin_loss(a[0], ge(a[1], 0).to(kFloat64)); }},
      {"gaussian_nll_loss", [](const Tensors& a) { return gaussian_nll_loss(a[0], a[1], a[1] * a[1] + 0.5, true); }},
      {"native_layer_norm", [](const Tensors& a) { return std::get<0>(native_layer_norm(a[0], {4})); }},
      {"convolution",
       [](const Tensors& a) {
         return convolution(reshape(a[0], {1, 3, 4}), reshape(a[1], {3, 2, 2}), {}, 1, 0, 1, true, 0, 1);
       }},
      {"linalg_det", [](const Tensors& a) { return linalg_det(matmul(a[0], transpose(a[1], 0, 1))); }},
  };
  for (const auto& c : cases) {
    INFO(c.name);
    const Tensor x = values({3, 4}), y = values({3, 4}, 2);
    for (const Tensor& t : {x, y}) t.requires_grad_();
    CHECK(gradcheck(c.function, {x, y}) == "");
    CHECK(gradgradcheck(c.function, {x, y}) == "");
  }
}
