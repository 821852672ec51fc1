// Pointwise functions, one row each: values against the C library in float64, half results against the same within
// their rounding, gradients of first and second order against difference quotients.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>

#include "libamp/autocast/scope.h"
#include "tests/support/gradcheck.h"

using namespace amp;
using amp::test::gradcheck;
using amp::test::gradgradcheck;

namespace {

// For gradgradcheck: the gradient of a square depends on the input even where f is linear.
test::TensorFunction squared(const test::TensorFunction& f) {
  return [f](const Tensors& in) {
    const Tensor y = f(in);
    return y * y;
  };
}

using Function = Tensor (*)(const Tensor&);
using Reference = double (*)(double);

struct UnaryCase {
  const char* name;
  Function run;
  Reference reference;
  double low, high;  // the arguments
  bool fp32_under_cuda;
};

double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }
constexpr double kPi = 3.14159265358979323846;

#define ROW(id, reference, low, high, fp32)                                                                   \
  {                                                                                                           \
#id, [](const Tensor& t) { return id(t); }, [](double x) -> double { return reference; }, low, high, fp32 \
  }
const UnaryCase kUnary[] = {
    ROW(abs, std::abs(x), -2, 2, false),
    ROW(sqrt, std::sqrt(x), 0.2, 3, false),
    ROW(sin, std::sin(x), -3, 3, false),
    ROW(cos, std::cos(x), -3, 3, false),
    ROW(atan, std::atan(x), -3, 3, false),
    ROW(erf, std::erf(x), -2, 2, false),
    ROW(tanh, std::tanh(x), -3, 3, false),
    ROW(sigmoid, sigmoid_of(x), -5, 5, false),
    ROW(log_sigmoid, std::log(sigmoid_of(x)), -5, 5, false),
    ROW(relu, x > 0 ? x : 0, -2, 2, false),
    ROW(silu, x* sigmoid_of(x), -4, 4, false),
    ROW(gelu, x * 0.5 * (1 + std::erf(x / std::sqrt(2.0))), -3, 3, false),
    {"gelu tanh", [](const Tensor& t) { return gelu(t, "tanh"); },
     [](double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / kPi) * (x + 0.044715 * x * x * x))); }, -3, 3, false},
    ROW(leaky_relu, x > 0 ? x : 0.01 * x, -2, 2, false),
    ROW(elu, x > 0 ? x : std::exp(x) - 1, -3, 2, false),
    ROW(tan, std::tan(x), -1, 1, true),
    ROW(acos, std::acos(x), -0.9, 0.9, true),
    ROW(asin, std::asin(x), -0.9, 0.9, true),
    ROW(cosh, std::cosh(x), -2, 2, true),
    ROW(sinh, std::sinh(x), -2, 2, true),
    ROW(exp, std::exp(x), -3, 3, true),
    ROW(expm1, std::expm1(x), -1, 2, true),
    ROW(log, std::log(x), 0.2, 4, true),
    ROW(log10, std::log10(x), 0.2, 4, true),
    ROW(log2, std::log2(x), 0.2, 4, true),
    ROW(log1p, std::log1p(x), -0.5, 3, true),
    ROW(reciprocal, 1 / x, 0.3, 3, true),
    ROW(rsqrt, 1 / std::sqrt(x), 0.3, 3, true),
    ROW(softplus, std::log(1 + std::exp(x)), -4, 4, true),
    {"pow", [](const Tensor& t) { return pow(t, 2.5); }, [](double x) { return std::pow(x, 2.5); }, 0.3, 2, true},
    {"pow 3", [](const Tensor& t) { return pow(t, 3); }, [](double x) { return x * x * x; }, -2, 2, true},
    {"rpow", [](const Tensor& t) { return pow(1.5, t); }, [](double x) { return std::pow(1.5, x); }, -2, 2, true},
    {"clamp", [](const Tensor& t) { return clamp(t, -0.5, 0.7); },
     [](double x) { return std::min(std::max(x, -0.5), 0.7); }, -2, 2, false},
};
#undef ROW

