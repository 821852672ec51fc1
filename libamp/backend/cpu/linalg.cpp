// Bodies of linear algebra: solving, inverting and decomposing the matrices of a batch. Each matrix is computed in
// float64 (decompose.h) and rounded once, so that float32 results have all their digits. float32 and float64, as in
// PyTorch: half precision has no use here.
#include <algorithm>

#include "libamp/backend/cpu/decompose.h"
#include "libamp/backend/cpu/dense.h"

namespace amp::cpu {
namespace {

struct Batch {
  std::int64_t count = 1, rows = 0, columns = 0;
  Shape leading;
};

Batch batch_of(const OpCall& call, const Tensor& a, bool square) {
  if (a.dtype() != DType::float32 && a.dtype() != DType::float64)
    call.fail("is implemented for float32 and float64: got " + describe(a), ErrorCode::not_implemented);
  if (a.dim() < 2) call.fail("needs a matrix or a batch of them: got " + describe(a));
  Batch b;
  b.rows = a.size(-2);
  b.columns = a.size(-1);
  if (square && b.rows != b.columns) call.fail("needs square matrices: got " + describe(a));
  for (int d = 0; d + 2 < a.dim(); ++d) b.leading.push_back(a.size(d));
  b.count = numel_of(b.leading);
  return b;
}

Shape sizes_of(const Batch& b, std::initializer_list<std::int64_t> last) {
  Shape sizes = b.leading;
  for (const auto n : last) sizes.push_back(n);
  return sizes;
}

void store(const Tensor& out, std::int64_t matrix, const Doubles& values) {
  const auto n = static_cast<std::int64_t>(values.size());
  store_from<double>(out.raw(), out.dtype(), matrix * n, 1, n, values.data());
}

// Calls run(index, a copy of the matrix) for each matrix of the batch; in order, since errors name the first.
template <typename F>
void for_matrices(const Tensor& a, const Batch& b, F run) {
  const Wide<double> wide(a);
  const std::int64_t n = b.rows * b.columns;
  for (std::int64_t i = 0; i < b.count; ++i) run(i, Doubles(wide.data() + i * n, wide.data() + (i + 1) * n));
}

// What went wrong with one matrix: an error, or a number in `info` where the caller looks at that.
void report(const OpCall& call, const Tensor& info, std::int64_t matrix, std::int64_t code, const char* what) {
  if (code != 0 && call.attributes.flag("check_errors", true))
    call.fail("matrix " + std::to_string(matrix) + " of the batch " + what + " (at row " + std::to_string(code) +
              "): got " + describe(call.in(0)));
  info.data<std::int32_t>()[matrix] = static_cast<std::int32_t>(code);
}

void require_same(const OpCall& call, const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype())
    call.fail("operands must have the same dtype: got " + describe(a) + " and " + describe(b));
}

// Both operands with their batch dims broadcast to each other.
struct Pair {
  Tensor a, b;
  Batch batch;
  std::int64_t columns = 0;  // of b
};
Pair broadcast_pair(const OpCall& call, bool left) {
  Pair p{call.in(0), call.in(1), batch_of(call, call.in(0), true), 0};
  require_same(call, p.a, p.b);
  const Batch other = batch_of(call, p.b, false);
  if ((left ? other.rows : other.columns) != p.batch.rows)
    call.fail("the two do not fit: got " + describe(p.a) + " and " + describe(p.b));
  p.batch.leading = broadcast_shapes(p.batch.leading, other.leading, call.info().name);
  p.batch.count = numel_of(p.batch.leading);
  p.columns = left ? other.columns : other.rows;
  const auto spread = [&](const Tensor& t) {
    const Shape sizes = sizes_of(p.batch, {t.size(-2), t.size(-1)});
    Shape strides = sizes;
    const int extra = sizes.size() - t.dim();
    for (int d = 0; d < sizes.size(); ++d)
      strides[d] = d < extra || t.sizes()[d - extra] != sizes[d] ? 0 : t.strides()[d - extra];
    return make_view(t, sizes, strides, t.impl()->offset);
  };
  p.a = spread(p.a);
  p.b = spread(p.b);
  return p;
}

Doubles turned(const Doubles& m, std::int64_t rows, std::int64_t columns) {
  Doubles t(m.size());
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      t[static_cast<std::size_t>(j * rows + i)] = m[static_cast<std::size_t>(i * columns + j)];
  return t;
}

}  // namespace

// Outputs: the inverse, and for each matrix 0 or where elimination failed (int32).
Tensors linalg_inv(const OpCall& call) {
  const Tensor& a = call.in(0);
  const Batch b = batch_of(call, a, true);
  const Tensor out = make_output(call, a.sizes(), a.dtype()), info = empty(b.leading, DType::int32);
  std::vector<std::int32_t> pivots(static_cast<std::size_t>(b.rows));
  for_matrices(a, b, [&](std::int64_t i, Doubles m) {
    report(call, info, i, lu_factor(m.data(), b.rows, b.rows, pivots.data()), "is singular");
    Doubles inverse(m.size(), 0.0);
    for (std::int64_t d = 0; d < b.rows; ++d) inverse[static_cast<std::size_t>(d * b.rows + d)] = 1;
    lu_solve(m.data(), pivots.data(), b.rows, inverse.data(), b.rows);
    store(out, i, inverse);
  });
  return {out, info};
}

