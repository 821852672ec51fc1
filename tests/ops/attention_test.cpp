// Scaled dot product attention and recurrent cells: against single ops, masks, gradients of both orders, autocast.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>

#include "libamp/autocast/scope.h"
#include "tests/support/gradcheck.h"

using namespace amp;
using amp::test::gradcheck;
using amp::test::gradgradcheck;
using amp::test::values;

// The ops of ops.def tested here: scaled_dot_product_attention attention attention_backward rnn_tanh_cell rnn_relu_cell
// gru_cell lstm_cell

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

double worst(const Tensor& a, const Tensor& b) {
  if (!(a.sizes() == b.sizes())) return kInf;
  const std::vector<double> x = a.to_vector(), y = b.to_vector();
  double most = 0;
  for (std::size_t i = 0; i < x.size(); ++i) most = std::max(most, std::abs(x[i] - y[i]));
  return most;
}

Tensor by_definition(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& added = {}) {
  Tensor scores = matmul(q, transpose(k, -2, -1)) * (1 / std::sqrt(static_cast<double>(q.size(-1))));
  if (added.defined()) scores = scores + added;
  return matmul(softmax(scores, -1), v);
}
// -infinity above the diagonal.
Tensor causal(std::int64_t queries, std::int64_t keys) {
  std::vector<double> data;
  for (std::int64_t i = 0; i < queries; ++i)
    for (std::int64_t j = 0; j < keys; ++j) data.push_back(j <= i ? 0 : -kInf);
  return tensor(data, Shape{queries, keys}, {.dtype = DType::float64});
}

struct States {
  Tensor x = values({3, 4}), h = values({3, 5}, 2), c = values({3, 5}, 3);
};

}  // namespace

TEST_CASE("Attention is softmax of scores times values") {
  // More queries than a block has, and sizes that are no multiple of it.
  for (const std::int64_t queries : {1, 5, 64, 150}) {
    const Tensor q = values({2, 3, queries, 8}), k = values({2, 3, 70, 8}, 2), v = values({2, 3, 70, 6}, 3);
    CHECK(worst(scaled_dot_product_attention(q, k, v), by_definition(q, k, v)) < 1e-14);
    CHECK(worst(scaled_dot_product_attention(q, k, v, {}, 0, true), by_definition(q, k, v, causal(queries, 70))) <
          1e-14);
    const Tensor added = values({3, queries, 70}, 4);
    CHECK(worst(scaled_dot_product_attention(q, k, v, added), by_definition(q, k, v, added)) < 1e-14);
    const Tensor seen = gt(values({2, 1, 1, 70}, 5), 0);
    CHECK(worst(scaled_dot_product_attention(q, k, v, seen), by_definition(q, k, v, log(to(seen, DType::float64)))) <
          1e-14);
  }
  const Tensor q = values({4, 8}), k = values({6, 8}, 2), v = values({6, 8}, 3);
  CHECK(worst(scaled_dot_product_attention(q, k, v, {}, 0, false, 0.5),
              matmul(softmax(matmul(q, k.t()) * 0.5, -1), v)) < 1e-14);
}

TEST_CASE("Groups of query heads share keys, and leading dims broadcast") {
  const Tensor q = values({2, 4, 5, 8}), k = values({2, 2, 6, 8}, 2), v = values({2, 2, 6, 8}, 3);
  const Tensor grouped = scaled_dot_product_attention(q, k, v, {}, 0, false, {}, true);
  for (std::int64_t h = 0; h < 4; ++h)
    CHECK(worst(select(grouped, 1, h), by_definition(select(q, 1, h), select(k, 1, h / 2), select(v, 1, h / 2))) <
          1e-14);
  CHECK_THROWS_AS(scaled_dot_product_attention(q, k, v), Error);
  CHECK(worst(scaled_dot_product_attention(q, narrow(k, 1, 0, 1), narrow(v, 1, 0, 1)),
              by_definition(q, narrow(k, 1, 0, 1), narrow(v, 1, 0, 1))) < 1e-14);
}

TEST_CASE("A query that sees no key gets zeros, and sends none back") {
  const Tensor q = values({2, 3}), k = values({4, 3}, 2), v = values({4, 3}, 3);
  for (const Tensor& t : {q, k, v}) t.requires_grad_();
  const Tensor seen = tensor(std::vector<double>{0, 0, 0, 0, 1, 1, 0, 1}, Shape{2, 4}, {.dtype = DType::bool_});
  const Tensor out = scaled_dot_product_attention(q, k, v, seen);
  CHECK(out[0].to_vector() == std::vector<double>{0, 0, 0});
  sum(out).backward();
  CHECK(q.grad()[0].to_vector() == std::vector<double>{0, 0, 0});
  CHECK(std::isfinite(sum(k.grad()).item()));
}