// Irregular values that fill [low, high] and avoid its ends and the kinks at 0, +-0.5 and 0.7.
Tensor arguments(double low, double high, DType dtype = DType::float64) {
  std::vector<double> v;
  for (int i = 0; i < 30; ++i) v.push_back(low + (high - low) * (i + 0.53) / 30.7);
  return tensor(v, {5, 6}, {.dtype = dtype});
}
double epsilon(DType dtype) {
  return dtype == DType::float16    ? 0x1p-10
         : dtype == DType::bfloat16 ? 0x1p-7
         : dtype == DType::float32  ? 0x1p-23
                                    : 0x1p-52;
}

}  // namespace

TEST_CASE("pointwise functions have the C library's values in every floating type") {
  for (const UnaryCase& c : kUnary)
    for (const DType dtype : {DType::float64, DType::float32, DType::float16, DType::bfloat16}) {
      INFO(c.name << " " << name(dtype));
      const Tensor x = arguments(c.low, c.high, dtype), y = c.run(x);
      REQUIRE(y.dtype() == dtype);
      const std::vector<double> in = x.to_vector(), out = y.to_vector();
      for (std::size_t i = 0; i < in.size(); ++i) {
        const double need = c.reference(in[i]);
        // One rounding of the result; the function itself is computed in float32 at least. The wide types are compared
        // with another way to compute the same, which has roundings of its own.
        const bool wide = dtype == DType::float32 || dtype == DType::float64;
        const double allowed = (wide ? 4 : 0.51) * epsilon(dtype);
        CHECK(std::abs(out[i] - need) <= allowed * std::max(std::abs(need), wide ? 0.5 : 0x1p-14));
      }
    }
}

TEST_CASE("pointwise functions read strided and expanded tensors") {
  for (const UnaryCase& c : kUnary) {
    INFO(c.name);
    const Tensor x = arguments(c.low, c.high);
    CHECK(c.run(transpose(x, 0, 1)).to_vector() == transpose(c.run(x), 0, 1).to_vector());
    const Tensor row = narrow(x, 0, 1, 1);
    CHECK(c.run(expand(row, {3, 6})).to_vector() == expand(c.run(row), {3, 6}).to_vector());
  }
}

TEST_CASE("gradients of pointwise functions agree with difference quotients, twice") {
  for (const UnaryCase& c : kUnary) {
    INFO(c.name);
    const Tensor x = arguments(c.low, c.high).requires_grad_();
    const auto f = [&c](const Tensors& in) { return c.run(in[0]); };
    CHECK(gradcheck(f, {x}) == "");
    CHECK(gradgradcheck(squared(f), {x}) == "");
  }
}

TEST_CASE("pointwise functions on CUDA's float32 list widen half inputs, the others do not") {
  for (const UnaryCase& c : kUnary) {
    INFO(c.name);
    const Tensor x = arguments(c.low, c.high, DType::float16);
    const autocast region(DeviceType::cpu, {.dtype = DType::float16, .policy = Policy::cuda});
    CHECK(c.run(x).dtype() == (c.fp32_under_cuda ? DType::float32 : DType::float16));
  }
}

TEST_CASE("erfinv undoes erf") {
  for (const double x : {-5.0, -2.3, -0.7, -1e-3, 0.0, 1e-9, 0.4, 1.1, 3.0, 5.5}) {
    const double y = std::erf(x);
    if (std::abs(y) == 1) continue;
    INFO(x);
    // The slope of erf bounds how exactly x can be told from y.
    const double allowed = 1e-15 * std::max(1.0, std::abs(x)) + 0x1p-53 * std::sqrt(kPi) / 2 * std::exp(x * x);
    CHECK(std::abs(erfinv(scalar_tensor(y, {.dtype = DType::float64})).item() - x) <= allowed);
  }
  CHECK(erfinv(tensor({1, -1})).to_vector() ==
        std::vector<double>{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()});
  CHECK(std::isnan(erfinv(tensor({1.5})).item()));
  const Tensor x = arguments(-0.95, 0.95).requires_grad_();
  CHECK(gradcheck([](const Tensors& in) { return erfinv(in[0]); }, {x}) == "");
}

TEST_CASE("a number over a tensor goes through reciprocal, as in PyTorch") {
  const Tensor x = tensor({2, 4, 7}, {.dtype = DType::float16});
  CHECK((3 / x).dtype() == DType::float16);
  // 1/7 and 3/7 are both rounded: 3 * half(1/7), not half(3/7).
  CHECK((3 / x).to_vector()[2] == (reciprocal(x) * 3).to_vector()[2]);
  const autocast region(DeviceType::cpu, {.dtype = DType::float16, .policy = Policy::cuda});
  CHECK((3 / x).dtype() == DType::float32);
}

