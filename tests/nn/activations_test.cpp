// The activations that are made of other ops: values against their formulas, gradients, exact points, NaN, dtypes.
#include "libamp/nn/activations.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <functional>

#include "libamp/nn/dropout.h"
#include "tests/support/gradcheck.h"
#include "tests/support/toy_training.h"

using namespace amp;
using namespace amp::testing;

namespace {

double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }
double clip(double x, double low, double high) { return std::min(std::max(x, low), high); }

struct Row {
  const char* what;
  std::function<Tensor(const Tensor&)> function;
  std::function<double(double)> formula;
};

const Row kRows[] = {
    {"hardtanh", [](const Tensor& x) { return hardtanh(x); }, [](double x) { return clip(x, -1, 1); }},
    {"hardtanh wide", [](const Tensor& x) { return nn::Hardtanh(-2.5, 0.75)(x); },
     [](double x) { return clip(x, -2.5, 0.75); }},
    {"relu6", [](const Tensor& x) { return nn::ReLU6()(x * 4.0); }, [](double x) { return clip(4 * x, 0, 6); }},
    {"hardsigmoid", [](const Tensor& x) { return nn::Hardsigmoid()(x); },
     [](double x) { return clip(x + 3, 0, 6) / 6; }},
    {"hardswish", [](const Tensor& x) { return nn::Hardswish()(x); },
     [](double x) { return x * clip(x + 3, 0, 6) / 6; }},
    {"selu", [](const Tensor& x) { return nn::SELU()(x); },
     [](double x) { return 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * std::expm1(x)); }},
    {"celu", [](const Tensor& x) { return nn::CELU(2)(x); },
     [](double x) { return x > 0 ? x : 2 * std::expm1(x / 2); }},
    {"mish", [](const Tensor& x) { return nn::Mish()(x); },
     [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }},
    {"softsign", [](const Tensor& x) { return nn::Softsign()(x); }, [](double x) { return x / (1 + std::abs(x)); }},
    {"tanhshrink", [](const Tensor& x) { return nn::Tanhshrink()(x); }, [](double x) { return x - std::tanh(x); }},
    {"hardshrink", [](const Tensor& x) { return nn::Hardshrink()(x); },
     [](double x) { return std::abs(x) > 0.5 ? x : 0; }},
    {"softshrink", [](const Tensor& x) { return nn::Softshrink(0.75)(x); },
     [](double x) { return x > 0.75    ? x - 0.75
                           : x < -0.75 ? x + 0.75
                                       : 0; }},
    {"threshold", [](const Tensor& x) { return nn::Threshold(0.25, -7)(x); },
     [](double x) { return x > 0.25 ? x : -7; }},
    {"logsigmoid", [](const Tensor& x) { return nn::LogSigmoid()(x); },
     [](double x) { return std::log(sigmoid_of(x)); }},
    {"rrelu", [](const Tensor& x) { return rrelu(x); },
     [](double x) { return x > 0 ? x : x * (1.0 / 8 + 1.0 / 3) / 2; }},
    {"softmin",
     [](const Tensor& x) {
       return nn::Softmin(0)(x.view({1, -1}));
     },
     [](double) { return 1; }},
};

// Between -3 and 3, on none of the corners.
Tensor points(DType dtype) { return (arange(25, {.dtype = DType::float64}) * 0.26 - 3.07).to(dtype); }

}  // namespace

TEST_CASE("composed activations follow their formulas, rounded once", "[nn]") {
  for (const Row& row : kRows)
    for (const DType dtype : {DType::float64, DType::float32, DType::float16, DType::bfloat16})
      for (const bool region_on : {false, true}) {
        const autocast region(DeviceType::cpu, {.dtype = DType::float16, .enabled = region_on, .policy = Policy::cuda});
        const Tensor x = points(dtype), y = row.function(x);
        CAPTURE(row.what, name(dtype), region_on);
        if (std::string_view(row.what) != "softmin") CHECK(y.dtype() == dtype);  // listed: float32 in a region
        const double eps = dtype == DType::float16    ? 0x1p-11
                           : dtype == DType::bfloat16 ? 0x1p-8
                           : dtype == DType::float32  ? 0x1p-21
                                                      : 1e-13;
        // The operand 4 x of relu6 is rounded as well; a product of two operands has float32's few roundings.
        const auto at = x.to_vector(), got = y.to_vector();
        for (std::size_t i = 0; i < at.size(); ++i) {
          const double need = row.formula(at[i]);
          CAPTURE(at[i], got[i], need);
          CHECK(std::abs(got[i] - need) <= eps * (std::abs(need) + (dtype == DType::float32 ? 1 : 0x1p-6)));
        }
      }
}

TEST_CASE("composed activations differentiate twice", "[nn]") {
  for (const Row& row : kRows) {
    CAPTURE(row.what);
    const auto f = [&](const Tensors& in) { return row.function(in[0]); };
    const Tensor x = points(DType::float64).requires_grad_();
    CHECK(test::gradcheck(f, {x}) == "");
    CHECK(test::gradgradcheck(f, {x}, 1e-4) == "");
  }
  const Tensor pair = test::values({3, 4}).requires_grad_();
  CHECK(test::gradcheck([](const Tensors& in) { return nn::GLU(1)(in[0]); }, {pair}) == "");
}

