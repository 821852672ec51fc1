// Tensor's methods are the functions of their names; in-place forms write what the functions return.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <functional>

#include "libamp/autocast/scope.h"
#include "libamp/autograd/autograd.h"
#include "tests/support/gradcheck.h"

using namespace amp;
using amp::test::values;
using Catch::Matchers::ContainsSubstring;

namespace {

Tensor positive() { return abs(values({3, 4})) * 0.8 + 0.1; }
Tensor index(std::initializer_list<double> of) { return tensor(of, {.dtype = kInt64}); }
bool same(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.sizes() == b.sizes() && a.to_vector() == b.to_vector();
}

}  // namespace

TEST_CASE("functions of one operand as methods, and in place") {
  const struct {
    const char* name;
    Tensor (*function)(const Tensor&);
    Tensor (Tensor::*method)() const;
    const Tensor& (Tensor::*in_place)() const;
  } cases[] = {
#define METHOD(name) {#name, static_cast<Tensor (*)(const Tensor&)>(&amp::name), &Tensor::name, &Tensor::name##_}
      METHOD(abs),     METHOD(sign), METHOD(floor),      METHOD(ceil),  METHOD(round),  METHOD(trunc), METHOD(sqrt),
      METHOD(sin),     METHOD(cos),  METHOD(tan),        METHOD(asin),  METHOD(acos),   METHOD(atan),  METHOD(sinh),
      METHOD(cosh),    METHOD(tanh), METHOD(erf),        METHOD(erfc),  METHOD(erfinv), METHOD(exp),   METHOD(exp2),
      METHOD(expm1),   METHOD(log),  METHOD(log2),       METHOD(log10), METHOD(log1p),  METHOD(rsqrt), METHOD(relu),
      METHOD(sigmoid), METHOD(neg),  METHOD(reciprocal),
#undef METHOD
  };
  for (const auto& c : cases) {
    INFO(c.name);
    const Tensor x = positive(), expected = c.function(x);
    CHECK(same((x.*c.method)(), expected));
    const Tensor& result = (x.*c.in_place)();
    CHECK(result.is_same(x));
    CHECK(same(x, expected));
  }
}

TEST_CASE("methods with arguments are their functions") {
  const Tensor x = values({3, 4}), y = values({3, 4}, 2), m = values({4, 2}, 3), at = index({2, 0});
  const std::pair<Tensor, Tensor> pairs[] = {
      {x.pow(2), pow(x, 2)},
      {x.clamp(-0.5, 0.5), clamp(x, -0.5, 0.5)},
      {x.clamp_min(0), clamp(x, 0)},
      {x.add(y, 2), add(x, y, 2)},
      {x.sub(1.5), x - 1.5},
      {x.mul(y), x * y},
      {x.div(2), x / 2},
      {x.remainder(0.3), remainder(x, 0.3)},
      {x.maximum(y), maximum(x, y)},
      {x.atan2(y), atan2(x, y)},
      {x.gt(0), gt(x, 0)},
      {x.le(y), le(x, y)},
      {x.masked_fill(x.gt(0), 3), masked_fill(x, gt(x, 0), 3)},
      {x.where(x.gt(0), y), where(gt(x, 0), x, y)},
      {x.mm(m), mm(x, m)},
      {x.softmax(1), softmax(x, 1)},
      {x.prod(1), prod(x, 1)},
      {x.var({1}), var(x, {1})},
      {x.norm(), norm(x)},
      {x.logsumexp({1}), logsumexp(x, {1})},
      {x.max(), max(x)},
      {x.max(1).values, max(x, 1).values},
      {x.min(1).indices, min(x, 1).indices},
      {x.amax({0}), amax(x, {0})},
      {x.argmax(), argmax(x)},
      {x.gt(0).any({1}), any(gt(x, 0), {1})},
      {x.median(1).values, median(x, 1).values},
      {x.topk(2).indices, topk(x, 2).indices},
      {x.sort(1, true).values, sort(x, 1, true).values},
      {x.cumsum(1), cumsum(x, 1)},
      {x.cumprod(0), cumprod(x, 0)},
      {x.gather(1, at.view({1, 2})), gather(x, 1, at.view({1, 2}))},
      {x.index_select(1, at), index_select(x, 1, at)},
      {x.masked_select(x.gt(0)), masked_select(x, gt(x, 0))},
      {x.triu(1), triu(x, 1)},
      {x.diagonal(), diagonal(x)},
      {x.diag(), diag(x)},
      {x.flip({1}), flip(x, {1})},
      {x.roll({1}, {0}), roll(x, {1}, {0})},
      {x.repeat({2, 1}), repeat(x, {2, 1})},
      {x.split(2, 1)[1], split(x, 2, 1)[1]},
      {x.chunk(2, 1)[0], chunk(x, 2, 1)[0]},
      {x.unbind(1)[3], unbind(x, 1)[3]},
      {x.movedim(0, 1), movedim(x, 0, 1)},
      {x.unflatten(1, {2, 2}), unflatten(x, 1, {2, 2})},
      {x.slice(1, 1, 3), narrow(x, 1, 1, 2)},
      {x.view_as(zeros({4, 3})), view(x, {4, 3})},
      {x.type_as(zeros({1})), x.to(kFloat32)},
  };
  for (std::size_t i = 0; i < std::size(pairs); ++i) {
    INFO("pair " << i);
    CHECK(same(pairs[i].first, pairs[i].second));
  }
  CHECK(x.equal(x.clone()));
  CHECK(x.allclose(x + 1e-12));
}