TEST_CASE("rounding functions keep integers and have zero gradients") {
  const Tensor x = tensor({-1.5, -0.5, 0.5, 1.5, 2.5, 0.3, -2.7}, {.dtype = DType::float64});
  CHECK(floor(x).to_vector() == std::vector<double>{-2, -1, 0, 1, 2, 0, -3});
  CHECK(ceil(x).to_vector() == std::vector<double>{-1, 0, 1, 2, 3, 1, -2});
  CHECK(round(x).to_vector() == std::vector<double>{-2, 0, 0, 2, 2, 0, -3});
  CHECK(trunc(x).to_vector() == std::vector<double>{-1, 0, 0, 1, 2, 0, -2});
  CHECK(sign(x).to_vector() == std::vector<double>{-1, -1, 1, 1, 1, 1, -1});
  for (const Function f : {Function(floor), Function(ceil), Function(round), Function(trunc), Function(sign)}) {
    CHECK(f(tensor({-3, 4}, {.dtype = DType::int32})).dtype() == DType::int32);
    const Tensor leaf = x.clone().requires_grad_();
    sum(f(leaf)).backward();
    CHECK(leaf.grad().to_vector() == std::vector<double>(7, 0.0));
  }
}

TEST_CASE("NaN passes through limits and activations, infinity through none that bounds it") {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  const Tensor x = tensor({nan, inf, -inf});
  CHECK(std::isnan(relu(x).to_vector()[0]));
  CHECK(std::isnan(clamp(x, -1, 1).to_vector()[0]));
  CHECK(std::isnan(maximum(x, zeros({3})).to_vector()[0]));
  CHECK(std::isnan(minimum(zeros({3}), x).to_vector()[0]));
  CHECK(clamp(x, -1, {}).to_vector()[1] == inf);
  CHECK(clamp(x, -1, 1).to_vector()[2] == -1);
  CHECK(log_sigmoid(tensor({-1000.0})).item() == -1000);
  CHECK(isnan(x).to_vector() == std::vector<double>{1, 0, 0});
  CHECK(isinf(x).to_vector() == std::vector<double>{0, 1, 1});
  CHECK(isfinite(tensor({1, inf, nan})).to_vector() == std::vector<double>{1, 0, 0});
}

TEST_CASE("functions of several operands broadcast, promote, and have right gradients twice") {
  using amp::test::values;
  const auto leaf = [](const Shape& sizes, int seed, double shift = 0) {
    return (values(sizes, seed) + shift).detach().requires_grad_();
  };
  struct Case {
    const char* name;
    amp::test::TensorFunction run;
    Tensors inputs;
  };
  const Tensor mask = gt(values({3, 4}, 5), 0.0);
  const Case cases[] = {
      {"maximum", [](const Tensors& in) { return maximum(in[0], in[1]); }, {leaf({3, 4}, 1), leaf({4}, 2)}},
      {"minimum", [](const Tensors& in) { return minimum(in[0], in[1]); }, {leaf({3, 4}, 1), leaf({3, 1}, 2)}},
      {"atan2", [](const Tensors& in) { return atan2(in[0], in[1]); }, {leaf({3, 4}, 1, 2), leaf({4}, 2, 3)}},
      {"xlogy", [](const Tensors& in) { return xlogy(in[0], in[1]); }, {leaf({3, 4}, 1), leaf({4}, 2, 3)}},
      {"pow", [](const Tensors& in) { return pow(in[0], in[1]); }, {leaf({3, 4}, 1, 2), leaf({4}, 2)}},
      {"prelu, one weight for a channel",
       [](const Tensors& in) { return prelu(in[0], in[1]); },
       {leaf({3, 4, 2}, 1), leaf({4}, 2)}},
      {"prelu, one weight", [](const Tensors& in) { return prelu(in[0], in[1]); }, {leaf({3}, 1), leaf({1}, 2)}},
      {"addcmul",
       [](const Tensors& in) { return addcmul(in[0], in[1], in[2], 0.5); },
       {leaf({3, 4}, 1), leaf({4}, 2), leaf({3, 1}, 3)}},
      {"addcdiv",
       [](const Tensors& in) { return addcdiv(in[0], in[1], in[2], 0.5); },
       {leaf({3, 4}, 1), leaf({4}, 2), leaf({3, 1}, 3, 3)}},
      {"where", [&](const Tensors& in) { return where(mask, in[0], in[1]); }, {leaf({3, 4}, 1), leaf({4}, 2)}},
      {"masked_fill", [&](const Tensors& in) { return masked_fill(in[0] * in[0], mask, -3); }, {leaf({3, 4}, 1)}},
      {"relu_backward",
       [](const Tensors& in) { return relu_backward(in[0], in[1].detach()); },
       {leaf({3, 4}, 1), leaf({3, 4}, 2)}},
      {"sigmoid_backward",
       [](const Tensors& in) { return sigmoid_backward(in[0], in[1]); },
       {leaf({3, 4}, 1), leaf({3, 4}, 2)}},
      {"tanh_backward",
       [](const Tensors& in) { return tanh_backward(in[0], in[1]); },
       {leaf({3, 4}, 1), leaf({3, 4}, 2)}},
      {"silu_backward",
       [](const Tensors& in) { return silu_backward(in[0], in[1]); },
       {leaf({3, 4}, 1), leaf({3, 4}, 2)}},
      {"gelu_backward",
       [](const Tensors& in) { return gelu_backward(in[0], in[1]); },
       {leaf({3, 4}, 1), leaf({3, 4}, 2)}},
      {"gelu_backward tanh",
       [](const Tensors& in) { return gelu_backward(in[0], in[1], "tanh"); },
       {leaf({3, 4}, 1), leaf({3, 4}, 2)}},
      {"softplus with beta", [](const Tensors& in) { return softplus(in[0], 3, 2); }, {leaf({3, 4}, 1)}},
  };
  for (const Case& c : cases) {
    INFO(c.name);
    CHECK(gradcheck(c.run, c.inputs) == "");
    CHECK(gradgradcheck(squared(c.run), c.inputs) == "");
  }
}

