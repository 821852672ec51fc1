// Pooling against its definition, gradients, special values, errors.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>

#include "libamp/autocast/scope.h"
#include "tests/support/gradcheck.h"

using namespace amp;
using amp::test::gradcheck;
using amp::test::gradgradcheck;
using amp::test::values;

// The ops of ops.def tested here: max_pool2d max_pool3d max_pool_backward max_pool_pick avg_pool2d avg_pool3d
// adaptive_avg_pool2d adaptive_avg_pool3d avg_pool_backward

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

struct WindowCase {
  const char* name;
  std::int64_t height, width;
  Shape kernel, stride, padding, dilation;
  bool ceil_mode;
  Shape out;
};
const WindowCase kCases[] = {
    {"2x2", 6, 6, {2, 2}, {2, 2}, {0, 0}, {1, 1}, false, {3, 3}},
    {"overlapping, padded", 7, 6, {3, 3}, {2, 1}, {1, 1}, {1, 1}, false, {4, 6}},
    {"dilated", 9, 8, {3, 2}, {1, 2}, {1, 0}, {2, 3}, false, {7, 3}},
    {"ceil mode", 6, 7, {3, 3}, {2, 2}, {0, 0}, {1, 1}, true, {3, 3}},
    {"ceil mode, last window would start in the padding", 5, 5, {2, 2}, {2, 2}, {1, 1}, {1, 1}, true, {3, 3}},
    {"kernel as large as the input", 4, 5, {4, 5}, {1, 1}, {0, 0}, {1, 1}, false, {1, 1}},
};

// Folds each window of a [planes, h, w] tensor: fold(values inside the input, positions of the padded window).
template <typename F>
std::vector<double> by_definition(const WindowCase& c, const Tensor& x, F fold) {
  const std::vector<double> data = x.to_vector();
  const std::int64_t planes = x.numel() / (c.height * c.width);
  std::vector<double> result;
  for (std::int64_t p = 0; p < planes; ++p)
    for (std::int64_t oh = 0; oh < c.out[0]; ++oh)
      for (std::int64_t ow = 0; ow < c.out[1]; ++ow) {
        std::vector<double> inside;
        double padded = 0;
        for (std::int64_t kh = 0; kh < c.kernel[0]; ++kh)
          for (std::int64_t kw = 0; kw < c.kernel[1]; ++kw) {
            const std::int64_t h = oh * c.stride[0] - c.padding[0] + kh * c.dilation[0];
            const std::int64_t w = ow * c.stride[1] - c.padding[1] + kw * c.dilation[1];
            if (h < c.height + c.padding[0] && w < c.width + c.padding[1]) ++padded;
            if (h >= 0 && h < c.height && w >= 0 && w < c.width)
              inside.push_back(data[static_cast<std::size_t>((p * c.height + h) * c.width + w)]);
          }
        result.push_back(fold(inside, padded));
      }
  return result;
}

double worst(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return kInf;
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}
double sum_of(const std::vector<double>& v) {
  double s = 0;
  for (const double x : v) s += x;
  return s;
}

}  // namespace

TEST_CASE("Pooling is what its definition says") {
  for (const WindowCase& c : kCases) {
    INFO(c.name);
    const Tensor x = values({2, 3, c.height, c.width});
    const Tensor top = max_pool2d(x, c.kernel, c.stride, c.padding, c.dilation, c.ceil_mode);
    CHECK(top.sizes() == Shape{2, 3, c.out[0], c.out[1]});
    CHECK(top.to_vector() == by_definition(c, x, [](const auto& v, double) {
            double m = -kInf;
            for (const double e : v) m = std::max(m, e);
            return m;
          }));
    if (!(c.dilation == Shape{1, 1})) continue;
    CHECK(worst(avg_pool2d(x, c.kernel, c.stride, c.padding, c.ceil_mode).to_vector(),
                by_definition(c, x, [](const auto& v, double padded) { return sum_of(v) / padded; })) < 1e-14);
    CHECK(worst(avg_pool2d(x, c.kernel, c.stride, c.padding, c.ceil_mode, false).to_vector(),
                by_definition(c, x, [](const auto& v, double) { return sum_of(v) / static_cast<double>(v.size()); })) <
          1e-14);
    CHECK(worst(avg_pool2d(x, c.kernel, c.stride, c.padding, c.ceil_mode, true, 5).to_vector(),
                by_definition(c, x, [](const auto& v, double) { return sum_of(v) / 5; })) < 1e-14);
  }
}

