// Reductions, scans, orders and vector products: values against plain loops, gradients against difference quotients.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <numeric>

#include "libamp/autocast/scope.h"
#include "tests/support/gradcheck.h"

using namespace amp;
using amp::test::gradcheck;
using amp::test::gradgradcheck;
using amp::test::TensorFunction;
using amp::test::values;

namespace {

// For gradgradcheck: the gradient of a square depends on the input even where f is linear.
test::TensorFunction squared(const test::TensorFunction& f) {
  return [f](const Tensors& in) {
    const Tensor y = f(in);
    return y * y;
  };
}

const double kInf = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();

Tensor table(std::initializer_list<double> v, const Shape& sizes, DType dtype = DType::float32) {
  return tensor(std::span(v.begin(), v.size()), sizes, {.dtype = dtype});
}

struct ReduceCase {
  const char* name;
  Tensor (*run)(const Tensor&, const Shape&, bool);
  double (*reference)(const std::vector<double>&);
};

template <int kP>
double norm_of(const std::vector<double>& v) {
  double total = 0;
  for (const double x : v) total += std::pow(std::abs(x), kP);
  return std::pow(total, 1.0 / kP);
}
double variance_of(const std::vector<double>& v) {
  const double mean = std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
  double total = 0;
  for (const double x : v) total += (x - mean) * (x - mean);
  return total / static_cast<double>(v.size() - 1);
}
double largest_size(const std::vector<double>& v) {
  double most = 0;
  for (const double x : v) most = std::max(most, std::abs(x));
  return most;
}
double log_of_sum(const std::vector<double>& v) {
  double total = 0;
  for (const double x : v) total += std::exp(x);
  return std::log(total);
}

const ReduceCase kCases[] = {
    {"mean", [](const Tensor& t, const Shape& d, bool k) { return mean(t, d, k); },
     [](const std::vector<double>& v) {
       return std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
     }},
    {"var", [](const Tensor& t, const Shape& d, bool k) { return var(t, d, 1, k); }, variance_of},
    {"std", [](const Tensor& t, const Shape& d, bool k) { return amp::std(t, d, 1, k); },
     [](const std::vector<double>& v) { return std::sqrt(variance_of(v)); }},
    {"norm 1", [](const Tensor& t, const Shape& d, bool k) { return norm(t, 1, d, k); }, norm_of<1>},
    {"norm 2", [](const Tensor& t, const Shape& d, bool k) { return norm(t, 2, d, k); }, norm_of<2>},
    {"linalg_vector_norm 3", [](const Tensor& t, const Shape& d, bool k) { return vector_norm(t, 3, d, k); },
     norm_of<3>},
    {"norm infinity", [](const Tensor& t, const Shape& d, bool k) { return norm(t, kInf, d, k); }, largest_size},
    {"logsumexp", [](const Tensor& t, const Shape& d, bool k) { return logsumexp(t, d, k); }, log_of_sum},
    {"amax", [](const Tensor& t, const Shape& d, bool k) { return amax(t, d, k); },
     [](const std::vector<double>& v) { return *std::max_element(v.begin(), v.end()); }},
    {"amin", [](const Tensor& t, const Shape& d, bool k) { return amin(t, d, k); },
     [](const std::vector<double>& v) { return *std::min_element(v.begin(), v.end()); }},
};

// Slices of a [3, 4, 5] tensor over dims 0 and 2: for each index of dim 1.
std::vector<double> slice(const std::vector<double>& v, int j) {
  std::vector<double> s;
  for (int i = 0; i < 3; ++i)
    for (int k = 0; k < 5; ++k) s.push_back(v[static_cast<std::size_t>(i * 20 + j * 5 + k)]);
  return s;
}

}  // namespace

TEST_CASE("reductions over all, over some dims, and over strided tensors agree with plain loops") {
  const Tensor x = values({3, 4, 5});
  for (const ReduceCase& c : kCases) {
    INFO(c.name);
    CHECK(std::abs(c.run(x, {}, false).item() - c.reference(x.to_vector())) < 1e-12);
    const Tensor some = c.run(x, {0, -1}, false), kept = c.run(x, {0, 2}, true);
    REQUIRE(some.sizes() == Shape{4});
    REQUIRE(kept.sizes() == Shape{1, 4, 1});
    CHECK(some.to_vector() == kept.to_vector());
    for (int j = 0; j < 4; ++j)
      CHECK(std::abs(some.to_vector()[static_cast<std::size_t>(j)] - c.reference(slice(x.to_vector(), j))) < 1e-12);
    CHECK(c.run(permute(x, {2, 1, 0}), {0, 2}, false).sizes() == Shape{4});
    CHECK(std::abs(c.run(permute(x, {2, 1, 0}), {1}, false).to_vector()[3] - c.run(x, {1}, false).to_vector()[1]) <
          1e-12);
  }
}