TEST_CASE("equal operands of maximum share the gradient") {
  const Tensor a = tensor({1, 2, 3}).requires_grad_(), b = tensor({1, 5, 0}).requires_grad_();
  sum(maximum(a, b)).backward();
  CHECK(a.grad().to_vector() == std::vector<double>{0.5, 0, 1});
  CHECK(b.grad().to_vector() == std::vector<double>{0.5, 1, 0});
}

TEST_CASE("powers at the edges: zero exponents, zero bases, integers") {
  const Tensor zero = zeros({1}).requires_grad_();
  pow(zero, 0.0).backward();
  CHECK(zero.grad().item() == 0);
  const Tensor base = zeros({1}).requires_grad_(), exponent = tensor({2}).requires_grad_();
  pow(base, exponent).backward();
  CHECK(base.grad().item() == 0);
  CHECK(exponent.grad().item() == 0);
  const Tensor ints = tensor({-2, 3, 0}, {.dtype = DType::int64});
  CHECK(pow(ints, 3).to_vector() == std::vector<double>{-8, 27, 0});
  CHECK(pow(ints, 3).dtype() == DType::int64);
  CHECK_THROWS_AS(pow(ints, -1), Error);
  CHECK(pow(2.0, ints).dtype() == DType::int64);
}

TEST_CASE("comparisons and logic give bools, in the common type of the operands") {
  const Tensor a = tensor({1, 2, 3}, {.dtype = DType::int64}), b = tensor({1, 2.5, 2.5});
  struct Case {
    Tensor (*run)(const Tensor&, const Tensor&);
    std::vector<double> need;
  };
  const Case cases[] = {{eq, {1, 0, 0}}, {ne, {0, 1, 1}}, {lt, {0, 1, 0}},
                        {le, {1, 1, 0}}, {gt, {0, 0, 1}}, {ge, {1, 0, 1}}};
  for (const Case& c : cases) {
    CHECK(c.run(a, b).dtype() == DType::bool_);
    CHECK(c.run(a, b).to_vector() == c.need);
  }
  const Tensor p = tensor({0, 0, 2, 3}), q = tensor({0, 1, 0, 4});
  CHECK(logical_and(p, q).to_vector() == std::vector<double>{0, 0, 0, 1});
  CHECK(logical_or(p, q).to_vector() == std::vector<double>{0, 1, 1, 1});
  CHECK(logical_xor(p, q).to_vector() == std::vector<double>{0, 1, 1, 0});
  CHECK(logical_not(p).to_vector() == std::vector<double>{1, 1, 0, 0});
}

