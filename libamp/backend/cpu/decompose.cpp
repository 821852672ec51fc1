// The decompositions of decompose.h.
#include "libamp/backend/cpu/decompose.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace amp::cpu {
namespace {

constexpr double kEps = std::numeric_limits<double>::epsilon();
constexpr int kMostSweeps = 60;  // Jacobi converges in about ten

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

double dot(const double* x, const double* y, std::int64_t n) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += x[i] * y[i];
  return sum;
}

// Turns the pair of vectors by the angle with this cosine and sine.
void rotate(double* x, double* y, std::int64_t n, double cosine, double sine) {
  for (std::int64_t i = 0; i < n; ++i) {
    const double a = x[i], b = y[i];
    x[i] = cosine * a - sine * b;
    y[i] = sine * a + cosine * b;
  }
}

// The rotation that makes the off-diagonal entry of [[a, c], [c, b]] zero.
void jacobi_angle(double a, double b, double c, double& cosine, double& sine) {
  const double zeta = (b - a) / (2 * c);
  const double t = std::copysign(1.0, zeta) / (std::abs(zeta) + std::hypot(1.0, zeta));
  cosine = 1 / std::hypot(1.0, t);
  sine = cosine * t;
}

// Columns first .. count of `columns` (each of length m, one after the other) are replaced by unit vectors orthogonal
// to all before them: coordinate vectors, orthogonalised twice.
void complete_columns(Doubles& columns, std::int64_t m, std::int64_t first, std::int64_t count) {
  std::int64_t next = 0;
  for (std::int64_t k = first; k < count; ++k) {
    double* column = columns.data() + k * m;
    for (; next < m; ++next) {
      std::fill_n(column, m, 0.0);
      column[next] = 1;
      for (int twice = 0; twice < 2; ++twice)
        for (std::int64_t j = 0; j < k; ++j) {
          const double* other = columns.data() + j * m;
          const double along = dot(column, other, m);
          for (std::int64_t i = 0; i < m; ++i) column[i] -= along * other[i];
        }
      const double length = std::sqrt(dot(column, column, m));
      // Of the coordinate vectors, one keeps at least 1 / sqrt(m) of its length.
      if (length * length * 2 * static_cast<double>(m) < 1) continue;
      for (std::int64_t i = 0; i < m; ++i) column[i] /= length;
      ++next;
      break;
    }
  }
}

Doubles transposed(const Doubles& a, std::int64_t rows, std::int64_t columns) {
  Doubles result(a.size());
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) result[at(j * rows + i)] = a[at(i * columns + j)];
  return result;
}

std::vector<std::int64_t> sorted_positions(const Doubles& values, bool descending) {
  std::vector<std::int64_t> order(values.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return descending ? values[at(a)] > values[at(b)] : values[at(a)] < values[at(b)];
  });
  return order;
}

}  // namespace

std::int64_t lu_factor(double* a, std::int64_t rows, std::int64_t columns, std::int32_t* pivots) {
  std::int64_t bad = 0;
  for (std::int64_t k = 0; k < std::min(rows, columns); ++k) {
    std::int64_t best = k;
    for (std::int64_t i = k + 1; i < rows; ++i)
      if (std::abs(a[i * columns + k]) > std::abs(a[best * columns + k])) best = i;
    pivots[k] = static_cast<std::int32_t>(best);
    if (best != k) std::swap_ranges(a + k * columns, a + (k + 1) * columns, a + best * columns);
    const double pivot = a[k * columns + k];
    if (pivot == 0) {
      if (bad == 0) bad = k + 1;
      continue;
    }
    for (std::int64_t i = k + 1; i < rows; ++i) {
      const double factor = a[i * columns + k] /= pivot;
      for (std::int64_t j = k + 1; j < columns; ++j) a[i * columns + j] -= factor * a[k * columns + j];
    }
  }
  return bad;
}

