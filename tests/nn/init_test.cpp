// Starting values: moments and bounds of every initialiser, within what the sample's size allows, and exact patterns.
#include "libamp/nn/init.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <functional>

#include "libamp/nn/attention.h"
#include "libamp/nn/layers.h"
#include "tests/support/toy_training.h"

using namespace amp;
using namespace amp::testing;

namespace {

struct Moments {
  double mean = 0, deviation = 0, least = kInf, most = -kInf, kurtosis = 0;
};

Moments moments_of(const Tensor& t) {
  const std::vector<double> values = t.to_vector();
  const auto n = static_cast<double>(values.size());
  Moments m;
  double second = 0, fourth = 0;
  for (const double v : values) {
    m.mean += v / n;
    m.least = std::min(m.least, v);
    m.most = std::max(m.most, v);
  }
  for (const double v : values) {
    second += std::pow(v - m.mean, 2) / n;
    fourth += std::pow(v - m.mean, 4) / n;
  }
  m.deviation = std::sqrt(second);
  m.kurtosis = fourth / (second * second);
  return m;
}

// A distribution, and what its samples must show: mean, deviation, kurtosis (uniform 1.8, normal 3), limits.
struct Expected {
  double mean, deviation, kurtosis, least = -kInf, most = kInf;
};

Expected uniform(double low, double high) { return {(low + high) / 2, (high - low) / std::sqrt(12.0), 1.8, low, high}; }
Expected normal(double mean, double deviation) { return {mean, deviation, 3}; }

void check(const Tensor& t, const Expected& need) {
  const Moments got = moments_of(t);
  const auto n = static_cast<double>(t.numel());
  CAPTURE(got.mean, need.mean, got.deviation, need.deviation, got.kurtosis);
  // Five standard errors of the mean, of the deviation and of the kurtosis of n samples.
  CHECK(std::abs(got.mean - need.mean) < 5 * need.deviation / std::sqrt(n));
  CHECK(std::abs(got.deviation - need.deviation) < 5 * need.deviation * std::sqrt((need.kurtosis - 1) / (4 * n)));
  CHECK(std::abs(got.kurtosis - need.kurtosis) < 5 * std::sqrt(24 / n));
  CHECK(got.least >= need.least);
  CHECK(got.most <= need.most);
  if (need.kurtosis == 1.8) CHECK(got.most > need.mean + 1.7 * need.deviation);  // reaches its limits
}

}  // namespace

TEST_CASE("initialisers have PyTorch's moments", "[nn]") {
  manual_seed(17);
  const Shape linear{200, 100}, conv{60, 40, 3, 3};  // fans 100, 200 and 360, 540
  struct Row {
    const char* what;
    Shape sizes;
    std::function<const Tensor&(const Tensor&)> fill;
    Expected need;
  };
  const auto xavier = [](double gain, double in, double out) { return gain * std::sqrt(2 / (in + out)); };
  const auto bound = [](double deviation) { return uniform(-deviation * std::sqrt(3.0), deviation * std::sqrt(3.0)); };
  // Of a standard normal cut off at +-2.
  const double cut = std::sqrt(1 - 4 * std::exp(-2.0) / std::sqrt(2 * 3.14159265358979) / std::erf(std::sqrt(2.0)));
  namespace init = nn::init;
  const Row rows[] = {{"uniform", linear, [](const Tensor& t) -> auto& {return init::uniform_(t, -1, 3);
}
, uniform(-1, 3)
}
, {"normal", linear, [](const Tensor& t) -> auto& {return init::normal_(t, 2, 0.5);
}
, normal(2, 0.5)
}
, {"xavier_uniform", linear, [](const Tensor& t) -> auto& {return init::xavier_uniform_(t, 2);
}
, bound(xavier(2, 100, 200))
}
, {"xavier_uniform conv", conv, [](const Tensor& t) -> auto& {return init::xavier_uniform_(t);
}
, bound(xavier(1, 360, 540))
}
, {"xavier_normal", conv, [](const Tensor& t) -> auto& {return init::xavier_normal_(t, 0.5);
}
, normal(0, xavier(0.5, 360, 540))
}
, {"kaiming_uniform", linear, [](const Tensor& t) -> auto& {return init::kaiming_uniform_(t);
}
, bound(std::sqrt(2 / 100.0))
}
, {"kaiming_uniform a", conv, [](const Tensor& t) -> auto& {return init::kaiming_uniform_(t, std::sqrt(5.0));
}
, uniform(-1 / std::sqrt(360.0), 1 / std::sqrt(360.0))
}
, {"kaiming_uniform fan_out", conv,
   [](const Tensor& t) -> auto& {return init::kaiming_uniform_(t, 0, "fan_out", "relu");
}
, bound(std::sqrt(2 / 540.0))
}
, {"kaiming_normal", linear, [](const Tensor& t) -> auto& {return init::kaiming_normal_(t, 0, "fan_in", "tanh");
}
, normal(0, 5.0 / 3 / 10)
}
, {"trunc_normal", linear, [](const Tensor& t) -> auto& {return init::trunc_normal_(t);
}
, { 0, cut, 2.06, -2, 2 }
}
,
}
;
for (const Row& row : rows) {
  CAPTURE(row.what);
  const Tensor t = empty(row.sizes);
  CHECK(row.fill(t).is_same(t));
  if (std::string_view(row.what) == "trunc_normal") {
    const Moments got = moments_of(t);
    CHECK(std::abs(got.mean) < 5 * cut / std::sqrt(20000.0));
    CHECK(std::abs(got.deviation - cut) < 0.01 * cut);
    CHECK((got.least >= -2 && got.most <= 2 && got.most > 1.95));
    continue;
  }
  check(t, row.need);
}
// Of a mean outside the range only its tail is left.
const Tensor tail = init::trunc_normal_(empty({1000}), 5, 1, -1, 4);
CHECK(moments_of(tail).most <= 4);
CHECK(moments_of(tail).mean > 3);
}

