// Matrix products through CBLAS with PyTorch's half precision meaning: operands are widened to float32, products are
// accumulated in float32, and the result is rounded once.
#pragma once
#include <cstdint>

#include "libamp/core/tensor.h"

namespace amp::cpu {

/// A row-major matrix operand, possibly transposed: element (r, c) is data[r * row_step + c * column_step].
/// One of the steps must be 1 (else use as_matrix, which copies).
template <typename C>
struct Matrix {
  const C* data;
  std::int64_t rows, columns;
  std::int64_t row_step, column_step;
};

/// out[m, n] (row-major, `ldc` elements a row) = alpha * a x b + beta * out, for C in float, double.
template <typename C>
void gemm(const Matrix<C>& a, const Matrix<C>& b, C* out, std::int64_t ldc, C alpha = 1, C beta = 0);

/// True for the types gemm itself works in.
inline bool is_gemm_type(DType dtype) { return dtype == DType::float32 || dtype == DType::float64; }

/// A 2-dim (or batched, [..., rows, columns]) operand made ready for gemm: widened to C and brought to unit step in one
/// dim where needed. Keeps the tensor or the workspace alive.
template <typename C>
class Operand2D {
 public:
  explicit Operand2D(const Tensor& tensor);
  /// Matrix number `batch` counted over the leading dims in row-major order, broadcast to `batch_sizes`.
  [[nodiscard]] Matrix<C> matrix(std::int64_t batch, const Shape& batch_sizes) const;

 private:
  Tensor tensor_;
  std::unique_ptr<Workspace> widened_;
  const C* data_;
  Shape sizes_, strides_;
};

/// Runs f(C* result) on float32 memory that ends up rounded in `out` (contiguous): out's own memory if it has type C.
template <typename C, typename F>
void with_result(const Tensor& out, F&& f);

}  // namespace amp::cpu
#include "libamp/backend/cpu/gemm_inl.h"
