// User-facing reductions: build the call, run it.
#include "libamp/ops/reduce.h"

#include <algorithm>
#include <iterator>

#include "libamp/dispatch/run_op.h"
#include "libamp/ops/create.h"
#include "libamp/ops/index.h"
#include "libamp/ops/math.h"
#include "libamp/ops/pointwise.h"
#include "libamp/ops/view.h"

namespace amp {
namespace {

Attributes over(const Shape& dims, bool keepdim, std::optional<DType> dtype = {}) {
  Attributes attributes;
  if (!dims.empty()) attributes.set("dim", dims);
  if (keepdim) attributes.set("keepdim", true);
  if (dtype) attributes.set("dtype", *dtype);
  return attributes;
}
Tensor run1(OpId op, const Tensor& input, Attributes attributes) {
  return run_op1({op, {input}, std::move(attributes), {}});
}
ValuesIndices run_pair(OpId op, const Tensor& input, Attributes attributes) {
  Tensors out = run_op({op, {input}, std::move(attributes), {}});
  return {std::move(out[0]), std::move(out[1])};
}

}  // namespace

Tensor mean(const Tensor& input, std::optional<DType> dtype) { return mean(input, Shape{}, false, dtype); }
Tensor mean(const Tensor& input, const Shape& dims, bool keepdim, std::optional<DType> dtype) {
  if (!input.is_floating_point() && !(dtype && is_floating(*dtype)))
    fail(ErrorCode::runtime, "mean",
         "needs a floating dtype: got " + describe(input) + "; need a floating tensor or the dtype argument");
  return run1(OpId::mean, input, over(dims, keepdim, dtype));
}

Tensor var(const Tensor& input, const Shape& dims, double correction, bool keepdim) {
  Attributes attributes = over(dims, keepdim);
  attributes.set("correction", correction);
  return run1(OpId::var, input, std::move(attributes));
}
Tensor std(const Tensor& input, const Shape& dims, double correction, bool keepdim) {
  Attributes attributes = over(dims, keepdim);
  attributes.set("correction", correction);
  return run1(OpId::std, input, std::move(attributes));
}

Tensor prod(const Tensor& input, std::optional<DType> dtype) { return run1(OpId::prod, input, over({}, false, dtype)); }
Tensor prod(const Tensor& input, std::int64_t dim, bool keepdim, std::optional<DType> dtype) {
  return run1(OpId::prod, input, over({dim}, keepdim, dtype));
}
Tensor cumsum(const Tensor& input, std::int64_t dim, std::optional<DType> dtype) {
  return run1(OpId::cumsum, input, over({dim}, false, dtype));
}
Tensor cumprod(const Tensor& input, std::int64_t dim, std::optional<DType> dtype) {
  return run1(OpId::cumprod, input, over({dim}, false, dtype));
}

Tensor norm(const Tensor& input, double p, const Shape& dims, bool keepdim, std::optional<DType> dtype) {
  Attributes attributes = over(dims, keepdim, dtype);
  attributes.set("p", p);
  return run1(OpId::norm, input, std::move(attributes));
}
Tensor vector_norm(const Tensor& input, double ord, const Shape& dims, bool keepdim, std::optional<DType> dtype) {
  Attributes attributes = over(dims, keepdim, dtype);
  attributes.set("p", ord);
  return run1(OpId::linalg_vector_norm, input, std::move(attributes));
}
Tensor logsumexp(const Tensor& input, const Shape& dims, bool keepdim) {
  return run1(OpId::logsumexp, input, over(dims, keepdim));
}

Tensor max(const Tensor& input) { return run1(OpId::max, input, {}); }
Tensor min(const Tensor& input) { return run1(OpId::min, input, {}); }
Tensor amax(const Tensor& input, const Shape& dims, bool keepdim) {
  return run1(OpId::amax, input, over(dims, keepdim));
}
Tensor amin(const Tensor& input, const Shape& dims, bool keepdim) {
  return run1(OpId::amin, input, over(dims, keepdim));
}
ValuesIndices max(const Tensor& input, std::int64_t dim, bool keepdim) {
  return run_pair(OpId::max_dim, input, over({dim}, keepdim));
}
ValuesIndices min(const Tensor& input, std::int64_t dim, bool keepdim) {
  return run_pair(OpId::min_dim, input, over({dim}, keepdim));
}
Tensor argmax(const Tensor& input, std::optional<std::int64_t> dim, bool keepdim) {
  return run1(OpId::argmax, input, over(dim ? Shape{*dim} : Shape{}, keepdim));
}
Tensor argmin(const Tensor& input, std::optional<std::int64_t> dim, bool keepdim) {
  return run1(OpId::argmin, input, over(dim ? Shape{*dim} : Shape{}, keepdim));
}
Tensor all(const Tensor& input, const Shape& dims, bool keepdim) { return run1(OpId::all, input, over(dims, keepdim)); }
Tensor any(const Tensor& input, const Shape& dims, bool keepdim) { return run1(OpId::any, input, over(dims, keepdim)); }

ValuesIndices topk(const Tensor& input, std::int64_t k, std::int64_t dim, bool largest) {
  return run_pair(OpId::topk, input, {{"k", k}, {"dim", dim}, {"largest", largest}});
}
ValuesIndices sort(const Tensor& input, std::int64_t dim, bool descending) {
  return run_pair(OpId::sort, input, {{"dim", dim}, {"descending", descending}});
}

ValuesIndices cummax(const Tensor& input, std::int64_t dim) {
  return run_pair(OpId::cummax, input, over({dim}, false));
}
ValuesIndices cummin(const Tensor& input, std::int64_t dim) {
  return run_pair(OpId::cummin, input, over({dim}, false));
}
Tensor logcumsumexp(const Tensor& input, std::int64_t dim) {
  return run1(OpId::logcumsumexp, input, over({dim}, false));
}

VarMean var_mean(const Tensor& input, const Shape& dims, double correction, bool keepdim) {
  return {var(input, dims, correction, keepdim), mean(input, dims, keepdim)};
}
VarMean std_mean(const Tensor& input, const Shape& dims, double correction, bool keepdim) {
  return {std(input, dims, correction, keepdim), mean(input, dims, keepdim)};
}
Tensor nansum(const Tensor& input, const Shape& dims, bool keepdim) {
  return sum(masked_fill(input, isnan(input), 0), dims, keepdim);
}
Tensor nanmean(const Tensor& input, const Shape& dims, bool keepdim) {
  const Tensor count = sum(logical_not(isnan(input)), dims, keepdim, input.dtype());
  return nansum(input, dims, keepdim) / count;
}
Tensor count_nonzero(const Tensor& input, const Shape& dims) { return sum(ne(input, 0), dims, false, DType::int64); }
Tensor diff(const Tensor& input, std::int64_t n, std::int64_t dim) {
  Tensor result = input;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t length = result.size(dim);
    if (length == 0) break;
    const Tensor after = narrow(result, dim, 1, length - 1), before = narrow(result, dim, 0, length - 1);
    result = input.dtype() == DType::bool_ ? logical_xor(after, before) : after - before;
  }
  return result;
}