void solve_triangle(const double* a, std::int64_t n, bool upper, bool unit, double* b, std::int64_t columns) {
  for (std::int64_t step = 0; step < n; ++step) {
    const std::int64_t i = upper ? n - 1 - step : step;
    const std::int64_t begin = upper ? i + 1 : 0, end = upper ? n : i;
    for (std::int64_t j = begin; j < end; ++j)
      for (std::int64_t c = 0; c < columns; ++c) b[i * columns + c] -= a[i * n + j] * b[j * columns + c];
    if (unit) continue;
    for (std::int64_t c = 0; c < columns; ++c) b[i * columns + c] /= a[i * n + i];
  }
}

void lu_solve(const double* lu, const std::int32_t* pivots, std::int64_t n, double* b, std::int64_t columns) {
  for (std::int64_t i = 0; i < n; ++i)
    if (pivots[i] != i) std::swap_ranges(b + i * columns, b + (i + 1) * columns, b + pivots[i] * columns);
  solve_triangle(lu, n, false, true, b, columns);
  solve_triangle(lu, n, true, false, b, columns);
}

std::int64_t cholesky_factor(double* a, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      const double rest = a[i * n + j] - dot(a + i * n, a + j * n, j);
      if (i != j) {
        a[i * n + j] = rest / a[j * n + j];
      } else if (rest > 0) {
        a[i * n + i] = std::sqrt(rest);
      } else {
        return i + 1;
      }
    }
    std::fill(a + i * n + i + 1, a + (i + 1) * n, 0.0);
  }
  return 0;
}

void householder_factor(double* a, std::int64_t rows, std::int64_t columns, double* tau) {
  for (std::int64_t k = 0; k < std::min(rows, columns); ++k) {
    double tail = 0;
    for (std::int64_t i = k + 1; i < rows; ++i) tail += a[i * columns + k] * a[i * columns + k];
    const double head = a[k * columns + k];
    tau[k] = 0;
    if (tail == 0) continue;  // already a multiple of the unit vector: no reflection, as LAPACK
    const double beta = -std::copysign(std::sqrt(head * head + tail), head);
    tau[k] = (beta - head) / beta;
    for (std::int64_t i = k + 1; i < rows; ++i) a[i * columns + k] /= head - beta;
    a[k * columns + k] = beta;
    for (std::int64_t j = k + 1; j < columns; ++j) {
      double along = a[k * columns + j];
      for (std::int64_t i = k + 1; i < rows; ++i) along += a[i * columns + k] * a[i * columns + j];
      along *= tau[k];
      a[k * columns + j] -= along;
      for (std::int64_t i = k + 1; i < rows; ++i) a[i * columns + j] -= along * a[i * columns + k];
    }
  }
}

void householder_columns(const double* a, std::int64_t rows, std::int64_t columns, const double* tau,
                         std::int64_t count, double* q, std::int64_t wide) {
  std::fill_n(q, rows * wide, 0.0);
  for (std::int64_t i = 0; i < std::min(rows, wide); ++i) q[i * wide + i] = 1;
  for (std::int64_t k = count - 1; k >= 0; --k)
    for (std::int64_t j = 0; j < wide; ++j) {
      double along = q[k * wide + j];
      for (std::int64_t i = k + 1; i < rows; ++i) along += a[i * columns + k] * q[i * wide + j];
      along *= tau[k];
      q[k * wide + j] -= along;
      for (std::int64_t i = k + 1; i < rows; ++i) q[i * wide + j] -= along * a[i * columns + k];
    }
}

