// Linear algebra: arguments in, op calls out; the determinants, written with other ops.
#include "libamp/ops/linalg.h"

#include <cmath>

#include "libamp/dispatch/run_op.h"
#include "libamp/ops/ops.h"

namespace amp {
namespace {

Tensor run1(OpId op, Tensors inputs, Attributes attributes = {}) {
  return run_op1({op, std::move(inputs), std::move(attributes), {}});
}
std::pair<Tensor, Tensor> run2(OpId op, Tensors inputs, Attributes attributes = {}) {
  Tensors out = run_op({op, std::move(inputs), std::move(attributes), {}});
  return {out[0], out[1]};
}
Attributes tolerances(std::optional<double> atol, std::optional<double> rtol) {
  Attributes attributes;
  if (atol) attributes.set("atol", *atol);
  if (rtol) attributes.set("rtol", *rtol);
  return attributes;
}
Tensor matrix_norm(const Tensor& a, Attributes attributes, const Shape& dim, bool keepdim, std::optional<DType> dtype) {
  attributes.set("dim", dim);
  attributes.set("keepdim", keepdim);
  if (dtype) attributes.set("dtype", *dtype);
  return run1(OpId::linalg_matrix_norm, {a}, std::move(attributes));
}

}  // namespace

Tensor linalg_inv(const Tensor& A) { return run1(OpId::linalg_inv, {A}); }
std::pair<Tensor, Tensor> linalg_inv_ex(const Tensor& A, bool check_errors) {
  return run2(OpId::linalg_inv, {A}, {{"check_errors", check_errors}});
}

Tensor linalg_solve(const Tensor& A, const Tensor& B, bool left) {
  if (!left) return transpose(linalg_solve(transpose(A, -2, -1), transpose(B, -2, -1)), -2, -1);
  // As PyTorch tells vectors from matrices: one dim, or one dim less than A and A's batch and rows.
  bool vectors = B.dim() == 1;
  if (B.dim() > 1 && B.dim() + 1 == A.dim()) {
    vectors = true;
    for (int d = 0; d < B.dim(); ++d) vectors = vectors && B.size(d) == A.size(d);
  }
  if (vectors) return squeeze(run1(OpId::linalg_solve, {A, unsqueeze(B, -1)}), -1);
  return run1(OpId::linalg_solve, {A, B});
}
Tensor linalg_solve_triangular(const Tensor& A, const Tensor& B, bool upper, bool left, bool unitriangular) {
  return run1(OpId::linalg_solve_triangular, {A, B},
              {{"upper", upper}, {"left", left}, {"unitriangular", unitriangular}});
}
std::pair<Tensor, Tensor> triangular_solve(const Tensor& b, const Tensor& A, bool upper, bool transpose,
                                           bool unitriangular) {
  return run2(OpId::triangular_solve, {b, A},
              {{"upper", upper}, {"transpose", transpose}, {"unitriangular", unitriangular}});
}

Tensor linalg_cholesky(const Tensor& A, bool upper) { return run1(OpId::linalg_cholesky, {A}, {{"upper", upper}}); }
std::pair<Tensor, Tensor> linalg_cholesky_ex(const Tensor& A, bool upper, bool check_errors) {
  return run2(OpId::linalg_cholesky, {A}, {{"upper", upper}, {"check_errors", check_errors}});
}
Tensor cholesky_solve(const Tensor& B, const Tensor& L, bool upper) {
  return run1(OpId::cholesky_solve, {B, L}, {{"upper", upper}});
}
Tensor cholesky_inverse(const Tensor& L, bool upper) { return run1(OpId::cholesky_inverse, {L}, {{"upper", upper}}); }

LuFactors linalg_lu_factor(const Tensor& A) {
  Tensors out = run_op({OpId::linalg_lu_factor, {A}, {}, {}});
  return {out[0], out[1], out[2]};
}
LuFactors lu_with_info(const Tensor& A, bool check_errors) {
  Tensors out = run_op({OpId::lu_with_info, {A}, {{"check_errors", check_errors}}, {}});
  return {out[0], out[1], out[2]};
}
Tensor lu_solve(const Tensor& b, const Tensor& LU, const Tensor& pivots) {
  return run1(OpId::lu_solve, {b, LU, pivots});
}

std::pair<Tensor, Tensor> linalg_slogdet(const Tensor& A) {
  const Tensors factors = run_op({OpId::linalg_lu_factor, {A}, {{"check_errors", false}}, {}});
  const Tensor diagonal = amp::diagonal(factors[0], 0, -2, -1);
  // Each exchange of two rows changes the sign.
  const Tensor exchanged = ne(factors[1], add(arange(A.size(-1)), wrapped_number(std::int64_t{1})));
  const Tensor swaps = sum(exchanged, Shape{-1}, false, diagonal.dtype());
  const Tensor sign = prod(amp::sign(diagonal).detach(), -1) * (1 - remainder(swaps, 2) * 2);
  return {sign, sum(log(abs(diagonal)), Shape{-1})};
}
Tensor linalg_det(const Tensor& A) {
  const Tensors factors = run_op({OpId::linalg_lu_factor, {A}, {{"check_errors", false}}, {}});
  const Tensor exchanged = ne(factors[1], add(arange(A.size(-1)), wrapped_number(std::int64_t{1})));
  const Tensor swaps = sum(exchanged, Shape{-1}, false, A.dtype());
  return prod(amp::diagonal(factors[0], 0, -2, -1), -1) * (1 - remainder(swaps, 2) * 2);
}
Tensor logdet(const Tensor& A) {
  const auto [sign, size] = linalg_slogdet(A);
  return where(lt(sign, 0), NAN, size);
}

std::pair<Tensor, Tensor> linalg_qr(const Tensor& A, std::string_view mode) {
  if (mode != "reduced" && mode != "complete" && mode != "r")
    fail(ErrorCode::value, "linalg_qr",
         "unknown mode: got '" + std::string(mode) + "', need 'reduced', 'complete' or 'r'");
  return run2(OpId::linalg_qr, {A}, {{"mode", std::string(mode)}});
}
std::pair<Tensor, Tensor> qr(const Tensor& input, bool some) { return linalg_qr(input, some ? "reduced" : "complete"); }
std::pair<Tensor, Tensor> geqrf(const Tensor& input) { return run2(OpId::geqrf, {input}); }
Tensor linalg_householder_product(const Tensor& input, const Tensor& tau) {
  return run1(OpId::linalg_householder_product, {input, tau});
}
Tensor ormqr(const Tensor& input, const Tensor& tau, const Tensor& other, bool left, bool transpose) {
  return run1(OpId::ormqr, {input, tau, other}, {{"left", left}, {"transpose", transpose}});
}

std::tuple<Tensor, Tensor, Tensor> linalg_svd(const Tensor& A, bool full_matrices) {
  Tensors out = run_op({OpId::linalg_svd, {A}, {{"full_matrices", full_matrices}}, {}});
  return {out[0], out[1], out[2]};
}
std::tuple<Tensor, Tensor, Tensor> svd(const Tensor& input, bool some) {
  const auto [u, s, vh] = linalg_svd(input, !some);
  return {u, s, transpose(vh, -2, -1)};
}
Tensor linalg_svdvals(const Tensor& A) { return run1(OpId::linalg_svdvals, {A}); }

namespace {
Attributes triangle(std::string_view uplo, const char* where) {
  if (uplo != "L" && uplo != "U")
    fail(ErrorCode::runtime, where, "UPLO: got '" + std::string(uplo) + "', need 'L' or 'U'");
  return {{"UPLO", std::string(uplo)}};
}
}  // namespace
std::pair<Tensor, Tensor> linalg_eigh(const Tensor& A, std::string_view UPLO) {
  return run2(OpId::linalg_eigh, {A}, triangle(UPLO, "linalg_eigh"));
}
Tensor linalg_eigvalsh(const Tensor& A, std::string_view UPLO) {
  return run1(OpId::linalg_eigvalsh, {A}, triangle(UPLO, "linalg_eigvalsh"));
}

Tensor linalg_pinv(const Tensor& A, std::optional<double> atol, std::optional<double> rtol) {
  return run1(OpId::linalg_pinv, {A}, tolerances(atol, rtol));
}
Tensor pinverse(const Tensor& input, double rcond) { return run1(OpId::pinverse, {input}, {{"rcond", rcond}}); }
Tensor linalg_lstsq(const Tensor& A, const Tensor& B) { return run1(OpId::linalg_lstsq, {A, B}); }
Tensor linalg_matrix_rank(const Tensor& A, std::optional<double> atol, std::optional<double> rtol) {
  return run1(OpId::linalg_matrix_rank, {A}, tolerances(atol, rtol));
}
Tensor linalg_cond(const Tensor& A, double p) { return run1(OpId::linalg_cond, {A}, {{"ord", p}}); }
Tensor linalg_cond(const Tensor& A, std::string_view p) {
  return run1(OpId::linalg_cond, {A}, {{"ord_name", std::string(p)}});
}
Tensor linalg_tensorinv(const Tensor& A, std::int64_t ind) { return run1(OpId::linalg_tensorinv, {A}, {{"ind", ind}}); }
Tensor linalg_tensorsolve(const Tensor& A, const Tensor& B) { return run1(OpId::linalg_tensorsolve, {A, B}); }

Tensor linalg_matrix_norm(const Tensor& A, std::string_view ord, const Shape& dim, bool keepdim,
                          std::optional<DType> dtype) {
  return matrix_norm(A, {{"ord_name", std::string(ord)}}, dim, keepdim, dtype);
}
Tensor linalg_matrix_norm(const Tensor& A, double ord, const Shape& dim, bool keepdim, std::optional<DType> dtype) {
  return matrix_norm(A, {{"ord", ord}}, dim, keepdim, dtype);
}
Tensor frobenius_norm(const Tensor& input, const Shape& dim, bool keepdim) {
  return run1(OpId::frobenius_norm, {input}, {{"dim", dim}, {"keepdim", keepdim}});
}
Tensor nuclear_norm(const Tensor& input, const Shape& dim, bool keepdim) {
  return run1(OpId::nuclear_norm, {input}, {{"dim", dim}, {"keepdim", keepdim}});
}
Tensor linalg_vecdot(const Tensor& x, const Tensor& y, std::int64_t dim) {
  return run1(OpId::linalg_vecdot, {x, y}, {{"dim", dim}});
}

}  // namespace amp
