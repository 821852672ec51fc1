// Register blocks in the manner of Goto and van de Geijn (2008), without their packing: a block of the result stays in
// vector registers while the inner dimension is walked once: 6 rows x 16 columns, one element of `a` against two
// vectors of `b` at a time. Compiled with products and sums contracted (see libamp/CMakeLists.txt).
#include "libamp/backend/cpu/tile_product.h"

#include <algorithm>
#include <cstring>

// The vectors stay inside this file: how they would be passed without AVX does not matter.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace amp::cpu {
namespace {

constexpr std::int64_t kLanes = 8;
typedef float Vector __attribute__((vector_size(kLanes * sizeof(float))));

inline Vector load(const float* p) {
  Vector v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
inline void store(float* p, Vector v) { std::memcpy(p, &v, sizeof v); }

struct Steps {
  std::int64_t row, column;
};

// kRows x (kVectors * 8) results.
template <int kRows, int kVectors>
void block_of_rows(const float* a, Steps sa, const float* b, std::int64_t ldb, float* out, std::int64_t ldc,
                   std::int64_t k, bool add) {
  Vector sums[kRows][kVectors];
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kVectors; ++v) sums[r][v] = add ? load(out + r * ldc + v * kLanes) : Vector{};
  for (std::int64_t i = 0; i < k; ++i) {
    Vector bs[kVectors];
    for (int v = 0; v < kVectors; ++v) bs[v] = load(b + i * ldb + v * kLanes);
    for (int r = 0; r < kRows; ++r) {
      const float x = a[r * sa.row + i * sa.column];
      for (int v = 0; v < kVectors; ++v) sums[r][v] += x * bs[v];
    }
  }
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kVectors; ++v) store(out + r * ldc + v * kLanes, sums[r][v]);
}

// All rows against kVectors * 8 columns.
template <int kVectors>
void strip(const Matrix<float>& a, const float* b, std::int64_t ldb, float* out, std::int64_t ldc, bool add) {
  const Steps sa{a.row_step, a.column_step};
  const std::int64_t k = a.columns;
  std::int64_t r = 0;
  for (; r + 6 <= a.rows; r += 6)
    block_of_rows<6, kVectors>(a.data + r * sa.row, sa, b, ldb, out + r * ldc, ldc, k, add);
  const float* rest = a.data + r * sa.row;
  float* to = out + r * ldc;
  switch (a.rows - r) {
    case 1:
      return block_of_rows<1, kVectors>(rest, sa, b, ldb, to, ldc, k, add);
    case 2:
      return block_of_rows<2, kVectors>(rest, sa, b, ldb, to, ldc, k, add);
    case 3:
      return block_of_rows<3, kVectors>(rest, sa, b, ldb, to, ldc, k, add);
    case 4:
      return block_of_rows<4, kVectors>(rest, sa, b, ldb, to, ldc, k, add);
    case 5:
      return block_of_rows<5, kVectors>(rest, sa, b, ldb, to, ldc, k, add);
    default:
      return;
  }
}

// b's rows are contiguous.
void product_by_rows(const Matrix<float>& a, const Matrix<float>& b, float* out, std::int64_t ldc, bool add) {
  std::int64_t c = 0;
  for (; c + 2 * kLanes <= b.columns; c += 2 * kLanes) strip<2>(a, b.data + c, b.row_step, out + c, ldc, add);
  for (; c + kLanes <= b.columns; c += kLanes) strip<1>(a, b.data + c, b.row_step, out + c, ldc, add);
  const auto rest = static_cast<std::size_t>(b.columns - c);
  if (rest == 0) return;
  // The last columns, filled up with zeros to a vector.
  const Workspace memory(static_cast<std::size_t>((b.rows + a.rows) * kLanes) * sizeof(float), true);
  float* columns = memory.data<float>();
  float* results = columns + b.rows * kLanes;
  std::fill_n(columns, (b.rows + a.rows) * kLanes, 0.0f);
  for (std::int64_t i = 0; i < b.rows; ++i) std::copy_n(b.data + i * b.row_step + c, rest, columns + i * kLanes);
  if (add)
    for (std::int64_t r = 0; r < a.rows; ++r) std::copy_n(out + r * ldc + c, rest, results + r * kLanes);
  strip<1>(a, columns, kLanes, results, kLanes, add);
  for (std::int64_t r = 0; r < a.rows; ++r) std::copy_n(results + r * kLanes, rest, out + r * ldc + c);
}

}  // namespace

template <typename C>
void tile_product(const Matrix<C>& a, const Matrix<C>& b, C* out, std::int64_t ldc, bool add) {
  if constexpr (std::is_same_v<C, float>) {
    // Beyond these sizes packing pays, since each packed element is used by many more rows and stays in cache.
    constexpr std::int64_t kMostRows = 256, kLongest = 1024;
    const bool small = a.rows <= kMostRows && a.columns <= kLongest && a.rows > 0 && a.columns > 0 && b.columns > 0;
    if (small && b.column_step == 1) return product_by_rows(a, b, out, ldc, add);
  }
  gemm<C>(a, b, out, ldc, C(1), add ? C(1) : C(0));
}

template void tile_product<float>(const Matrix<float>&, const Matrix<float>&, float*, std::int64_t, bool);
template void tile_product<double>(const Matrix<double>&, const Matrix<double>&, double*, std::int64_t, bool);

}  // namespace amp::cpu
