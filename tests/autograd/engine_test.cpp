// The backward engine: accumulation, leaves, hooks, graphs, versions, higher derivatives.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "libamp/autograd/autograd.h"
#include "libamp/core/observer.h"
#include "libamp/ops/ops.h"

using namespace amp;
using Catch::Matchers::ContainsSubstring;

namespace {
Tensor leaf(std::initializer_list<double> values, DType dtype = DType::float32) {
  return tensor(values, {.dtype = dtype, .requires_grad = true});
}
}  // namespace

TEST_CASE("gradients accumulate into .grad until it is reset") {
  const Tensor x = leaf({1, 2});
  (x * x).sum().backward();
  (x * 3.0).sum().backward();
  CHECK(x.grad().to_vector() == std::vector<double>{5, 7});
  x.set_grad({});
  CHECK_FALSE(x.grad().defined());
}

TEST_CASE("a tensor used several times gets the sum of its gradients") {
  const Tensor x = leaf({2});
  const Tensor y = x * x;
  (y * y + y).sum().backward();  // x^4 + x^2
  CHECK(x.grad().item() == 36);
}

TEST_CASE("two leaves that receive the same gradient do not share its memory") {
  const Tensor a = leaf({1, 1}), b = leaf({1, 1});
  (a + b).sum().backward();
  a.grad().fill_(5);
  CHECK(b.grad().to_vector() == std::vector<double>{1, 1});
}

TEST_CASE("the graph is freed unless it is retained") {
  const Tensor x = leaf({3});
  const Tensor y = (x * x).sum();
  y.backward({}, true);
  y.backward();
  CHECK(x.grad().item() == 12);
  CHECK_THROWS_WITH(y.backward(), ContainsSubstring("retain_graph"));
}

TEST_CASE("two losses may go through a shared cast one after the other, since it saves nothing") {
  const Tensor x = leaf({3});
  const Tensor shared = x.half();
  (shared + shared).sum().backward();
  shared.sum().backward();
  CHECK(x.grad().item() == 3);
}

TEST_CASE("changing a saved tensor in place is an error that names versions") {
  const Tensor x = leaf({1, 2});
  const Tensor y = x * 1.0;
  const Tensor z = y * y;
  {
    const no_grad quiet;
    y.fill_(0);
  }
  CHECK_THROWS_WITH(z.sum().backward(),
                    ContainsSubstring("[mul]") && ContainsSubstring("in place") && ContainsSubstring("version"));
}

TEST_CASE("leaves and views refuse in-place changes while gradients are recorded") {
  const Tensor x = leaf({1, 2});
  CHECK_THROWS_WITH(x.add_(1.0), ContainsSubstring("leaf"));
  const Tensor y = x * 2.0;
  CHECK_THROWS_WITH(y.narrow(0, 0, 1).add_(1.0), ContainsSubstring("view"));
  y.add_(1.0);  // a non-leaf may be changed
  y.sum().backward();
  CHECK(x.grad().to_vector() == std::vector<double>{2, 2});
}

TEST_CASE("no_grad, detach and integer tensors stop gradients") {
  const Tensor x = leaf({1, 2});
  {
    const no_grad quiet;
    CHECK_FALSE((x * 2.0).requires_grad());
    const enable_grad loud;
    CHECK((x * 2.0).requires_grad());
  }
  CHECK_FALSE((x.detach() * 2.0).requires_grad());
  CHECK_THROWS_AS(tensor({1}, {.dtype = DType::int64, .requires_grad = true}), Error);
  CHECK_THROWS_WITH(ones({2}).sum().backward(), ContainsSubstring("does not require"));
  CHECK_THROWS_WITH((x * 2.0).backward(), ContainsSubstring("one element"));
}

TEST_CASE("grad() leaves .grad alone and says which input was not used") {
  const Tensor x = leaf({1, 2}), unused = leaf({1});
  const Tensor y = (x * x).sum();
  CHECK(grad({y}, {x}, {}, true)[0].to_vector() == std::vector<double>{2, 4});
  CHECK_FALSE(x.grad().defined());
  CHECK_THROWS_WITH(grad({y}, {x, unused}, {}, true), ContainsSubstring("input 1"));
  CHECK_FALSE(grad({y}, {unused}, {}, true, false, true)[0].defined());
  const Tensor middle = x * 3.0;
  CHECK(grad({(middle * middle).sum()}, {middle})[0].to_vector() == std::vector<double>{6, 12});
}

