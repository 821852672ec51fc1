// Reading and writing by index, joining and splitting.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "libamp/autocast/scope.h"
#include "tests/support/gradcheck.h"

using namespace amp;
using amp::test::gradcheck;
using amp::test::gradgradcheck;
using amp::test::TensorFunction;
using amp::test::values;
using Catch::Matchers::ContainsSubstring;

namespace {

// For gradgradcheck: the gradient of a square depends on the input even where f is linear.
test::TensorFunction squared(const test::TensorFunction& f) {
  return [f](const Tensors& in) {
    const Tensor y = f(in);
    return y * y;
  };
}

Tensor ints(std::initializer_list<double> v) { return tensor(v, {.dtype = DType::int64}); }
Tensor ints(std::initializer_list<double> v, const Shape& sizes) {
  return tensor(std::span(v.begin(), v.size()), sizes, {.dtype = DType::int64});
}
std::vector<double> range(int n) {
  std::vector<double> v;
  for (int i = 0; i < n; ++i) v.push_back(i);
  return v;
}
Tensor k34() { return tensor(range(12), {3, 4}); }

bool throws_index(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.code() == ErrorCode::index;
  }
  return false;
}

}  // namespace

TEST_CASE("advanced indexing follows PyTorch's shapes") {
  CHECK(index(k34(), {ints({2, 0})}).to_vector() == std::vector<double>{8, 9, 10, 11, 0, 1, 2, 3});
  CHECK(index(k34(), {ints({-1, 0}), ints({1, -1})}).to_vector() == std::vector<double>{9, 3});
  CHECK(index(k34(), {Tensor(), ints({3, 1})}).to_vector() == std::vector<double>{3, 1, 7, 5, 11, 9});
  CHECK(index(k34(), {ints({0, 2}, {2, 1}), ints({1, 3})}).to_vector() == std::vector<double>{1, 3, 9, 11});
  const Tensor cube = tensor(range(24), {2, 3, 4});
  CHECK(index(cube, {Tensor(), ints({0, 2}), ints({1, 1})}).sizes() == Shape{2, 2});
  // Not neighbours: the index shape goes in front.
  CHECK(index(cube, {ints({0, 1, 1}), Tensor(), ints({1, 2, 0})}).sizes() == Shape{3, 3});
  CHECK(index(cube, {ints({0, 1, 1}), Tensor(), ints({1, 2, 0})}).to_vector() ==
        std::vector<double>{1, 5, 9, 14, 18, 22, 12, 16, 20});
  CHECK(index(transpose(k34(), 0, 1), {ints({1})}).to_vector() == std::vector<double>{1, 5, 9});
  CHECK(index(k34(), {gt(k34(), 8)}).to_vector() == std::vector<double>{9, 10, 11});
  CHECK(masked_select(k34(), lt(k34(), 2)).to_vector() == std::vector<double>{0, 1});
  CHECK(nonzero(eq(k34(), 6)).to_vector() == std::vector<double>{1, 2});
  CHECK(throws_index([] { index(k34(), {ints({3})}); }));
  CHECK(throws_index([] { index(k34(), {tensor({0.5})}); }));
}

TEST_CASE("a mask must have the shape of the dims it covers") {
  const auto mask = [](const Shape& sizes) { return ones(sizes, {.dtype = DType::bool_}); };
  const Tensor x = k34();
  for (const Tensors& wrong : std::vector<Tensors>{{mask({2})},
                                                   {mask({4})},
                                                   {Tensor(), mask({3})},
                                                   {ints({0}), mask({5})},
                                                   {mask({4, 3})},
                                                   {mask({3, 1})},
                                                   {mask({0, 4})}}) {
    CHECK(throws_index([&] { index(x, wrong); }));
    CHECK(throws_index([&] { index_put(x, wrong, ones({1})); }));
    CHECK(throws_index([&] { index_put_(x, wrong, ones({1})); }));
  }
  CHECK(x.to_vector() == range(12));
  CHECK_THROWS_WITH(index(x, {Tensor(), mask({2})}),
                    ContainsSubstring("The shape of the mask [2] at index 1 does not match the shape of the indexed "
                                      "tensor [3, 4] at index 1"));
  CHECK_THROWS_AS(index(x, {mask({3, 4, 1})}), Error);
  CHECK(index(x, {mask({3}), ints({1})}).to_vector() == std::vector<double>{1, 5, 9});
  CHECK(index(x, {Tensor(), mask({4})}).to_vector() == range(12));
  CHECK(index(zeros({0, 4}), {mask({0})}).sizes() == Shape{0, 4});
}

