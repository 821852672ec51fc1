// Functions written by the user: what forward may hand to backward, and what autograd makes of it.
#include "libamp/autograd/function.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "libamp/autograd/autograd.h"
#include "libamp/ops/ops.h"
#include "tests/support/gradcheck.h"

using namespace amp;
using amp::autograd::AutogradContext;
using amp::autograd::Function;
using Catch::Matchers::ContainsSubstring;

namespace {

Tensor leaf(std::initializer_list<double> values) { return tensor(values, {.requires_grad = true}); }

struct Square : Function<Square> {
  static const char* name() { return "Square"; }
  static Tensor forward(AutogradContext* ctx, const Tensor& x) {
    ctx->save_for_backward({x});
    return x * x;
  }
  static Tensors backward(AutogradContext* ctx, const Tensors& grads) {
    return {grads[0] * ctx->get_saved_variables()[0] * 2.0};
  }
};

// exp, whose gradient is made from its own output; times a number that is no tensor.
struct ScaledExp : Function<ScaledExp> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, double factor) {
    ctx->saved_data["factor"] = factor;
    const Tensor y = exp(x);
    ctx->save_for_backward({y});
    return y;
  }
  static Tensors backward(AutogradContext* ctx, const Tensors& grads) {
    const double factor = std::any_cast<double>(ctx->saved_data["factor"]);
    return {grads[0] * ctx->get_saved_variables()[0] * factor, Tensor()};
  }
};

struct SortedWithOrder : Function<SortedWithOrder> {
  static Tensors forward(AutogradContext* ctx, const Tensor& x) {
    const auto [values, order] = sort(x, 0);
    ctx->mark_non_differentiable({order});
    ctx->save_for_backward({order});
    return {values, order};
  }
  static Tensors backward(AutogradContext* ctx, const Tensors& grads) {
    const Tensor order = ctx->get_saved_variables()[0];
    return {scatter(zeros_like(grads[0]), 0, order, grads[0])};
  }
};

std::vector<bool> asked;
std::vector<bool> arrived;
struct Both : Function<Both> {
  static Tensors forward(AutogradContext* ctx, const Tensor& a, const Tensor& b) {
    asked = {ctx->needs_input_grad(0), ctx->needs_input_grad(1)};
    ctx->set_materialize_grads(false);
    return {a * 2.0, b * 3.0};
  }
  static Tensors backward(AutogradContext*, const Tensors& grads) {
    arrived = {grads[0].defined(), grads[1].defined()};
    return {grads[0].defined() ? grads[0] * 2.0 : Tensor(), grads[1].defined() ? grads[1] * 3.0 : Tensor()};
  }
};

// As Both, with the zeros that come by default.
struct BothWithZeros : Function<BothWithZeros> {
  static Tensors forward(AutogradContext*, const Tensor& a) { return {a * 2.0, a * 3.0}; }
  static Tensors backward(AutogradContext*, const Tensors& grads) { return {grads[0] * 2.0 + grads[1] * 3.0}; }
};

struct TooFew : Function<TooFew> {
  static const char* name() { return "TooFew"; }
  static Tensor forward(AutogradContext*, const Tensor& a, const Tensor& b) { return a + b; }
  static Tensors backward(AutogradContext*, const Tensors& grads) { return {grads[0]}; }
};

struct DoubleInPlace : Function<DoubleInPlace> {
  static const char* name() { return "DoubleInPlace"; }
  static Tensor forward(AutogradContext* ctx, const Tensor& x) {
    x.mul_(2.0);
    ctx->mark_dirty({x});
    return x;
  }
  static Tensors backward(AutogradContext*, const Tensors& grads) { return {grads[0] * 2.0}; }
};

struct Through : Function<Through> {
  static Tensor forward(AutogradContext*, const Tensor& x) { return x; }
  static Tensors backward(AutogradContext*, const Tensors& grads) { return {grads[0] * 10.0}; }
};

struct Once : Function<Once> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x) {
    ctx->save_for_backward({x});
    return x * x;
  }
  static Tensors backward(AutogradContext* ctx, const Tensors& grads) {
    return amp::autograd::once_differentiable(ctx, grads, [](AutogradContext* c, const Tensors& g) {
      return Tensors{g[0] * c->get_saved_variables()[0] * 2.0};
    });
  }
};

}  // namespace

