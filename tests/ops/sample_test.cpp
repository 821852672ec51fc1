// grid_sample and interpolate: known values, gradients, borders, dtypes, errors.
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "libamp/autocast/scope.h"
#include "tests/support/gradcheck.h"

using namespace amp;
using amp::test::gradcheck;
using amp::test::gradgradcheck;
using amp::test::values;

// The ops of ops.def tested here: grid_sampler grid_sampler_backward upsample_nearest1d upsample_nearest2d
// upsample_nearest3d upsample_linear1d upsample_bilinear2d upsample_trilinear3d upsample_bicubic2d upsample_backward

namespace {

double worst(const Tensor& a, const Tensor& b) {
  if (!(a.sizes() == b.sizes())) return INFINITY;
  const std::vector<double> x = a.to_vector(), y = b.to_vector();
  double most = 0;
  for (std::size_t i = 0; i < x.size(); ++i) most = std::max(most, std::abs(x[i] - y[i]));
  return most;
}

// The grid that reads every pixel of [height, width] where it is.
Tensor identity_grid(std::int64_t height, std::int64_t width, bool align_corners) {
  std::vector<double> data;
  const auto place = [&](std::int64_t i, std::int64_t n) {
    return align_corners ? 2.0 * static_cast<double>(i) / static_cast<double>(n - 1) - 1
                         : (2.0 * static_cast<double>(i) + 1) / static_cast<double>(n) - 1;
  };
  for (std::int64_t h = 0; h < height; ++h)
    for (std::int64_t w = 0; w < width; ++w) {
      data.push_back(place(w, width));
      data.push_back(place(h, height));
    }
  return tensor(data, Shape{1, height, width, 2}, {.dtype = DType::float64});
}
Tensor point(double x, double y) {
  return tensor(std::vector<double>{x, y}, Shape{1, 1, 1, 2}, {.dtype = DType::float64});
}

}  // namespace

TEST_CASE("The identity grid reads the image") {
  const Tensor x = values({1, 2, 4, 5});
  for (const char* mode : {"bilinear", "nearest", "bicubic"})
    for (const char* padding : {"zeros", "border", "reflection"})
      for (const bool corners : {false, true}) {
        INFO(mode << " " << padding << " " << corners);
        CHECK(worst(grid_sample(x, identity_grid(4, 5, corners), mode, padding, corners), x) < 1e-13);
      }
}

TEST_CASE("Outside the image, padding decides") {
  const Tensor x = tensor(std::vector<double>{1, 2, 3, 4}, Shape{1, 1, 2, 2}, {.dtype = DType::float64});
  CHECK(grid_sample(x, point(0, 0)).item() == 2.5);
  CHECK(grid_sample(x, point(-1, -1)).item() == 0.25);  // a corner of the corner pixel: three quarters outside
  CHECK(grid_sample(x, point(5, 5)).item() == 0);
  CHECK(grid_sample(x, point(5, 5), "bilinear", "border").item() == 4);
  CHECK(grid_sample(x, point(2, -0.5), "bilinear", "reflection").item() == 1.5);  // x folds back to the middle of both
  CHECK(grid_sample(x, point(NAN, 0)).item() == 0);
  CHECK(grid_sample(x, point(1e30, 0), "nearest").item() == 0);
}

TEST_CASE("Gradients of grid_sample") {
  const Tensor x = values({2, 2, 4, 5}), grid = values({2, 3, 2, 2}, 3) * 1.3;
  const Tensor volume = values({1, 2, 3, 4, 3}), places = values({1, 2, 2, 2, 3}, 3);
  for (const Tensor& t : {x, volume}) t.requires_grad_();
  const Tensor g = grid.detach(), p = places.detach();
  g.requires_grad_(), p.requires_grad_();
  for (const char* mode : {"bilinear", "bicubic"})
    for (const char* padding : {"zeros", "border", "reflection"})
      for (const bool corners : {false, true}) {
        INFO(mode << " " << padding << " " << corners);
        CHECK(gradcheck([&](const Tensors& i) { return grid_sample(i[0], i[1], mode, padding, corners); }, {x, g}) ==
              "");
      }
  CHECK(gradcheck([](const Tensors& i) { return grid_sample(i[0], i[1]); }, {volume, p}) == "");
  CHECK(gradcheck([&](const Tensors& i) { return grid_sample(i[0], grid, "nearest"); }, {x}) == "");
}

