// Bodies of the distances that are written with other ops, as in PyTorch.
#include "libamp/dispatch/backend.h"
#include "libamp/ops/ops.h"

namespace amp::composite {

Tensors dist(const OpCall& call) { return {norm(call.in(0) - call.in(1), call.attributes.number("p", 2))}; }

// Pairs of rows are gathered into two matrices: as large as the differences that the gradient needs anyway.
Tensors pdist(const OpCall& call) {
  const Tensor& x = call.in(0);
  if (x.dtype() != DType::float32 && x.dtype() != DType::float64)
    call.fail("is implemented for float32 and float64: got " + describe(x), ErrorCode::not_implemented);
  const std::int64_t n = x.size(0);
  std::vector<std::int64_t> first, second;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = i + 1; j < n; ++j) {
      first.push_back(i);
      second.push_back(j);
    }
  const Shape count = {static_cast<std::int64_t>(first.size())};
  const Tensor a = index_select(x, 0, from_memory(first.data(), count, DType::int64));
  const Tensor b = index_select(x, 0, from_memory(second.data(), count, DType::int64));
  return {norm(a - b, call.attributes.number("p", 2), {1})};
}

Tensors cosine_similarity(const OpCall& call) {
  const std::int64_t dim = call.attributes.integer("dim", 1);
  const double eps = call.attributes.number("eps", 1e-8);
  const DType dtype = result_type(call.inputs);
  if (!is_floating(dtype))
    call.fail("needs floating tensors: got " + describe(call.in(0)) + " and " + describe(call.in(1)));
  const auto unit = [&](const Tensor& t) {
    const Tensor wide = t.to(dtype);
    const Tensor size = vector_norm(wide, 2, {dim}, true);
    // The limit is set without a gradient: below eps the norm still gets the whole gradient, as in PyTorch.
    const Tensor lifted = size + (clamp(size, eps) - size).detach();
    return wide / lifted;
  };
  return {sum(unit(call.in(0)) * unit(call.in(1)), {dim})};
}

Tensors renorm(const OpCall& call) {
  const Tensor& x = call.in(0);
  const int dim = wrap_dim(call.attributes.integer("dim", 0), x.dim(), "renorm");
  const double maxnorm = call.attributes.number("maxnorm", 1);
  Shape others;
  for (int d = 0; d < x.dim(); ++d)
    if (d != dim) others.push_back(d);
  const DType wide = is_low_precision(x.dtype()) ? DType::float32 : x.dtype();
  const Tensor size = norm(x, call.attributes.number("p", 2), others, true, wide);
  // 1e-7 as PyTorch: keeps the result at or below maxnorm after rounding.
  const Tensor factor = where(gt(size, maxnorm), reciprocal(size + 1e-7) * maxnorm, ones_like(size));
  return {x * factor.to(x.dtype())};
}

}  // namespace amp::composite
