// Products of many matrices and tensordot, written with mm.
#include <limits>

#include "libamp/autocast/scope.h"
#include "libamp/dispatch/run_op.h"
#include "libamp/ops/conv.h"
#include "libamp/ops/math.h"
#include "libamp/ops/pointwise.h"
#include "libamp/ops/product.h"
#include "libamp/ops/view.h"

namespace amp::composite {
namespace {

// Splits of the cheapest order of products, by dynamic programming over the lengths of chains (Cormen et al., 15.2).
std::vector<std::vector<std::size_t>> best_splits(const Tensors& matrices) {
  const std::size_t n = matrices.size();
  std::vector<double> sizes;
  for (const Tensor& t : matrices) sizes.push_back(static_cast<double>(t.size(0)));
  sizes.push_back(static_cast<double>(matrices.back().size(1)));
  std::vector cost(n, std::vector<double>(n, 0));
  std::vector split(n, std::vector<std::size_t>(n, 0));
  for (std::size_t length = 2; length <= n; ++length)
    for (std::size_t i = 0; i + length <= n; ++i) {
      const std::size_t j = i + length - 1;
      cost[i][j] = std::numeric_limits<double>::infinity();
      for (std::size_t k = i; k < j; ++k) {
        const double c = cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1];
        if (c < cost[i][j]) {
          cost[i][j] = c;
          split[i][j] = k;
        }
      }
    }
  return split;
}

Tensor product(const Tensors& matrices, const std::vector<std::vector<std::size_t>>& split, std::size_t i,
               std::size_t j) {
  if (i == j) return matrices[i];
  const std::size_t k = split[i][j];
  return mm(product(matrices, split, i, k), product(matrices, split, k + 1, j));
}

Tensor chain(const OpCall& call, const Tensors& matrices) {
  for (std::size_t i = 0; i < matrices.size(); ++i)
    if (matrices[i].dim() != 2 || (i > 0 && matrices[i - 1].size(1) != matrices[i].size(0)))
      call.fail("factor " + std::to_string(i) + " does not fit: got " + describe(matrices[i]) +
                (i > 0 ? " after " + describe(matrices[i - 1]) : "") + ", need matrices with matching inner sizes");
  return product(matrices, best_splits(matrices), 0, matrices.size() - 1);
}

}  // namespace

Tensors addmm_activation(const OpCall& call) {
  const AutocastSuspended suspended;  // on no list under CUDA's rules, so its products are not either
  const Tensor sum =
      addmm(call.in(0), call.in(1), call.in(2), call.attributes.number("beta", 1), call.attributes.number("alpha", 1));
  return {call.attributes.flag("use_gelu", false) ? gelu(sum, "tanh") : relu(sum)};
}

// [time, batch, in] and [kernel, in, out] turned to conv1d's order, and back.
Tensors conv_tbc(const OpCall& call) {
  const Tensor &input = call.in(0), &weight = call.in(1);
  if (input.dim() != 3 || weight.dim() != 3)
    call.fail("needs an input [time, batch, in] and a weight [kernel, in, out]: got " + describe(input) + " and " +
              describe(weight));
  const Tensor out = conv1d(permute(input, {1, 2, 0}), permute(weight, {2, 1, 0}), call.in(2), 1,
                            SizeList(call.attributes.integer("pad", 0)).values());
  return {permute(out, {2, 0, 1})};
}

Tensors chain_matmul(const OpCall& call) { return {chain(call, call.inputs)}; }

Tensors linalg_multi_dot(const OpCall& call) {
  Tensors factors = call.inputs;
  if (factors.size() < 2) call.fail("needs at least two tensors: got " + std::to_string(factors.size()));
  const bool row = factors.front().dim() == 1, column = factors.back().dim() == 1;
  if (row) factors.front() = unsqueeze(factors.front(), 0);
  if (column) factors.back() = unsqueeze(factors.back(), 1);
  Tensor result = chain(call, factors);
  if (column) result = squeeze(result, 1);
  if (row) result = squeeze(result, 0);
  return {result};
}

Tensors tensordot(const OpCall& call) {
  Tensor a = call.in(0), b = call.in(1);
  const Shape dims_a = call.attributes.list("dims_a", {}), dims_b = call.attributes.list("dims_b", {});
  if (dims_a.size() != dims_b.size())
    call.fail("needs as many dims of each tensor: got " + to_string(dims_a) + " and " + to_string(dims_b));
  if (a.dtype() != b.dtype())
    call.fail("operands must have the same dtype: got " + describe(a) + " and " + describe(b));
  std::vector<bool> contracted_a(static_cast<std::size_t>(a.dim())), contracted_b(static_cast<std::size_t>(b.dim()));
  Shape order_a, order_b, sizes, last;
  std::int64_t inner = 1;
  for (int i = 0; i < dims_a.size(); ++i) {
    const int da = wrap_dim(dims_a[i], a.dim(), "tensordot"), db = wrap_dim(dims_b[i], b.dim(), "tensordot");
    contracted_a[static_cast<std::size_t>(da)] = contracted_b[static_cast<std::size_t>(db)] = true;
    // A contracted dim of size 1 broadcasts: the other side is summed first.
    if (a.size(da) == 1 && b.size(db) != 1)
      b = sum(b, Shape{db}, true);
    else if (b.size(db) == 1 && a.size(da) != 1)
      a = sum(a, Shape{da}, true);
    if (a.size(da) != b.size(db))
      call.fail("contracted dims differ: got dim " + std::to_string(da) + " of " + describe(a) + " and dim " +
                std::to_string(db) + " of " + describe(b));
    inner *= a.size(da);
  }
  for (int d = 0; d < a.dim(); ++d)
    if (!contracted_a[static_cast<std::size_t>(d)]) {
      order_a.push_back(d);
      sizes.push_back(a.size(d));
    }
  const std::int64_t rows = numel_of(sizes);
  for (int i = 0; i < dims_a.size(); ++i) {
    order_a.push_back(wrap_dim(dims_a[i], a.dim(), "tensordot"));
    order_b.push_back(wrap_dim(dims_b[i], b.dim(), "tensordot"));
  }
  std::int64_t columns = 1;
  for (int d = 0; d < b.dim(); ++d)
    if (!contracted_b[static_cast<std::size_t>(d)]) {
      order_b.push_back(d);
      sizes.push_back(b.size(d));
      columns *= b.size(d);
    }
  return {
      reshape(mm(reshape(permute(a, order_a), {rows, inner}), reshape(permute(b, order_b), {inner, columns})), sizes)};
}

// The bias is added outside: as in PyTorch, under the CPU's rules (where bilinear is on no list) the products inside
// are autocast, though not their gradients, while the result keeps the input's dtype.
Tensors bilinear(const OpCall& call) {
  const Tensor& input = call.in(0);
  Attributes attributes;
  const DeviceAutocast& region = autocast_state().of(input.device().type);
  if (region.enabled && is_eligible({true, input.dtype(), input.device().type}, input.device().type))
    attributes.set("rounded_to", region.dtype);
  const Tensor product = run_op1({OpId::trilinear, {input, call.in(1), call.in(2)}, attributes, {}});
  if (!call.has(3)) return {product};
  if (!(call.in(3).sizes() == Shape{product.size(-1)}))
    call.fail("bias does not fit: got " + describe(call.in(3)) + ", need [" + std::to_string(product.size(-1)) + "]");
  return {product + call.in(3)};
}

}  // namespace amp::composite
