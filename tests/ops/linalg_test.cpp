// Linear algebra: decompositions put together again, known values, what the gradients of special cases are, errors.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <limits>

#include "libamp/autocast/scope.h"
#include "tests/support/gradcheck.h"
#include "tests/support/op_samples.h"

using namespace amp;
using amp::test::gradcheck;
using amp::test::values;
using Catch::Matchers::ContainsSubstring;

namespace {

double worst(const Tensor& a, const Tensor& b) {
  if (!(a.sizes() == b.sizes())) return INFINITY;
  return a.numel() == 0 ? 0 : max(abs(a - b)).item();
}
Tensor turned(const Tensor& t) { return transpose(t, -2, -1); }
Tensor identity(std::int64_t n) { return eye(n, {.dtype = kFloat64}); }
Tensor matrix(std::initializer_list<double> numbers, const Shape& sizes) {
  return tensor(std::vector<double>(numbers), sizes, {.dtype = kFloat64});
}
// Positive definite: the product with its own transpose, lifted.
Tensor positive_definite(const Shape& sizes) {
  const Tensor x = values(sizes);
  return matmul(x, turned(x)) + identity(sizes.back()) * 0.5;
}
constexpr double kClose = 1e-12;

}  // namespace

TEST_CASE("inverses, solutions and determinants") {
  const Tensor a = values({2, 4, 4}), b = values({2, 4, 3}, 5);
  CHECK(worst(matmul(a, linalg_inv(a)), expand(identity(4), {2, 4, 4})) < kClose * 100);
  CHECK(worst(matmul(a, linalg_solve(a, b)), b) < kClose);
  CHECK(worst(linalg_solve(a, turned(b), false).matmul(a), turned(b)) < kClose);
  CHECK(worst(linalg_solve(a, select(b, 2, 0)), select(linalg_solve(a, b), 2, 0)) == 0);
  CHECK(worst(inverse(a), linalg_inv_ex(a).first) == 0);
  CHECK(linalg_inv_ex(matrix({1, 2, 2, 4}, {2, 2})).second.item() != 0);
  const Tensor known = matrix({2, 1, 1, 3, 2, 1, 1, 1, 4}, {3, 3});
  CHECK(std::abs(linalg_det(known).item() - 4) < kClose);
  const Tensor swapped = index_select(known, 0, tensor({1, 0, 2}, {.dtype = kInt64}));
  CHECK(std::abs(linalg_det(swapped).item() + 4) < kClose);
  const auto [sign, size] = linalg_slogdet(swapped);
  CHECK(sign.item() == -1);
  CHECK(std::abs(size.item() - std::log(4)) < kClose);
  CHECK(std::isnan(logdet(swapped).item()));
  const Tensor x = known.detach().clone();
  x.requires_grad_();
  CHECK(gradcheck([](const Tensors& i) { return linalg_det(i[0]) + logdet(i[0]); }, {x}) == "");
}

TEST_CASE("triangles") {
  const Tensor a = values({4, 4}) + identity(4) * 3.0, b = values({4, 2}, 5);
  CHECK(worst(matmul(triu(a), linalg_solve_triangular(a, b, true)), b) < kClose);
  CHECK(worst(matmul(tril(a), linalg_solve_triangular(a, b, false)), b) < kClose);
  CHECK(worst(matmul(tril(a, -1) + identity(4), linalg_solve_triangular(a, b, false, true, true)), b) < kClose);
  CHECK(worst(matmul(linalg_solve_triangular(a, turned(b), true, false), triu(a)), turned(b)) < kClose);
  CHECK(worst(matmul(turned(triu(a)), triangular_solve(b, a, true, true).first), b) < kClose);
}

