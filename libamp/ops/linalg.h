// torch.linalg, and the older names beside it: solving, inverses, decompositions, matrix norms. float32 and float64, on
// matrices in the last two dims; leading dims are a batch. Listed float32 under the CPU's rules unless said otherwise.
// Complex results (eig, eigvals) are not provided.
#pragma once
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "libamp/core/tensor.h"

namespace amp {

/// The inverse; an error if a matrix is singular.
Tensor linalg_inv(const Tensor& A);
inline Tensor inverse(const Tensor& input) { return linalg_inv(input); }
/// The inverse, and for each matrix 0 or the row where elimination failed (int32), without an error.
std::pair<Tensor, Tensor> linalg_inv_ex(const Tensor& A, bool check_errors = false);
/// X with A X = B (X A = B unless left). A B of one dim less than A is a batch of vectors.
Tensor linalg_solve(const Tensor& A, const Tensor& B, bool left = true);
/// The same for a triangle of A. On no list.
Tensor linalg_solve_triangular(const Tensor& A, const Tensor& B, bool upper, bool left = true,
                               bool unitriangular = false);
/// torch.triangular_solve: X with A X = b for a triangle of A, and A itself.
std::pair<Tensor, Tensor> triangular_solve(const Tensor& b, const Tensor& A, bool upper = true, bool transpose = false,
                                           bool unitriangular = false);
/// Lower triangle L with L L^T = A (or upper: U^T U = A), A symmetric and positive definite.
Tensor linalg_cholesky(const Tensor& A, bool upper = false);
inline Tensor cholesky(const Tensor& input, bool upper = false) { return linalg_cholesky(input, upper); }
/// The same with a number for each matrix instead of an error.
std::pair<Tensor, Tensor> linalg_cholesky_ex(const Tensor& A, bool upper = false, bool check_errors = false);
/// X with A X = B, and the inverse of A, from A's Cholesky factor.
Tensor cholesky_solve(const Tensor& B, const Tensor& L, bool upper = false);
Tensor cholesky_inverse(const Tensor& L, bool upper = false);

struct LuFactors {          ///< of a matrix, or of each in a batch
  Tensor LU, pivots, info;  // pivots [..., k] and info [...]: int32, counted from 1
};
/// Both triangles of the pivoted LU decomposition in one matrix. On no list; lu_with_info is.
LuFactors linalg_lu_factor(const Tensor& A);
LuFactors lu_with_info(const Tensor& A, bool check_errors = true);
/// X with A X = b from A's LU factors.
Tensor lu_solve(const Tensor& b, const Tensor& LU, const Tensor& pivots);
/// Determinants, through the LU decomposition: their gradients need matrices that are not singular.
Tensor linalg_det(const Tensor& A);
/// Sign, and logarithm of the absolute value.
std::pair<Tensor, Tensor> linalg_slogdet(const Tensor& A);
Tensor logdet(const Tensor& A);

/// A = Q R with orthogonal columns. mode: reduced, complete, or r (R only; Q is empty).
std::pair<Tensor, Tensor> linalg_qr(const Tensor& A, std::string_view mode = "reduced");
std::pair<Tensor, Tensor> qr(const Tensor& input, bool some = true);
/// Householder reflectors below R, and their scales tau, as LAPACK. Without a gradient, as in PyTorch.
std::pair<Tensor, Tensor> geqrf(const Tensor& input);
/// The first columns of the product of reflectors.
Tensor linalg_householder_product(const Tensor& input, const Tensor& tau);
inline Tensor orgqr(const Tensor& input, const Tensor& tau) { return linalg_householder_product(input, tau); }
/// The product of reflectors (or its transpose) times other; from the right unless left.
Tensor ormqr(const Tensor& input, const Tensor& tau, const Tensor& other, bool left = true, bool transpose = false);

/// A = U diag(S) Vh, S descending. Gradients need distinct singular values where U or Vh is used.
std::tuple<Tensor, Tensor, Tensor> linalg_svd(const Tensor& A, bool full_matrices = true);
/// torch.svd: U, S and V (not V^T), reduced with `some`.
std::tuple<Tensor, Tensor, Tensor> svd(const Tensor& input, bool some = true);
Tensor linalg_svdvals(const Tensor& A);
/// Eigenvalues (ascending) and vectors of symmetric matrices, of which the triangle UPLO is read.
std::pair<Tensor, Tensor> linalg_eigh(const Tensor& A, std::string_view UPLO = "L");
Tensor linalg_eigvalsh(const Tensor& A, std::string_view UPLO = "L");
/// The pseudo-inverse. rtol left out: the machine epsilon times the larger size. pinverse is the listed name.
Tensor linalg_pinv(const Tensor& A, std::optional<double> atol = {}, std::optional<double> rtol = {});
Tensor pinverse(const Tensor& input, double rcond = 1e-15);
/// The least squares solution of A X = B.
Tensor linalg_lstsq(const Tensor& A, const Tensor& B);
/// How many singular values exceed max(atol, rtol times the largest). int64.
Tensor linalg_matrix_rank(const Tensor& A, std::optional<double> atol = {}, std::optional<double> rtol = {});
/// The condition number in a norm: 2, -2, 1, -1, infinity, -infinity, or "fro", "nuc".
Tensor linalg_cond(const Tensor& A, double p = 2);
Tensor linalg_cond(const Tensor& A, std::string_view p);
/// The inverse, and the solution, of tensors seen as matrices: their first `ind` dims against the rest.
Tensor linalg_tensorinv(const Tensor& A, std::int64_t ind = 2);
Tensor linalg_tensorsolve(const Tensor& A, const Tensor& B);

// Matrix norms over the two dims. linalg_matrix_norm takes a dtype of float32 under CUDA's rules, as sum does; the two
// older names are float32 there. ord: "fro", "nuc", or a number: +-2 (singular values), +-1 and +-infinity (columns,
// rows).
Tensor linalg_matrix_norm(const Tensor& A, std::string_view ord = "fro", const Shape& dim = {-2, -1},
                          bool keepdim = false, std::optional<DType> dtype = {});
Tensor linalg_matrix_norm(const Tensor& A, double ord, const Shape& dim = {-2, -1}, bool keepdim = false,
                          std::optional<DType> dtype = {});
Tensor frobenius_norm(const Tensor& input, const Shape& dim = {}, bool keepdim = false);
/// The sum of the singular values.
Tensor nuclear_norm(const Tensor& input, const Shape& dim = {}, bool keepdim = false);
/// Sum of x y along dim, broadcasting. Listed low precision under both rules.
Tensor linalg_vecdot(const Tensor& x, const Tensor& y, std::int64_t dim = -1);

}  // namespace amp
