// scaled_dot_product_attention: brings the operands to one batch shape, then runs the fused op; with dropout, whose
// choice must reach the backward pass, the same in single ops.
#include <limits>

#include "libamp/dispatch/run_op.h"
#include "libamp/ops/create.h"
#include "libamp/ops/index.h"
#include "libamp/ops/math.h"
#include "libamp/ops/pointwise.h"
#include "libamp/ops/softmax.h"
#include "libamp/ops/view.h"

namespace amp::composite {
namespace {

// Each head repeated for the query heads of its group.
Tensor repeat_heads(const OpCall& call, const Tensor& t, std::int64_t heads) {
  if (t.dim() < 3 || t.size(-3) == 0 || heads % t.size(-3) != 0)
    call.fail("the query's heads must be a multiple of the others': got " + std::to_string(heads) + " and " +
              describe(t));
  const std::int64_t each = heads / t.size(-3);
  if (each == 1) return t;
  Shape spread = t.sizes(), joined = t.sizes();
  const int at = t.dim() - 2;
  spread.insert(at, each);
  joined[at - 1] *= each;
  return reshape(expand(unsqueeze(t, at), spread), joined);
}

Shape leading(const Tensor& t) {
  Shape sizes;
  for (int d = 0; d < t.dim() - 2; ++d) sizes.push_back(t.size(d));
  return sizes;
}
Tensor with_leading(const Tensor& t, Shape sizes) {
  if (leading(t) == sizes) return t;
  sizes.push_back(t.size(-2));
  sizes.push_back(t.size(-1));
  return expand(t, sizes);
}

Tensor in_single_ops(const OpCall& call, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask) {
  const DType wide = q.dtype() == DType::float64 ? DType::float64 : DType::float32;
  Tensor scores = matmul(to(q, wide) * call.attributes.number("scale", 1), transpose(to(k, wide), -2, -1));
  constexpr double kHidden = -std::numeric_limits<double>::infinity();
  if (call.attributes.flag("is_causal", false))
    scores = masked_fill(scores, logical_not(tril(ones({q.size(-2), k.size(-2)}, {.dtype = DType::bool_}))), kHidden);
  if (mask.defined())
    scores = mask.dtype() == DType::bool_ ? masked_fill(scores, logical_not(mask), kHidden) : scores + to(mask, wide);
  const Tensor weights = dropout(softmax(scores, -1), call.attributes.number("dropout_p", 0), true);
  return to(matmul(weights, to(v, wide)), q.dtype());
}

}  // namespace

Tensors scaled_dot_product_attention(const OpCall& call) {
  const Tensor mask = call.has(3) ? call.in(3) : Tensor();
  Tensor q = call.in(0), k = call.in(1), v = call.in(2);
  if (mask.defined() && call.attributes.flag("is_causal", false))
    call.fail("an explicit mask and is_causal exclude each other: got mask " + describe(mask));
  if (mask.defined() && mask.dtype() != DType::bool_ && mask.dtype() != q.dtype())
    call.fail("the mask must be bool or have the query's dtype: got mask " + describe(mask) + " and query " +
              describe(q));
  if (call.attributes.flag("enable_gqa", false)) {
    k = repeat_heads(call, k, q.size(-3));
    v = repeat_heads(call, v, q.size(-3));
  }
  const std::string_view name = call.info().name;
  const Shape batch = broadcast_shapes(broadcast_shapes(leading(q), leading(k), name), leading(v), name);
  q = with_leading(q, batch);
  k = with_leading(k, batch);
  v = with_leading(v, batch);
  if (call.attributes.number("dropout_p", 0) > 0) return {in_single_ops(call, q, k, v, mask)};
  return {
      run_op1({OpId::attention,
               {q, k, v, mask},
               {{"scale", call.attributes.number("scale", 1)}, {"is_causal", call.attributes.flag("is_causal", false)}},
               {}})};
}

}  // namespace amp::composite