TEST_CASE("composed activations have PyTorch's gradients at the corners, and keep NaN", "[nn]") {
  struct Corner {
    const char* what;
    std::function<Tensor(const Tensor&)> function;
    double at, gradient;
  };
  const Corner corners[] = {
      {"hardtanh", [](const Tensor& x) { return hardtanh(x); }, 1, 0},
      {"hardtanh", [](const Tensor& x) { return hardtanh(x); }, -1, 0},
      {"relu6", relu6, 0, 0},
      {"relu6", relu6, 6, 0},
      {"hardswish", hardswish, -3, 0},
      {"threshold", [](const Tensor& x) { return threshold(x, 1, 5); }, 1, 0},
      {"hardshrink", [](const Tensor& x) { return hardshrink(x); }, 0.5, 0},
      {"softshrink", [](const Tensor& x) { return softshrink(x); }, 0.5, 0},
      {"selu far left", selu, -200, 0},
      {"mish far right", mish, 100, 1},
      {"celu far right", [](const Tensor& x) { return celu(x); }, 1000, 1},
  };
  for (const Corner& corner : corners) {
    CAPTURE(corner.what, corner.at);
    const Tensor x = parameter({corner.at, kNaN});
    const Tensor y = corner.function(x);
    y.sum().backward();
    CHECK(x.grad().to_vector()[0] == corner.gradient);
    CHECK(std::isnan(y.to_vector()[1]));
  }
}

TEST_CASE("GLU, RReLU, PReLU and Softmax2d follow their definitions", "[nn]") {
  const Tensor x = tensor({1, -2, 3, 0.5}).view({1, 4});
  const auto glu_of = nn::GLU()(x).to_vector();
  CHECK(std::abs(glu_of[0] - sigmoid_of(3)) < 1e-6);
  CHECK(std::abs(glu_of[1] + 2 * sigmoid_of(0.5)) < 1e-6);
  CHECK(nn::GLU()(x.half()).dtype() == DType::float16);
  manual_seed(1);
  nn::RReLU rrelu_layer(0.25, 0.75);
  const auto slopes = rrelu_layer(ones({1000}) * -1.0).to_vector();
  CHECK(*std::min_element(slopes.begin(), slopes.end()) >= -0.75);
  CHECK(*std::max_element(slopes.begin(), slopes.end()) <= -0.25);
  CHECK(*std::min_element(slopes.begin(), slopes.end()) < -0.7);
  rrelu_layer.eval();
  CHECK(rrelu_layer(tensor({-2, 2})).to_vector() == std::vector<double>{-1, 2});
  nn::PReLU prelu_layer(2, 0.5);
  CHECK(prelu_layer(tensor({-2, -4}).view({1, 2})).to_vector() == std::vector<double>{-1, -2});
  CHECK(prelu_layer.state_dict().contains("weight"));
  for (const double sum : nn::Softmax2d()(randn({2, 3, 4, 4})).sum({1}).to_vector()) CHECK(std::abs(sum - 1) < 1e-6);
  const Tensor changed = tensor({-1, 1});
  CHECK(nn::ReLU(true)(changed).is_same(changed));
  CHECK(changed.to_vector() == std::vector<double>{0, 1});
}

TEST_CASE("activations refuse what they cannot do", "[nn]") {
  const Tensor x = ones({3});
  CHECK(error_code([&] { nn::GLU()(x); }) == ErrorCode::runtime);
  CHECK(error_code([&] { nn::Softmax2d()(x); }) == ErrorCode::value);
  CHECK(error_code([&] { nn::CELU(0)(x); }) == ErrorCode::runtime);
  CHECK(error_code([&] { nn::Softshrink(-1)(x); }) == ErrorCode::runtime);
  CHECK(error_code([&] { nn::Hardtanh(1, -1)(x); }) == ErrorCode::value);
  CHECK(error_code([&] { nn::Dropout2d()(x); }) == ErrorCode::runtime);
  CHECK(error_code([&] { nn::AlphaDropout(2); }) == ErrorCode::value);
}

TEST_CASE("channel dropout zeroes whole channels", "[nn]") {
  manual_seed(9);
  const auto check = [](nn::Module&& layer, const Shape& sizes) {
    const Tensor y = layer(ones(sizes));
    const Tensor flat = y.reshape({sizes[0] * sizes[1], -1});
    double dropped = 0;
    for (std::int64_t c = 0; c < flat.size(0); ++c) {
      const auto values = flat.select(0, c).to_vector();
      for (const double v : values) CHECK(v == values[0]);
      CHECK((values[0] == 0 || std::abs(values[0] - 4.0 / 3) < 1e-6));
      dropped += values[0] == 0;
    }
    const double n = static_cast<double>(flat.size(0));
    CHECK(std::abs(dropped / n - 0.25) < 5 * std::sqrt(0.25 * 0.75 / n));
    layer.eval();
    CHECK(layer(ones(sizes)).to_vector() == ones(sizes).to_vector());
  };
  check(nn::Dropout1d(0.25), {20, 30, 4});
  check(nn::Dropout2d(0.25), {20, 30, 2, 2});
  check(nn::Dropout3d(0.25), {20, 30, 2, 1, 2});
  CHECK(nn::Dropout2d(0.5)(ones({3, 2, 2}, {.dtype = DType::float16})).dtype() == DType::float16);
}

TEST_CASE("alpha dropout keeps mean and variance", "[nn]") {
  manual_seed(10);
  const Tensor y = nn::AlphaDropout(0.3)(randn({40000}));
  CHECK(std::abs(y.mean().item()) < 0.03);
  CHECK(std::abs(amp::std(y).item() - 1) < 0.03);
}
