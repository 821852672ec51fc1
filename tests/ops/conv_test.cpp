// Convolutions against a direct sum, their gradients of first and second order, dtypes and errors.
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "libamp/autocast/scope.h"
#include "tests/support/gradcheck.h"

using namespace amp;
using amp::test::gradcheck;
using amp::test::gradgradcheck;
using amp::test::values;

namespace {

struct ConvCase {
  const char* name;
  Shape input, weight;
  Shape stride, padding, dilation;
  std::int64_t groups;
};

// The ops of ops.def tested here: conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d
// conv_backward_input conv_backward_weight
const ConvCase kCases[] = {
    {"1-dim, stride 2", {2, 4, 9}, {6, 4, 3}, {2}, {1}, {1}, 1},
    {"1-dim, groups, dilation", {1, 4, 11}, {4, 2, 3}, {1}, {2}, {2}, 2},
    {"2-dim, padding 1", {2, 3, 6, 5}, {4, 3, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 1},
    {"2-dim, everything at once", {2, 4, 7, 8}, {6, 2, 3, 2}, {2, 1}, {0, 1}, {2, 3}, 2},
    {"2-dim, pointwise", {2, 3, 4, 5}, {5, 3, 1, 1}, {1, 1}, {0, 0}, {1, 1}, 1},
    {"2-dim, 1x1 with stride", {1, 3, 5, 5}, {2, 3, 1, 1}, {2, 2}, {0, 0}, {1, 1}, 1},
    {"2-dim, 1x1 with padding", {1, 2, 3, 3}, {2, 2, 1, 1}, {1, 1}, {1, 1}, {1, 1}, 1},
    {"2-dim, depthwise", {2, 3, 5, 5}, {3, 1, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 3},
    {"2-dim, kernel as large as the input", {2, 2, 3, 4}, {3, 2, 3, 4}, {1, 1}, {0, 0}, {1, 1}, 1},
    {"2-dim, padding wider than the input", {1, 1, 2, 2}, {1, 1, 3, 3}, {1, 2}, {3, 4}, {1, 1}, 1},
    {"3-dim", {2, 2, 5, 3, 4}, {3, 2, 2, 2, 2}, {1, 2, 1}, {0, 1, 1}, {2, 1, 2}, 1},
    {"no images", {0, 2, 4, 4}, {3, 2, 3, 3}, {1, 1}, {0, 0}, {1, 1}, 1},
};

Tensor run(const ConvCase& c, const Tensor& x, const Tensor& w, const Tensor& b) {
  switch (c.stride.size()) {
    case 1:
      return conv1d(x, w, b, c.stride, ConvPadding(c.padding), c.dilation, c.groups);
    case 2:
      return conv2d(x, w, b, c.stride, ConvPadding(c.padding), c.dilation, c.groups);
    default:
      return conv3d(x, w, b, c.stride, ConvPadding(c.padding), c.dilation, c.groups);
  }
}

// The definition, one term at a time.
std::vector<double> direct(const ConvCase& c, const Tensor& x, const Tensor& w, const Tensor& b,
                           const Shape& out_sizes) {
  const int spatial = c.stride.size();
  const std::vector<double> xs = x.to_vector(), ws = w.to_vector(), bs = b.to_vector();
  const auto index = [](const Shape& sizes, std::int64_t flat) {
    Shape at = sizes;
    for (int d = sizes.size() - 1; d >= 0; --d) {
      at[d] = flat % sizes[d];
      flat /= sizes[d];
    }
    return at;
  };
  const std::int64_t per_group = w.size(1), out_per_group = w.size(0) / c.groups;
  std::vector<double> result;
  for (std::int64_t flat = 0; flat < numel_of(out_sizes); ++flat) {
    const Shape o = index(out_sizes, flat);
    double sum = bs[static_cast<std::size_t>(o[1])];
    Shape kernel = w.sizes();
    kernel.erase(0);
    for (std::int64_t k = 0; k < numel_of(kernel); ++k) {
      const Shape at = index(kernel, k);
      std::int64_t offset = o[0] * x.size(1) + o[1] / out_per_group * per_group + at[0];
      bool inside = true;
      for (int d = 0; d < spatial; ++d) {
        const std::int64_t p = o[d + 2] * c.stride[d] - c.padding[d] + at[d + 1] * c.dilation[d];
        inside = inside && p >= 0 && p < x.size(d + 2);
        offset = offset * x.size(d + 2) + p;
      }
      if (inside)
        sum += xs[static_cast<std::size_t>(offset)] * ws[static_cast<std::size_t>(o[1] * numel_of(kernel) + k)];
    }
    result.push_back(sum);
  }
  return result;
}

double worst(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return INFINITY;
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

}  // namespace

TEST_CASE("A convolution is the sum its definition says") {
  for (const ConvCase& c : kCases) {
    INFO(c.name);
    const Tensor x = values(c.input), w = values(c.weight, 2), b = values({c.weight[0]}, 3);
    const Tensor out = run(c, x, w, b);
    CHECK(worst(out.to_vector(), direct(c, x, w, b, out.sizes())) < 1e-12);
    // float32 and the half types: operands rounded, one rounding of the result.
    for (const DType dtype : {DType::float32, DType::float16, DType::bfloat16}) {
      const Tensor xn = to(x, dtype), wn = to(w, dtype), bn = to(b, dtype);
      const Tensor narrow = run(c, xn, wn, bn);
      CHECK(narrow.dtype() == dtype);
      const double terms = static_cast<double>(numel_of(c.weight) / c.weight[0] + 1);
      const double eps = dtype == DType::float32 ? 0 : dtype == DType::float16 ? 0x1p-11 : 0x1p-8;
      // Sums are at most `terms`; float32 accumulation errs by 2^-24 a term, the rounding by eps.
      CHECK(worst(narrow.to_vector(), direct(c, xn, wn, bn, out.sizes())) < terms * terms * 0x1p-24 + terms * eps);
    }
  }
}

TEST_CASE("Strided operands give the same convolution as contiguous ones") {
  const Tensor x = values({2, 6, 5, 3}), w = values({3, 3, 4, 3}, 2);
  const Tensor xt = permute(x, {0, 3, 1, 2}), wt = permute(w, {2, 0, 1, 3});
  CHECK(worst(conv2d(xt, wt).to_vector(), conv2d(clone(xt), clone(wt)).to_vector()) == 0);
}

TEST_CASE("Gradients of convolutions, and gradients of those") {
  for (const ConvCase& c : kCases) {
    if (c.input[0] == 0) continue;
    INFO(c.name);
    const Tensor x = values(c.input), w = values(c.weight, 2), b = values({c.weight[0]}, 3);
    for (const Tensor& t : {x, w, b}) t.requires_grad_();
    const auto f = [&](const Tensors& in) { return run(c, in[0], in[1], in[2]); };
    CHECK(gradcheck(f, {x, w, b}) == "");
    if (numel_of(c.input) * numel_of(c.weight) < 12000) CHECK(gradgradcheck(f, {x, w, b}) == "");
  }
}

TEST_CASE("A transposed convolution is the gradient of the convolution for its input") {
  const Tensor x = values({2, 4, 4, 3}), w = values({4, 3, 3, 2}, 2), b = values({6}, 3);
  const Tensor out = conv_transpose2d(x, w, b, {2, 3}, {1, 0}, {1, 2}, 2, {2, 1});
  CHECK(out.sizes() == Shape{2, 6, 10, 10});
  const Tensor by_gradient = conv_backward_input(x, w, out.sizes(), {{2, 3}, {1, 0}, {2, 1}, 2});
  CHECK(worst((out - view(b, {1, 6, 1, 1})).to_vector(), by_gradient.to_vector()) < 1e-12);
  for (const Tensor& t : {x, w, b}) t.requires_grad_();
  const auto f = [](const Tensors& in) {
    return conv_transpose2d(in[0], in[1], in[2], {2, 3}, {1, 0}, {1, 2}, 2, {2, 1});
  };
  CHECK(gradcheck(f, {x, w, b}) == "");
  const Tensor x1 = values({1, 2, 4}), w1 = values({2, 3, 3}, 2);
  CHECK(conv_transpose1d(x1, w1, {}, 2, 1, 1).sizes() == Shape{1, 3, 8});
  const Tensor x3 = values({1, 2, 2, 3, 2}), w3 = values({2, 3, 2, 2, 2}, 2);
  for (const Tensor& t : {x1, w1, x3, w3}) t.requires_grad_();
  CHECK(gradgradcheck([](const Tensors& in) { return conv_transpose1d(in[0], in[1], {}, 2, 1, 1); }, {x1, w1}) == "");
  CHECK(gradgradcheck([](const Tensors& in) { return conv_transpose3d(in[0], in[1]); }, {x3, w3}) == "");
}

TEST_CASE("Padding by name, and inputs without a batch dim") {
  const Tensor x = values({2, 3, 6, 7}), w = values({4, 3, 4, 3}, 2);
  const Tensor same = conv2d(x, w, {}, 1, "same");
  CHECK(same.sizes() == Shape{2, 4, 6, 7});
  // 'same' of an even kernel has the odd zero at the end: the first output reads rows -1 to 2.
  const Tensor wide = conv2d(x, w, {}, 1, {2, 1});
  CHECK(worst(same.to_vector(), narrow(wide, 2, 1, 6).to_vector()) == 0);
  CHECK(worst(conv2d(x, w, {}, 1, "valid").to_vector(), conv2d(x, w).to_vector()) == 0);
  CHECK(worst(conv2d(select(x, 0, 1), w).to_vector(), select(conv2d(x, w), 0, 1).to_vector()) < 1e-14);
  CHECK_THROWS_AS(conv2d(x, w, {}, 2, "same"), Error);
  CHECK_THROWS_AS(conv2d(x, w, {}, 1, "reflect"), Error);
}

TEST_CASE("What does not fit a convolution is an error that says so") {
  const Tensor x = values({1, 4, 5, 5}), w = values({6, 4, 3, 3});
  CHECK_THROWS_AS(conv2d(x, to(w, DType::float32)), Error);
  CHECK_THROWS_AS(conv2d(x, w, to(values({6}), DType::float16)), Error);
  CHECK_THROWS_AS(conv2d(x, w, values({5})), Error);
  CHECK_THROWS_AS(conv2d(x, w, {}, 1, 0, 1, 2), Error);
  CHECK_THROWS_AS(conv2d(x, w, {}, 0), Error);
  CHECK_THROWS_AS(conv2d(x, w, {}, 1, 0, 3), Error);
  CHECK_THROWS_AS(conv2d(x, values({6, 4, 3})), Error);
  CHECK_THROWS_AS(conv2d(to(x, DType::int64), to(w, DType::int64)), Error);
  CHECK_THROWS_AS(conv_transpose2d(x, values({4, 2, 3, 3}), {}, 2, 0, 2), Error);
  try {
    conv2d(x, values({6, 3, 3, 3}));
    FAIL("no error");
  } catch (const Error& e) {
    CHECK(std::string(e.what()).find("[conv2d]") == 0);
    CHECK(std::string(e.what()).find("[6, 3, 3, 3]") != std::string::npos);
  }
}

TEST_CASE("Convolutions run in the fast dtype inside a region, and give float32 gradients back") {
  const Tensor x = to(values({2, 3, 5, 5}), DType::float32), w = to(values({4, 3, 3, 3}, 2), DType::float32),
               b = to(values({4}, 3), DType::float32);
  for (const Tensor& t : {x, w, b}) t.requires_grad_();
  Tensor out;
  {
    const autocast region("cpu", {.dtype = kFloat16, .policy = Policy::cuda});
    out = conv2d(x, w, b, 1, 1);
  }
  CHECK(out.dtype() == DType::float16);
  sum(out, DType::float32).backward();
  for (const Tensor& t : {x, w, b}) CHECK(t.grad().dtype() == DType::float32);
}
