// Gradients of reductions and scans. A reduced gradient is put back along the reduced dims as views, not as copies.
#include <cmath>
#include <limits>

#include "libamp/autograd/gradient.h"
#include "libamp/dispatch/run_op.h"

namespace amp::gradients {
namespace {

// A reduced tensor with the reduced dims put back as size 1, so that it broadcasts against the input.
Tensor put_back(const GradCall& g, const Tensor& reduced) {
  const Shape& sizes = g.input_sizes(0);
  const Shape dims = g.attributes().list("dim", {});
  if (g.attributes().flag("keepdim", false) || reduced.dim() == sizes.size()) return reduced;
  Shape with_ones = sizes;
  for (int d = 0; d < sizes.size() && dims.empty(); ++d) with_ones[d] = 1;
  for (const auto d : dims) with_ones[wrap_dim(d, sizes.size(), "reduce")] = 1;
  return reshape(reduced, with_ones);
}
std::int64_t folded(const GradCall& g) {
  const Shape& sizes = g.input_sizes(0);
  const Shape dims = g.attributes().list("dim", {});
  std::int64_t count = dims.empty() ? numel_of(sizes) : 1;
  for (const auto d : dims) count *= sizes.empty() ? 1 : sizes[wrap_dim(d, sizes.size(), "reduce")];
  return count;
}
int scan_dim(const GradCall& g) {
  return wrap_dim(g.attributes().list("dim", {0})[0], g.input_sizes(0).size(), "scan");
}
Tensor zero_where(const Tensor& mask, const Tensor& t) { return amp::masked_fill(t, mask, 0); }

Tensor running_sum(const Tensor& t, std::int64_t dim, bool reverse) {
  return run_op1({OpId::cumsum, {t}, {{"dim", Shape{dim}}, {"dtype", t.dtype()}, {"reverse", reverse}}, {}});
}
bool holds_zero(const Tensor& t) { return amp::any(amp::eq(t, 0)).item<bool>(); }

// The gradient of a running product along `dim` when some factor is zero: one factor is left out at a time.
// d out_i / d x_k = out_{k-1} * x_{k+1} ... x_i for i >= k.
Tensor running_product_gradient(const Tensor& gradient, const Tensor& x, std::int64_t dim) {
  const std::int64_t n = x.size(dim);
  Shape edge_sizes = x.sizes();
  edge_sizes[static_cast<int>(dim)] = 1;
  const Tensor edge = ones(edge_sizes, {.dtype = x.dtype(), .device = x.device()});
  Tensors parts;
  Tensor before = edge;
  for (std::int64_t k = 0; k < n; ++k) {
    Tensor tail = edge;
    if (k + 1 < n) tail = cat({edge, narrow(x, dim, k + 1, n - k - 1)}, dim);
    const Tensor without = amp::cumprod(tail, dim, x.dtype()) * before;
    parts.push_back(amp::sum(narrow(gradient, dim, k, n - k) * without, Shape{dim}, true));
    before = before * narrow(x, dim, k, 1);
  }
  return cat(parts, dim);
}

// Equal extremes share the gradient.
Tensors extreme(const GradCall& g) {
  const Tensor hit = amp::eq(g.in(0), put_back(g, g.out())).to(g.grad().dtype());
  const Tensor hits = amp::sum(hit, g.attributes().list("dim", {}), true, hit.dtype());
  return {hit * (put_back(g, g.grad()) / hits)};
}

// The chosen elements of each slice get the gradient.
Tensors chosen(const GradCall& g, const Tensor& indices, std::int64_t dim) {
  const Tensor zero = zeros(g.input_sizes(0), {.dtype = g.grad().dtype(), .device = g.grad().device()});
  return {amp::scatter_add(zero, dim, indices, g.grad())};
}
Tensors chosen_one(const GradCall& g) {
  const int dim = scan_dim(g);
  const bool keep = g.attributes().flag("keepdim", false) || g.input_sizes(0).empty();
  const Tensor zero = zeros(g.input_sizes(0), {.dtype = g.grad().dtype(), .device = g.grad().device()});
  const Tensor indices = keep ? g.out(1) : unsqueeze(g.out(1), dim);
  return {amp::scatter_add(zero, dim, indices, keep ? g.grad() : unsqueeze(g.grad(), dim))};
}

Tensor norm_gradient(const GradCall& g) {
  const Tensor x = g.in(0), gradient = put_back(g, g.grad()), out = put_back(g, g.out());
  const double p = g.attributes().number("p", 2);
  if (p == 0) return zeros_like(x);
  if (p == 1) return gradient * amp::sign(x);
  if (p == 2) return zero_where(amp::eq(out, 0), gradient / out) * x;
  const Tensor size = amp::abs(x);
  if (std::isinf(p)) {
    const Tensor hit = amp::eq(size, out).to(out.dtype());
    const Tensor hits = amp::sum(hit, g.attributes().list("dim", {}), true, hit.dtype());
    return amp::sign(x) * hit * (gradient / hits);
  }
  // p |x|^(p-1) sign x / (p out^(p-1)); 0 where the norm is 0, and where x is 0 and p < 1.
  const Tensor power = p < 1 ? zero_where(amp::eq(x, 0), amp::pow(size, p - 1)) : amp::pow(size, p - 1);
  return amp::sign(x) * power * zero_where(amp::eq(out, 0), gradient / amp::pow(out, p - 1));
}

Tensor variance_gradient(const GradCall& g, const Tensor& gradient) {
  const double freedom = static_cast<double>(folded(g)) - g.attributes().number("correction", 1);
  const Tensor x = g.in(0);
  return gradient * (2 / freedom) * (x - amp::mean(x, g.attributes().list("dim", {}), true));
}

}  // namespace

Tensors mean(const GradCall& g) {
  return {expand(put_back(g, g.grad() / static_cast<double>(folded(g))), g.input_sizes(0))};
}
Tensors var(const GradCall& g) { return {variance_gradient(g, put_back(g, g.grad()))}; }
Tensors std(const GradCall& g) {
  const Tensor scaled = zero_where(amp::eq(g.out(), 0), g.grad() / (g.out() * 2));
  return {variance_gradient(g, put_back(g, scaled))};
}

Tensors prod(const GradCall& g) {
  const Tensor x = g.in(0), gradient = put_back(g, g.grad());
  if (!holds_zero(x)) return {gradient * put_back(g, g.out()) / x};
  // One dim, or all of them seen as one; the last of a running product is the product.
  const bool one_dim = g.attributes().has("dim") && x.dim() > 0;
  const Tensor flat = one_dim ? x : reshape(x, {x.numel()});
  const std::int64_t dim = one_dim ? scan_dim(g) : 0, n = flat.size(dim);
  const Tensor last = one_dim ? gradient : reshape(gradient, {1});
  Shape rest = flat.sizes();
  rest[static_cast<int>(dim)] = n - 1;
  const Tensor zero = zeros(rest, {.dtype = last.dtype(), .device = last.device()});
  const Tensor at_end = n > 1 ? cat({zero, last}, dim) : last;
  return {reshape(running_product_gradient(at_end, flat, dim), g.input_sizes(0))};
}

Tensors cumsum(const GradCall& g) {
  return {running_sum(g.grad(), scan_dim(g), !g.attributes().flag("reverse", false))};
}
Tensors cumprod(const GradCall& g) {
  const Tensor x = g.in(0);
  if (x.dim() == 0 || x.numel() == 0) return {g.grad()};
  if (!holds_zero(x)) return {running_sum(g.grad() * g.out(), scan_dim(g), true) / x};
  return {running_product_gradient(g.grad(), x, scan_dim(g))};
}

Tensors norm(const GradCall& g) { return {norm_gradient(g)}; }
Tensors linalg_vector_norm(const GradCall& g) { return {norm_gradient(g)}; }
Tensors logsumexp(const GradCall& g) {
  const Tensor out = put_back(g, g.out());
  // Slices of minus infinities: their difference would be NaN.
  const Tensor finite = zero_where(amp::eq(out, -std::numeric_limits<double>::infinity()), out);
  return {put_back(g, g.grad()) * amp::exp(g.in(0) - finite)};
}

Tensors max(const GradCall& g) { return extreme(g); }
Tensors min(const GradCall& g) { return extreme(g); }
Tensors amax(const GradCall& g) { return extreme(g); }
Tensors amin(const GradCall& g) { return extreme(g); }
Tensors max_dim(const GradCall& g) { return chosen_one(g); }
Tensors min_dim(const GradCall& g) { return chosen_one(g); }
Tensors topk(const GradCall& g) { return chosen(g, g.out(1), g.attributes().integer("dim", -1)); }
Tensors sort(const GradCall& g) { return chosen(g, g.out(1), g.attributes().integer("dim", -1)); }

Tensors dot(const GradCall& g) {
  return {g.needs(0) ? g.grad() * g.in(1) : Tensor(), g.needs(1) ? g.grad() * g.in(0) : Tensor()};
}
Tensors vdot(const GradCall& g) { return dot(g); }
// (a x b) . g turns cyclically: da = b x g, db = g x a.
Tensors cross(const GradCall& g) {
  const std::int64_t dim = g.attributes().integer("dim", -1);
  return {g.needs(0) ? amp::cross(g.in(1), g.grad(), dim) : Tensor(),
          g.needs(1) ? amp::cross(g.grad(), g.in(0), dim) : Tensor()};
}

}  // namespace amp::gradients
