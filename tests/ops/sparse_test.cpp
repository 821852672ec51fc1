// Sparse tensors: making, coalescing, adding, and what refuses them.
#include "libamp/ops/sparse.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "libamp/autograd/autograd.h"
#include "libamp/core/grad_mode.h"
#include "libamp/ops/ops.h"

using namespace amp;
using Catch::Matchers::ContainsSubstring;

namespace {

using Values = std::vector<double>;

Tensor indices(std::initializer_list<double> rows) { return tensor(rows, {.dtype = DType::int64}).view({1, -1}); }
Tensor matrix(const Values& values, std::int64_t width, DType dtype = DType::float32) {
  return tensor(values, {static_cast<std::int64_t>(values.size()) / width, width}, {.dtype = dtype});
}
// Rows 2, 0, 2 of a [4, 2] table.
Tensor sample(DType dtype = DType::float32) {
  return sparse_coo_tensor(indices({2, 0, 2}), matrix({1, 2, 3, 4, 5, 6}, 2, dtype), {4, 2});
}
const Values kDense{3, 4, 0, 0, 6, 8, 0, 0};

Tensor table(DType dtype = DType::float32) {
  return tensor({1, 1, 2, 2, 3, 3, 4, 4}, {.dtype = dtype}).view({4, 2}).detach().requires_grad_();
}

}  // namespace

TEST_CASE("a sparse tensor is its entries, and equal indices add up") {
  const Tensor s = sample();
  CHECK(s.is_sparse());
  CHECK(s.sizes() == Shape{4, 2});
  CHECK_FALSE(s.is_coalesced());
  CHECK(s.to_dense().to_vector() == kDense);
  const Tensor c = s.coalesce();
  CHECK(c.is_coalesced());
  CHECK(c.indices().to_vector() == Values{0, 2});
  CHECK(c.values().to_vector() == Values{3, 4, 6, 8});
  CHECK(c.coalesce().is_same(c));
  CHECK(c.to_dense().to_vector() == kDense);
  CHECK(describe(s) == "sparse float32[4, 2]");
}

TEST_CASE("two sparse dims, no dense ones, and none at all") {
  const Tensor at = tensor({0, 1, 0, 2, 0, 2}, {.dtype = DType::int64}).view({2, 3});  // (0, 2), (1, 0), (0, 2)
  const Tensor s = sparse_coo_tensor(at, tensor({1, 2, 3}), {2, 3});
  CHECK(s.to_dense().to_vector() == Values{0, 0, 4, 2, 0, 0});
  CHECK(s.coalesce().indices().to_vector() == Values{0, 1, 2, 0});
  const Tensor none = sparse_coo_tensor(zeros({1, 0}, {.dtype = DType::int64}), zeros({0, 2}), {4, 2});
  CHECK(none.coalesce().values().size(0) == 0);
  CHECK(none.to_dense().to_vector() == Values(8, 0));
}

TEST_CASE("what does not fit is refused") {
  const Tensor values = matrix({1, 2, 3, 4}, 2);
  CHECK_THROWS_WITH(sparse_coo_tensor(indices({0, 4}), values, {4, 2}), ContainsSubstring("out of range: got 4"));
  CHECK_THROWS_WITH(sparse_coo_tensor(indices({0, -1}), values, {4, 2}), ContainsSubstring("got -1"));
  CHECK_THROWS_WITH(sparse_coo_tensor(indices({0}), values, {4, 2}), ContainsSubstring("one value an index"));
  CHECK_THROWS_WITH(sparse_coo_tensor(indices({0, 1}), values, {4, 3}), ContainsSubstring("do not fit"));
  CHECK_THROWS_WITH(sparse_coo_tensor(indices({0, 1}).to(DType::int32), values, {4, 2}), ContainsSubstring("int64"));
  CHECK_THROWS_WITH(exp(sample()), ContainsSubstring("[exp]") && ContainsSubstring("to_dense"));
  CHECK_THROWS_WITH(sample().to_vector(), ContainsSubstring("to_dense"));
  CHECK_THROWS_WITH(ones({2}).coalesce(), ContainsSubstring("sparse"));
  CHECK_THROWS_WITH(add(sample(), ones({4, 2})), ContainsSubstring("add(dense, sparse)"));
  CHECK_THROWS_WITH(sample().mul_(ones({4, 2})), ContainsSubstring("0-dim"));
}

