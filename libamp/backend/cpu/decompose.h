// Matrix decompositions on plain float64 memory: what the bodies in linalg.cpp run for each matrix of a batch. The
// textbook algorithms that are stable without tuning (Golub, Van Loan, "Matrix Computations"), since these matrices are
// small in training: they are never on the hot path. Matrices are row-major unless said otherwise.
#pragma once
#include <cstdint>
#include <vector>

namespace amp::cpu {

using Doubles = std::vector<double>;

/// Gaussian elimination with partial pivoting, in place: unit lower triangle below the diagonal, upper triangle above.
/// pivots[i]: the row (from 0) exchanged with row i. Returns 0, or 1 + the first column without a usable pivot.
std::int64_t lu_factor(double* a, std::int64_t rows, std::int64_t columns, std::int32_t* pivots);
/// b [n, columns] becomes the solution of A x = b.
void lu_solve(const double* lu, const std::int32_t* pivots, std::int64_t n, double* b, std::int64_t columns);
/// b [n, columns] becomes the solution of T x = b for a triangle T of `a`; `unit`: its diagonal counts as ones.
void solve_triangle(const double* a, std::int64_t n, bool upper, bool unit, double* b, std::int64_t columns);
/// Lower triangle L with L L^T = A, in place, zeros above; reads the lower triangle. Returns 0, or 1 + the first row
/// where A is not positive definite.
std::int64_t cholesky_factor(double* a, std::int64_t n);

/// Householder reflections, in place, as LAPACK's geqrf: R on and above the diagonal, the reflectors' tails below.
/// tau has min(rows, columns) scales.
void householder_factor(double* a, std::int64_t rows, std::int64_t columns, double* tau);
/// q [rows, wide] becomes the first `wide` columns of the product of `count` reflectors of `a` [rows, columns].
void householder_columns(const double* a, std::int64_t rows, std::int64_t columns, const double* tau,
                         std::int64_t count, double* q, std::int64_t wide);

/// A = U diag(s) V^T by one-sided Jacobi rotations; s descends. rows >= columns. u [rows, full_u ? rows : columns],
/// vt [columns, columns].
void jacobi_svd(const double* a, std::int64_t rows, std::int64_t columns, bool full_u, Doubles& u, Doubles& s,
                Doubles& vt);
/// Eigenvalues (ascending) and vectors (columns of v) of the symmetric matrix in the lower triangle of a.
void jacobi_eigen(const double* a, std::int64_t n, Doubles& values, Doubles& v);

}  // namespace amp::cpu
