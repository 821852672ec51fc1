// Normalisations: against their definitions, running statistics, mixed dtypes, gradients of both orders, errors.
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "libamp/autocast/scope.h"
#include "tests/support/gradcheck.h"

using namespace amp;
using amp::test::gradcheck;
using amp::test::gradgradcheck;
using amp::test::values;

// The ops of ops.def tested here: layer_norm layer_norm_backward rms_norm rms_norm_backward group_norm
// group_norm_backward batch_norm batch_norm_backward

namespace {

double worst(const Tensor& a, const Tensor& b) {
  if (!(a.sizes() == b.sizes())) return INFINITY;
  const std::vector<double> x = a.to_vector(), y = b.to_vector();
  double most = 0;
  for (std::size_t i = 0; i < x.size(); ++i) most = std::max(most, std::abs(x[i] - y[i]));
  return most;
}

// (x - mean) / sqrt(variance + eps) over `dims`.
Tensor normalized(const Tensor& x, const Shape& dims, double eps = 1e-5) {
  const Tensor centre = x - mean(x, dims, true);
  return centre / sqrt(mean(centre * centre, dims, true) + eps);
}

}  // namespace

TEST_CASE("Normalisations are what their definitions say") {
  const Tensor x = values({3, 4, 6}), w = values({6}, 2), b = values({6}, 3);
  CHECK(worst(layer_norm(x, {6}, w, b), normalized(x, {2}) * w + b) < 1e-14);
  CHECK(worst(layer_norm(x, {4, 6}), normalized(x, {1, 2})) < 1e-14);
  CHECK(worst(rms_norm(x, {6}, w, 1e-3), x / sqrt(mean(x * x, Shape{2}, true) + 1e-3) * w) < 1e-14);
  const Tensor image = values({2, 6, 3, 5}), cw = values({6}, 4), cb = values({6}, 5);
  const Tensor grouped = reshape(normalized(reshape(image, {2, 3, 30}), {2}), image.sizes());
  CHECK(worst(group_norm(image, 3, cw, cb), grouped * view(cw, {6, 1, 1}) + view(cb, {6, 1, 1})) < 1e-14);
  CHECK(worst(batch_norm(image, {}, {}, cw, cb, true),
              normalized(image, {0, 2, 3}) * view(cw, {6, 1, 1}) + view(cb, {6, 1, 1})) < 1e-14);
  CHECK(worst(batch_norm(values({50, 4}), {}, {}, {}, {}, true), normalized(values({50, 4}), {0})) < 1e-13);
  CHECK(worst(instance_norm(image, {}, {}, cw, cb),
              normalized(image, {2, 3}) * view(cw, {6, 1, 1}) + view(cb, {6, 1, 1})) < 1e-14);
}

TEST_CASE("an empty batch leaves the running statistics alone") {
  const Tensor running_mean = full({3}, 0.5), running_var = full({3}, 2);
  for (const Shape& sizes : {Shape{0, 3}, Shape{0, 3, 4}, Shape{2, 3, 0}}) {
    CHECK(batch_norm(zeros(sizes), running_mean, running_var, {}, {}, true).sizes() == sizes);
    if (sizes.size() > 2) CHECK(instance_norm(zeros(sizes), running_mean, running_var).sizes() == sizes);
    CHECK(running_mean.to_vector() == std::vector<double>(3, 0.5));
    CHECK(running_var.to_vector() == std::vector<double>(3, 2));
  }
}

TEST_CASE("batch_norm moves its running statistics and uses them outside training") {
  const Tensor x = values({8, 3, 5});
  const Tensor running_mean = zeros({3}, {.dtype = DType::float64}), running_var = ones({3}, {.dtype = DType::float64});
  batch_norm(x, running_mean, running_var, {}, {}, true, 0.25);
  const Tensor centre = x - mean(x, Shape{0, 2}, true), variance = sum(centre * centre, Shape{0, 2}) / 39.0;
  CHECK(worst(running_mean, mean(x, Shape{0, 2}) * 0.25) < 1e-15);
  CHECK(worst(running_var, variance * 0.25 + 0.75) < 1e-15);
  const Tensor before = clone(running_mean);
  const Tensor fixed = batch_norm(x, running_mean, running_var);
  CHECK(worst(fixed, (x - view(running_mean, {3, 1})) / sqrt(view(running_var, {3, 1}) + 1e-5)) < 1e-14);
  CHECK(worst(running_mean, before) == 0);
  const Tensor instance_mean = zeros({3}, {.dtype = DType::float64}),
               instance_var = ones({3}, {.dtype = DType::float64});
  instance_norm(x, instance_mean, instance_var, {}, {}, true, 0.25);
  CHECK(worst(instance_mean, mean(x, Shape{0, 2}) * 0.25) < 1e-15);
}