TEST_CASE("sums, products with numbers, conversions and in-place forms") {
  const Tensor s = sample();
  CHECK((s + s).is_sparse());
  CHECK((s + s).indices().size(1) == 6);
  CHECK((s + s).to_dense().to_vector() == Values{6, 8, 0, 0, 12, 16, 0, 0});
  CHECK((s - s).to_dense().to_vector() == Values(8, 0));
  CHECK((ones({4, 2}) + s).to_vector() == Values{4, 5, 1, 1, 7, 9, 1, 1});
  CHECK((s * 2.0).to_dense().to_vector() == Values{6, 8, 0, 0, 12, 16, 0, 0});
  CHECK((-s / 2.0).to_dense().to_vector() == Values{-1.5, -2, 0, 0, -3, -4, 0, 0});
  CHECK(s.to(DType::float64).dtype() == DType::float64);
  const Tensor copy = s.clone();
  copy.mul_(2.0);
  copy.div_(4.0);
  CHECK(copy.to_dense().to_vector() == Values{1.5, 2, 0, 0, 3, 4, 0, 0});
  CHECK(s.to_dense().to_vector() == kDense);
  const Tensor dense = ones({4, 2});
  dense.add_(s, 2);
  dense.sub_(s);
  CHECK(dense.to_vector() == Values{4, 5, 1, 1, 7, 9, 1, 1});
  copy.zero_();
  CHECK(copy.is_sparse());
  CHECK(copy.to_dense().to_vector() == Values(8, 0));
}

TEST_CASE("an embedding with sparse = true has a sparse gradient of the rows it read") {
  const Tensor w = table(), at = tensor({2, 0, 2}, {.dtype = DType::int64});
  const Tensor weights = tensor({1, 2, 3}).view({3, 1});
  (embedding(w, at, -1, true) * weights).sum().backward();
  REQUIRE(w.grad().is_sparse());
  CHECK(w.grad().indices().to_vector() == Values{2, 0, 2});
  CHECK(w.grad().values().to_vector() == Values{1, 1, 2, 2, 3, 3});
  const Tensor dense = table();
  (embedding(dense, at) * weights).sum().backward();
  CHECK(w.grad().to_dense().to_vector() == dense.grad().to_vector());
}

TEST_CASE("the padding row is not in a sparse gradient") {
  const Tensor w = table();
  embedding(w, tensor({2, 0, 2, 1}, {.dtype = DType::int64}), 2, true).sum().backward();
  CHECK(w.grad().indices().to_vector() == Values{0, 1});
  CHECK(w.grad().to_dense().to_vector() == Values{1, 1, 1, 1, 0, 0, 0, 0});
}

TEST_CASE("sparse gradients accumulate: with sparse ones to sparse, with dense ones to dense") {
  const Tensor at = tensor({1, 1}, {.dtype = DType::int64});
  const Values twice{0, 0, 4, 4, 0, 0, 0, 0};
  const Tensor w = table();
  for (int i = 0; i < 2; ++i) embedding(w, at, -1, true).sum().backward();
  CHECK(w.grad().is_sparse());
  CHECK(w.grad().to_dense().to_vector() == twice);
  (w * 0.5).sum().backward();  // sparse, then dense
  CHECK_FALSE(w.grad().is_sparse());
  CHECK(w.grad().to_vector() == Values{.5, .5, 4.5, 4.5, .5, .5, .5, .5});
  embedding(w, at, -1, true).sum().backward();  // dense, then sparse
  CHECK(w.grad().to_vector() == Values{.5, .5, 6.5, 6.5, .5, .5, .5, .5});
  // Both in one backward, in either order.
  const Tensor both = table();
  (embedding(both, at, -1, true).sum() + both.sum()).backward();
  CHECK(both.grad().to_vector() == Values{1, 1, 3, 3, 1, 1, 1, 1});
  const Tensor other = table();
  (other.sum() + embedding(other, at, -1, true).sum() + embedding(other, at, -1, true).sum()).backward();
  CHECK(other.grad().to_vector() == Values{1, 1, 5, 5, 1, 1, 1, 1});
}

TEST_CASE("sparse gradients with grad(), hooks, half tables and behind a cast") {
  const Tensor at = tensor({3, 0}, {.dtype = DType::int64});
  const Tensor w = table();
  bool seen = false;
  register_hook(w, [&](const Tensor& g) {
    seen = g.is_sparse();
    return g * 10.0;
  });
  const Tensor captured = grad({embedding(w, at, -1, true).sum()}, {w})[0];
  CHECK(seen);
  CHECK(captured.to_dense().to_vector() == Values{10, 10, 0, 0, 0, 0, 10, 10});
  CHECK_THROWS_WITH(grad({embedding(w, at, -1, true).sum()}, {w}, {}, false, true),
                    ContainsSubstring("differentiated again"));
  const Tensor half = table(DType::bfloat16);
  embedding(half, at, -1, true).sum().backward();
  CHECK(half.grad().dtype() == DType::bfloat16);
  CHECK(half.grad().is_sparse());
}
