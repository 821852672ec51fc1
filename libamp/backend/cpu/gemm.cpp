// The calls into CBLAS. The only file of libamp that includes cblas.h.
#include "libamp/backend/cpu/gemm.h"

#include <cblas.h>

namespace amp::cpu {
namespace {

template <typename C>
void call_blas(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m, int n, int k, C alpha, const C* a, int lda, const C* b,
               int ldb, C beta, C* c, int ldc) {
  if constexpr (std::is_same_v<C, float>)
    cblas_sgemm(CblasRowMajor, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  else
    cblas_dgemm(CblasRowMajor, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

int as_int(std::int64_t value) {
  if (value > 0x7fffffff) fail(ErrorCode::runtime, "gemm", "matrix dimension above 2^31: got " + std::to_string(value));
  return static_cast<int>(value);
}

// Leading dimension and transposition of an operand. A single row or column may have any step there.
template <typename C>
std::pair<CBLAS_TRANSPOSE, int> layout(const Matrix<C>& m) {
  const bool plain = m.column_step == 1 || m.columns == 1;
  if (plain && (m.column_step == 1 || m.row_step != 1 || m.rows == 1))
    return {CblasNoTrans, as_int(std::max<std::int64_t>({m.rows == 1 ? 1 : m.row_step, m.columns, 1}))};
  return {CblasTrans, as_int(std::max<std::int64_t>({m.columns == 1 ? 1 : m.column_step, m.rows, 1}))};
}

}  // namespace

template <typename C>
void gemm(const Matrix<C>& a, const Matrix<C>& b, C* out, std::int64_t ldc, C alpha, C beta) {
  if (a.rows == 0 || b.columns == 0) return;
  if (a.columns == 0) {
    for (std::int64_t r = 0; r < a.rows; ++r)
      for (std::int64_t c = 0; c < b.columns; ++c) out[r * ldc + c] = beta == C(0) ? C(0) : beta * out[r * ldc + c];
    return;
  }
  const auto [ta, lda] = layout(a);
  const auto [tb, ldb] = layout(b);
  call_blas<C>(ta, tb, as_int(a.rows), as_int(b.columns), as_int(a.columns), alpha, a.data, lda, b.data, ldb, beta, out,
               as_int(std::max<std::int64_t>(ldc, 1)));
}

template void gemm<float>(const Matrix<float>&, const Matrix<float>&, float*, std::int64_t, float, float);
template void gemm<double>(const Matrix<double>&, const Matrix<double>&, double*, std::int64_t, double, double);

}  // namespace amp::cpu
