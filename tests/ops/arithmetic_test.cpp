// add, sub, mul, div, neg, copies and views: values in every dtype, gradients against difference quotients.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <string>

#include "libamp/core/dtype_dispatch.h"
#include "libamp/dispatch/run_op.h"
#include "tests/support/gradcheck.h"

using namespace amp;
using amp::test::gradcheck;
using amp::test::gradgradcheck;
using amp::test::values;

namespace {

Tensor leaf(const Shape& sizes, int seed) {
  Tensor t = values(sizes, seed);
  t.requires_grad_();
  return t;
}

struct Row {
  const char* op;
  Tensor (*run)(const Tensor&, const Tensor&);
  double (*reference)(double, double);
};
const Row kRows[] = {
    {"add", [](const Tensor& a, const Tensor& b) { return add(a, b, 0.5); },
     [](double a, double b) { return a + 0.5 * b; }},
    {"sub", [](const Tensor& a, const Tensor& b) { return sub(a, b, 2.0); },
     [](double a, double b) { return a - 2.0 * b; }},
    {"mul", [](const Tensor& a, const Tensor& b) { return mul(a, b); }, [](double a, double b) { return a * b; }},
    {"div", [](const Tensor& a, const Tensor& b) { return div(a, b); }, [](double a, double b) { return a / b; }},
    {"neg", [](const Tensor& a, const Tensor&) { return neg(a); }, [](double a, double) { return -a; }},
};

// Units in the last place of a result near `value`: one rounding of the result, and float32's own for what came before.
double bound(DType dtype, double value) {
  const double epsilon = dtype == DType::float16    ? 0x1p-11
                         : dtype == DType::bfloat16 ? 0x1p-8
                         : dtype == DType::float64  ? 0x1p-53
                                                    : 0x1p-24;
  return std::abs(value) * (epsilon + 0x1p-23) + 0x1p-25;
}

}  // namespace

TEST_CASE("arithmetic of each floating dtype is the rounded exact result of its operands") {
  for (const Row& row : kRows)
    for (const DType dtype : {DType::float64, DType::float32, DType::float16, DType::bfloat16}) {
      INFO(row.op << " in " << name(dtype));
      const Tensor a = values({3, 5}, 1).to(dtype), b = (values({5}, 2) + 2.0).to(dtype);
      const Tensor got = row.run(a, b);
      REQUIRE(got.dtype() == dtype);
      const auto x = a.to_vector(), y = b.to_vector(), z = got.to_vector();
      for (std::size_t i = 0; i < z.size(); ++i) {
        const double exact = row.reference(x[i], y[i % 5]);
        CHECK(std::abs(z[i] - exact) <= bound(dtype, exact));
      }
    }
}

TEST_CASE("arithmetic differentiates, broadcast or not, once and twice") {
  for (const Row& row : kRows) {
    INFO(row.op);
    const auto f = [&row](const Tensors& in) { return row.run(in[0], in[1] + 2.0); };
    CHECK(gradcheck(f, {leaf({2, 3}, 1), leaf({3}, 2)}) == "");
    CHECK(gradcheck(f, {leaf({3}, 1), leaf({2, 3}, 2)}) == "");
    const auto squared = [&f](const Tensors& in) {
      const Tensor y = f(in);
      return y * y;
    };
    CHECK(gradgradcheck(squared, {leaf({2, 3}, 1), leaf({3}, 2)}) == "");
  }
}

TEST_CASE("integers divide to float32, and refuse fractions of alpha") {
  const Tensor a = tensor({7, -7}, {.dtype = DType::int64}), b = tensor({2, 2}, {.dtype = DType::int64});
  CHECK(div(a, b).dtype() == DType::float32);
  CHECK(div(a, b).to_vector() == std::vector<double>{3.5, -3.5});
  CHECK_THROWS_AS(add(a, b, 0.5), Error);
  CHECK(add(a, b, 3).to_vector() == std::vector<double>{13, -1});
  const Tensor truth = tensor({1, 0}, {.dtype = DType::bool_});
  CHECK_THROWS_AS(sub(truth, truth), Error);
  CHECK_THROWS_AS(neg(truth), Error);
}

TEST_CASE("copy_ converts, broadcasts, and passes the gradient to its source") {
  Tensor to = zeros({2, 3}, {.dtype = DType::float16});
  to.copy_(tensor({1, 2, 70000}));
  CHECK(std::isinf(to.to_vector()[5]));
  CHECK(to.to_vector()[1] == 2);
  CHECK_THROWS_AS(to.copy_(zeros({2})), Error);
  const auto f = [](const Tensors& in) {
    const Tensor target = in[0] * 1.0;
    target.copy_(in[1]);
    return target * target;
  };
  CHECK(gradcheck(f, {leaf({2, 3}, 1), leaf({3}, 2)}) == "");
}

TEST_CASE("views pass gradients to the elements they show") {
  const auto f = [](const Tensors& in) {
    const Tensor x = in[0];
    return narrow(permute(x, {2, 0, 1}), 0, 1, 2).reshape({4, 3}) *
           select(x, 2, 0).reshape({6}).narrow(0, 0, 3).expand({4, 3});
  };
  CHECK(gradcheck(f, {leaf({2, 3, 3}, 1)}) == "");
  CHECK(gradgradcheck(f, {leaf({2, 3, 3}, 1)}) == "");
  // narrow_backward is the op that puts a range back: it is linear, so its own gradient is the range again.
  const auto back = [](const Tensors& in) {
    return run_op1({OpId::narrow_backward,
                    {in[0]},
                    {{"size", Shape{2, 5}}, {"dim", std::int64_t{1}}, {"start", std::int64_t{2}}},
                    {}});
  };
  CHECK(gradcheck(back, {leaf({2, 3}, 1)}) == "");
  CHECK(back({ones({2, 1})}).to_vector() == std::vector<double>{0, 0, 1, 0, 0, 0, 0, 1, 0, 0});
}
