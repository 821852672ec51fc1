// User-facing reductions: build the call, run it.
#include "libamp/ops/reduce.h"

#include "libamp/dispatch/run_op.h"
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

Tensor dot(const Tensor& input, const Tensor& tensor) { return run_op1({OpId::dot, {input, tensor}, {}, {}}); }
Tensor vdot(const Tensor& input, const Tensor& other) { return run_op1({OpId::vdot, {input, other}, {}, {}}); }
Tensor cross(const Tensor& input, const Tensor& other, std::int64_t dim) {
  return run_op1({OpId::cross, {input, other}, {{"dim", dim}}, {}});
}

}  // namespace amp