// Inputs: A [..., n, n] and b [..., n, columns].
Tensors linalg_solve(const OpCall& call) {
  const Pair p = broadcast_pair(call, true);
  const std::int64_t n = p.batch.rows;
  const Tensor out = make_output(call, p.b.sizes(), p.b.dtype()), info = empty(p.batch.leading, DType::int32);
  const Wide<double> right(p.b);
  std::vector<std::int32_t> pivots(static_cast<std::size_t>(n));
  for_matrices(p.a, p.batch, [&](std::int64_t i, Doubles m) {
    report(call, info, i, lu_factor(m.data(), n, n, pivots.data()), "is singular");
    Doubles x(right.data() + i * n * p.columns, right.data() + (i + 1) * n * p.columns);
    lu_solve(m.data(), pivots.data(), n, x.data(), p.columns);
    store(out, i, x);
  });
  return {out};
}

// Inputs: A, of which one triangle is read, and b. Attributes upper, left, unitriangular.
Tensors linalg_solve_triangular(const OpCall& call) {
  const bool left = call.attributes.flag("left", true), upper = call.attributes.flag("upper", false),
             unit = call.attributes.flag("unitriangular", false);
  const Pair p = broadcast_pair(call, left);
  const std::int64_t n = p.batch.rows;
  const Tensor out = make_output(call, p.b.sizes(), p.b.dtype());
  const Wide<double> right(p.b);
  for_matrices(p.a, p.batch, [&](std::int64_t i, const Doubles& m) {
    Doubles x(right.data() + i * n * p.columns, right.data() + (i + 1) * n * p.columns);
    if (left) {
      solve_triangle(m.data(), n, upper, unit, x.data(), p.columns);
      store(out, i, x);
      return;
    }
    // x A = b turned around: A^T x^T = b^T.
    Doubles around = turned(x, p.columns, n);
    solve_triangle(turned(m, n, n).data(), n, !upper, unit, around.data(), p.columns);
    store(out, i, turned(around, n, p.columns));
  });
  return {out};
}

// Outputs: L (or its transpose with `upper`), info.
Tensors linalg_cholesky(const OpCall& call) {
  const Tensor& a = call.in(0);
  const Batch b = batch_of(call, a, true);
  const bool upper = call.attributes.flag("upper", false);
  const Tensor out = make_output(call, a.sizes(), a.dtype()), info = empty(b.leading, DType::int32);
  for_matrices(a, b, [&](std::int64_t i, Doubles m) {
    if (upper) m = turned(m, b.rows, b.rows);
    report(call, info, i, cholesky_factor(m.data(), b.rows), "is not positive definite");
    store(out, i, upper ? turned(m, b.rows, b.rows) : m);
  });
  return {out, info};
}

// Outputs: the two triangles in one matrix, pivots as LAPACK counts them (from 1), info.
Tensors linalg_lu_factor(const OpCall& call) {
  const Tensor& a = call.in(0);
  const Batch b = batch_of(call, a, false);
  const std::int64_t k = std::min(b.rows, b.columns);
  const Tensor out = make_output(call, a.sizes(), a.dtype()), pivots = empty(sizes_of(b, {k}), DType::int32),
               info = empty(b.leading, DType::int32);
  for_matrices(a, b, [&](std::int64_t i, Doubles m) {
    std::int32_t* own = pivots.data<std::int32_t>() + i * k;
    report(call, info, i, lu_factor(m.data(), b.rows, b.columns, own), "is singular");
    for (std::int64_t d = 0; d < k; ++d) ++own[d];
    store(out, i, m);
  });
  return {out, pivots, info};
}

// Outputs: reflectors and R in one matrix, tau.
Tensors geqrf(const OpCall& call) {
  const Tensor& a = call.in(0);
  const Batch b = batch_of(call, a, false);
  const std::int64_t k = std::min(b.rows, b.columns);
  const Tensor out = make_output(call, a.sizes(), a.dtype()), scales = empty(sizes_of(b, {k}), a.dtype());
  for_matrices(a, b, [&](std::int64_t i, Doubles m) {
    Doubles tau(static_cast<std::size_t>(k));
    householder_factor(m.data(), b.rows, b.columns, tau.data());
    store(out, i, m);
    store(scales, i, tau);
  });
  return {out, scales};
}