TEST_CASE("interpolate by known values") {
  const Tensor line = tensor(std::vector<double>{0, 1, 2, 3}, Shape{1, 1, 4}, {.dtype = DType::float64});
  const auto numbers = [](const Tensor& t) { return t.to_vector(); };
  using V = std::vector<double>;
  CHECK(numbers(interpolate(line, 8)) == V{0, 0, 1, 1, 2, 2, 3, 3});
  CHECK(numbers(interpolate(line, 3)) == V{0, 1, 2});
  CHECK(numbers(interpolate(line, 8, "linear")) == V{0, 0.25, 0.75, 1.25, 1.75, 2.25, 2.75, 3});
  CHECK(numbers(interpolate(line, 7, "linear", true)) == V{0, 0.5, 1, 1.5, 2, 2.5, 3});
  CHECK(numbers(interpolate(line, 2, "area")) == V{0.5, 2.5});
  CHECK(interpolate(line, ScaleFactors{{2.3}}).size(2) == 9);
  // Keys' cubic with a = -0.75 a quarter behind the second of 0, 1, 2, 3: weights -27, 225, 67, -9 over 256.
  const Tensor plane = line.view({1, 1, 1, 4}).expand({1, 1, 4, 4});
  const V cubic = numbers(interpolate(plane, {4, 8}, "bicubic"));
  CHECK(std::abs(cubic[3] - 1.296875) < 1e-14);
  CHECK(std::abs(cubic[4] - 1.703125) < 1e-14);
  CHECK(worst(interpolate(plane, 4, "bicubic"), plane) < 1e-15);
}

TEST_CASE("Gradients of interpolate, and gradients of those") {
  const struct {
    Shape input, size;
    const char* mode;
  } cases[] = {
      {{2, 2, 5}, {7}, "nearest"},      {{1, 2, 3, 4}, {5, 2}, "nearest"},  {{1, 1, 2, 3, 2}, {3, 2, 4}, "nearest"},
      {{2, 2, 5}, {8}, "linear"},       {{1, 2, 3, 4}, {5, 6}, "bilinear"}, {{1, 1, 2, 3, 2}, {3, 4, 3}, "trilinear"},
      {{1, 2, 4, 4}, {6, 3}, "bicubic"}};
  for (const auto& c : cases) {
    INFO(c.mode);
    const Tensor x = values(c.input);
    x.requires_grad_();
    for (const bool corners : {false, true}) {
      if (corners && std::string_view(c.mode) == "nearest") continue;
      CHECK(gradcheck([&](const Tensors& i) { return interpolate(i[0], c.size, c.mode, corners); }, {x}) == "");
      CHECK(gradgradcheck([&](const Tensors& i) { return interpolate(i[0] * i[0], c.size, c.mode, corners); }, {x}) ==
            "");
    }
  }
}

TEST_CASE("Which rules resampling follows") {
  const Tensor x = to(values({1, 1, 4, 4}), DType::float16), g = to(values({1, 2, 2, 2}), DType::float32);
  CHECK(interpolate(x, 8).dtype() == DType::float16);
  CHECK_THROWS_AS(grid_sample(x, g), Error);
  {
    const autocast region("cpu", {.dtype = kFloat16, .policy = Policy::cuda});
    CHECK(interpolate(x, 8).dtype() == DType::float32);
    CHECK(grid_sample(x, g).dtype() == DType::float32);
    CHECK(grid_sample(x, to(g, DType::float16)).dtype() == DType::float16);
    CHECK_THROWS_AS(grid_sample(to(x, DType::bfloat16), g), Error);
  }
  const autocast region("cpu", {.dtype = kFloat16});
  CHECK(interpolate(x, 8).dtype() == DType::float16);
  CHECK(grid_sample(x, to(g, DType::float16)).dtype() == DType::float32);
}

TEST_CASE("What does not fit resampling is an error") {
  const Tensor x = values({1, 1, 4, 4});
  CHECK_THROWS_AS(grid_sample(x, values({2, 2, 2, 2})), Error);
  CHECK_THROWS_AS(grid_sample(x, values({1, 2, 2, 3})), Error);
  CHECK_THROWS_AS(grid_sample(x, values({1, 2, 2, 2}), "cubic"), Error);
  CHECK_THROWS_AS(grid_sample(x, values({1, 2, 2, 2}), "bilinear", "wrap"), Error);
  CHECK_THROWS_AS(interpolate(x, 8, "linear"), Error);
  CHECK_THROWS_AS(interpolate(x, 8, "nearest", true), Error);
  CHECK_THROWS_AS(interpolate(x, {2, 2, 2}), Error);
  CHECK_THROWS_AS(interpolate(x, 0), Error);
}