TEST_CASE("gradients of gradients") {
  const Tensor x = leaf({2}, DType::float64);
  const Tensor y = x * x * x;
  const Tensor first = grad({y.sum()}, {x}, {}, true, true)[0];
  const Tensor second = grad({first.sum()}, {x}, {}, true, true)[0];
  const Tensor third = grad({second.sum()}, {x})[0];
  CHECK(first.item() == 12);
  CHECK(second.item() == 12);
  CHECK(third.item() == 6);
}

TEST_CASE("hooks see and may replace gradients, of leaves and of results") {
  const Tensor x = leaf({1, 2});
  register_hook(x, [](const Tensor& g) { return g * 10.0; });
  const Tensor y = x * 2.0;
  std::vector<double> seen;
  register_hook(y, [&](const Tensor& g) {
    seen = g.to_vector();
    return Tensor();
  });
  y.retain_grad();
  y.sum().backward();
  CHECK(seen == std::vector<double>{1, 1});
  CHECK(x.grad().to_vector() == std::vector<double>{20, 20});
  CHECK(y.grad().to_vector() == std::vector<double>{1, 1});
}

TEST_CASE("a hook must return a gradient of the same shape, and a floating one") {
  const Tensor x = leaf({1, 2});
  x.set_name(observe::intern("weight"));
  const Tensor bad[] = {ones({1}), ones({2, 1}), ones({2}, {.dtype = DType::int64})};
  Tensor returned;
  register_hook(x, [&](const Tensor&) { return returned; });
  for (const Tensor& b : bad) {
    returned = b;
    CHECK_THROWS_WITH((x * 2.0).sum().backward(), ContainsSubstring("the hook of leaf 'weight' returned"));
  }
  CHECK_FALSE(x.grad().defined());
  for (const Tensor& b : bad) {
    returned = {};
    const Tensor y = x * 2.0;
    register_hook(y, [&](const Tensor&) { return b; });
    CHECK_THROWS_WITH(y.sum().backward(), ContainsSubstring("the hook of output 0 of mul returned"));
  }
  returned = tensor({3, 4});
  (x * 2.0).sum().backward();
  CHECK(x.grad().to_vector() == std::vector<double>{3, 4});
}

TEST_CASE("set_grad takes a gradient of the tensor's shape and dtype") {
  const Tensor x = leaf({1, 2});
  CHECK_THROWS_WITH(x.set_grad(ones({1})), ContainsSubstring("wrong shape"));
  CHECK_THROWS_WITH(x.set_grad(ones({2}).half()), ContainsSubstring("wrong dtype: got float16[2]"));
  CHECK_FALSE(x.grad().defined());
  x.set_grad(ones({2}));
  CHECK(x.grad().to_vector() == std::vector<double>{1, 1});
}

TEST_CASE("a gradient takes the dtype of what it is for") {
  const Tensor x = leaf({1, 2});
  const Tensor h = x.half();
  h.retain_grad();
  (h * h).to_float().sum().backward();
  CHECK(h.grad().dtype() == DType::float16);
  CHECK(x.grad().dtype() == DType::float32);
}

TEST_CASE("a chain of a hundred thousand ops is differentiated and freed") {
  const Tensor x = leaf({1});
  Tensor y = x;
  for (int i = 0; i < 100000; ++i) y = y + 1.0;
  y.sum().backward();
  CHECK(x.grad().item() == 1);
  y = {};
  Tensor never_run = x * 1.0;
  for (int i = 0; i < 100000; ++i) never_run = never_run * 1.0;
}

TEST_CASE("broadcast operands get gradients of their own shape") {
  const Tensor a = leaf({1, 2, 3}), b = tensor({1, 2}, {.requires_grad = true}).detach().view({2, 1});
  b.requires_grad_();
  (a * b).sum().backward();
  CHECK(a.grad().to_vector() == std::vector<double>{3, 3, 3});
  CHECK(b.grad().sizes() == Shape{2, 1});
  CHECK(b.grad().to_vector() == std::vector<double>{6, 6});
}