void jacobi_svd(const double* a, std::int64_t rows, std::int64_t columns, bool full_u, Doubles& u, Doubles& s,
                Doubles& vt) {
  // Columns of A, one after the other, are turned until they are orthogonal; V collects the turns.
  Doubles turned = transposed(Doubles(a, a + rows * columns), rows, columns), v(at(columns * columns), 0.0);
  for (std::int64_t j = 0; j < columns; ++j) v[at(j * columns + j)] = 1;
  bool moved = true;
  for (int sweep = 0; moved && sweep < kMostSweeps; ++sweep) {
    moved = false;
    for (std::int64_t p = 0; p < columns; ++p)
      for (std::int64_t q = p + 1; q < columns; ++q) {
        double *x = turned.data() + p * rows, *y = turned.data() + q * rows;
        const double xx = dot(x, x, rows), yy = dot(y, y, rows), xy = dot(x, y, rows);
        if (!(std::abs(xy) > kEps * std::sqrt(xx * yy))) continue;
        moved = true;
        double cosine, sine;
        jacobi_angle(xx, yy, xy, cosine, sine);
        rotate(x, y, rows, cosine, sine);
        rotate(v.data() + p * columns, v.data() + q * columns, columns, cosine, sine);
      }
  }
  Doubles sizes;
  for (std::int64_t j = 0; j < columns; ++j)
    sizes.push_back(std::sqrt(dot(turned.data() + j * rows, turned.data() + j * rows, rows)));
  const auto order = sorted_positions(sizes, true);
  const std::int64_t wide = full_u ? rows : columns;
  Doubles left(at(wide * rows), 0.0);
  s.clear(), vt.clear();
  std::int64_t rank = 0;
  for (const std::int64_t j : order) {
    const double size = sizes[at(j)];
    // Below rounding of the largest a direction is noise: it is replaced by one that is orthogonal to the others.
    const bool counts = size > kEps * static_cast<double>(rows) * sizes[at(order[0])];
    if (counts)
      for (std::int64_t i = 0; i < rows; ++i) left[at(rank * rows + i)] = turned[at(j * rows + i)] / size;
    rank += counts ? 1 : 0;
    s.push_back(size);
    vt.insert(vt.end(), v.begin() + j * columns, v.begin() + (j + 1) * columns);
  }
  complete_columns(left, rows, rank, wide);
  u = transposed(left, wide, rows);
}

void jacobi_eigen(const double* a, std::int64_t n, Doubles& values, Doubles& v) {
  Doubles m(at(n * n)), vectors(at(n * n), 0.0);  // vectors: one after the other
  for (std::int64_t i = 0; i < n; ++i) {
    vectors[at(i * n + i)] = 1;
    for (std::int64_t j = 0; j <= i; ++j) m[at(i * n + j)] = m[at(j * n + i)] = a[i * n + j];
  }
  double size = 0;
  for (const double x : m) size += x * x;
  size = std::sqrt(size);
  bool moved = true;
  for (int sweep = 0; moved && sweep < kMostSweeps; ++sweep) {
    moved = false;
    for (std::int64_t p = 0; p < n; ++p)
      for (std::int64_t q = p + 1; q < n; ++q) {
        const double off = m[at(p * n + q)];
        if (!(std::abs(off) > kEps * 1e-3 * size)) continue;
        moved = true;
        double cosine, sine;
        jacobi_angle(m[at(p * n + p)], m[at(q * n + q)], off, cosine, sine);
        rotate(m.data() + p * n, m.data() + q * n, n, cosine, sine);
        for (std::int64_t i = 0; i < n; ++i) {
          double &x = m[at(i * n + p)], &y = m[at(i * n + q)];
          rotate(&x, &y, 1, cosine, sine);
        }
        rotate(vectors.data() + p * n, vectors.data() + q * n, n, cosine, sine);
      }
  }
  Doubles diagonal;
  for (std::int64_t i = 0; i < n; ++i) diagonal.push_back(m[at(i * n + i)]);
  const auto order = sorted_positions(diagonal, false);
  values.clear();
  v.assign(at(n * n), 0.0);
  for (std::int64_t k = 0; k < n; ++k) {
    values.push_back(diagonal[at(order[at(k)])]);
    for (std::int64_t i = 0; i < n; ++i) v[at(i * n + k)] = vectors[at(order[at(k)] * n + i)];
  }
}

}  // namespace amp::cpu