TEST_CASE("Gradients of attention, and gradients of those") {
  const Tensor q = values({2, 70, 4}), k = values({2, 5, 4}, 2), v = values({2, 5, 3}, 3),
               added = values({1, 70, 5}, 4);
  const Tensor sq = values({3, 4}), sk = values({5, 4}, 2), sv = values({5, 3}, 3), sm = values({3, 5}, 4);
  for (const Tensor& t : {q, k, v, sq, sk, sv, sm}) t.requires_grad_();
  const Tensor seen = gt(values({70, 5}, 6), -0.5);
  const auto plain = [](const Tensors& i) { return scaled_dot_product_attention(i[0], i[1], i[2]); };
  const auto in_order = [](const Tensors& i) { return scaled_dot_product_attention(i[0], i[1], i[2], {}, 0, true); };
  const auto masked = [&](const Tensors& i) { return scaled_dot_product_attention(i[0], i[1], i[2], seen); };
  const auto biased = [&](const Tensors& i) { return scaled_dot_product_attention(i[0], i[1], i[2], added); };
  const auto learned = [](const Tensors& i) { return scaled_dot_product_attention(i[0], i[1], i[2], i[3]); };
  CHECK(gradcheck(plain, {q, k, v}) == "");
  CHECK(gradcheck(in_order, {q, k, v}) == "");
  CHECK(gradcheck(masked, {q, k, v}) == "");
  CHECK(gradcheck(biased, {q, k, v}) == "");
  CHECK(gradcheck(learned, {sq, sk, sv, sm}) == "");
  CHECK(gradgradcheck(plain, {sq, sk, sv}) == "");
  CHECK(gradgradcheck(in_order, {sq, sk, sv}) == "");
  CHECK(gradgradcheck(learned, {sq, sk, sv, sm}) == "");
}

TEST_CASE("Attention in half precision is float32 inside") {
  const Tensor q = to(values({2, 10, 16}), DType::float16), k = to(values({2, 12, 16}, 2), DType::float16),
               v = to(values({2, 12, 16}, 3), DType::float16);
  const Tensor exact = by_definition(to(q, DType::float64), to(k, DType::float64), to(v, DType::float64));
  const Tensor half = scaled_dot_product_attention(q, k, v);
  CHECK(half.dtype() == DType::float16);
  CHECK(worst(half, exact) < 0x1p-11 + 1e-6);
  const autocast region("cpu", {.dtype = kBFloat16});
  const Tensor mask = zeros({10, 12});
  CHECK(
      scaled_dot_product_attention(to(q, DType::float32), to(k, DType::float32), to(v, DType::float32), mask).dtype() ==
      DType::bfloat16);
}

TEST_CASE("Dropout of attention keeps the mean and reaches the gradient") {
  const Tensor q = values({40, 4}), k = values({30, 4}, 2), v = ones({30, 50}, {.dtype = DType::float64});
  q.requires_grad_();
  manual_seed(3);
  const Tensor out = scaled_dot_product_attention(q, k, v, {}, 0.5);
  // Each row is a sum of 30 weights kept with probability 1/2 and doubled: mean 1.
  CHECK(std::abs(mean(out).item() - 1) < 0.2);
  CHECK(worst(out, ones({40, 50})) > 0.05);
  sum(out * out).backward();
  CHECK(q.grad().defined());
}

TEST_CASE("What does not fit attention is an error") {
  const Tensor q = values({2, 4, 8}), k = values({2, 6, 8}, 2), v = values({2, 6, 8}, 3);
  CHECK_THROWS_AS(scaled_dot_product_attention(q, k, v, zeros({4, 6}, {.dtype = DType::float64}), 0, true), Error);
  CHECK_THROWS_AS(scaled_dot_product_attention(q, k, v, zeros({4, 6})), Error);
  CHECK_THROWS_AS(scaled_dot_product_attention(q, k, v, zeros({4, 5}, {.dtype = DType::float64})), Error);
  CHECK_THROWS_AS(scaled_dot_product_attention(q, k, narrow(v, 1, 0, 5)), Error);
  CHECK_THROWS_AS(scaled_dot_product_attention(q, narrow(k, 2, 0, 7), v), Error);
  CHECK_THROWS_AS(scaled_dot_product_attention(q, to(k, DType::float32), v), Error);
}

