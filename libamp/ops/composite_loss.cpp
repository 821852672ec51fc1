// Bodies of the losses that are written with other ops, following PyTorch's definitions.
#include <limits>

#include "libamp/dispatch/backend.h"
#include "libamp/dispatch/run_op.h"
#include "libamp/ops/ops.h"

namespace amp::composite {
namespace {

Tensor reduce(const OpCall& call, const Tensor& loss) {
  const std::string reduction = call.attributes.text("reduction", "mean");
  return reduction == "none" ? loss : reduction == "sum" ? sum(loss) : mean(loss);
}
Tensor positive_part(const Tensor& t) { return clamp(t, 0); }

}  // namespace

Tensors cosine_embedding_loss(const OpCall& call) {
  const Tensor &a = call.in(0), &b = call.in(1), &target = call.in(2);
  if (target.dim() > 1 || a.dim() != target.dim() + 1 || !(a.sizes() == b.sizes()))
    call.fail("needs two inputs of one shape and a target of one dim less, 0 or 1: got " + describe(a) + ", " +
              describe(b) + " and " + describe(target));
  const double margin = call.attributes.number("margin", 0);
  const Shape dim = {target.dim()};
  const auto dot = [&](const Tensor& x, const Tensor& y) { return sum(x * y, dim); };
  const Tensor squares_a = dot(a, a) + 1e-12, squares_b = dot(b, b) + 1e-12;
  const Tensor cosine = dot(a, b) / sqrt(squares_a * squares_b);
  const Tensor zero = zeros_like(cosine);
  const Tensor similar = where(eq(target, 1), 1 - cosine, zero);
  const Tensor different = where(eq(target, -1), positive_part(cosine - margin), zero);
  return {reduce(call, similar + different)};
}

Tensors hinge_embedding_loss(const OpCall& call) {
  const Tensor &x = call.in(0), &target = call.in(1);
  const Tensor hinge = positive_part(call.attributes.number("margin", 1) - x);
  const Tensor zero = zeros_like(hinge);
  return {reduce(call, where(eq(target, 1), zero, hinge) + where(eq(target, -1), zero, x))};
}

Tensors margin_ranking_loss(const OpCall& call) {
  const Tensor ranked = -call.in(2) * (call.in(0) - call.in(1)) + call.attributes.number("margin", 0);
  return {reduce(call, positive_part(ranked))};
}

Tensors triplet_margin_loss(const OpCall& call) {
  const Tensor &anchor = call.in(0), &positive = call.in(1), &negative = call.in(2);
  if (anchor.dim() != positive.dim() || anchor.dim() != negative.dim())
    call.fail("all operands need the same number of dims: got " + describe(anchor) + ", " + describe(positive) +
              " and " + describe(negative));
  const double p = call.attributes.number("p", 2), eps = call.attributes.number("eps", 1e-6);
  Tensor far = pairwise_distance(anchor, negative, p, eps);
  if (call.attributes.flag("swap", false)) far = minimum(far, pairwise_distance(positive, negative, p, eps));
  const Tensor near = pairwise_distance(anchor, positive, p, eps);
  return {reduce(call, positive_part(near - far + call.attributes.number("margin", 1)))};
}

// sum over classes other than the target's of max(0, margin - x[target] + x[class])^p, by the number of classes
Tensors multi_margin_loss(const OpCall& call) {
  if (call.in(0).dim() > 2 || call.in(0).dim() < 1 ||
      call.in(1).numel() != (call.in(0).dim() == 2 ? call.in(0).size(0) : 1))
    call.fail("needs an input [N, C] or [C] and one target class for each row: got " + describe(call.in(0)) + " and " +
              describe(call.in(1)));
  const std::int64_t classes = call.in(0).size(-1);
  const Tensor x = reshape(call.in(0), {-1, classes}), target = reshape(call.in(1), {-1, 1});
  Tensor each = positive_part(x - gather(x, 1, target) + call.attributes.number("margin", 1));
  if (call.attributes.number("p", 1) == 2) each = each * each;
  if (call.has(2)) each = each * reshape(index_select(call.in(2), 0, reshape(target, {-1})), {-1, 1});
  const Tensor own = one_hot(reshape(target, {-1}), classes).to(DType::bool_);
  const Tensor loss = sum(masked_fill(each, own, 0), {1}, false, each.dtype()) / static_cast<double>(classes);
  return {reduce(call, call.in(0).dim() == 1 ? reshape(loss, {}) : loss)};
}

// sum over target classes t and other classes c of max(0, 1 - x[t] + x[c]), by the number of classes
Tensors multilabel_margin_loss(const OpCall& call) {
  const Tensor& input = call.in(0);
  if (input.dim() < 1 || input.dim() > 2) call.fail("needs an input [N, C] or [C]: got " + describe(input));
  const std::int64_t classes = input.size(-1);
  const Tensor x = reshape(input, {-1, classes}), target = reshape(call.in(1), {-1, classes});
  // 1 for the entries before the first -1.
  const Tensor counted = cumprod(ge(target, 0).to(DType::int64), 1);
  const Tensor labels = target * counted;
  const Tensor marks = scatter_add(zeros(x.sizes(), {.dtype = DType::int64, .device = x.device()}), 1, labels, counted);
  const Tensor margins = positive_part(unsqueeze(x, 1) - unsqueeze(gather(x, 1, labels), 2) + 1);  // [N, target, class]
  const Tensor left_out = logical_or(unsqueeze(eq(counted, 0), 2), unsqueeze(gt(marks, 0), 1));
  const Tensor loss = sum(masked_fill(margins, left_out, 0), {1, 2}, false, x.dtype()) / static_cast<double>(classes);
  return {reduce(call, input.dim() == 1 ? reshape(loss, {}) : loss)};
}

Tensors ctc_loss(const OpCall& call) {
  Tensor losses = run_op1({OpId::ctc_loss_nll,
                           {call.in(0), call.in(1), call.in(2), call.in(3)},
                           {{"blank", call.attributes.integer("blank", 0)}},
                           {}});
  if (call.attributes.flag("zero_infinity", false))
    losses = masked_fill(losses, eq(losses, std::numeric_limits<double>::infinity()), 0);
  if (call.attributes.text("reduction", "mean") == "mean")
    return {mean(losses / clamp(call.in(3), 1).to(losses.dtype()))};
  return {reduce(call, losses)};
}

}  // namespace amp::composite
