// Gradients of the normalisations. Ordinarily one fused op each; while the backward pass itself is recorded, the same
// formula written with differentiable ops, starting from the input again.
#include "libamp/autograd/gradient.h"
#include "libamp/core/grad_mode.h"
#include "libamp/dispatch/run_op.h"

namespace amp::gradients {
namespace {

DType moment_dtype(DType input) { return input == DType::float64 ? DType::float64 : DType::float32; }

// How the input is seen for the formula: `sizes`, normalised over `over`; parameters have `parameter_sizes` there.
struct NormView {
  Shape sizes, over, parameter_sizes;
};

NormView rows_view(const GradCall& g) {
  const Shape normalized = g.attributes().list("normalized_shape", {});
  const std::int64_t n = numel_of(normalized);
  return {{numel_of(g.input_sizes(0)) / n, n}, {1}, {1, n}};
}
NormView group_view(const GradCall& g) {
  const Shape& in = g.input_sizes(0);
  const std::int64_t groups = g.attributes().integer("num_groups", 1), each = in[1] / groups;
  return {{in[0], groups, each, numel_of(in) / (in[0] * in[1])}, {2, 3}, {1, groups, each, 1}};
}
NormView channel_view(const GradCall& g) {
  const Shape& in = g.input_sizes(0);
  return {{in[0], in[1], numel_of(in) / (in[0] * in[1])}, {0, 2}, {1, in[1], 1}};
}

// Dims of a view that parameters do not have.
Shape other_dims(const NormView& v) {
  Shape dims;
  for (int d = 0; d < v.sizes.size(); ++d)
    if (v.parameter_sizes[d] == 1) dims.push_back(d);
  return dims;
}

// The formula with ops. hat = (x - mean) / deviation; with fixed statistics (mean and rstd given) only the scale
// counts.
Tensors composed(const GradCall& g, const NormView& v, bool centred, const Tensor& fixed_mean = {},
                 const Tensor& fixed_rstd = {}) {
  const DType dtype = moment_dtype(g.input_dtype(0));
  const double eps = g.attributes().number("eps", 1e-5);
  const Tensor x = reshape(to(g.in(0), dtype), v.sizes), grad = reshape(to(g.grad(), dtype), v.sizes);
  Tensor centre, rstd;
  if (fixed_rstd.defined()) {
    centre = x - reshape(fixed_mean, v.parameter_sizes);
    rstd = reshape(fixed_rstd, v.parameter_sizes);
  } else {
    centre = centred ? x - mean(x, v.over, true) : x;
    rstd = rsqrt(mean(centre * centre, v.over, true) + eps);
  }
  const Tensor hat = centre * rstd;
  const Tensor weight = g.in(1);
  Tensors result(g.input_count());
  if (g.needs(0)) {
    const Tensor weighted = weight.defined() ? grad * reshape(to(weight, dtype), v.parameter_sizes) : grad;
    Tensor inner = weighted;
    if (!fixed_rstd.defined()) {
      if (centred) inner = inner - mean(weighted, v.over, true);
      inner = inner - hat * mean(weighted * hat, v.over, true);
    }
    result[0] = reshape(inner * rstd, g.input_sizes(0));
  }
  if (g.needs(1)) result[1] = reshape(sum(grad * hat, other_dims(v)), g.input_sizes(1));
  if (g.needs(2)) result[2] = reshape(sum(grad, other_dims(v)), g.input_sizes(2));
  return result;
}

// The fused op; its outputs are the gradients of input, weight and bias.
Tensors fused(const GradCall& g, OpId op, const Tensors& inputs, Attributes attributes) {
  attributes.set("bias", g.needs(2));
  Tensors result = run_op({op, inputs, attributes, {}});
  result.resize(g.input_count());
  return result;
}

}  // namespace

Tensors layer_norm(const GradCall& g) {
  if (grad_mode().enabled) return composed(g, rows_view(g), true);
  return fused(g, OpId::layer_norm_backward, {g.grad(), g.in(0), g.out(1), g.out(2), g.in(1)}, g.attributes());
}

Tensors rms_norm(const GradCall& g) {
  if (grad_mode().enabled) return composed(g, rows_view(g), false);
  return fused(g, OpId::rms_norm_backward, {g.grad(), g.in(0), g.out(1), g.in(1)}, g.attributes());
}

Tensors group_norm(const GradCall& g) {
  if (grad_mode().enabled) return composed(g, group_view(g), true);
  return fused(g, OpId::group_norm_backward, {g.grad(), g.in(0), g.out(1), g.out(2), g.in(1)}, g.attributes());
}

// The statistics of a region without training are constants.
Tensors batch_norm(const GradCall& g) {
  if (grad_mode().enabled) {
    if (g.attributes().flag("training", false)) return composed(g, channel_view(g), true);
    return composed(g, channel_view(g), true, g.out(1).detach(), g.out(2).detach());
  }
  return fused(g, OpId::batch_norm_backward, {g.grad(), g.in(0), g.out(1), g.out(2), g.in(1)}, g.attributes());
}

}  // namespace amp::gradients