TEST_CASE("Cholesky and LU put together again") {
  const Tensor spd = positive_definite({2, 4, 4}), b = values({2, 4, 3}, 5);
  const Tensor l = linalg_cholesky(spd), u = linalg_cholesky(spd, true);
  CHECK(worst(l, tril(l)) == 0);
  CHECK(worst(matmul(l, turned(l)), spd) < kClose);
  CHECK(worst(u, turned(l)) < kClose);
  CHECK(worst(matmul(spd, cholesky_solve(b, l)), b) < kClose);
  CHECK(worst(matmul(spd, cholesky_solve(b, u, true)), b) < kClose);
  CHECK(worst(matmul(spd, cholesky_inverse(l)), expand(identity(4), {2, 4, 4})) < kClose * 10);
  CHECK(linalg_cholesky_ex(matrix({1, 2, 2, 1}, {2, 2})).second.item() == 2);
  const Tensor a = values({2, 4, 4}, 3);
  const LuFactors f = linalg_lu_factor(a);
  CHECK(worst(matmul(a, lu_solve(b, f.LU, f.pivots)), b) < kClose * 10);
  CHECK(f.pivots.dtype() == kInt32);
  CHECK(min(f.pivots).item() >= 1);
}

TEST_CASE("QR and its reflectors") {
  for (const Shape& sizes : {Shape{5, 3}, Shape{3, 5}, Shape{2, 4, 4}})
    for (const char* mode : {"reduced", "complete"}) {
      INFO(to_string(sizes) << " " << mode);
      const Tensor a = values(sizes);
      const auto [q, r] = linalg_qr(a, mode);
      CHECK(worst(matmul(q, r), a) < kClose);
      CHECK(worst(matmul(turned(q), q), expand(identity(q.size(-1)), matmul(turned(q), q).sizes())) < kClose);
      CHECK(worst(r, triu(r)) == 0);
      CHECK(worst(linalg_qr(a, "r").second, linalg_qr(a).second) == 0);
    }
  const Tensor a = values({5, 3}), c = values({5, 2}, 4);
  const auto [reflectors, tau] = geqrf(a);
  const auto [q, r] = linalg_qr(a);
  const Tensor full = linalg_qr(a, "complete").first;
  CHECK(worst(triu(narrow(reflectors, 0, 0, 3)), r) == 0);
  CHECK(worst(linalg_householder_product(reflectors, tau), q) < kClose);
  CHECK(worst(orgqr(reflectors, tau), q) < kClose);
  CHECK(worst(ormqr(reflectors, tau, c), matmul(full, c)) < kClose);
  CHECK(worst(ormqr(reflectors, tau, c, true, true), matmul(turned(full), c)) < kClose);
  CHECK(worst(ormqr(reflectors, tau, turned(c), false), matmul(turned(c), full)) < kClose);
  CHECK(worst(ormqr(reflectors, tau, turned(c), false, true), matmul(turned(c), turned(full))) < kClose);
}

TEST_CASE("singular values and vectors") {
  for (const Shape& sizes : {Shape{5, 3}, Shape{3, 5}, Shape{2, 4, 4}})
    for (const bool full : {false, true}) {
      INFO(to_string(sizes) << " full " << full);
      const Tensor a = values(sizes);
      const auto [u, s, vh] = linalg_svd(a, full);
      const std::int64_t k = s.size(-1);
      CHECK(worst(matmul(narrow(u, -1, 0, k) * unsqueeze(s, -2), narrow(vh, -2, 0, k)), a) < kClose);
      CHECK(worst(matmul(turned(u), u), expand(identity(u.size(-1)), matmul(turned(u), u).sizes())) < kClose);
      CHECK(worst(matmul(vh, turned(vh)), expand(identity(vh.size(-2)), matmul(vh, turned(vh)).sizes())) < kClose);
      CHECK(worst(s, sort(s, -1, true).values) == 0);
      CHECK(worst(s, linalg_svdvals(a)) == 0);
    }
  // Of rank one: what belongs to the zero singular values is orthogonal all the same.
  const Tensor flat = matmul(values({4, 1}), values({1, 3}, 2));
  const auto [u, s, vh] = linalg_svd(flat, false);
  CHECK(worst(matmul(turned(u), u), identity(3)) < kClose);
  CHECK(s.to_vector()[1] < kClose);
  CHECK(linalg_matrix_rank(flat).item() == 1);
  CHECK(linalg_matrix_rank(values({4, 3})).item() == 3);
  const auto [u2, s2, v2] = svd(values({4, 3}));
  CHECK(worst(matmul(u2 * unsqueeze(s2, -2), turned(v2)), values({4, 3})) < kClose);
}