TEST_CASE("index_put replaces or adds, repeated indices add up exactly in half") {
  CHECK(index_put(zeros({4}), {ints({1, 3})}, tensor({5, 6})).to_vector() == std::vector<double>{0, 5, 0, 6});
  CHECK(index_put(ones({4}), {ints({1, 1, 2})}, tensor({5, 6, 7}), true).to_vector() ==
        std::vector<double>{1, 12, 8, 1});
  CHECK(index_put(zeros({2, 3}), {Tensor(), ints({2})}, tensor({4})).to_vector() ==
        std::vector<double>{0, 0, 4, 0, 0, 4});
  // 2048 + 1 is not a half; a sum rounded at every step would stay at 2048.
  const Tensor half = full({1}, 2048, {.dtype = DType::float16});
  const Tensor many = zeros({8}, {.dtype = DType::int64}), one = ones({8}, {.dtype = DType::float16});
  CHECK(index_put(half, {many}, one, true).item() == 2056);
  CHECK(scatter_add(half, 0, many, one).item() == 2056);
  CHECK(index_add(half, 0, many, one).item() == 2056);
  const Tensor x = zeros({3});
  index_put_(x, {ints({-1})}, tensor({2}));
  CHECK(x.to_vector() == std::vector<double>{0, 0, 2});
  CHECK_THROWS_AS(index_put(half, {many}, ones({8})), Error);
  CHECK_THROWS_AS(index_put(zeros({4}), {ints({1, 3})}, ones({3})), Error);
}

TEST_CASE("gather, scatter and slices by index") {
  const Tensor at = ints({2, 0, 1, 2, 0, 0}, {2, 3});
  CHECK(gather(k34(), 0, at).to_vector() == std::vector<double>{8, 1, 6, 8, 1, 2});
  CHECK(gather(k34(), 1, at).to_vector() == std::vector<double>{2, 0, 1, 6, 4, 4});
  CHECK(scatter(zeros({3, 3}), 0, ints({2, 0, 1}, {1, 3}), tensor({1, 2, 3}).view({1, 3})).to_vector() ==
        std::vector<double>{0, 2, 0, 0, 0, 3, 1, 0, 0});
  CHECK(scatter_add(ones({2, 2}), 1, ints({0, 0}, {1, 2}), tensor({3, 4}).view({1, 2})).to_vector() ==
        std::vector<double>{8, 1, 1, 1});
  CHECK(index_select(k34(), 1, ints({3, 0})).to_vector() == std::vector<double>{3, 0, 7, 4, 11, 8});
  CHECK(index_copy(zeros({3, 2}), 0, ints({2, 0}), tensor({1, 2, 3, 4}).view({2, 2})).to_vector() ==
        std::vector<double>{3, 4, 0, 0, 1, 2});
  CHECK(throws_index([] { gather(k34(), 0, ints({3}, {1, 1})); }));
  CHECK(throws_index([] { index_select(k34(), 0, ints({-1})); }));
  CHECK_THROWS_AS(gather(k34(), 0, ints({0})), Error);
  CHECK_THROWS_AS(scatter_add(k34(), 0, ints({0}, {1, 1}), ones({1, 1}, {.dtype = DType::float16})), Error);
}

TEST_CASE("embedding looks up rows; its gradient sums them, without the padding row") {
  const Tensor weight = k34().clone().requires_grad_();
  const Tensor at = ints({2, 0, 2, 1}, {2, 2});
  const Tensor rows = embedding(weight, at, 1);
  CHECK(rows.sizes() == Shape{2, 2, 4});
  CHECK(rows.to_vector()[4] == 0);
  sum(rows).backward();
  CHECK(weight.grad().to_vector() == std::vector<double>{1, 1, 1, 1, 0, 0, 0, 0, 2, 2, 2, 2});
  CHECK(embedding_dense_backward(ones({3, 2}), ints({1, 1, 0}), 2).to_vector() == std::vector<double>{1, 1, 2, 2});
  CHECK(throws_index([&] { embedding(weight, ints({3})); }));
}

TEST_CASE("one_hot, triu, tril") {
  CHECK(one_hot(ints({1, 0})).to_vector() == std::vector<double>{0, 1, 1, 0});
  CHECK(one_hot(ints({1}), 3).to_vector() == std::vector<double>{0, 1, 0});
  CHECK_THROWS_AS(one_hot(ints({3}), 3), Error);
  const Tensor x = tensor(range(9), {3, 3});
  CHECK(triu(x).to_vector() == std::vector<double>{0, 1, 2, 0, 4, 5, 0, 0, 8});
  CHECK(tril(x, -1).to_vector() == std::vector<double>{0, 0, 0, 3, 0, 0, 6, 7, 0});
  CHECK(triu(transpose(x, 0, 1), 1).to_vector() == std::vector<double>{0, 3, 6, 0, 0, 7, 0, 0, 0});
}

