// cross_entropy_loss, written with other ops exactly as PyTorch composes it, since autocast sees the parts.
#include "libamp/dispatch/run_op.h"
#include "libamp/ops/math.h"
#include "libamp/ops/pointwise.h"
#include "libamp/ops/softmax.h"
#include "libamp/ops/view.h"

namespace amp::composite {
namespace {

// Class weights shaped so that they broadcast along the class dim.
Tensor along_classes(const Tensor& weight, int dims, int class_dim) {
  Shape sizes;
  for (int d = 0; d < dims; ++d) sizes.push_back(d == class_dim ? weight.numel() : 1);
  return view(weight, sizes);
}

struct Arguments {
  Tensor input, target, weight;
  std::int64_t ignore_index;
  std::string reduction;
  double smoothing;
  int class_dim;
  std::int64_t classes;
};

Tensor with_probabilities(const OpCall& call, const Arguments& a) {
  if (!a.target.is_floating_point())
    call.fail("target of the input's shape must hold class probabilities: got " + describe(a.target));
  if (a.ignore_index >= 0)
    call.fail("ignore_index cannot be used with class probabilities: got " + std::to_string(a.ignore_index));
  const Tensor log_probabilities = log_softmax(a.input, a.class_dim, a.input.dtype());
  Tensor target = a.target;
  if (a.smoothing > 0) target = target * (1 - a.smoothing) + a.smoothing / static_cast<double>(a.classes);
  Tensor loss = log_probabilities * target;
  if (a.weight.defined()) loss = loss * along_classes(a.weight, a.input.dim(), a.class_dim);
  if (a.reduction == "none") return -sum(loss, Shape{a.class_dim});
  loss = -sum(loss);
  return a.reduction == "sum" ? loss : loss / (static_cast<double>(a.input.numel()) / static_cast<double>(a.classes));
}

Tensor with_smoothing(const Arguments& a, const Tensor& log_probabilities, const Tensors& nll) {
  Tensor smooth =
      a.weight.defined() ? log_probabilities * along_classes(a.weight, a.input.dim(), a.class_dim) : log_probabilities;
  smooth = -sum(smooth, Shape{a.class_dim});
  smooth = masked_fill(smooth, eq(a.target, static_cast<double>(a.ignore_index)), 0);
  if (a.reduction != "none") smooth = sum(smooth);
  // Normalised by the same weights as nll_loss, whose sum is kept in float32.
  if (a.reduction == "mean") smooth = smooth / to(nll[1], smooth.dtype());
  return nll[0] * (1 - a.smoothing) + smooth * (a.smoothing / static_cast<double>(a.classes));
}

}  // namespace

Tensors cross_entropy_loss(const OpCall& call) {
  Arguments a{call.in(0),
              call.in(1),
              call.has(2) ? call.in(2) : Tensor(),
              call.attributes.integer("ignore_index", -100),
              call.attributes.text("reduction", "mean"),
              call.attributes.number("label_smoothing", 0),
              0,
              0};
  if (a.input.dim() == 0) call.fail("needs an input of at least one dim: got " + describe(a.input));
  if (a.smoothing < 0 || a.smoothing > 1)
    call.fail("label_smoothing must be between 0 and 1: got " + std::to_string(a.smoothing));
  a.class_dim = a.input.dim() == 1 ? 0 : 1;
  a.classes = a.input.size(a.class_dim);
  if (a.input.sizes() == a.target.sizes()) return {with_probabilities(call, a)};
  const Tensor log_probabilities = log_softmax(a.input, a.class_dim, a.input.dtype());
  const Tensors nll = run_op({OpId::nll_loss,
                              {log_probabilities, a.target, a.weight},
                              {{"reduction", a.reduction}, {"ignore_index", a.ignore_index}},
                              {}});
  return {a.smoothing > 0 ? with_smoothing(a, log_probabilities, nll) : nll[0]};
}

}  // namespace amp::composite