TEST_CASE("eigenvalues of symmetric matrices") {
  const Tensor a = values({2, 4, 4}) + turned(values({2, 4, 4}));
  const auto [w, v] = linalg_eigh(a);
  CHECK(worst(matmul(v * unsqueeze(w, -2), turned(v)), a) < kClose);
  CHECK(worst(w, sort(w).values) == 0);
  CHECK(worst(linalg_eigvalsh(a, "U"), w) < kClose);
  CHECK(worst(linalg_eigvalsh(matrix({2, 1, 1, 2}, {2, 2})), matrix({1, 3}, {2})) < kClose);
}

TEST_CASE("pseudo-inverses and least squares") {
  for (const Shape& sizes : {Shape{5, 3}, Shape{3, 5}}) {
    const Tensor a = values(sizes), p = linalg_pinv(a);
    CHECK(worst(matmul(matmul(a, p), a), a) < kClose);
    CHECK(worst(matmul(matmul(p, a), p), p) < kClose * 10);
    CHECK(worst(pinverse(a), p) < kClose);
  }
  const Tensor flat = matmul(values({4, 1}), values({1, 3}, 2));
  CHECK(worst(matmul(matmul(flat, linalg_pinv(flat)), flat), flat) < kClose);
  // The rest of a least squares solution is orthogonal to the columns.
  const Tensor a = values({5, 3}), b = values({5, 2}, 4);
  CHECK(worst(matmul(turned(a), matmul(a, linalg_lstsq(a, b)) - b), zeros({3, 2}, {.dtype = kFloat64})) < kClose);
}

TEST_CASE("tensors seen as matrices") {
  const Tensor a = values({6, 2, 3}), b = values({6}, 3);
  CHECK(worst(tensordot(linalg_tensorinv(a, 1), b, 1), linalg_solve(reshape(a, {6, 6}), b).reshape({2, 3})) < 1e-9);
  CHECK(worst(linalg_tensorsolve(a, b), linalg_solve(reshape(a, {6, 6}), b).reshape({2, 3})) < kClose);
}

TEST_CASE("norms of matrices") {
  const Tensor a = matrix({1, -2, 3, 4}, {2, 2});
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  CHECK(std::abs(linalg_matrix_norm(a).item() - std::sqrt(30)) < kClose);
  CHECK(linalg_matrix_norm(a, 1).item() == 6);
  CHECK(linalg_matrix_norm(a, -1).item() == 4);
  CHECK(linalg_matrix_norm(a, kInfinity).item() == 7);
  CHECK(linalg_matrix_norm(a, -kInfinity).item() == 3);
  const Tensor s = linalg_svdvals(a);
  CHECK(std::abs(s.to_vector()[0] * s.to_vector()[1] - 10) < kClose);  // the determinant
  CHECK(worst(linalg_matrix_norm(a, 2), select(s, 0, 0)) == 0);
  CHECK(worst(linalg_matrix_norm(a, "nuc"), sum(s)) == 0);
  CHECK(worst(nuclear_norm(a), sum(s)) == 0);
  CHECK(worst(frobenius_norm(a, {0, 1}, true), reshape(linalg_matrix_norm(a), {1, 1})) == 0);
  CHECK(worst(linalg_cond(a), select(s, 0, 0) / select(s, 0, 1)) < kClose);
  CHECK(std::abs(linalg_cond(a, "fro").item() - 3) < kClose);  // |A| |A^-1| with |A^-1| = |A| / det
  CHECK(nuclear_norm(values({2, 3, 4}), {0, 2}, true).sizes() == Shape{1, 3, 1});
  CHECK(worst(linalg_vecdot(values({3, 4}), values({4}, 2)), matmul(values({3, 4}), values({4}, 2))) < kClose);
  // Equal singular values: the sum of all has a gradient, U V^T, where single ones have none.
  const Tensor x = identity(3).clone();
  x.requires_grad_();
  nuclear_norm(x).backward();
  CHECK(worst(x.grad(), identity(3)) < kClose);
}