TEST_CASE("a function of the user is differentiated by its own formula, also twice") {
  const Tensor x = leaf({1, 2, 3});
  Square::apply(x).sum().backward();
  CHECK(x.grad().to_vector() == std::vector<double>{2, 4, 6});
  Tensor wide = test::values({2, 3});
  wide.requires_grad_();
  CHECK(test::gradcheck([](const Tensors& in) { return Square::apply(in[0]); }, {wide}) == "");
  CHECK(test::gradgradcheck([](const Tensors& in) { return Square::apply(in[0]); }, {wide}) == "");
}

TEST_CASE("a saved output and values that are no tensors reach backward") {
  const Tensor x = leaf({0, 1});
  const Tensor y = ScaledExp::apply(x, 3.0);
  y.sum().backward();
  CHECK(x.grad().to_vector()[0] == 3);
  CHECK(std::abs(x.grad().to_vector()[1] - 3 * std::exp(1.0)) < 1e-5);
}

TEST_CASE("several outputs: indices without a gradient, and the others") {
  const Tensor x = leaf({3, 1, 2});
  const Tensors outputs = SortedWithOrder::apply(x);
  CHECK_FALSE(outputs[1].requires_grad());
  (outputs[0] * tensor({10, 20, 30})).sum().backward();
  CHECK(x.grad().to_vector() == std::vector<double>{30, 10, 20});
}

TEST_CASE("forward learns which gradients are needed; unused outputs come undefined where that is asked for") {
  const Tensor a = leaf({1}), b = tensor({1});
  const Tensors outputs = Both::apply(a, b);
  CHECK(asked == std::vector<bool>{true, false});
  outputs[0].sum().backward();
  CHECK(arrived == std::vector<bool>{true, false});
  CHECK(a.grad().item() == 2);
  const Tensor c = leaf({1});
  BothWithZeros::apply(c)[1].sum().backward();
  CHECK(c.grad().item() == 3);
  const no_grad quiet;
  CHECK_FALSE(Both::apply(a, b)[0].requires_grad());
  CHECK(asked == std::vector<bool>{false, false});
}

TEST_CASE("a backward with a wrong number of gradients is named") {
  const Tensor a = leaf({1}), b = leaf({1});
  CHECK_THROWS_WITH(TooFew::apply(a, b).sum().backward(),
                    ContainsSubstring("[TooFew]") && ContainsSubstring("got 1, need 2"));
}

TEST_CASE("saved tensors are guarded against changes and against a second backward") {
  const Tensor x = leaf({1, 2});
  const Tensor hidden = x * 1.0;
  const Tensor y = Square::apply(hidden);
  {
    const no_grad quiet;
    hidden.fill_(0);
  }
  CHECK_THROWS_WITH(y.sum().backward(), ContainsSubstring("[Square]") && ContainsSubstring("in place"));
  const Tensor z = Square::apply(x).sum();
  z.backward({}, true);
  z.backward();
  CHECK_THROWS_WITH(z.backward(), ContainsSubstring("retain_graph"));
  CHECK(x.grad().to_vector() == std::vector<double>{4, 8});
  // What saves nothing can be run again, as in PyTorch.
  const Tensor through = Through::apply(x * 1.0).detach();
  CHECK(through.to_vector() == std::vector<double>{1, 2});
}

TEST_CASE("an argument changed in place and returned carries the function in its history") {
  const Tensor x = leaf({1, 2});
  const Tensor y = x * 1.0;
  const Tensor z = DoubleInPlace::apply(y);
  CHECK(z.is_same(y));
  z.sum().backward();
  CHECK(x.grad().to_vector() == std::vector<double>{2, 2});
  const Tensor fresh = leaf({1, 2});
  CHECK_THROWS_WITH(DoubleInPlace::apply(fresh), ContainsSubstring("leaf"));
}

TEST_CASE("an argument that is handed through keeps its own history too") {
  const Tensor x = leaf({1, 2});
  const Tensor y = Through::apply(x);
  CHECK(x.is_leaf());
  (y + x).sum().backward();
  CHECK(x.grad().to_vector() == std::vector<double>{11, 11});
}

TEST_CASE("a backward marked as differentiable once refuses to be differentiated again") {
  const Tensor x = leaf({3});
  Once::apply(x).sum().backward();
  CHECK(x.grad().item() == 6);
  const Tensor first = grad({Once::apply(x).sum()}, {x}, {}, true, true)[0];
  CHECK(first.item() == 6);
  // `first` depends on the incoming gradient of ones only, which needs none; through x * 2 it does.
  const Tensor hidden = x * 2.0;
  const Tensor second = grad({(Once::apply(hidden) * hidden).sum()}, {hidden}, {}, true, true)[0];
  CHECK_THROWS_WITH(second.sum().backward(), ContainsSubstring("differentiable once"));
}
