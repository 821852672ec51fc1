// Products of small matrices that lie in cache, as convolutions make them by the thousand. BLAS first copies its
// operands into an order of its own, which for a few dozen rows costs as much as the product; here they are read where
// they are.
#pragma once
#include <algorithm>

#include "libamp/backend/cpu/gemm.h"

namespace amp::cpu {

/// out[m, n] (row-major, `ldc` elements a row) = a x b, or += if `add`. Small products of float run in the kernels of
/// tile_product.cpp, all others through gemm.
template <typename C>
void tile_product(const Matrix<C>& a, const Matrix<C>& b, C* out, std::int64_t ldc, bool add);

/// to[columns, rows] (contiguous) = factor * the transpose of from[rows, columns] (`step` elements a row).
template <typename C>
void transpose_tile(const C* from, std::int64_t step, std::int64_t rows, std::int64_t columns, C factor, C* to) {
  constexpr std::int64_t kAtOnce = 8;  // rows read side by side, so that writes are in runs
  for (std::int64_t r = 0; r < rows; r += kAtOnce) {
    const std::int64_t n = std::min(kAtOnce, rows - r);
    for (std::int64_t c = 0; c < columns; ++c)
      for (std::int64_t i = 0; i < n; ++i) to[c * rows + r + i] = factor * from[(r + i) * step + c];
  }
}

}  // namespace amp::cpu
