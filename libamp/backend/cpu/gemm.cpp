// The calls into CBLAS. The only file of libamp that includes cblas.h. A product is cut into blocks of the result, one
// a thread of libamp's own pool, and BLAS computes each block alone: two pools that wake in turns would get in each
// other's way between the ops of a training step.
#include "libamp/backend/cpu/gemm.h"

#include <cblas.h>

#include "libamp/backend/cpu/serial_blas.h"
#include "libamp/core/thread_pool.h"

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

// How many blocks of rows and of columns: the number of threads in two factors, so that blocks are nearly square, which
// reads the least of the operands. Fewer where blocks would be too small for BLAS to be fast.
struct Blocks {
  std::int64_t rows = 1, columns = 1;
};
Blocks blocks_for(std::int64_t m, std::int64_t n, std::int64_t k) {
  constexpr std::int64_t kLeast = 32;                  // rows or columns of a block
  constexpr double kProductsPerThread = 64 * 64 * 64;  // below, waking a thread costs more than it does
  const double products = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  Blocks best;
  double least = 0;
  for (std::int64_t threads = inside_parallel_loop() ? 1 : num_threads(); threads > 1; --threads) {
    if (products < kProductsPerThread * static_cast<double>(threads)) continue;
    for (std::int64_t r = 1; r <= threads; ++r) {
      const std::int64_t c = threads / r;
      if (r * c != threads || (r > 1 && m / r < kLeast) || (c > 1 && n / c < kLeast)) continue;
      const double edge =
          static_cast<double>(m) / static_cast<double>(r) + static_cast<double>(n) / static_cast<double>(c);
      if (least == 0 || edge < least) best = {r, c}, least = edge;
    }
    if (least != 0) break;
  }
  return best;
}

// Start of part `i` of `parts`, on a multiple of what BLAS's kernels take at once.
std::int64_t cut(std::int64_t size, std::int64_t parts, std::int64_t i) {
  constexpr std::int64_t kUnit = 16;
  return i == parts ? size : size * i / parts / kUnit * kUnit;
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
  const int k = as_int(a.columns), ld_out = as_int(std::max<std::int64_t>(ldc, 1));
  as_int(a.rows), as_int(b.columns);
  const Blocks blocks = blocks_for(a.rows, b.columns, a.columns);
  const SerialBlas serial;
  parallel_for(blocks.rows * blocks.columns, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t r = i / blocks.columns, c = i % blocks.columns;
      const std::int64_t row = cut(a.rows, blocks.rows, r), column = cut(b.columns, blocks.columns, c);
      call_blas<C>(ta, tb, static_cast<int>(cut(a.rows, blocks.rows, r + 1) - row),
                   static_cast<int>(cut(b.columns, blocks.columns, c + 1) - column), k, alpha,
                   a.data + row * a.row_step, lda, b.data + column * b.column_step, ldb, beta, out + row * ldc + column,
                   ld_out);
    }
  });
}

template void gemm<float>(const Matrix<float>&, const Matrix<float>&, float*, std::int64_t, float, float);
template void gemm<double>(const Matrix<double>&, const Matrix<double>&, double*, std::int64_t, double, double);

}  // namespace amp::cpu