TEST_CASE("orthogonal_ gives orthonormal rows or columns", "[nn]") {
  manual_seed(3);
  for (const Shape& sizes : {Shape{6, 10}, Shape{10, 6}, Shape{4, 3, 2, 2}, Shape{12, 2, 2}}) {
    const Tensor t = nn::init::orthogonal_(empty(sizes), 2);
    const std::int64_t rows = sizes[0], columns = t.numel() / rows;
    const Tensor flat = t.view({rows, columns}).to(DType::float64);
    const Tensor product = rows <= columns ? matmul(flat, flat.t()) : matmul(flat.t(), flat);
    const std::vector<double> values = product.to_vector();
    const std::int64_t n = std::min(rows, columns);
    for (std::int64_t i = 0; i < n * n; ++i)
      CHECK(std::abs(values[static_cast<std::size_t>(i)] - (i / n == i % n ? 4 : 0)) < 1e-5);
  }
}

TEST_CASE("eye_, dirac_, sparse_ and constants have their patterns", "[nn]") {
  manual_seed(4);
  namespace init = nn::init;
  CHECK(init::eye_(empty({2, 3})).to_vector() == std::vector<double>{1, 0, 0, 0, 1, 0});
  CHECK(init::ones_(empty({2})).to_vector() == std::vector<double>{1, 1});
  CHECK(init::constant_(init::zeros_(empty({2})), 3).to_vector() == std::vector<double>{3, 3});
  // A dirac weight is the identity of a convolution, in each group.
  const Tensor x = randn({1, 4, 5, 5});
  CHECK(conv2d(x, init::dirac_(empty({4, 4, 3, 3})), {}, 1, 1).to_vector() == x.to_vector());
  CHECK(conv2d(x, init::dirac_(empty({4, 2, 3, 3}), 2), {}, 1, 1, 1, 2).to_vector() == x.to_vector());
  const Tensor sparse = init::sparse_(empty({10, 7}), 0.25);
  for (std::int64_t c = 0; c < 7; ++c) {
    const auto column = sparse.select(1, c).to_vector();
    CHECK(std::count(column.begin(), column.end(), 0.0) == 3);
  }
}

TEST_CASE("initialisers refuse what they cannot fill", "[nn]") {
  namespace init = nn::init;
  const Tensor line = empty({3}), matrix = empty({3, 3});
  for (const std::function<void()>& call : std::vector<std::function<void()>>{
           [&] { init::eye_(line); }, [&] { init::dirac_(matrix); },
           [&] {
             init::dirac_(empty({3, 3, 3}), 2);
           },
           [&] { init::orthogonal_(line); }, [&] { init::sparse_(line, 0.1); }, [&] { init::xavier_normal_(line); },
           [&] { init::kaiming_normal_(matrix, 0, "fan"); },
           [&] { init::kaiming_normal_(matrix, 0, "fan_in", "sine"); },
           [&] { init::trunc_normal_(matrix, 0, 1, 2, 2); }, [&] { init::uniform_(matrix, 1, 0); },
           [&] { init::normal_(matrix, 0, -1); }})
    CHECK(error_code(call) == ErrorCode::value);
  CHECK(init::calculate_gain("leaky_relu", 3) == std::sqrt(0.2));
  CHECK(init::calculate_gain("selu") == 0.75);
}

TEST_CASE("layers start as PyTorch's do", "[nn]") {
  manual_seed(11);
  const nn::Linear linear(400, 300);
  const nn::Conv1d conv1(16, 64, 5);
  const nn::Conv3d conv3(4, 32, 3, {.groups = 2});
  const nn::ConvTranspose2d transposed(32, 16, 3);  // fan in: 16 * 9
  const nn::Bilinear bilinear(25, 30, 40);
  const nn::Embedding table(200, 50);
  const nn::MultiheadAttention attention(96, 4);
  const auto inverse_root = [](double fan) { return uniform(-1 / std::sqrt(fan), 1 / std::sqrt(fan)); };
  check(linear.weight, inverse_root(400));
  check(linear.bias, inverse_root(400));
  check(conv1.weight, inverse_root(80));
  check(conv3.weight, inverse_root(54));
  check(transposed.weight, inverse_root(144));
  check(bilinear.weight, inverse_root(25));
  check(table.weight, normal(0, 1));
  const double xavier = std::sqrt(6.0 / (96 + 288));
  check(attention.in_proj_weight, uniform(-xavier, xavier));
  check(attention.out_proj->weight, inverse_root(96));
  for (const Tensor& bias : {attention.in_proj_bias, attention.out_proj->bias})
    CHECK(bias.to_vector() == std::vector<double>(static_cast<std::size_t>(bias.numel()), 0));
}