TEST_CASE("masked_fill refuses a finite value that its type cannot hold") {
  const Tensor half = zeros({2}, {.dtype = DType::float16}), mask = ones({2}, {.dtype = DType::bool_});
  CHECK(masked_fill(half, mask, -10000).to_vector() == std::vector<double>{-10000, -10000});
  CHECK_THROWS_AS(masked_fill(half, mask, -1e9), Error);
  CHECK(masked_fill(half, mask, -std::numeric_limits<double>::infinity()).dtype() == DType::float16);
  CHECK(masked_fill(zeros({2}, {.dtype = DType::bfloat16}), mask, -1e9).dtype() == DType::bfloat16);
  CHECK_THROWS_AS(masked_fill(half, half, 1), Error);
  CHECK_THROWS_AS(masked_fill(zeros({2}, {.dtype = DType::int64}), mask, 0.5), Error);
}

TEST_CASE("in-place forms write into their operand and bump its version") {
  const Tensor x = tensor({-1, 2});
  const auto before = x.version();
  relu_(x);
  CHECK(x.to_vector() == std::vector<double>{0, 2});
  CHECK(x.version() > before);
  addcmul_(x, tensor({1, 1}), tensor({2, 3}), 2);
  CHECK(x.to_vector() == std::vector<double>{4, 8});
  addcdiv_(x, tensor({1, 1}), tensor({2, 4}));
  CHECK(x.to_vector() == std::vector<double>{4.5, 8.25});
  clamp_(x, {}, 5);
  CHECK(x.to_vector() == std::vector<double>{4.5, 5});
  CHECK(masked_fill_(x, gt(x, 4.7), 0).to_vector() == std::vector<double>{4.5, 0});
}

TEST_CASE("dropout keeps about 1 - p of the elements, scaled, and its gradient uses the same mask") {
  // The op behind it is native_dropout.
  manual_seed(3);
  const Tensor x = ones({100, 100}).requires_grad_();
  const Tensor y = dropout(x, 0.25);
  double kept = 0;
  for (const double v : y.to_vector()) {
    CHECK((v == 0 || std::abs(v - 4.0 / 3) < 1e-6));
    kept += v != 0;
  }
  // Five standard deviations of a binomial count.
  CHECK(std::abs(kept - 7500) < 5 * std::sqrt(10000 * 0.25 * 0.75));
  sum(y).backward();
  CHECK(x.grad().to_vector() == y.to_vector());
  CHECK(dropout(x, 0.25, false).is_same(x));
  CHECK(sum(dropout(x, 1.0)).item() == 0);
  CHECK_THROWS_AS(dropout(x, 1.5), Error);
}

TEST_CASE("float8 is a storage format: it is joined and chosen from, and not computed with") {
  const Tensor x = ones({2}, {.dtype = DType::float8_e4m3fn});
  for (const Function f : {Function(relu), Function(exp), Function(abs)}) CHECK_THROWS_AS(f(x), Error);
  CHECK_THROWS_AS(maximum(x, x), Error);
  CHECK_THROWS_AS(mean(x), Error);
  CHECK_THROWS_AS(cumsum(x, 0), Error);
  CHECK_THROWS_AS(addcmul(x, x, x), Error);
  CHECK(cat({x, x}).dtype() == DType::float8_e4m3fn);
  CHECK(index_select(x, 0, zeros({3}, {.dtype = DType::int64})).to_vector() == std::vector<double>{1, 1, 1});
}

TEST_CASE("promoted ops under CUDA's rules take the widest operand and refuse a foreign half type") {
  const Tensor half = ones({3}, {.dtype = DType::float16}), single = ones({3}),
               brain = ones({3}, {.dtype = DType::bfloat16});
  const autocast region(DeviceType::cpu, {.dtype = DType::float16, .policy = Policy::cuda});
  CHECK(atan2(half, half).dtype() == DType::float16);
  CHECK(atan2(half, single).dtype() == DType::float32);
  CHECK(addcmul(single, half, half).dtype() == DType::float32);
  CHECK_THROWS_AS(atan2(brain, half), Error);
  CHECK_THROWS_AS(addcdiv(brain, single, single), Error);
}
