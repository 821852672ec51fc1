// softmax, log_softmax, nll_loss and cross_entropy: values, dtypes under autocast, gradients, errors.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>

#include "libamp/autocast/scope.h"
#include "tests/support/gradcheck.h"

using namespace amp;
using amp::test::gradcheck;
using amp::test::gradgradcheck;
using amp::test::values;

// The ops of ops.def tested here: softmax softmax_backward log_softmax log_softmax_backward nll_loss nll_loss_backward
// cross_entropy_loss

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

double worst(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return kInf;
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}
Tensor labels(std::initializer_list<double> values, const Shape& sizes) {
  return tensor(std::span(values.begin(), values.size()), sizes, {.dtype = DType::int64});
}

}  // namespace

TEST_CASE("softmax along any dim is exp over its sum") {
  for (const Shape& sizes : {Shape{7}, Shape{3, 5}, Shape{2, 33, 3}, Shape{2, 3, 4, 17}})
    for (int dim = 0; dim < sizes.size(); ++dim) {
      const Tensor x = values(sizes) * 5.0;
      const Tensor e = exp(x), expected = e / sum(e, Shape{dim}, true);
      CHECK(worst(softmax(x, dim).to_vector(), expected.to_vector()) < 1e-15);
      CHECK(worst(log_softmax(x, dim).to_vector(), log(expected).to_vector()) < 1e-13);
      CHECK(worst(softmin(x, dim).to_vector(), softmax(-x, dim).to_vector()) < 1e-15);
      // float32: a few units in the last place of values up to 1, and of sums up to 20 for the logarithm.
      const Tensor xf = to(x, DType::float32);
      CHECK(worst(softmax(xf, dim).to_vector(), softmax(to(xf, DType::float64), dim).to_vector()) < 8 * 0x1p-24);
      CHECK(worst(log_softmax(xf, dim).to_vector(), log_softmax(to(xf, DType::float64), dim).to_vector()) <
            40 * 0x1p-24);
    }
}

TEST_CASE("softmax of large, infinite and NaN inputs") {
  const Tensor x =
      tensor(std::vector<double>{1e4, 1e4 - 1, -kInf, -kInf, -kInf, -kInf, 0, NAN, 1, -200, 0, -1e30}, Shape{4, 3}, {});
  const std::vector<double> p = softmax(x, 1).to_vector();
  CHECK(std::abs(p[0] - 1 / (1 + std::exp(-1.0))) < 1e-6);
  CHECK(p[2] == 0);
  for (std::size_t i = 3; i < 9; ++i) CHECK(std::isnan(p[i]));
  CHECK(p[9] == 0);
  CHECK(p[10] == 1);
  CHECK(p[11] == 0);
  CHECK(log_softmax(x, 1).to_vector()[9] == -200);
  CHECK(softmax(tensor({}, {}).view({0, 3}), 0).numel() == 0);
}

TEST_CASE("softmax gradients, and gradients of those") {
  const Tensor x = values({3, 4, 5});
  x.requires_grad_();
  for (const int dim : {0, 1, -1}) {
    CHECK(gradcheck([&](const Tensors& in) { return softmax(in[0], dim); }, {x}) == "");
    CHECK(gradgradcheck([&](const Tensors& in) { return softmax(in[0], dim); }, {x}) == "");
    CHECK(gradcheck([&](const Tensors& in) { return log_softmax(in[0], dim); }, {x}) == "");
    CHECK(gradgradcheck([&](const Tensors& in) { return log_softmax(in[0], dim); }, {x}) == "");
  }
}

TEST_CASE("softmax is asked for float32 under CUDA's rules and left alone under the CPU's") {
  const Tensor x = to(values({3, 4}), DType::float16);
  x.requires_grad_();
  {
    const autocast region("cpu", {.dtype = kFloat16, .policy = Policy::cuda});
    const Tensor y = softmax(x, 1);
    CHECK(y.dtype() == DType::float32);
    CHECK(softmax(x, 1, DType::float16).dtype() == DType::float16);
    sum(y * y).backward();
  }
  CHECK(x.grad().dtype() == DType::float16);
  const autocast region("cpu", {.dtype = kFloat16});
  CHECK(softmax(x, 1).dtype() == DType::float16);
  CHECK(softmax(x, 1, DType::float64).dtype() == DType::float64);
}

TEST_CASE("nll_loss picks targets, weighs classes and skips the ignored") {
  const Tensor x = log_softmax(values({4, 3}), 1), target = labels({2, 0, -100, 1}, {4});
  const Tensor weight = tensor({0.5, 2, 1}, {.dtype = DType::float64});
  const std::vector<double> v = x.to_vector();
  const double a = -v[2] * 1, b = -v[3] * 0.5, c = -v[10] * 2;
  CHECK(worst(nll_loss(x, target, weight, -100, "none").to_vector(), {a, b, 0, c}) < 1e-15);
  CHECK(std::abs(nll_loss(x, target, weight, -100, "sum").item() - (a + b + c)) < 1e-15);
  CHECK(std::abs(nll_loss(x, target, weight).item() - (a + b + c) / 3.5) < 1e-15);
  CHECK(std::isnan(nll_loss(x, labels({-100, -100, -100, -100}, {4})).item()));
  CHECK(nll_loss(select(x, 0, 1), labels({0}, {})).item() == -v[3]);
  // [batch, classes, d...] is the same as moving the class dim last.
  const Tensor wide = log_softmax(values({2, 3, 2, 2}), 1), grid = labels({0, 1, 2, 0, 1, 1, 0, 2}, {2, 2, 2});
  const Tensor flat = reshape(permute(wide, {0, 2, 3, 1}), {8, 3});
  CHECK(std::abs(nll_loss(wide, grid, weight).item() - nll_loss(flat, view(grid, {8}), weight).item()) < 1e-15);
  CHECK(nll_loss(wide, grid, {}, 1, "none").sizes() == Shape{2, 2, 2});
}

