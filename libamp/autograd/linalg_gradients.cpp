// Gradients of linear algebra, written with products and solves, so that they can be differentiated again; not
// autocast, since solving needs float32's digits. Sources: Giles, "Collected matrix derivative results for forward and
// reverse mode algorithmic differentiation" (2008); Golub and Pereyra for the pseudo-inverse (1973).
#include "libamp/autocast/scope.h"
#include "libamp/autograd/gradient.h"

namespace amp::gradients {
namespace {

Tensor turned(const Tensor& t) { return transpose(t, -2, -1); }
Tensor diagonal_of(const Tensor& t) { return amp::diagonal(t, 0, -2, -1); }
// The lower triangle with half of the diagonal.
Tensor half_lower(const Tensor& t) { return amp::tril(t, -1) + diag_embed(diagonal_of(t) * 0.5); }
// Scales columns, or rows, by a vector.
Tensor columns_by(const Tensor& t, const Tensor& by) { return t * unsqueeze(by, -2); }
Tensor rows_by(const Tensor& t, const Tensor& by) { return t * unsqueeze(by, -1); }

// 1 / (b_j - a_i) off the diagonal, 0 on it.
Tensor reciprocal_gaps(const Tensor& values) {
  const Tensor gaps = unsqueeze(values, -2) - unsqueeze(values, -1);
  const Tensor own = eye(values.size(-1), {.dtype = DType::bool_});
  return amp::masked_fill(1 / amp::masked_fill(gaps, own, 1), own, 0);
}

// A = Q R with R square and not singular.
Tensor tall_qr(const Tensor& q, const Tensor& r, const Tensor& gq, const Tensor& gr) {
  Tensor m;
  if (gr.defined()) m = matmul(gr, turned(r));
  if (gq.defined()) m = m.defined() ? m - matmul(turned(q), gq) : -matmul(turned(q), gq);
  // The upper triangle mirrored into the lower one.
  const Tensor above = amp::triu(m);
  Tensor gradient = matmul(q, above + turned(above) - diag_embed(diagonal_of(above)));
  if (gq.defined()) gradient = gradient + gq;
  return amp::linalg_solve_triangular(turned(r), gradient, false, false);
}

}  // namespace

Tensors linalg_inv(const GradCall& g) {
  const AutocastSuspended suspended;
  const Tensor around = turned(g.out());
  return {-matmul(around, matmul(g.grad(), around))};
}

Tensors linalg_solve(const GradCall& g) {
  const AutocastSuspended suspended;
  const Tensor gb = amp::linalg_solve(turned(g.in(0)), g.grad());
  return {g.needs(0) ? -matmul(gb, turned(g.out())) : Tensor(), gb};
}

Tensors linalg_solve_triangular(const GradCall& g) {
  const AutocastSuspended suspended;
  const bool upper = g.attributes().flag("upper", false), left = g.attributes().flag("left", true),
             unit = g.attributes().flag("unitriangular", false);
  const Tensor gb = amp::linalg_solve_triangular(turned(g.in(0)), g.grad(), !upper, left, unit);
  Tensor ga;
  if (g.needs(0)) {
    ga = -(left ? matmul(gb, turned(g.out())) : matmul(turned(g.out()), gb));
    ga = upper ? amp::triu(ga, unit ? 1 : 0) : amp::tril(ga, unit ? -1 : 0);
  }
  return {ga, gb};
}

// L^-T half(L^T gL) L^-1, made symmetric.
Tensors linalg_cholesky(const GradCall& g) {
  const AutocastSuspended suspended;
  const bool upper = g.attributes().flag("upper", false);
  const Tensor l = upper ? turned(g.out()) : g.out(), gl = upper ? turned(g.grad()) : g.grad();
  const Tensor inner = half_lower(matmul(turned(l), gl));
  const Tensor right = amp::linalg_solve_triangular(l, inner, false, false);
  const Tensor full = amp::linalg_solve_triangular(turned(l), right, true);
  return {(full + turned(full)) * 0.5};
}

// A = P L U: gA = P L^-T (tril(L^T gL, -1) + triu(gU U^T)) U^-T. Square matrices.
Tensors linalg_lu_factor(const GradCall& g) {
  const AutocastSuspended suspended;
  const Tensor lu = g.out(0), grad = g.grad(0);
  const std::int64_t n = lu.size(-1);
  if (lu.size(-2) != n)
    fail(ErrorCode::not_implemented, "linalg_lu_factor",
         "has a gradient for square matrices only: got " + describe(lu));
  const Tensor one = eye(n, {.dtype = lu.dtype()});
  const Tensor l = amp::tril(lu, -1) + one, u = amp::triu(lu);
  const Tensor inner =
      amp::tril(matmul(turned(l), amp::tril(grad, -1)), -1) + amp::triu(matmul(amp::triu(grad), turned(u)));
  const Tensor left = amp::linalg_solve_triangular(turned(l), inner, true, true, true);
  const Tensor both = amp::linalg_solve_triangular(turned(u), left, false, false);
  // Rows back to where they were before pivoting: the product with the permutation, found by solving with U = L = 1.
  const Tensor plain = expand(one, lu.sizes());
  return {matmul(turned(amp::lu_solve(plain, plain, g.out(1))), both)};
}

Tensors linalg_qr(const GradCall& g) {
  const AutocastSuspended suspended;
  const std::string mode = g.attributes().text("mode", "reduced");
  const Tensor q = g.out(0), r = g.out(1);
  const std::int64_t rows = g.input_sizes(0)[g.input_sizes(0).size() - 2], columns = r.size(-1);
  if (mode == "r" || (mode == "complete" && rows > columns))
    fail(ErrorCode::not_implemented, "linalg_qr",
         "has no gradient in mode '" + mode + "' for these sizes: got " + describe(q) + " and " + describe(r) +
             "; need mode 'reduced'");
  const Tensor gq = g.has_grad(0) ? g.grad(0) : Tensor(), gr = g.has_grad(1) ? g.grad(1) : Tensor();
  if (rows >= columns) return {tall_qr(q, r, gq, gr)};
  // A = [X, Y], X = Q U square, R = [U, Q^T Y]: gY = Q gV, and Y adds Y gV^T to gQ.
  const Tensor u = narrow(r, -1, 0, rows);
  if (!gr.defined()) return {cat({tall_qr(q, u, gq, {}), zeros_like(narrow(r, -1, rows, columns - rows))}, -1)};
  const Tensor gv = narrow(gr, -1, rows, columns - rows), y = matmul(q, narrow(r, -1, rows, columns - rows));
  const Tensor from_y = matmul(y, turned(gv));
  const Tensor gx = tall_qr(q, u, gq.defined() ? gq + from_y : from_y, narrow(gr, -1, 0, rows));
  return {cat({gx, matmul(q, gv)}, -1)};
}

// With F_ij = 1 / (s_j^2 - s_i^2) and J = F * (U^T gU), K = F * (V^T gV):
// gA = U ((J + J^T) S + S (K + K^T) + gS) V^T + (1 - U U^T) gU S^-1 V^T + U S^-1 gV^T (1 - V V^T)
Tensors linalg_svd(const GradCall& g) {
  const AutocastSuspended suspended;
  Tensor u = g.out(0), vh = g.out(2);
  const Tensor s = g.out(1);
  const std::int64_t k = s.size(-1);
  u = narrow(u, -1, 0, k);
  vh = narrow(vh, -2, 0, k);
  Tensor inner, outside;
  if (g.has_grad(1)) inner = diag_embed(g.grad(1));
  const auto add = [](Tensor& sum, const Tensor& term) { sum = sum.defined() ? sum + term : term; };
  const Tensor gaps = g.has_grad(0) || g.has_grad(2) ? reciprocal_gaps(s * s) : Tensor();
  if (g.has_grad(0)) {
    const Tensor gu = narrow(g.grad(0), -1, 0, k), along = matmul(turned(u), gu), j = gaps * along;
    add(inner, columns_by(j + turned(j), s));
    if (u.size(-2) > k) add(outside, matmul(columns_by(gu - matmul(u, along), 1 / s), vh));
  }
  if (g.has_grad(2)) {
    const Tensor gvh = narrow(g.grad(2), -2, 0, k), along = matmul(gvh, turned(vh)), m = gaps * turned(along);
    add(inner, rows_by(m + turned(m), s));
    if (vh.size(-1) > k) add(outside, matmul(u, rows_by(gvh - matmul(along, vh), 1 / s)));
  }
  Tensor gradient = matmul(u, matmul(inner, vh));
  if (outside.defined()) gradient = gradient + outside;
  return {gradient};
}

// V (gw + (V^T gV) / gaps) V^T, made symmetric: the result depends on one triangle, which stands for both.
Tensors linalg_eigh(const GradCall& g) {
  const AutocastSuspended suspended;
  const Tensor w = g.out(0), v = g.out(1);
  Tensor inner;
  if (g.has_grad(0)) inner = diag_embed(g.grad(0));
  if (g.has_grad(1)) {
    const Tensor turn = reciprocal_gaps(w) * matmul(turned(v), g.grad(1));
    inner = inner.defined() ? inner + turn : turn;
  }
  const Tensor full = matmul(v, matmul(inner, turned(v)));
  return {(full + turned(full)) * 0.5};
}

// dP = -P dA P + P P^T dA^T (1 - A P) + (1 - P A) dA^T P^T P
Tensors linalg_pinv(const GradCall& g) {
  const AutocastSuspended suspended;
  const Tensor a = g.in(0), p = g.out(), grad = g.grad(), pt = turned(p), gt = turned(grad);
  const Tensor first = matmul(pt, matmul(grad, pt));
  const Tensor gp = matmul(gt, p), pg = matmul(p, gt);
  const Tensor second = matmul(gt - matmul(a, pg), matmul(p, pt));
  const Tensor third = matmul(matmul(pt, p), gt - matmul(gp, a));
  return {second + third - first};
}

}  // namespace amp::gradients
