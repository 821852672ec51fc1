// What is recorded and what is not: the modes, leaves, detaching, and the versions that in-place changes leave.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "libamp/autograd/autograd.h"
#include "libamp/ops/ops.h"

using namespace amp;
using Catch::Matchers::ContainsSubstring;

namespace {
Tensor leaf(std::initializer_list<double> values) { return tensor(values, {.requires_grad = true}); }
}  // namespace

TEST_CASE("modes nest and end with their scope") {
  const Tensor x = leaf({1, 2});
  const auto records = [&] { return (x * 2.0).requires_grad(); };
  CHECK(records());
  {
    const no_grad off;
    CHECK_FALSE(records());
    {
      const set_grad_enabled on(true);
      CHECK(records());
      const set_grad_enabled off_again(false);
      CHECK_FALSE(records());
    }
    CHECK_FALSE(records());
    const enable_grad on;
    CHECK(records());
  }
  CHECK(records());
  try {
    const no_grad off;
    fail(ErrorCode::runtime, "test", "leaves the scope");
  } catch (const Error&) {
  }
  CHECK(records());
}

TEST_CASE("inference mode records nothing, whatever is enabled inside it") {
  const Tensor x = leaf({1, 2});
  {
    const inference_mode quiet;
    CHECK_FALSE((x * 2.0).requires_grad());
    const enable_grad on;
    CHECK_FALSE((x * 2.0).requires_grad());
    const inference_mode not_here(false);
    CHECK((x * 2.0).requires_grad());
  }
  CHECK((x * 2.0).requires_grad());
}

TEST_CASE("a leaf that required no gradient when an op ran gets none") {
  const Tensor x = tensor({1, 2}), y = leaf({3, 4});
  const Tensor product = x * y;
  x.requires_grad_();
  sum(product).backward();
  CHECK_FALSE(x.grad().defined());
  CHECK(y.grad().to_vector() == std::vector<double>{1, 2});
}

TEST_CASE("requires_grad_ is for floating leaves") {
  CHECK_THROWS_WITH(arange(3).requires_grad_(), ContainsSubstring("floating"));
  const Tensor x = leaf({1, 2}), y = x * 2.0;
  CHECK_FALSE(y.is_leaf());
  CHECK_THROWS_WITH(y.requires_grad_(false), ContainsSubstring("detach"));
  CHECK(y.requires_grad_().requires_grad());
  x.requires_grad_(false);
  CHECK_FALSE((x * 2.0).requires_grad());
  CHECK(x.is_leaf());
}

TEST_CASE("detach shares the data and not the history; detach_ cuts the history off") {
  const Tensor x = leaf({1, 2}), y = x * 2.0, cut = y.detach();
  CHECK_FALSE(cut.requires_grad());
  CHECK(cut.is_leaf());
  CHECK(cut.raw() == y.raw());
  y.detach_();
  CHECK(y.is_leaf());
  CHECK_FALSE(y.requires_grad());
  CHECK_THROWS_WITH(sum(y).backward(), ContainsSubstring("does not require"));
  const Tensor view_of = (x * 2.0).narrow(0, 0, 1);
  CHECK_THROWS_WITH(view_of.detach_(), ContainsSubstring("view"));
}

TEST_CASE("a change through a detached tensor is seen by what was saved") {
  const Tensor x = leaf({1, 2}), y = x * 1.0, squares = y * y;
  y.detach().zero_();
  CHECK_THROWS_WITH(sum(squares).backward(), ContainsSubstring("version"));
}

TEST_CASE("an output that a formula reads again is guarded too") {
  const Tensor x = leaf({1, 2}), e = exp(x);
  {
    const no_grad quiet;
    e.add_(1.0);
  }
  CHECK_THROWS_WITH(sum(e).backward(), ContainsSubstring("[exp]") && ContainsSubstring("output 0"));
  // What a formula does not read may change.
  const Tensor s = x + 1.0;
  {
    const no_grad quiet;
    s.mul_(5.0);
  }
  CHECK_NOTHROW(sum(s).backward());
}

TEST_CASE("in-place methods are differentiated as what they compute") {
  const struct {
    const char* name;
    Tensor (*out_of_place)(const Tensor&);
    void (*in_place)(const Tensor&);
  } cases[] = {
      {"sin_", [](const Tensor& t) { return sin(t); }, [](const Tensor& t) { t.sin_(); }},
      {"pow_", [](const Tensor& t) { return pow(t, 3); }, [](const Tensor& t) { t.pow_(3); }},
      {"sigmoid_", [](const Tensor& t) { return sigmoid(t); }, [](const Tensor& t) { t.sigmoid_(); }},
      {"clamp_", [](const Tensor& t) { return clamp(t, 0.5, 1.5); }, [](const Tensor& t) { t.clamp_(0.5, 1.5); }},
      {"log_", [](const Tensor& t) { return log(t); }, [](const Tensor& t) { t.log_(); }},
      {"masked_fill_", [](const Tensor& t) { return masked_fill(t, gt(t, 1.5), 0); },
       [](const Tensor& t) { t.masked_fill_(gt(t, 1.5), 0); }},
      {"cumprod_", [](const Tensor& t) { return cumprod(t, 0); }, [](const Tensor& t) { t.cumprod_(0); }},
  };
  for (const auto& c : cases) {
    INFO(c.name);
    const Tensor a = leaf({1, 2}), b = leaf({1, 2});
    const Tensor y = b * 1.0;
    c.in_place(y);
    sum(y * y).backward();
    const Tensor expected = c.out_of_place(a);
    sum(expected * expected).backward();
    CHECK(a.grad().to_vector() == b.grad().to_vector());
  }
}

TEST_CASE("create_graph leaves gradients that can be differentiated in .grad") {
  const Tensor x = leaf({3});
  sum(x * x * x).backward({}, false, true);
  CHECK(x.grad().requires_grad());
  const Tensor first = x.grad();
  x.set_grad({});
  sum(first).backward();
  CHECK(x.grad().item() == 18);
}

TEST_CASE("gradients given by the caller are checked, and several roots add up") {
  const Tensor x = leaf({1, 2}), y = x * 2.0;
  CHECK_THROWS_WITH(y.backward(ones({3})), ContainsSubstring("shape"));
  backward({y, x * 3.0}, {tensor({1, 10}), ones({2})});
  CHECK(x.grad().to_vector() == std::vector<double>{5, 23});
  CHECK_THROWS_WITH(grad({sum(x * 1.0)}, {tensor({1})}), ContainsSubstring("input 0"));
}

TEST_CASE("a hook may refuse, and an exception leaves the graph usable") {
  const Tensor x = leaf({1, 2}), y = x * x;
  bool refuses = true;
  register_hook(y, [&](const Tensor&) -> Tensor {
    if (refuses) fail(ErrorCode::runtime, "hook", "not now");
    return {};
  });
  CHECK_THROWS_WITH(sum(y).backward({}, true), ContainsSubstring("not now"));
  CHECK_FALSE(x.grad().defined());
  refuses = false;
  sum(y).backward();
  CHECK(x.grad().to_vector() == std::vector<double>{2, 4});
  CHECK_THROWS_WITH(register_hook(tensor({1}), [](const Tensor& g) { return g; }),
                    ContainsSubstring("does not require"));
}