TEST_CASE("Gradients of nll_loss and cross_entropy in every form") {
  const Tensor weight = tensor({0.5, 2, 1}, {.dtype = DType::float64});
  const Tensor x = values({4, 3}), target = labels({2, 0, -100, 1}, {4});
  const Tensor wide = values({2, 3, 4}, 2), grid = labels({0, 1, 2, 0, 1, 1, -100, 2}, {2, 4});
  const Tensor probabilities = softmax(values({4, 3}, 5), 1);
  for (const Tensor& t : {x, wide, probabilities}) t.detach().requires_grad_(false), t.requires_grad_();
  const Tensor p = probabilities.detach();
  p.requires_grad_();
  for (const char* reduction : {"mean", "sum", "none"})
    for (const double smoothing : {0.0, 0.25})
      for (const Tensor& w : {Tensor(), weight}) {
        INFO(reduction << " smoothing " << smoothing << (w.defined() ? " weighted" : ""));
        CHECK(gradcheck([&](const Tensors& in) { return cross_entropy(in[0], target, w, -100, reduction, smoothing); },
                        {x}) == "");
        CHECK(gradcheck([&](const Tensors& in) { return cross_entropy(in[0], grid, w, -100, reduction, smoothing); },
                        {wide}) == "");
        CHECK(gradgradcheck(
                  [&](const Tensors& in) { return cross_entropy(in[0], target, w, -100, reduction, smoothing); },
                  {x}) == "");
        CHECK(gradcheck([&](const Tensors& in) { return cross_entropy(in[0], in[1], w, -100, reduction, smoothing); },
                        {x, p}) == "");
      }
}

TEST_CASE("cross_entropy with smoothing is cross_entropy with smoothed probabilities") {
  const Tensor x = values({4, 3}), target = labels({2, 0, 1, 1}, {4});
  std::vector<double> smooth(12, 0.3 / 3);
  for (std::size_t i = 0; const double t : target.to_vector()) smooth[3 * i++ + static_cast<std::size_t>(t)] += 0.7;
  const Tensor p = tensor(smooth, Shape{4, 3}, {.dtype = DType::float64});
  for (const char* reduction : {"mean", "sum", "none"})
    CHECK(worst(cross_entropy(x, target, {}, -100, reduction, 0.3).to_vector(),
                cross_entropy(x, p, {}, -100, reduction).to_vector()) < 1e-15);
}

TEST_CASE("cross_entropy under autocast: its parts are listed for CUDA, itself for the CPU") {
  const Tensor x = to(values({4, 3}), DType::float16), target = labels({2, 0, 1, 1}, {4});
  for (const Policy policy : {Policy::cuda, Policy::cpu}) {
    const autocast region("cpu", {.dtype = kFloat16, .policy = policy});
    CHECK(cross_entropy(x, target).dtype() == DType::float32);
  }
  CHECK(cross_entropy(x, target).dtype() == DType::float16);
  // Half logits: log_softmax inside is asked for in their own dtype, so its result is rounded to half.
  const autocast region("cpu", {.dtype = kFloat16, .policy = Policy::cuda});
  const Tensor rounded = log_softmax(x, 1, DType::float16);
  CHECK(cross_entropy(x, target, {}, -100, "none").to_vector() ==
        nll_loss(rounded, target, {}, -100, "none").to_vector());
}

TEST_CASE("What does not fit a loss is PyTorch's kind of error") {
  const Tensor x = values({4, 3}), target = labels({2, 0, 1, 1}, {4});
  const auto code = [](auto f) {
    try {
      f();
    } catch (const Error& e) {
      return e.code();
    }
    return ErrorCode::io;
  };
  CHECK(code([&] { nll_loss(x, labels({2, 0, 1, 3}, {4})); }) == ErrorCode::index);
  CHECK(code([&] { nll_loss(x, labels({2, 0, 1}, {3})); }) == ErrorCode::value);
  CHECK(code([&] { nll_loss(x, to(target, DType::int32)); }) == ErrorCode::runtime);
  CHECK(code([&] { nll_loss(x, target, tensor({1, 2}, {.dtype = DType::float64})); }) == ErrorCode::runtime);
  CHECK(code([&] { nll_loss(x, target, tensor({1, 2, 3}, {})); }) == ErrorCode::runtime);
  CHECK(code([&] { nll_loss(x, target, {}, -100, "average"); }) == ErrorCode::value);
  CHECK(code([&] { softmax(x, 2); }) == ErrorCode::index);
  CHECK(code([&] { softmax(target, 0); }) == ErrorCode::not_implemented);
  CHECK(code([&] { cross_entropy(x, target, {}, -100, "mean", 1.5); }) == ErrorCode::runtime);
  CHECK(code([&] { cross_entropy(x, to(x, DType::int64)); }) == ErrorCode::runtime);
}
