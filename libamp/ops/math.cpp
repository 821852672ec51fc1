// Arithmetic, products, sums.
#include "libamp/ops/math.h"

#include "libamp/dispatch/run_op.h"
#include "libamp/ops/sparse.h"
#include "libamp/ops/view.h"

namespace amp {
namespace {

Attributes with_alpha(double alpha) { return alpha == 1 ? Attributes{} : Attributes{{"alpha", alpha}}; }

bool is_sparse(const Tensor& t) { return t.defined() && t.is_sparse(); }
bool is_scalar(const Tensor& t) { return t.defined() && !t.is_sparse() && t.dim() == 0; }

}  // namespace

Tensor add(const Tensor& input, const Tensor& other, double alpha) {
  if (is_sparse(input) || is_sparse(other)) return sparse_add(input, other, alpha);
  return run_op1({OpId::add, {input, other}, with_alpha(alpha), {}});
}
Tensor sub(const Tensor& input, const Tensor& other, double alpha) {
  if (is_sparse(input) || is_sparse(other)) return sparse_add(input, other, -alpha);
  return run_op1({OpId::sub, {input, other}, with_alpha(alpha), {}});
}
Tensor mul(const Tensor& input, const Tensor& other) {
  if (is_sparse(input) && is_scalar(other)) return with_values(input, mul(input.values(), other));
  if (is_sparse(other) && is_scalar(input)) return with_values(other, mul(input, other.values()));
  return run_op1({OpId::mul, {input, other}, {}, {}});
}
Tensor div(const Tensor& input, const Tensor& other) {
  if (is_sparse(input) && is_scalar(other)) return with_values(input, div(input.values(), other));
  return run_op1({OpId::div, {input, other}, {}, {}});
}
Tensor neg(const Tensor& input) {
  if (is_sparse(input)) return with_values(input, neg(input.values()));
  return run_op1({OpId::neg, {input}, {}, {}});
}

Tensor matmul(const Tensor& input, const Tensor& other) { return run_op1({OpId::matmul, {input, other}, {}, {}}); }
Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  return run_op1({OpId::linear, {input, weight, bias}, {}, {}});
}

Tensor sum(const Tensor& input, std::optional<DType> dtype) { return sum(input, Shape{}, false, dtype); }
Tensor sum(const Tensor& input, const Shape& dims, bool keepdim, std::optional<DType> dtype) {
  Attributes attributes;
  if (!dims.empty()) attributes.set("dim", dims);
  if (keepdim) attributes.set("keepdim", true);
  if (dtype) attributes.set("dtype", *dtype);
  return run_op1({OpId::sum, {input}, std::move(attributes), {}});
}

Tensor sum_to_size(const Tensor& input, const Shape& sizes) {
  const int extra = input.dim() - sizes.size();
  if (extra < 0) fail(ErrorCode::runtime, "sum_to_size", "cannot sum " + describe(input) + " to " + to_string(sizes));
  Shape dims;
  for (int d = 0; d < input.dim(); ++d) {
    if (d < extra || (sizes[d - extra] == 1 && input.sizes()[d] != 1))
      dims.push_back(d);
    else if (sizes[d - extra] != input.sizes()[d])
      fail(ErrorCode::runtime, "sum_to_size", "cannot sum " + describe(input) + " to " + to_string(sizes));
  }
  const Tensor summed = dims.empty() ? input : sum(input, dims, true);
  return summed.sizes() == sizes ? summed : view(summed, sizes);
}

Tensor to(const Tensor& input, DType dtype) {
  if (is_sparse(input)) return input.dtype() == dtype ? input : with_values(input, to(input.values(), dtype));
  return cast(input, dtype, CastKind::explicit_call, OpId::to);
}

}  // namespace amp