TEST_CASE("in-place methods write what the functions return") {
  const Tensor x = values({3, 4}), y = values({3, 4}, 2), at = index({2, 0}), rows = values({2, 4}, 5);
  const struct {
    const char* name;
    std::function<void(const Tensor&)> change;
    Tensor expected;
  } cases[] = {
      {"pow_", [](const Tensor& t) { t.pow_(2); }, pow(x, 2)},
      {"clamp_", [](const Tensor& t) { t.clamp_(-0.5, 0.5); }, clamp(x, -0.5, 0.5)},
      {"clamp_max_", [](const Tensor& t) { t.clamp_max_(0.25); }, clamp(x, {}, 0.25)},
      {"remainder_", [](const Tensor& t) { t.remainder_(0.3); }, remainder(x, 0.3)},
      {"fmod_", [](const Tensor& t) { t.fmod_(0.3); }, fmod(x, 0.3)},
      {"floor_divide_", [](const Tensor& t) { t.floor_divide_(0.3); }, floor_divide(x, 0.3)},
      {"lerp_", [&](const Tensor& t) { t.lerp_(y, 0.3); }, lerp(x, y, 0.3)},
      {"addcmul_", [&](const Tensor& t) { t.addcmul_(y, y, 0.5); }, addcmul(x, y, y, 0.5)},
      {"addcdiv_", [&](const Tensor& t) { t.addcdiv_(y, y, 0.5); }, addcdiv(x, y, y, 0.5)},
      {"masked_fill_", [&](const Tensor& t) { t.masked_fill_(y.gt(0), 3); }, masked_fill(x, gt(y, 0), 3)},
      {"index_put_", [&](const Tensor& t) { t.index_put_({at}, rows); }, index_put(x, {at}, rows)},
      {"scatter_",
       [&](const Tensor& t) {
         t.scatter_(1, at.view({1, 2}), rows);
       },
       scatter(x, 1, at.view({1, 2}), rows)},
      {"scatter_add_",
       [&](const Tensor& t) {
         t.scatter_add_(1, at.view({1, 2}), rows);
       },
       scatter_add(x, 1, at.view({1, 2}), rows)},
      {"index_copy_", [&](const Tensor& t) { t.index_copy_(0, at, rows); }, index_copy(x, 0, at, rows)},
      {"index_add_", [&](const Tensor& t) { t.index_add_(0, at, rows); }, index_add(x, 0, at, rows)},
      {"index_fill_", [&](const Tensor& t) { t.index_fill_(0, at, 7); }, index_fill(x, 0, at, 7)},
      {"triu_", [](const Tensor& t) { t.triu_(1); }, triu(x, 1)},
      {"tril_", [](const Tensor& t) { t.tril_(); }, tril(x)},
      {"cumsum_", [](const Tensor& t) { t.cumsum_(1); }, cumsum(x, 1)},
      {"cumprod_", [](const Tensor& t) { t.cumprod_(1); }, cumprod(x, 1)},
      {"addmm_",
       [&](const Tensor& t) {
         t.addmm_(y, values({4, 4}));
       },
       addmm(x, y, values({4, 4}))},
  };
  for (const auto& c : cases) {
    INFO(c.name);
    const Tensor target = x.clone();
    const std::uint32_t before = target.version();
    c.change(target);
    CHECK(same(target, c.expected));
    CHECK(target.version() > before);
  }
}