TEST_CASE("gradients of reductions agree with difference quotients, twice") {
  const Tensor x = values({3, 4, 2}).requires_grad_();
  for (const ReduceCase& c : kCases)
    for (const Shape& dims : {Shape{}, Shape{1}, Shape{0, 2}}) {
      INFO(c.name << " over " << to_string(dims));
      const TensorFunction f = [&](const Tensors& in) { return c.run(in[0], dims, false); };
      CHECK(gradcheck(f, {x}) == "");
      CHECK(gradgradcheck(squared(f), {x}, 1e-4) == "");
    }
}

TEST_CASE("half reductions round once: they are the float64 result in half") {
  const Tensor x = values({64, 33}).to(DType::float16);
  const std::vector<double> exact = x.to_vector();
  CHECK(mean(x).item() ==
        scalar_tensor(std::accumulate(exact.begin(), exact.end(), 0.0) / static_cast<double>(exact.size()),
                      {.dtype = DType::float16})
            .item());
  CHECK(norm(x).item() == scalar_tensor(norm_of<2>(exact), {.dtype = DType::float16}).item());
  CHECK(mean(x).dtype() == DType::float16);
  CHECK(norm(x, 2, {}, false, DType::float32).dtype() == DType::float32);
}

TEST_CASE("norms at zero and of zero have no NaN in their gradients") {
  for (const double p : {1.0, 1.5, 2.0, 3.0, kInf, 0.0}) {
    INFO(p);
    const Tensor x = zeros({3}, {.dtype = DType::float64}).requires_grad_();
    norm(x, p).backward();
    for (const double g : x.grad().to_vector()) CHECK(g == 0);
  }
  CHECK(norm(tensor({3, 0, -4}), 0).item() == 2);
  CHECK(norm(tensor({3, 1, -4}), -kInf).item() == 1);
}

TEST_CASE("running sums and products, forwards and their gradients with and without zeros") {
  const Tensor x = table({1, 2, 3, 4, 5, 6}, {2, 3}, DType::float64);
  CHECK(cumsum(x, 1).to_vector() == std::vector<double>{1, 3, 6, 4, 9, 15});
  CHECK(cumsum(x, 0).to_vector() == std::vector<double>{1, 2, 3, 5, 7, 9});
  CHECK(cumprod(x, 1).to_vector() == std::vector<double>{1, 2, 6, 4, 20, 120});
  CHECK(cumsum(tensor({1, 1}, {.dtype = DType::bool_}), 0).dtype() == DType::int64);
  CHECK(prod(x).item() == 720);
  CHECK(prod(x, 0).to_vector() == std::vector<double>{4, 10, 18});
  const Tensor smooth = values({3, 4}, 3).requires_grad_();
  const Tensor one_zero = table({0.5, 0, 2, -1, 1.5, 3, 0.2, 0.9}, {2, 4}, DType::float64).requires_grad_();
  const Tensor two_zeros = table({0.5, 0, 2, 0, 1.5, 3, 0, 0.9}, {2, 4}, DType::float64).requires_grad_();
  for (const Tensor& leaf : {smooth, one_zero, two_zeros}) {
    const TensorFunction functions[] = {
        [](const Tensors& in) { return cumsum(in[0] * in[0], 1); }, [](const Tensors& in) { return cumprod(in[0], 1); },
        [](const Tensors& in) { return cumprod(in[0], 0); }, [](const Tensors& in) { return prod(in[0]); },
        [](const Tensors& in) { return prod(in[0], 1, true); }};
    for (const TensorFunction& f : functions) {
      CHECK(gradcheck(f, {leaf}) == "");
      CHECK(gradgradcheck(squared(f), {leaf}) == "");
    }
  }
}