TEST_CASE("Gradients of pooling, and gradients of those") {
  for (const WindowCase& c : kCases) {
    INFO(c.name);
    const Tensor x = values({2, 2, c.height, c.width});
    x.requires_grad_();
    const auto top = [&](const Tensors& in) {
      return max_pool2d(in[0], c.kernel, c.stride, c.padding, c.dilation, c.ceil_mode);
    };
    CHECK(gradcheck(top, {x}) == "");
    // Squared first: the second derivative of pooling alone is zero.
    const auto squared = [&](const Tensors& in) {
      return top({in[0] * in[0]}) + avg_pool2d(in[0] * in[0], c.kernel, c.stride, c.padding, c.ceil_mode).sum();
    };
    CHECK(gradgradcheck(squared, {x}) == "");
    CHECK(gradcheck(
              [&](const Tensors& in) { return avg_pool2d(in[0], c.kernel, c.stride, c.padding, c.ceil_mode, false); },
              {x}) == "");
  }
  const Tensor x = values({1, 2, 3, 4, 5});
  x.requires_grad_();
  CHECK(gradcheck([](const Tensors& in) { return max_pool3d(in[0], 2, 1); }, {x}) == "");
  CHECK(gradcheck([](const Tensors& in) { return avg_pool3d(in[0], 2, {1, 2, 2}, {0, 1, 1}); }, {x}) == "");
  CHECK(gradgradcheck([](const Tensors& in) { return adaptive_avg_pool3d(in[0] * in[0], {2, 2, 3}); }, {x}) == "");
}

TEST_CASE("Adaptive pooling averages parts that cover the input") {
  const Tensor x = values({2, 3, 5, 7});
  CHECK(worst(adaptive_avg_pool2d(x, 1).to_vector(), mean(x, Shape{2, 3}, true).to_vector()) < 1e-15);
  CHECK(adaptive_avg_pool2d(x, {5, 7}).to_vector() == x.to_vector());
  const std::vector<double> line =
      adaptive_avg_pool1d(tensor({1, 2, 3, 4, 5}, {.dtype = DType::float64}).view({1, 5}), 2).to_vector();
  CHECK(line == std::vector<double>{2, 4});  // windows [0, 3) and [2, 5)
  x.requires_grad_();
  CHECK(gradcheck([](const Tensors& in) { return adaptive_avg_pool2d(in[0], {2, 3}); }, {x}) == "");
}

TEST_CASE("One-dim pooling, inputs without a batch dim, strided inputs") {
  const Tensor x = values({2, 3, 10});
  CHECK(max_pool1d(x, 3, 2, 1).sizes() == Shape{2, 3, 5});
  CHECK(avg_pool1d(x, 4).sizes() == Shape{2, 3, 2});
  const Tensor image = values({3, 6, 8});
  CHECK(max_pool2d(image, 2).to_vector() == max_pool2d(unsqueeze(image, 0), 2).to_vector());
  const Tensor turned = transpose(image, 1, 2);
  CHECK(max_pool2d(turned, 2).to_vector() == max_pool2d(clone(turned), 2).to_vector());
}

TEST_CASE("Half types keep their values, NaN wins, a window of -inf names its first element") {
  const Tensor x = to(values({1, 2, 6, 6}), DType::float16);
  CHECK(max_pool2d(x, 2).dtype() == DType::float16);
  CHECK(max_pool2d(x, 2).to_vector() == max_pool2d(to(x, DType::float64), 2).to_vector());
  const Tensor special = tensor(std::vector<double>{1, NAN, 3, 2, -kInf, -kInf, -kInf, -kInf}, Shape{1, 2, 2, 2}, {});
  const auto [top, where] = max_pool2d_with_indices(special, 2);
  CHECK(std::isnan(top.to_vector()[0]));
  CHECK(top.to_vector()[1] == -kInf);
  CHECK(where.dtype() == DType::int64);
  CHECK(where.to_vector() == std::vector<double>{1, 0});
}

TEST_CASE("Three-dim pooling is float32 under the CPU's rules only") {
  const Tensor x = to(values({1, 1, 4, 4, 4}), DType::bfloat16);
  const autocast region("cpu", {.dtype = kBFloat16});
  CHECK(max_pool3d(x, 2).dtype() == DType::float32);
  CHECK(avg_pool3d(x, 2).dtype() == DType::float32);
  CHECK(max_pool2d(select(x, 0, 0), 2).dtype() == DType::bfloat16);
  const autocast preview("cpu", {.dtype = kBFloat16, .policy = Policy::cuda});
  CHECK(max_pool3d(x, 2).dtype() == DType::bfloat16);
}

TEST_CASE("What does not fit pooling is an error") {
  const Tensor x = values({1, 1, 4, 4});
  CHECK_THROWS_AS(max_pool2d(x, 5), Error);
  CHECK_THROWS_AS(max_pool2d(x, 2, 0), Error);
  CHECK_THROWS_AS(max_pool2d(x, 2, 2, 2), Error);
  CHECK_THROWS_AS(max_pool2d(x, {2, 2, 2}), Error);
  CHECK_THROWS_AS(avg_pool2d(values({4}), 2), Error);
  CHECK_THROWS_AS(avg_pool2d(x, 2, 2, 0, false, true, 0), Error);
  CHECK_THROWS_AS(max_pool2d(to(x, DType::bool_), 2), Error);
}
