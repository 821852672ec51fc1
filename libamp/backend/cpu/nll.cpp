// Negative log likelihood: picks the target's element of each row of log probabilities, weighted by class.
#include <string>

#include "libamp/backend/cpu/dense.h"

namespace amp::cpu {
namespace {

// [batch, classes, inner] seen through sizes [classes], [batch, classes] or [batch, classes, d...].
struct NllGeometry {
  std::int64_t batch = 1, classes = 1, inner = 1;
  Shape target_sizes;
};

NllGeometry nll_geometry(const OpCall& call, const Shape& sizes, const Tensor& target, const Tensor& weight) {
  NllGeometry g;
  if (sizes.size() == 0) call.fail("needs an input of at least one dim: got a 0-dim tensor");
  const int class_dim = sizes.size() == 1 ? 0 : 1;
  g.classes = sizes[class_dim];
  for (int d = 0; d < sizes.size(); ++d) {
    if (d == class_dim) continue;
    g.target_sizes.push_back(sizes[d]);
    (d < class_dim ? g.batch : g.inner) *= sizes[d];
  }
  if (!(target.sizes() == g.target_sizes))
    call.fail("target does not fit: got input " + to_string(sizes) + " and target " + describe(target) +
                  ", need target " + to_string(g.target_sizes),
              sizes.size() == 2 ? ErrorCode::value : ErrorCode::runtime);
  if (target.dtype() != DType::int64 && target.dtype() != DType::uint8)
    call.fail("target must hold class indices as int64: got " + describe(target));
  if (weight.defined() && !(weight.sizes() == Shape{g.classes}))
    call.fail("weight must have one value per class: got " + describe(weight) + ", need [" + std::to_string(g.classes) +
              "]");
  return g;
}

std::vector<std::int64_t> read_targets(const Tensor& target) {
  const Tensor source = dense(target);
  std::vector<std::int64_t> values(static_cast<std::size_t>(source.numel()));
  load_as<std::int64_t>(source.raw(), source.dtype(), 0, 1, source.numel(), values.data());
  return values;
}

// Calls run(row, offset of the target's element, class) for each row that counts, in order.
template <typename F>
void for_targets(const OpCall& call, const NllGeometry& g, const std::vector<std::int64_t>& targets, F run) {
  const std::int64_t ignore = call.attributes.integer("ignore_index", -100);
  for (std::int64_t n = 0; n < g.batch; ++n)
    for (std::int64_t i = 0; i < g.inner; ++i) {
      const std::int64_t row = n * g.inner + i, target = targets[static_cast<std::size_t>(row)];
      if (target == ignore) continue;
      if (target < 0 || target >= g.classes)
        call.fail(
            "target is out of bounds: got " + std::to_string(target) + ", need 0 to " + std::to_string(g.classes - 1),
            ErrorCode::index);
      run(row, (n * g.classes + target) * g.inner + i, target);
    }
}

template <typename C>
double element(const Tensor& t, std::int64_t at) {
  C value;
  load_as<C>(t.raw(), t.dtype(), at, 1, 1, &value);
  return static_cast<double>(value);
}

}  // namespace

// Inputs: log probabilities, target, class weights or none. Outputs: the loss, and the sum of the weights that counted.
Tensors nll_loss(const OpCall& call) {
  const Tensor input = dense(call.in(0));
  const Tensor weight = call.has(2) ? call.in(2) : Tensor();
  if (weight.defined() && weight.dtype() != input.dtype())
    call.fail("weight must have the input's dtype: got " + describe(input) + " and " + describe(weight));
  const NllGeometry g = nll_geometry(call, input.sizes(), call.in(1), weight);
  const std::vector<std::int64_t> targets = read_targets(call.in(1));
  const std::string reduction = call.attributes.text("reduction", "mean");
  const bool reduced = reduction != "none";
  const Tensor out = make_output(call, reduced ? Shape{} : g.target_sizes, input.dtype());
  const Tensor total = empty({}, input.dtype() == DType::float64 ? DType::float64 : DType::float32);
  with_float_type(call, input.dtype(), [&]<typename C>(TypeTag<C>) {
    const Wide<C> weights(weight);
    std::vector<C> losses(reduced ? 0 : targets.size(), C(0));
    double sum = 0, total_weight = 0;
    for_targets(call, g, targets, [&](std::int64_t row, std::int64_t at, std::int64_t target) {
      const double w = weights ? static_cast<double>(weights[target]) : 1;
      const double loss = -w * element<C>(input, at);
      if (reduced)
        sum += loss;
      else
        losses[static_cast<std::size_t>(row)] = static_cast<C>(loss);
      total_weight += w;
    });
    if (reduced) losses.push_back(static_cast<C>(reduction == "mean" ? sum / total_weight : sum));
    store_from<C>(out.raw(), out.dtype(), 0, 1, static_cast<std::int64_t>(losses.size()), losses.data());
    store_from<double>(total.raw(), total.dtype(), 0, 1, 1, &total_weight);
  });
  return {out, total};
}

// Inputs: gradient of the loss, target, total weight, class weights or none. Attribute input_sizes.
Tensors nll_loss_backward(const OpCall& call) {
  const Tensor grad = dense(call.in(0));
  const Tensor weight = call.has(3) ? call.in(3) : Tensor();
  const Shape sizes = call.attributes.list("input_sizes", {});
  const NllGeometry g = nll_geometry(call, sizes, call.in(1), weight);
  const std::vector<std::int64_t> targets = read_targets(call.in(1));
  const std::string reduction = call.attributes.text("reduction", "mean");
  const double total = element<double>(call.in(2), 0);
  const Tensor out = make_output(call, sizes, grad.dtype());
  with_float_type(call, grad.dtype(), [&]<typename C>(TypeTag<C>) {
    const Wide<C> grads(grad), weights(weight);
    const bool direct = out.dtype() == kDTypeOf<C>;
    const Workspace buffer(direct ? 0 : static_cast<std::size_t>(out.numel()) * sizeof(C), false);
    const Piece<C> result(out, 0, out.numel(), buffer.data<C>());
    std::fill_n(result.data(), out.numel(), C(0));
    for_targets(call, g, targets, [&](std::int64_t row, std::int64_t at, std::int64_t target) {
      const C scale = weights ? -weights[target] : C(-1);
      if (reduction == "none")
        result.data()[at] = scale * grads[row];
      else
        result.data()[at] = reduction == "mean" ? static_cast<C>(scale * grads[0] / total) : scale * grads[0];
    });
    result.store();
  });
  return {out};
}

}  // namespace amp::cpu
