// Bodies of linear algebra that are written with other ops, so that their gradients come by themselves.
#include <cmath>

#include "libamp/autocast/scope.h"
#include "libamp/core/grad_mode.h"
#include "libamp/dispatch/run_op.h"
#include "libamp/ops/ops.h"

namespace amp::composite {
namespace {

Tensor turned(const Tensor& t) { return transpose(t, -2, -1); }

// The two dims of a norm moved to the end; `keep` puts them back as size 1.
struct MatrixDims {
  int first = 0, second = 1;
  bool keepdim = false;
};
MatrixDims matrix_dims(const OpCall& call) {
  const Tensor& a = call.in(0);
  Shape dims = call.attributes.list("dim", {});
  if (dims.empty()) dims = {-2, -1};
  if (a.dim() < 2 || dims.size() != 2)
    call.fail("needs a matrix and two dims: got " + describe(a) + " and " + to_string(dims));
  MatrixDims m{wrap_dim(dims[0], a.dim(), call.info().name), wrap_dim(dims[1], a.dim(), call.info().name),
               call.attributes.flag("keepdim", false)};
  if (m.first == m.second) call.fail("the two dims must differ: got " + to_string(dims));
  return m;
}
Tensor put_back(const MatrixDims& m, const Tensor& norm) {
  if (!m.keepdim) return norm;
  return unsqueeze(unsqueeze(norm, std::min(m.first, m.second)), std::max(m.first, m.second));
}
// The singular values of the matrices in those dims.
Tensor singular_values(const Tensor& a, const MatrixDims& m) {
  Shape order;
  for (int d = 0; d < a.dim(); ++d)
    if (d != m.first && d != m.second) order.push_back(d);
  order.push_back(m.first);
  order.push_back(m.second);
  return std::get<1>(linalg_svd(permute(a, order), false));
}

Tensor norm_by_number(const OpCall& call, const Tensor& a, const MatrixDims& m, double ord) {
  const bool smallest = ord < 0;
  if (std::abs(ord) == 2) {
    const Tensor s = singular_values(a, m);
    return put_back(m, smallest ? amin(s, {-1}) : amax(s, {-1}));
  }
  if (std::abs(ord) != 1 && !std::isinf(ord))
    call.fail("unknown order: got " + std::to_string(ord) + ", need +-1, +-2, +-infinity, 'fro' or 'nuc'",
              ErrorCode::value);
  const int summed = std::abs(ord) == 1 ? m.first : m.second, other = std::abs(ord) == 1 ? m.second : m.first;
  const Tensor sums = sum(abs(a), Shape{summed}, true, a.dtype());
  const Tensor best = smallest ? amin(sums, {other}, true) : amax(sums, {other}, true);
  if (m.keepdim) return best;
  return squeeze(squeeze(best, std::max(m.first, m.second)), std::min(m.first, m.second));
}

Tensor norm_by_name(const OpCall& call, const Tensor& a, const MatrixDims& m, const std::string& ord) {
  if (ord == "fro") return norm(a, 2, {m.first, m.second}, m.keepdim, a.dtype());
  if (ord == "nuc") return put_back(m, sum(singular_values(a, m), Shape{-1}, false, a.dtype()));
  call.fail("unknown order: got '" + ord + "', need 'fro' or 'nuc'", ErrorCode::value);
}

Tensor matrix_norm(const OpCall& call, const Tensor& a, const MatrixDims& m) {
  if (call.attributes.has("ord")) return norm_by_number(call, a, m, call.attributes.number("ord", 2));
  return norm_by_name(call, a, m, call.attributes.text("ord_name", "fro"));
}

// The permutation that pivots (from 1) stand for, as a matrix P with A = P L U. Batches: one after the other.
Tensor permutation_matrix(const Tensor& pivots, std::int64_t n, DType dtype) {
  const Tensor dense = contiguous(to(pivots, DType::int32));
  const std::int64_t k = dense.size(-1), count = k == 0 ? 0 : dense.numel() / k;
  std::vector<double> all;
  for (std::int64_t b = 0; b < count; ++b) {
    std::vector<std::int64_t> order;
    for (std::int64_t i = 0; i < n; ++i) order.push_back(i);
    for (std::int64_t i = 0; i < k; ++i)
      std::swap(order[static_cast<std::size_t>(i)],
                order[static_cast<std::size_t>(dense.data<std::int32_t>()[b * k + i] - 1)]);
    std::vector<double> p(static_cast<std::size_t>(n * n), 0.0);
    for (std::int64_t i = 0; i < n; ++i) p[static_cast<std::size_t>(order[static_cast<std::size_t>(i)] * n + i)] = 1;
    all.insert(all.end(), p.begin(), p.end());
  }
  Shape sizes = pivots.sizes();
  sizes[sizes.size() - 1] = n;
  sizes.push_back(n);
  return tensor(all, sizes, {.dtype = dtype});
}

// (1 - tau v v^T) x, v = the reflector in column k.
Tensor reflect(const Tensor& reflectors, const Tensor& tau, std::int64_t k, const Tensor& x) {
  const Tensor v = narrow(reflectors, -1, k, 1);
  const Tensor along = matmul(turned(v), x);
  return x - unsqueeze(narrow(tau, -1, k, 1), -1) * matmul(v, along);
}
// The reflectors themselves: ones on the diagonal, zeros above.
Tensor reflectors_of(const Tensor& input) {
  Shape sizes = input.sizes();
  return tril(input, -1) + eye(sizes[sizes.size() - 2], sizes.back(), {.dtype = input.dtype()});
}

}  // namespace

Tensors triangular_solve(const OpCall& call) {
  const Tensor &b = call.in(0), &a = call.in(1);
  const bool upper = call.attributes.flag("upper", true), turn = call.attributes.flag("transpose", false);
  return {linalg_solve_triangular(turn ? turned(a) : a, b, turn ? !upper : upper, true,
                                  call.attributes.flag("unitriangular", false)),
          a};
}

Tensors cholesky_solve(const OpCall& call) {
  const bool upper = call.attributes.flag("upper", false);
  const Tensor l = upper ? turned(call.in(1)) : call.in(1);
  return {linalg_solve_triangular(turned(l), linalg_solve_triangular(l, call.in(0), false), true)};
}
Tensors cholesky_inverse(const OpCall& call) {
  const Tensor& l = call.in(0);
  const Tensor one = eye(l.size(-1), {.dtype = l.dtype()});
  return {cholesky_solve(expand(one, l.sizes()), l, call.attributes.flag("upper", false))};
}

Tensors lu_with_info(const OpCall& call) { return run_op({OpId::linalg_lu_factor, {call.in(0)}, call.attributes, {}}); }
Tensors lu_solve(const OpCall& call) {
  const AutocastSuspended suspended;  // on no list under CUDA's rules, so its products are not either
  const Tensor &b = call.in(0), &lu = call.in(1);
  const Tensor p = permutation_matrix(call.in(2), lu.size(-1), lu.dtype());
  const Tensor below = linalg_solve_triangular(lu, matmul(turned(p), b), false, true, true);
  return {linalg_solve_triangular(lu, below, true)};
}

Tensors linalg_householder_product(const OpCall& call) {
  const AutocastSuspended suspended;  // on no list under CUDA's rules, so its products are not either
  const Tensor &input = call.in(0), &tau = call.in(1);
  if (input.dim() < 2 || input.size(-2) < input.size(-1) || tau.size(-1) > input.size(-1))
    call.fail("needs at least as many rows as columns, and as columns as scales: got " + describe(input) + " and " +
              describe(tau));
  const Tensor reflectors = reflectors_of(input);
  Tensor q = expand(eye(input.size(-2), input.size(-1), {.dtype = input.dtype()}), input.sizes());
  for (std::int64_t k = tau.size(-1) - 1; k >= 0; --k) q = reflect(reflectors, tau, k, q);
  return {q};
}
Tensors ormqr(const OpCall& call) {
  const AutocastSuspended suspended;  // on no list under CUDA's rules, so its products are not either
  const Tensor &input = call.in(0), &tau = call.in(1);
  const bool left = call.attributes.flag("left", true), turn = call.attributes.flag("transpose", false);
  const Tensor reflectors = reflectors_of(input);
  // C Q = (Q^T C^T)^T
  Tensor x = left ? call.in(2) : turned(call.in(2));
  const bool forward = left == turn;  // Q^T C applies the first reflector first
  const std::int64_t n = tau.size(-1);
  for (std::int64_t k = 0; k < n; ++k) x = reflect(reflectors, tau, forward ? k : n - 1 - k, x);
  return {left ? x : turned(x)};
}

Tensors linalg_svdvals(const OpCall& call) { return {std::get<1>(linalg_svd(call.in(0), false))}; }
Tensors linalg_eigvalsh(const OpCall& call) {
  return {linalg_eigh(call.in(0), call.attributes.text("UPLO", "L")).first};
}
Tensors pinverse(const OpCall& call) { return {linalg_pinv(call.in(0), {}, call.attributes.number("rcond", 1e-15))}; }
Tensors linalg_lstsq(const OpCall& call) {
  const AutocastSuspended suspended;  // on no list under CUDA's rules, so its products are not either
  return {matmul(linalg_pinv(call.in(0)), call.in(1))};
}

Tensors linalg_matrix_rank(const OpCall& call) {
  const Tensor& a = call.in(0);
  const no_grad constant;
  const Tensor s = linalg_svdvals(a);
  const double eps = a.dtype() == DType::float64 ? 0x1p-52 : 0x1p-23;
  const double atol = call.attributes.number("atol", 0);
  const double rtol =
      call.attributes.number("rtol", atol > 0 ? 0 : eps * static_cast<double>(std::max(a.size(-2), a.size(-1))));
  const Tensor tolerance = clamp(amax(s, {-1}, true) * rtol, atol);
  return {sum(gt(s, tolerance), Shape{-1}, false, DType::int64)};
}

Tensors linalg_cond(const OpCall& call) {
  const Tensor& a = call.in(0);
  const MatrixDims m{a.dim() - 2, a.dim() - 1, false};
  const double ord = call.attributes.number("ord", 2);
  if (!call.attributes.has("ord_name") && std::abs(ord) == 2) {
    const Tensor s = linalg_svdvals(a);
    return {ord > 0 ? amax(s, {-1}) / amin(s, {-1}) : amin(s, {-1}) / amax(s, {-1})};
  }
  return {matrix_norm(call, a, m) * matrix_norm(call, linalg_inv(a), m)};
}

Tensors linalg_tensorinv(const OpCall& call) {
  const Tensor& a = call.in(0);
  const std::int64_t ind = call.attributes.integer("ind", 2);
  if (ind <= 0 || ind >= a.dim()) call.fail("ind out of range: got " + std::to_string(ind) + " for " + describe(a));
  Shape out;
  std::int64_t rows = 1;
  for (int d = static_cast<int>(ind); d < a.dim(); ++d) out.push_back(a.size(d));
  for (int d = 0; d < ind; ++d) {
    out.push_back(a.size(d));
    rows *= a.size(d);
  }
  return {reshape(linalg_inv(reshape(a, {rows, -1})), out)};
}
Tensors linalg_tensorsolve(const OpCall& call) {
  const Tensor &a = call.in(0), &b = call.in(1);
  Shape out;
  for (int d = b.dim(); d < a.dim(); ++d) out.push_back(a.size(d));
  return {reshape(linalg_solve(reshape(a, {b.numel(), -1}), reshape(b, {-1, 1})), out)};
}

Tensors linalg_matrix_norm(const OpCall& call) {
  const Tensor& a = call.in(0);
  return {matrix_norm(call, to(a, call.attributes.dtype("dtype", a.dtype())), matrix_dims(call))};
}
Tensors frobenius_norm(const OpCall& call) {
  const Tensor& a = call.in(0);
  return {norm(a, 2, call.attributes.list("dim", {}), call.attributes.flag("keepdim", false), a.dtype())};
}
Tensors nuclear_norm(const OpCall& call) {
  const MatrixDims m = matrix_dims(call);
  return {norm_by_name(call, call.in(0), m, "nuc")};
}

Tensors linalg_vecdot(const OpCall& call) {
  const Tensor &x = call.in(0), &y = call.in(1);
  if (x.dtype() != y.dtype())
    call.fail("operands must have the same dtype: got " + describe(x) + " and " + describe(y));
  const Shape sizes = broadcast_shapes(x.sizes(), y.sizes(), "linalg_vecdot");
  const int dim = wrap_dim(call.attributes.integer("dim", -1), sizes.size(), "linalg_vecdot");
  const auto last = [&](const Tensor& t) { return transpose(expand(t, sizes), dim, -1); };
  const Tensor dot = squeeze(squeeze(matmul(unsqueeze(last(x), -2), unsqueeze(last(y), -1)), -1), -1);
  // The dims behind `dim` were turned: the last one took its place.
  return {dim == sizes.size() - 1 ? dot : movedim(dot, dim, -1)};
}

}  // namespace amp::composite