// Outputs: Q and R. Attribute mode: reduced, complete or r (an empty Q).
Tensors linalg_qr(const OpCall& call) {
  const Tensor& a = call.in(0);
  const Batch b = batch_of(call, a, false);
  const std::string mode = call.attributes.text("mode", "reduced");
  const std::int64_t k = std::min(b.rows, b.columns), wide = mode == "complete" ? b.rows : k;
  const Tensor q = empty(mode == "r" ? Shape{0} : sizes_of(b, {b.rows, wide}), a.dtype()),
               r = empty(sizes_of(b, {wide, b.columns}), a.dtype());
  for_matrices(a, b, [&](std::int64_t i, Doubles m) {
    Doubles tau(static_cast<std::size_t>(k)), columns(static_cast<std::size_t>(b.rows * wide)),
        triangle(static_cast<std::size_t>(wide * b.columns), 0.0);
    householder_factor(m.data(), b.rows, b.columns, tau.data());
    for (std::int64_t row = 0; row < k; ++row)
      for (std::int64_t c = row; c < b.columns; ++c)
        triangle[static_cast<std::size_t>(row * b.columns + c)] = m[static_cast<std::size_t>(row * b.columns + c)];
    store(r, i, triangle);
    if (mode == "r") return;
    householder_columns(m.data(), b.rows, b.columns, tau.data(), k, columns.data(), wide);
    store(q, i, columns);
  });
  return {q, r};
}

// Outputs: U, S (descending), V^T. Attribute full_matrices: all columns of U and all rows of V^T.
Tensors linalg_svd(const OpCall& call) {
  const Tensor& a = call.in(0);
  const Batch b = batch_of(call, a, false);
  const bool full = call.attributes.flag("full_matrices", false), wide = b.columns > b.rows;
  const std::int64_t k = std::min(b.rows, b.columns);
  const Tensor u = empty(sizes_of(b, {b.rows, full ? b.rows : k}), a.dtype()), s = empty(sizes_of(b, {k}), a.dtype()),
               vt = empty(sizes_of(b, {full ? b.columns : k, b.columns}), a.dtype());
  for_matrices(a, b, [&](std::int64_t i, Doubles m) {
    for (const double x : m)
      if (!(x - x == 0)) call.fail("needs finite matrices: got " + describe(a) + " with NaN or infinity in it");
    // A wide matrix is decomposed turned around: A^T = V S U^T.
    Doubles left, sizes, right;
    jacobi_svd(wide ? turned(m, b.rows, b.columns).data() : m.data(), std::max(b.rows, b.columns), k, full, left, sizes,
               right);
    const std::int64_t big = std::max(b.rows, b.columns), left_columns = full ? big : k;
    store(s, i, sizes);
    store(u, i, wide ? turned(right, k, k) : left);
    store(vt, i, wide ? turned(left, big, left_columns) : right);
  });
  return {u, s, vt};
}

// Outputs: eigenvalues (ascending), eigenvectors as columns. Attribute UPLO: the triangle that is read.
Tensors linalg_eigh(const OpCall& call) {
  const Tensor& a = call.in(0);
  const Batch b = batch_of(call, a, true);
  const bool upper = call.attributes.text("UPLO", "L") == "U";
  const Tensor values = empty(sizes_of(b, {b.rows}), a.dtype()), vectors = empty(a.sizes(), a.dtype());
  for_matrices(a, b, [&](std::int64_t i, const Doubles& m) {
    Doubles own, columns;
    jacobi_eigen(upper ? turned(m, b.rows, b.rows).data() : m.data(), b.rows, own, columns);
    store(values, i, own);
    store(vectors, i, columns);
  });
  return {values, vectors};
}

// The pseudo-inverse V diag(1 / s) U^T over the singular values above the tolerance.
Tensors linalg_pinv(const OpCall& call) {
  const Tensor& a = call.in(0);
  const Batch b = batch_of(call, a, false);
  const bool wide = b.columns > b.rows;
  const std::int64_t big = std::max(b.rows, b.columns), k = std::min(b.rows, b.columns);
  const double eps = a.dtype() == DType::float64 ? 0x1p-52 : 0x1p-23;
  const double atol = call.attributes.number("atol", 0);
  const double rtol = call.attributes.number("rtol", atol > 0 ? 0 : eps * static_cast<double>(big));
  const Tensor out = make_output(call, sizes_of(b, {b.columns, b.rows}), a.dtype());
  for_matrices(a, b, [&](std::int64_t i, const Doubles& m) {
    Doubles u, s, vt;
    jacobi_svd(wide ? turned(m, b.rows, b.columns).data() : m.data(), big, k, false, u, s, vt);
    const double tolerance = std::max(atol, k > 0 ? rtol * s[0] : 0);
    Doubles inverse(static_cast<std::size_t>(k * big), 0.0);  // [k, big]
    for (std::int64_t j = 0; j < k && s[static_cast<std::size_t>(j)] > tolerance; ++j)
      for (std::int64_t row = 0; row < k; ++row)
        for (std::int64_t c = 0; c < big; ++c)
          inverse[static_cast<std::size_t>(row * big + c)] += vt[static_cast<std::size_t>(j * k + row)] *
                                                              u[static_cast<std::size_t>(c * k + j)] /
                                                              s[static_cast<std::size_t>(j)];
    store(out, i, wide ? turned(inverse, k, big) : inverse);
  });
  return {out};
}

}  // namespace amp::cpu