TEST_CASE("what is on no list of a policy is left alone there, whatever it is made of") {
  const struct {
    Policy policy;
    std::string_view ops;
  } cases[] = {{Policy::cuda,
                "addmm_activation linalg_solve triangular_solve cholesky_solve cholesky_inverse lu_solve linalg_qr "
                "linalg_householder_product ormqr pinverse linalg_lstsq linalg_cond linalg_tensorsolve trace "
                "max_unpool2d replication_pad2d"},
               {Policy::cpu, "upsample_bilinear2d_aa upsample_bicubic2d_aa frobenius_norm linalg_matrix_norm"}};
  for (const auto& c : cases)
    for (const amp::test::OpSample& sample : amp::test::op_samples()) {
      const std::string name = std::string(op_info(sample.op).name);
      if ((" " + std::string(c.ops) + " ").find(" " + name + " ") == std::string::npos) continue;
      INFO(name << ": " << sample.text);
      const Tensors arguments = amp::test::make_arguments(sample, kFloat32);
      const Tensors outside = sample.function(arguments);
      const autocast region(DeviceType::cpu, {.dtype = kFloat16, .policy = c.policy});
      const Tensors inside = sample.function(arguments);
      REQUIRE(inside.size() == outside.size());
      for (std::size_t i = 0; i < inside.size(); ++i) {
        CHECK(inside[i].dtype() == outside[i].dtype());
        CHECK(inside[i].to_vector() == outside[i].to_vector());
      }
    }
}

TEST_CASE("what linear algebra refuses") {
  CHECK_THROWS_WITH(linalg_inv(matrix({1, 2, 2, 4}, {2, 2})), ContainsSubstring("singular"));
  CHECK_THROWS_WITH(linalg_solve(zeros({2, 2}), ones({2, 1})), ContainsSubstring("[linalg_solve]"));
  CHECK_THROWS_WITH(linalg_cholesky(matrix({1, 2, 2, 1}, {2, 2})), ContainsSubstring("positive definite"));
  CHECK_THROWS_WITH(linalg_inv(ones({2, 3})), ContainsSubstring("square"));
  CHECK_THROWS_WITH(linalg_inv(ones({2, 2}).half()), ContainsSubstring("float32 and float64"));
  CHECK_THROWS_WITH(linalg_svd(matrix({1, NAN, 0, 1}, {2, 2})), ContainsSubstring("NaN"));
  CHECK_THROWS_WITH(linalg_qr(ones({2, 2}), "half"), ContainsSubstring("mode"));
  CHECK_THROWS_WITH(linalg_matrix_norm(ones({2, 2}), "max"), ContainsSubstring("'max'"));
  CHECK_THROWS_WITH(linalg_solve(ones({2, 2}), ones({3, 1})), ContainsSubstring("do not fit"));
  const Tensor x = values({4, 3});
  x.requires_grad_();
  CHECK_THROWS_WITH(sum(geqrf(x).first).backward(), ContainsSubstring("geqrf"));
  CHECK_THROWS_WITH(sum(linalg_qr(x, "complete").first).backward(), ContainsSubstring("reduced"));
  // Under the CPU's rules half precision matrices are decomposed in float32.
  const autocast region("cpu", {.dtype = kBFloat16});
  CHECK(linalg_inv((identity(2) * 2.0).to(kBFloat16)).dtype() == kFloat32);
}