TEST_CASE("random values need a range that is one") {
  const Tensor x = zeros({3});
  CHECK_THROWS_AS(x.uniform_(2, 1), Error);
  CHECK_THROWS_AS(x.uniform_(0, std::nan("")), Error);
  CHECK_THROWS_AS(x.normal_(0, -1), Error);
  CHECK(x.to_vector() == std::vector<double>(3, 0.0));
  CHECK(x.uniform_(1, 1).to_vector() == std::vector<double>(3, 1.0));
  CHECK(x.normal_(2, 0).to_vector() == std::vector<double>(3, 2.0));
  CHECK_THROWS_AS(randperm(-1), Error);
  CHECK(randperm(0).numel() == 0);
}

TEST_CASE("random in-place methods") {
  manual_seed(5);
  const Tensor t = empty({4000}, kFloat32);
  t.uniform_(2, 4);
  CHECK(min(t).item() >= 2);
  CHECK(max(t).item() < 4);
  t.normal_(3, 0.5);
  CHECK(std::abs(mean(t).item() - 3) < 5 * 0.5 / std::sqrt(4000));
  t.bernoulli_(0.25);
  CHECK(std::abs(mean(t).item() - 0.25) < 5 * std::sqrt(0.25 * 0.75 / 4000));
  CHECK(same(t * t, t));
}

TEST_CASE("in-place methods keep the tape's rules") {
  const Tensor leaf = tensor({1, 2}, {.requires_grad = true});
  CHECK_THROWS_WITH(leaf.exp_(), ContainsSubstring("leaf"));
  const Tensor y = leaf * 1.0;
  y.exp_();  // its gradient needs the result
  y.sum().backward();
  CHECK(std::abs(leaf.grad().to_vector()[1] - std::exp(2)) < 1e-5);
  // In a region in-place ops keep their tensor's dtype.
  const autocast region("cpu", {.dtype = kFloat16, .policy = Policy::cuda});
  const Tensor half = tensor({1, 2}, {.dtype = kFloat16});
  half.exp_();
  CHECK(half.dtype() == kFloat16);
  CHECK(half.exp().dtype() == kFloat32);
}

TEST_CASE("making tensors") {
  using V = std::vector<double>;
  CHECK(arange(2, 5).dtype() == kInt64);
  CHECK(arange(2, 5).to_vector() == V{2, 3, 4});
  CHECK(arange(5, 0, -2).to_vector() == V{5, 3, 1});
  CHECK(arange(0.0, 1.0, 0.25).to_vector() == V{0, 0.25, 0.5, 0.75});
  CHECK_THROWS_WITH(arange(0, 5, -1), ContainsSubstring("no end"));
  CHECK(linspace(0, 1, 5).to_vector() == V{0, 0.25, 0.5, 0.75, 1});
  CHECK(linspace(3, 9, 1).to_vector() == V{3});
  CHECK(logspace(0, 2, 3).to_vector() == V{1, 10, 100});
  CHECK(eye(2, 3).to_vector() == V{1, 0, 0, 0, 1, 0});
  CHECK(full_like(zeros({2}, {.dtype = kFloat16}), 3).dtype() == kFloat16);
  manual_seed(1);
  CHECK(rand_like(zeros({3})).sizes() == Shape{3});
  CHECK(randn_like(zeros({3}, {.dtype = kFloat64})).dtype() == kFloat64);
  const Tensor drawn = multinomial(tensor({0, 1, 3}), 8000, true);
  CHECK(min(drawn).item() == 1);
  CHECK(std::abs(mean(drawn.to_float()).item() - 1.75) < 5 * std::sqrt(0.25 * 0.75 / 8000));
  CHECK(sort(multinomial(ones({2, 3}), 3)).values.to_vector() == V{0, 1, 2, 0, 1, 2});
  CHECK_THROWS_WITH(multinomial(tensor({0, 1}), 2), ContainsSubstring("not enough"));
  CHECK(bernoulli(tensor({0, 1, 1})).to_vector() == V{0, 1, 1});
}
