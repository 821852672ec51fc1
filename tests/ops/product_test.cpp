// The named matrix products, tensordot, bilinear and einsum: against matmul or direct sums, gradients, errors.
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "libamp/autocast/scope.h"
#include "tests/support/gradcheck.h"

using namespace amp;
using amp::test::gradcheck;
using amp::test::gradgradcheck;
using amp::test::values;

// The ops of ops.def tested here: mm mv bmm addmm addmv addr addbmm baddbmm chain_matmul linalg_multi_dot einsum
// tensordot bilinear trilinear

namespace {

double worst(const Tensor& a, const Tensor& b) {
  if (!(a.sizes() == b.sizes())) return INFINITY;
  const std::vector<double> x = a.to_vector(), y = b.to_vector();
  double most = 0;
  for (std::size_t i = 0; i < x.size(); ++i) most = std::max(most, std::abs(x[i] - y[i]));
  return most;
}

struct ProductCase {
  const char* name;
  Tensors inputs;
  amp::test::TensorFunction run, expected;
};

std::vector<ProductCase> cases() {
  const Tensor m = values({4, 6}), n = values({6, 5}, 2), v = values({6}, 3), bm = values({3, 4, 6}, 4),
               bn = values({3, 6, 5}, 5);
  return {
      {"mm",
       {m, n},
       [](const Tensors& i) { return mm(i[0], i[1]); },
       [](const Tensors& i) { return matmul(i[0], i[1]); }},
      {"mm of transposed operands",
       {values({6, 4}), values({5, 6}, 2)},
       [](const Tensors& i) { return mm(i[0].t(), i[1].t()); },
       [](const Tensors& i) { return matmul(i[1], i[0]).t(); }},
      {"mv",
       {m, v},
       [](const Tensors& i) { return mv(i[0], i[1]); },
       [](const Tensors& i) { return matmul(i[0], i[1]); }},
      {"bmm",
       {bm, bn},
       [](const Tensors& i) { return bmm(i[0], i[1]); },
       [](const Tensors& i) { return matmul(i[0], i[1]); }},
      {"addmm",
       {values({4, 5}, 6), m, n},
       [](const Tensors& i) { return addmm(i[0], i[1], i[2], 0.5, 2); },
       [](const Tensors& i) { return i[0] * 0.5 + matmul(i[1], i[2]) * 2.0; }},
      {"addmm, addend broadcasts",
       {values({5}, 6), m, n},
       [](const Tensors& i) { return addmm(i[0], i[1], i[2]); },
       [](const Tensors& i) { return i[0] + matmul(i[1], i[2]); }},
      {"addmv",
       {values({4}, 6), m, v},
       [](const Tensors& i) { return addmv(i[0], i[1], i[2], 3, -1); },
       [](const Tensors& i) { return i[0] * 3.0 - matmul(i[1], i[2]); }},
      {"addr",
       {values({4, 6}, 6), values({4}, 7), v},
       [](const Tensors& i) { return addr(i[0], i[1], i[2], 2, 0.5); },
       [](const Tensors& i) { return i[0] * 2.0 + unsqueeze(i[1], 1) * i[2] * 0.5; }},
      {"addbmm",
       {values({4, 5}, 6), bm, bn},
       [](const Tensors& i) { return addbmm(i[0], i[1], i[2], 2, 0.5); },
       [](const Tensors& i) { return i[0] * 2.0 + sum(matmul(i[1], i[2]), Shape{0}) * 0.5; }},
      {"baddbmm",
       {values({3, 1, 5}, 6), bm, bn},
       [](const Tensors& i) { return baddbmm(i[0], i[1], i[2], 2, 0.5); },
       [](const Tensors& i) { return i[0] * 2.0 + matmul(i[1], i[2]) * 0.5; }},
      {"chain_matmul",
       {m, n, values({5, 2}, 8), values({2, 7}, 9)},
       [](const Tensors& i) { return chain_matmul(i); },
       [](const Tensors& i) { return matmul(matmul(matmul(i[0], i[1]), i[2]), i[3]); }},
      {"multi_dot with vectors",
       {v, n, values({5}, 8)},
       [](const Tensors& i) { return multi_dot(i); },
       [](const Tensors& i) { return matmul(matmul(i[0], i[1]), i[2]); }},
      {"tensordot",
       {values({3, 4, 5}), values({5, 2, 4}, 2)},
       [](const Tensors& i) {
         return tensordot(i[0], i[1], {2, 1}, {0, 2});
       },
       [](const Tensors& i) {
         return matmul(reshape(permute(i[0], {0, 2, 1}), {3, 20}), reshape(permute(i[1], {0, 2, 1}), {20, 2}));
       }},
      {"tensordot by number",
       {m, n},
       [](const Tensors& i) { return tensordot(i[0], i[1], 1); },
       [](const Tensors& i) { return matmul(i[0], i[1]); }},
      {"bilinear",
       {values({2, 3, 4}), values({2, 3, 5}, 2), values({2, 4, 5}, 3), values({2}, 4)},
       [](const Tensors& i) { return bilinear(i[0], i[1], i[2], i[3]); },
       [](const Tensors& i) {
         const Tensor pairs = reshape(unsqueeze(i[0], 3) * unsqueeze(i[1], 2), {2, 3, 20});
         return matmul(pairs, reshape(i[2], {2, 20}).t()) + i[3];
       }},
      {"einsum, batched product",
       {bm, bn},
       [](const Tensors& i) { return einsum("bij, bjk -> bik", i); },
       [](const Tensors& i) { return matmul(i[0], i[1]); }},
      {"einsum, implicit output",
       {m, n},
       [](const Tensors& i) { return einsum("ij,jk", i); },
       [](const Tensors& i) { return matmul(i[0], i[1]); }},
      {"einsum, ellipsis and transpose",
       {bm},
       [](const Tensors& i) { return einsum("...ij->...ji", i); },
       [](const Tensors& i) { return transpose(i[0], 1, 2); }},
      {"einsum, three operands and sums",
       {m, n, values({5, 3}, 8)},
       [](const Tensors& i) { return einsum("ij,jk,kl->l", i); },
       [](const Tensors& i) { return sum(matmul(matmul(i[0], i[1]), i[2]), Shape{0}); }},
      {"einsum, outer product",
       {v, values({4}, 8)},
       [](const Tensors& i) { return einsum("i,j->ji", i); },
       [](const Tensors& i) { return unsqueeze(i[1], 1) * i[0]; }},
      {"einsum, trace of a product",
       {values({4, 4}), values({4, 4}, 2)},
       [](const Tensors& i) { return einsum("ii,ij->j", i); },
       [](const Tensors& i) {
         Tensors diagonal;
         for (int k = 0; k < 4; ++k) diagonal.push_back(i[0][k][k]);
         return matmul(stack(diagonal), i[1]);
       }},
  };
}

}  // namespace