TEST_CASE("Recurrent cells compute their equations") {
  const States s;
  const auto gate = [&](const Tensor& w, const Tensor& u, const Tensor& b, const Tensor& d, std::int64_t i,
                        const Tensor& h) {
    const Shape none;
    return std::pair{matmul(s.x, narrow(w, 0, 5 * i, 5).t()) + narrow(b, 0, 5 * i, 5),
                     matmul(h, narrow(u, 0, 5 * i, 5).t()) + narrow(d, 0, 5 * i, 5)};
  };
  const Tensor w1 = values({5, 4}, 4), u1 = values({5, 5}, 5), b1 = values({5}, 6), d1 = values({5}, 7);
  const auto [in, state] = gate(w1, u1, b1, d1, 0, s.h);
  CHECK(worst(rnn_tanh_cell(s.x, s.h, w1, u1, b1, d1), tanh(in + state)) < 1e-15);
  CHECK(worst(rnn_relu_cell(s.x, s.h, w1, u1, b1, d1), relu(in + state)) < 1e-15);
  const Tensor w3 = values({15, 4}, 4), u3 = values({15, 5}, 5), b3 = values({15}, 6), d3 = values({15}, 7);
  const auto r = gate(w3, u3, b3, d3, 0, s.h), z = gate(w3, u3, b3, d3, 1, s.h), n = gate(w3, u3, b3, d3, 2, s.h);
  const Tensor update = sigmoid(z.first + z.second), fresh = tanh(n.first + sigmoid(r.first + r.second) * n.second);
  CHECK(worst(gru_cell(s.x, s.h, w3, u3, b3, d3), (1.0 - update) * fresh + update * s.h) < 1e-15);
  const Tensor w4 = values({20, 4}, 4), u4 = values({20, 5}, 5), b4 = values({20}, 6), d4 = values({20}, 7);
  const auto sum_of = [&](std::int64_t i) {
    const auto g = gate(w4, u4, b4, d4, i, s.h);
    return g.first + g.second;
  };
  const Tensor cell = sigmoid(sum_of(1)) * s.c + sigmoid(sum_of(0)) * tanh(sum_of(2));
  const auto [hidden, kept] = lstm_cell(s.x, {s.h, s.c}, w4, u4, b4, d4);
  CHECK(worst(kept, cell) < 1e-15);
  CHECK(worst(hidden, sigmoid(sum_of(3)) * tanh(cell)) < 1e-15);
  CHECK_THROWS_AS(lstm_cell(s.x, {s.h, s.c}, w3, u4), Error);
  CHECK_THROWS_AS(gru_cell(s.x, s.h, w3, values({15, 4})), Error);
}

TEST_CASE("Gradients of recurrent cells") {
  const States s;
  const Tensor w = values({20, 4}, 4), u = values({20, 5}, 5), b = values({20}, 6), d = values({20}, 7);
  for (const Tensor& t : {s.x, s.h, s.c, w, u, b, d}) t.requires_grad_();
  const auto lstm = [](const Tensors& i) {
    const auto [hidden, cell] = lstm_cell(i[0], {i[1], i[2]}, i[3], i[4], i[5], i[6]);
    return cat({hidden, cell}, 1);
  };
  CHECK(gradcheck(lstm, {s.x, s.h, s.c, w, u, b, d}) == "");
  CHECK(gradgradcheck(lstm, {s.x, s.h, s.c, w, u, b, d}) == "");
  const auto gru = [](const Tensors& i) {
    return gru_cell(i[0], i[1], narrow(i[2], 0, 0, 15), narrow(i[3], 0, 0, 15));
  };
  CHECK(gradcheck(gru, {s.x, s.h, w, u}) == "");
}

TEST_CASE("Which dtypes recurrent cells give") {
  const Tensor x = to(values({3, 4}), DType::float32), h = to(values({3, 5}, 2), DType::float32),
               c = to(values({3, 5}, 3), DType::float32);
  const Tensor w1 = to(values({5, 4}), DType::float32), u1 = to(values({5, 5}), DType::float32);
  const Tensor w3 = to(values({15, 4}), DType::float32), u3 = to(values({15, 5}), DType::float32);
  const Tensor w4 = to(values({20, 4}), DType::float32), u4 = to(values({20, 5}), DType::float32);
  const auto types = [&] {
    const auto [hidden, cell] = lstm_cell(x, {h, c}, w4, u4);
    return std::vector<DType>{rnn_tanh_cell(x, h, w1, u1).dtype(), gru_cell(x, h, w3, u3).dtype(), hidden.dtype(),
                              cell.dtype()};
  };
  const DType half = DType::bfloat16, wide = DType::float32;
  {
    const autocast region("cpu", {.dtype = kBFloat16, .policy = Policy::cuda});
    CHECK(types() == std::vector<DType>{half, half, half, half});
  }
  const autocast region("cpu", {.dtype = kBFloat16});
  CHECK(types() == std::vector<DType>{half, wide, wide, wide});
}