TEST_CASE("extremes: positions, ties, NaN, and who gets the gradient") {
  const Tensor x = table({3, 7, 7, 1, 9, 2}, {2, 3});
  CHECK(max(x).item() == 9);
  CHECK(min(x).item() == 1);
  CHECK(argmax(x).item_as_int64() == 4);
  CHECK(argmin(x).item_as_int64() == 3);
  CHECK(argmax(x, 1).to_vector() == std::vector<double>{1, 1});
  CHECK(argmin(transpose(x, 0, 1), 0, true).sizes() == Shape{1, 2});
  CHECK(argmax(transpose(x, 0, 1)).item_as_int64() == 3);
  const auto [largest, at] = max(x, 1);
  CHECK(largest.to_vector() == std::vector<double>{7, 9});
  CHECK(at.to_vector() == std::vector<double>{1, 1});
  CHECK(min(x, 0, true).values.to_vector() == std::vector<double>{1, 7, 2});
  CHECK(std::isnan(max(tensor({1, kNaN, 2})).item()));
  CHECK(argmax(tensor({1, kNaN, 2})).item_as_int64() == 1);

  const Tensor leaf = x.clone().requires_grad_();
  sum(amax(leaf, {1})).backward();
  CHECK(leaf.grad().to_vector() == std::vector<double>{0, 0.5, 0.5, 0, 1, 0});
  leaf.set_grad({});
  sum(max(leaf, 1).values).backward();  // max_dim
  CHECK(leaf.grad().to_vector() == std::vector<double>{0, 1, 0, 0, 1, 0});
  leaf.set_grad({});
  sum(min(leaf, 0).values).backward();  // min_dim
  CHECK(leaf.grad().to_vector() == std::vector<double>{0, 1, 0, 1, 0, 1});
  CHECK_THROWS_AS(max(empty({0})), Error);
  CHECK_THROWS_AS(argmax(empty({2, 0}), 1), Error);
}

TEST_CASE("all and any") {
  const Tensor x = table({1, 0, 2, 3}, {2, 2});
  CHECK(all(x).item() == 0);
  CHECK(any(x).item() == 1);
  CHECK(all(x, {1}).to_vector() == std::vector<double>{0, 1});
  CHECK(any(zeros({2, 2}), {0}).to_vector() == std::vector<double>{0, 0});
  CHECK(all(empty({0})).item() == 1);
}

TEST_CASE("sort and topk order stably, put NaN last upwards, and pass gradients back to where values came from") {
  const Tensor x = tensor({3, 1, kNaN, 1, 2});
  CHECK(sort(x).indices.to_vector() == std::vector<double>{1, 3, 4, 0, 2});
  CHECK(sort(x, 0, true).indices.to_vector() == std::vector<double>{2, 0, 4, 1, 3});
  CHECK(topk(x, 2, 0, false).values.to_vector() == std::vector<double>{1, 1});
  const auto [values_2, indices_2] = topk(table({1, 5, 3, 4, 2, 6}, {2, 3}), 2, 1);
  CHECK(values_2.to_vector() == std::vector<double>{5, 3, 6, 4});
  CHECK(indices_2.to_vector() == std::vector<double>{1, 2, 2, 0});
  const Tensor leaf = values({3, 5}).requires_grad_();
  CHECK(gradcheck([](const Tensors& in) { return sort(in[0], 0).values; }, {leaf}) == "");
  CHECK(gradcheck([](const Tensors& in) { return topk(in[0] * in[0], 2).values; }, {leaf}) == "");
  CHECK_THROWS_AS(topk(leaf, 6), Error);
}

TEST_CASE("dot, vdot and cross") {
  const Tensor a = tensor({1, 2, 3}), b = tensor({4, -5, 6});
  CHECK(dot(a, b).item() == 12);
  CHECK(vdot(b, a).item() == 12);
  CHECK(cross(a, b).to_vector() == std::vector<double>{27, 6, -13});
  CHECK_THROWS_AS(dot(a, b.half()), Error);
  CHECK_THROWS_AS(dot(a, ones({2})), Error);
  CHECK_THROWS_AS(cross(a, ones({4})), Error);
  const Tensor x = values({3, 2}, 1).requires_grad_(), y = values({3, 2}, 2).requires_grad_();
  CHECK(gradgradcheck([](const Tensors& in) { return cross(in[0], in[1], 0); }, {x, y}) == "");
  const Tensor p = values({6}, 1).requires_grad_(), q = values({6}, 2).requires_grad_();
  CHECK(gradcheck([](const Tensors& in) { return dot(in[0], in[1]); }, {p, q}) == "");
  CHECK(gradgradcheck([](const Tensors& in) { return vdot(in[0], in[1]); }, {p, q}) == "");
}

TEST_CASE("which reductions autocast steers to float32") {
  const Tensor x = ones({2, 3}, {.dtype = DType::float16});
  const autocast region(DeviceType::cpu, {.dtype = DType::float16, .policy = Policy::cuda});
  CHECK(prod(x).dtype() == DType::float32);
  CHECK(cumsum(x, 0).dtype() == DType::float32);
  CHECK(cumprod(x, 0, DType::float16).dtype() == DType::float16);
  CHECK(norm(x).dtype() == DType::float32);
  CHECK(norm(x.to(DType::float64)).dtype() == DType::float64);
  CHECK(logsumexp(x, {1}).dtype() == DType::float32);
  CHECK(mean(x).dtype() == DType::float16);
  CHECK(amax(x).dtype() == DType::float16);
}