Tensor argsort(const Tensor& input, std::int64_t dim, bool descending) { return sort(input, dim, descending).indices; }
std::pair<Tensor, Tensor> aminmax(const Tensor& input) { return {amin(input), amax(input)}; }

ValuesIndices kthvalue(const Tensor& input, std::int64_t k, std::int64_t dim, bool keepdim) {
  Attributes attributes = over({dim}, keepdim);
  attributes.set("k", k);
  return run_pair(OpId::kthvalue, input, std::move(attributes));
}
Tensor median(const Tensor& input) { return run_pair(OpId::median, reshape(input, {-1}), over({0}, false)).values; }
ValuesIndices median(const Tensor& input, std::int64_t dim, bool keepdim) {
  return run_pair(OpId::median, input, over({dim}, keepdim));
}
Tensor nanmedian(const Tensor& input) {
  return run_pair(OpId::nanmedian, reshape(input, {-1}), over({0}, false)).values;
}
ValuesIndices nanmedian(const Tensor& input, std::int64_t dim, bool keepdim) {
  return run_pair(OpId::nanmedian, input, over({dim}, keepdim));
}

namespace {

Tensor quantile_op(OpId op, const Tensor& input, const Tensor& q, std::optional<std::int64_t> dim, bool keepdim,
                   std::string_view interpolation) {
  constexpr std::string_view kModes[] = {"linear", "lower", "higher", "nearest", "midpoint"};
  if (std::find(std::begin(kModes), std::end(kModes), interpolation) == std::end(kModes))
    fail(ErrorCode::runtime, op_info(op).name,
         "interpolation: got '" + std::string(interpolation) + "', need linear, lower, higher, nearest or midpoint");
  if (q.dim() > 1) fail(ErrorCode::runtime, op_info(op).name, "q must be a number or 1-dim: got " + describe(q));
  Attributes attributes = over(dim ? Shape{*dim} : Shape{}, keepdim);
  attributes.set("interpolation", std::string(interpolation));
  return run_op1({op, {input, q}, std::move(attributes), {}});
}
Tensor share(double q) { return scalar_tensor(q, {.dtype = DType::float64}); }

}  // namespace

Tensor quantile(const Tensor& input, double q, std::optional<std::int64_t> dim, bool keepdim,
                std::string_view interpolation) {
  return quantile_op(OpId::quantile, input, share(q), dim, keepdim, interpolation);
}
Tensor quantile(const Tensor& input, const Tensor& q, std::optional<std::int64_t> dim, bool keepdim,
                std::string_view interpolation) {
  return quantile_op(OpId::quantile, input, q, dim, keepdim, interpolation);
}
Tensor nanquantile(const Tensor& input, double q, std::optional<std::int64_t> dim, bool keepdim,
                   std::string_view interpolation) {
  return quantile_op(OpId::nanquantile, input, share(q), dim, keepdim, interpolation);
}
Tensor nanquantile(const Tensor& input, const Tensor& q, std::optional<std::int64_t> dim, bool keepdim,
                   std::string_view interpolation) {
  return quantile_op(OpId::nanquantile, input, q, dim, keepdim, interpolation);
}

Tensor bincount(const Tensor& input, const Tensor& weights, std::int64_t minlength) {
  if (input.dim() != 1 || is_floating(input.dtype()) || (input.numel() > 0 && min(input).item_as_int64() < 0))
    fail(ErrorCode::runtime, "bincount", "needs 1-dim integers from 0: got " + describe(input));
  const std::int64_t most = input.numel() == 0 ? 0 : max(input).item_as_int64() + 1;
  const Tensor ones_or_weights = weights.defined() ? weights : ones(input.sizes(), {.dtype = DType::int64});
  const Tensor zero = zeros({std::max(most, minlength)}, {.dtype = ones_or_weights.dtype()});
  return scatter_add(zero, 0, input.to(DType::int64), ones_or_weights);
}

Tensor dot(const Tensor& input, const Tensor& tensor) { return run_op1({OpId::dot, {input, tensor}, {}, {}}); }
Tensor vdot(const Tensor& input, const Tensor& other) { return run_op1({OpId::vdot, {input, other}, {}, {}}); }
Tensor cross(const Tensor& input, const Tensor& other, std::int64_t dim) {
  return run_op1({OpId::cross, {input, other}, {{"dim", dim}}, {}});
}

}  // namespace amp