TEST_CASE("Gradients of normalisations, and gradients of those") {
  const Tensor x = values({3, 4, 5}), w = values({5}, 2), b = values({5}, 3), cw = values({4}, 4), cb = values({4}, 5);
  const Tensor running_mean = values({4}, 6), running_var = values({4}, 7) * 0.25 + 1.0;
  for (const Tensor& t : {x, w, b, cw, cb}) t.requires_grad_();
  using amp::test::TensorFunction;
  const struct {
    const char* name;
    TensorFunction f;
    Tensors inputs;
  } cases[] = {
      {"layer_norm", [](const Tensors& i) { return layer_norm(i[0], {5}, i[1], i[2]); }, {x, w, b}},
      {"layer_norm, two dims, no parameters",
       [](const Tensors& i) {
         return layer_norm(i[0], {4, 5});
       },
       {x}},
      {"layer_norm, weight only", [](const Tensors& i) { return layer_norm(i[0], {5}, i[1]); }, {x, w}},
      {"rms_norm", [](const Tensors& i) { return rms_norm(i[0], {5}, i[1], 1e-3); }, {x, w}},
      {"group_norm", [](const Tensors& i) { return group_norm(i[0], 2, i[1], i[2]); }, {x, cw, cb}},
      {"group_norm, bias only", [](const Tensors& i) { return group_norm(i[0], 2, {}, i[1]); }, {x, cb}},
      {"batch_norm, training",
       [](const Tensors& i) { return batch_norm(i[0], {}, {}, i[1], i[2], true); },
       {x, cw, cb}},
      {"batch_norm, fixed",
       [&](const Tensors& i) { return batch_norm(i[0], running_mean, running_var, i[1], i[2]); },
       {x, cw, cb}},
      {"batch_norm of vectors",
       [](const Tensors& i) {
         return batch_norm(reshape(i[0], {15, 4}), {}, {}, i[1], i[2], true);
       },
       {x, cw, cb}},
      {"instance_norm", [](const Tensors& i) { return instance_norm(i[0], {}, {}, i[1], i[2]); }, {x, cw, cb}},
  };
  for (const auto& c : cases) {
    INFO(c.name);
    CHECK(gradcheck(c.f, c.inputs) == "");
    CHECK(gradgradcheck(c.f, c.inputs) == "");
  }
}

TEST_CASE("Which dtypes normalisations take and give") {
  const Tensor x = to(values({4, 3, 6}), DType::float16), w = to(values({6}, 2), DType::float32),
               cw = to(values({3}, 3), DType::float32);
  CHECK(layer_norm(x, {6}, w).dtype() == DType::float16);
  CHECK(batch_norm(x, {}, {}, cw, {}, true).dtype() == DType::float16);
  CHECK(group_norm(x, 3, cw).dtype() == DType::float16);
  CHECK(rms_norm(x, {6}).dtype() == DType::float16);
  CHECK(rms_norm(x, {6}, w).dtype() == DType::float32);
  CHECK_THROWS_AS(layer_norm(to(x, DType::float32), {6}, to(w, DType::float16)), Error);
  CHECK_THROWS_AS(batch_norm(to(x, DType::float32), {}, {}, to(cw, DType::float64), {}, true), Error);
  const autocast region("cpu", {.dtype = kFloat16, .policy = Policy::cuda});
  CHECK(layer_norm(x, {6}, w).dtype() == DType::float32);
  CHECK(group_norm(x, 3, cw).dtype() == DType::float32);
  CHECK(batch_norm(x, {}, {}, cw, {}, true).dtype() == DType::float16);
  CHECK(rms_norm(x, {6}).dtype() == DType::float16);
}

TEST_CASE("Half inputs are normalised in float32 and rounded once") {
  const Tensor x = to(values({4, 64}) * 3.0 + 100.0, DType::float16), exact = to(x, DType::float64);
  // Results are below 4; a mean of 100 loses no digits in two passes.
  CHECK(worst(layer_norm(x, {64}), layer_norm(exact, {64})) < 4 * 0x1p-11 + 1e-5);
  CHECK(worst(batch_norm(x, {}, {}, {}, {}, true), batch_norm(exact, {}, {}, {}, {}, true)) < 4 * 0x1p-11 + 1e-5);
  CHECK(worst(group_norm(x, 4), group_norm(exact, 4)) < 4 * 0x1p-11 + 1e-5);
}

TEST_CASE("What does not fit a normalisation is an error") {
  const Tensor x = values({2, 4, 3});
  CHECK_THROWS_AS(layer_norm(x, {4}), Error);
  CHECK_THROWS_AS(layer_norm(x, {3}, values({4})), Error);
  CHECK_THROWS_AS(group_norm(x, 3), Error);
  CHECK_THROWS_AS(group_norm(x, 0), Error);
  CHECK_THROWS_AS(batch_norm(x, {}, {}), Error);
  CHECK_THROWS_AS(batch_norm(values({1, 4, 1}), {}, {}, {}, {}, true), Error);
  CHECK_THROWS_AS(batch_norm(x, values({3}), values({3})), Error);
  CHECK_THROWS_AS(instance_norm(values({4})), Error);
}
