// Sample calls of linear algebra and of norms of matrices. Symmetric matrices are made of one argument and its
// transpose, so that a step of one element keeps them symmetric.
#include "tests/support/op_sample_row.h"

namespace amp::test {
namespace {

Tensor symmetric(const Tensor& t) { return t + transpose(t, -2, -1); }

}  // namespace

std::vector<OpSample> linalg_samples() {
  return {
      AMP_SAMPLE(linalg_inv, linalg_inv(a[0]), dominant({2, 3, 3})),
      AMP_SAMPLE(linalg_inv, linalg_inv_ex(a[0]), dominant({3, 3})),
      AMP_SAMPLE(linalg_solve, linalg_solve(a[0], a[1]), dominant({3, 3}), any({3, 2})),
      AMP_SAMPLE(linalg_solve, linalg_solve(a[0], a[1]), dominant({2, 3, 3}), any({2, 3})),
      AMP_SAMPLE(linalg_solve_triangular, linalg_solve_triangular(a[0], a[1], true), dominant({3, 3}), any({2, 3, 2})),
      AMP_SAMPLE(linalg_solve_triangular, linalg_solve_triangular(a[0], a[1], false, false, true), dominant({3, 3}),
                 any({2, 3})),
      AMP_SAMPLE(triangular_solve, triangular_solve(a[0], a[1], true, true), any({3, 2}), dominant({3, 3})),
      AMP_SAMPLE(linalg_cholesky, linalg_cholesky(symmetric(a[0])), dominant({2, 3, 3})),
      AMP_SAMPLE(linalg_cholesky, linalg_cholesky_ex(symmetric(a[0]), true), dominant({3, 3})),
      AMP_SAMPLE(cholesky_solve, cholesky_solve(a[0], a[1]), any({3, 2}), dominant({3, 3})),
      AMP_SAMPLE(cholesky_inverse, cholesky_inverse(a[0], true), dominant({3, 3})),
      AMP_SAMPLE(linalg_lu_factor, run_op({OpId::linalg_lu_factor, a, {}, {}}), any({2, 3, 3})),
      AMP_SAMPLE(lu_with_info, run_op({OpId::lu_with_info, a, {}, {}}), any({3, 3})),
      AMP_SAMPLE(lu_solve, lu_solve(a[0], a[1], tensor({2, 2, 3}, {.dtype = DType::int32})), any({3, 2}),
                 dominant({3, 3})),
      AMP_SAMPLE(linalg_qr, linalg_qr(a[0]), any({4, 3})),
      AMP_SAMPLE(linalg_qr, linalg_qr(a[0]), any({3, 5})),
      AMP_SAMPLE(linalg_qr, linalg_qr(a[0], "complete"), any({2, 3, 3})),
      AMP_SAMPLE(geqrf, geqrf(a[0]), any({4, 3})),
      AMP_SAMPLE(linalg_householder_product, linalg_householder_product(a[0], a[1]), any({4, 3}), any({3})),
      AMP_SAMPLE(ormqr, ormqr(a[0], a[1], a[2], true, true), any({4, 3}), any({3}), any({4, 2})),
      AMP_SAMPLE(ormqr, ormqr(a[0], a[1], a[2], false), any({4, 3}), any({3}), any({2, 4})),
      AMP_SAMPLE(linalg_svd, run_op({OpId::linalg_svd, a, {}, {}}), any({4, 3})),
      AMP_SAMPLE(linalg_svd, run_op({OpId::linalg_svd, a, {}, {}}), any({2, 2, 3})),
      AMP_SAMPLE(linalg_svdvals, linalg_svdvals(a[0]), any({4, 3})),
      AMP_SAMPLE(linalg_eigh, linalg_eigh(symmetric(a[0])), dominant({3, 3})),
      AMP_SAMPLE(linalg_eigvalsh, linalg_eigvalsh(symmetric(a[0]), "U"), dominant({2, 3, 3})),
      AMP_SAMPLE(linalg_pinv, linalg_pinv(a[0]), any({4, 3})),
      AMP_SAMPLE(linalg_pinv, linalg_pinv(a[0]), any({2, 3, 4})),
      AMP_SAMPLE(pinverse, pinverse(a[0]), any({3, 4})),
      AMP_SAMPLE(linalg_lstsq, linalg_lstsq(a[0], a[1]), any({4, 3}), any({4, 2})),
      AMP_SAMPLE(linalg_matrix_rank, linalg_matrix_rank(a[0]), any({4, 3})),
      AMP_SAMPLE(linalg_cond, linalg_cond(a[0]), dominant({3, 3})),
      AMP_SAMPLE(linalg_cond, linalg_cond(a[0], "fro"), dominant({2, 3, 3})),
      AMP_SAMPLE(linalg_tensorinv, linalg_tensorinv(reshape(a[0], {6, 2, 3}), 1), dominant({6, 6})),
      AMP_SAMPLE(linalg_tensorsolve, linalg_tensorsolve(reshape(a[0], {2, 3, 6}), reshape(a[1], {2, 3})),
                 dominant({6, 6}), any({6})),
      // -- norms and products
      AMP_SAMPLE(frobenius_norm, frobenius_norm(a[0], {0, 1}), any({3, 4})),
      AMP_SAMPLE(nuclear_norm, nuclear_norm(a[0]), any({4, 3})),
      AMP_SAMPLE(nuclear_norm, nuclear_norm(a[0], {0, 2}, true), any({3, 2, 4})),
      AMP_SAMPLE(linalg_matrix_norm, linalg_matrix_norm(a[0]), any({2, 3, 4})),
      AMP_SAMPLE(linalg_matrix_norm, linalg_matrix_norm(a[0], 1), any({3, 4})),
      AMP_SAMPLE(linalg_matrix_norm, linalg_matrix_norm(a[0], -2, {0, 1}, true), any({3, 4, 2})),
      AMP_SAMPLE(linalg_matrix_norm, linalg_matrix_norm(a[0], "nuc"), any({3, 4})),
      AMP_SAMPLE(linalg_vecdot, linalg_vecdot(a[0], a[1]), any({3, 4}), any({4})),
      AMP_SAMPLE(linalg_vecdot, linalg_vecdot(a[0], a[1], 0), any({3, 4, 2}), any({3, 4, 2})),
  };
}

}  // namespace amp::test