TEST_CASE("Named products are matmul with its operands in place") {
  for (const ProductCase& c : cases()) {
    INFO(c.name);
    CHECK(worst(c.run(c.inputs), c.expected(c.inputs)) < 1e-13);
  }
}

TEST_CASE("Gradients of named products, and gradients of those") {
  for (const ProductCase& c : cases()) {
    INFO(c.name);
    for (const Tensor& t : c.inputs) t.requires_grad_();
    CHECK(gradcheck(c.run, c.inputs) == "");
    CHECK(gradgradcheck(c.run, c.inputs) == "");
  }
}

TEST_CASE("Half operands: the sum is float32 and rounded once") {
  const Tensor a = to(values({3, 300}), DType::float16), b = to(values({300, 4}, 2), DType::float16),
               c = to(values({3, 4}, 3), DType::float16);
  const Tensor exact = to(c, DType::float64) * 0.5 + matmul(to(a, DType::float64), to(b, DType::float64)) * 2.0;
  const Tensor half = addmm(c, a, b, 0.5, 2);
  CHECK(half.dtype() == DType::float16);
  // One rounding of a result below 64, and 600 float32 roundings.
  CHECK(worst(half, exact) < 64 * 0x1p-11 * 0.5 + 600 * 64 * 0x1p-24);
}

TEST_CASE("beta 0 leaves the addend out, NaN and all") {
  const Tensor nan = tensor({NAN, NAN}, {.dtype = DType::float64});
  const Tensor a = values({2, 3}), v = values({3}, 2);
  CHECK(worst(addmv(nan, a, v, 0, 1), mv(a, v)) == 0);
}

TEST_CASE("Which rules the products follow") {
  const Tensor a = to(values({4, 4}), DType::float32), v = to(values({4}), DType::float32);
  const auto types = [&] {
    return std::vector<DType>{mm(a, a).dtype(),
                              mv(a, v).dtype(),
                              addmv(v, a, v).dtype(),
                              addr(a, v, v).dtype(),
                              multi_dot({a, a}).dtype(),
                              tensordot(a, a, 1).dtype(),
                              bilinear(a, a, unsqueeze(a, 0)).dtype(),
                              einsum("ij,jk->ik", {a, a}).dtype()};
  };
  const DType half = DType::float16, wide = DType::float32;
  {
    const autocast region("cpu", {.dtype = kFloat16, .policy = Policy::cuda});
    CHECK(types() == std::vector<DType>{half, half, half, half, half, wide, wide, half});
  }
  const autocast region("cpu", {.dtype = kFloat16});
  CHECK(types() == std::vector<DType>{half, wide, wide, wide, half, half, wide, half});
}

TEST_CASE("What does not fit a product is an error") {
  const Tensor a = values({2, 3}), b = values({4, 5}), v = values({3});
  CHECK_THROWS_AS(mm(a, b), Error);
  CHECK_THROWS_AS(mm(a, v), Error);
  CHECK_THROWS_AS(mv(a, values({2})), Error);
  CHECK_THROWS_AS(bmm(values({2, 3, 4}), values({3, 4, 5})), Error);
  CHECK_THROWS_AS(addmm(values({7, 7}), a, values({3, 5})), Error);
  CHECK_THROWS_AS(addmm(values({2, 5}), to(a, DType::float32), values({3, 5})), Error);
  CHECK_THROWS_AS(tensordot(a, b, {0}, {0, 1}), Error);
  CHECK_THROWS_AS(tensordot(a, b, {0}, {0}), Error);
  CHECK_THROWS_AS(chain_matmul({a, b}), Error);
  CHECK_THROWS_AS(bilinear(a, a, b), Error);
  CHECK_THROWS_AS(einsum("ij,jk->ik", {a}), Error);
  CHECK_THROWS_AS(einsum("ij->ik", {a}), Error);
  CHECK_THROWS_AS(einsum("i?->i", {a}), Error);
  CHECK_THROWS_AS(einsum("ijk->i", {a}), Error);
}