TEST_CASE("joining converts to the common type, skips empty vectors, and splits back") {
  CHECK(cat({tensor({1, 2}), tensor({3})}).to_vector() == std::vector<double>{1, 2, 3});
  CHECK(cat({k34(), k34()}, 1).sizes() == Shape{3, 8});
  CHECK(cat({ones({2}, {.dtype = DType::float16}), ones({2})}).dtype() == DType::float32);
  CHECK(cat({empty({0}), k34()}, 1).sizes() == Shape{3, 4});
  CHECK(stack({tensor({1, 2}), tensor({3, 4})}, 1).to_vector() == std::vector<double>{1, 3, 2, 4});
  CHECK(stack({tensor({1, 2}), tensor({3, 4})}, -1).to_vector() == std::vector<double>{1, 3, 2, 4});
  CHECK_THROWS_AS(cat({k34(), ones({2, 3})}, 1), Error);
  CHECK_THROWS_AS(stack({ones({2}), ones({3})}), Error);
  CHECK_THROWS_AS(cat({scalar_tensor(1), scalar_tensor(2)}), Error);
  const Tensors parts = split(k34(), 3, 1);
  REQUIRE(parts.size() == 2);
  CHECK(parts[1].to_vector() == std::vector<double>{3, 7, 11});
  CHECK(cat(parts, 1).to_vector() == k34().to_vector());
  CHECK(split(k34(), Shape{1, 3}, 1)[1].sizes() == Shape{3, 3});
  CHECK_THROWS_AS(split(k34(), Shape{1, 2}, 1), Error);
  CHECK(chunk(k34(), 3, 1).size() == 2);
  CHECK(unbind(k34())[2].to_vector() == std::vector<double>{8, 9, 10, 11});
}

TEST_CASE("gradients of indexing and joining agree with difference quotients, twice") {
  const Tensor x = values({3, 4}, 1).requires_grad_(), y = values({2, 4}, 2).requires_grad_(),
               s = values({2, 2}, 3).requires_grad_();
  const Tensor two = ints({2, 0}), pairs = ints({2, 0, 2, 1}, {2, 2});
  struct Case {
    const char* name;
    TensorFunction run;
    Tensors inputs;
  };
  const Case cases[] = {
      {"index",
       [&](const Tensors& in) {
         return index(in[0] * in[0], {pairs, ints({1, 3})});
       },
       {x}},
      {"index_put", [&](const Tensors& in) { return index_put(in[0] * in[0], {two}, in[1]); }, {x, y}},
      {"index_put, adding", [&](const Tensors& in) { return index_put(in[0], {two}, in[1] * in[1], true); }, {x, y}},
      {"gather", [&](const Tensors& in) { return gather(in[0] * in[0], 0, pairs); }, {x}},
      {"scatter",
       [&](const Tensors& in) {
         return scatter(in[0] * in[0], 1, ints({3, 0, 2, 1}, {2, 2}), in[1]);
       },
       {x, s}},
      {"scatter_add", [&](const Tensors& in) { return scatter_add(in[0], 0, pairs, in[1] * in[1]); }, {x, s}},
      {"index_select", [&](const Tensors& in) { return index_select(in[0] * in[0], 0, two); }, {x}},
      {"index_copy", [&](const Tensors& in) { return index_copy(in[0] * in[0], 0, two, in[1]); }, {x, y}},
      {"index_add", [&](const Tensors& in) { return index_add(in[0], 0, two, in[1] * in[1]); }, {x, y}},
      {"embedding", [&](const Tensors& in) { return embedding(in[0] * in[0], pairs); }, {x}},
      {"embedding_dense_backward",
       [&](const Tensors& in) { return embedding_dense_backward(in[0] * in[0], two, 3, 0); },
       {y}},
      {"triu", [](const Tensors& in) { return triu(in[0] * in[0], 1); }, {x}},
      {"tril", [](const Tensors& in) { return tril(in[0] * in[0]); }, {x}},
      {"cat",
       [](const Tensors& in) {
         return cat({in[0] * in[0], in[1], in[0]}, 0);
       },
       {x, y}},
      {"stack",
       [](const Tensors& in) {
         return stack({in[0] * in[0], in[0]}, 1);
       },
       {x}},
      {"split", [](const Tensors& in) { return split(in[0] * in[0], 3, 1)[1]; }, {x}},
  };
  for (const Case& c : cases) {
    INFO(c.name);
    CHECK(gradcheck(c.run, c.inputs) == "");
    CHECK(gradgradcheck(squared(c.run), c.inputs) == "");
  }
}

TEST_CASE("joining and index_copy are promoted under the CPU's rules, index_put and scatter_add under CUDA's") {
  const Tensor half = ones({2}, {.dtype = DType::bfloat16}), single = ones({2}),
               foreign = ones({2}, {.dtype = DType::float16});
  {
    const autocast region(DeviceType::cpu, {.dtype = DType::bfloat16, .policy = Policy::cpu});
    CHECK(cat({half, half}).dtype() == DType::bfloat16);
    CHECK(index_copy(single, 0, ints({0, 1}), half).dtype() == DType::float32);
    CHECK(stack({single, foreign}).dtype() == DType::float32);
    CHECK_THROWS_AS(stack({foreign, single}), Error);
  }
  const autocast region(DeviceType::cpu, {.dtype = DType::bfloat16, .policy = Policy::cuda});
  CHECK(index_put(single, {ints({0, 1})}, half).dtype() == DType::float32);
  CHECK(scatter_add(half, 0, ints({0, 1}), single).dtype() == DType::float32);
  CHECK_THROWS_AS(scatter_add(foreign, 0, ints({0, 1}), single), Error);
}
