// Gradients of grid sampling and of upsampling; the latter is linear, so forward and backward are each other's.
#include "libamp/autograd/gradient.h"
#include "libamp/dispatch/run_op.h"

namespace amp::gradients {
namespace {

// `interpolation`: as upsample_backward takes it.
Tensors upsample(const GradCall& g, std::int64_t interpolation) {
  Attributes attributes = g.attributes();
  attributes.set("input_sizes", g.input_sizes(0));
  attributes.set("interpolation", interpolation);
  return {run_op1({OpId::upsample_backward, {g.grad()}, attributes, {}})};
}

}  // namespace

Tensors grid_sampler(const GradCall& g) {
  return run_op({OpId::grid_sampler_backward, {g.grad(), g.in(0), g.in(1)}, g.attributes(), {}});
}

Tensors upsample_nearest1d(const GradCall& g) { return upsample(g, 0); }
Tensors upsample_nearest2d(const GradCall& g) { return upsample(g, 0); }
Tensors upsample_nearest3d(const GradCall& g) { return upsample(g, 0); }
Tensors upsample_nearest_exact1d(const GradCall& g) { return upsample(g, 3); }
Tensors upsample_nearest_exact2d(const GradCall& g) { return upsample(g, 3); }
Tensors upsample_nearest_exact3d(const GradCall& g) { return upsample(g, 3); }
Tensors upsample_linear1d(const GradCall& g) { return upsample(g, 1); }
Tensors upsample_bilinear2d(const GradCall& g) { return upsample(g, 1); }
Tensors upsample_trilinear3d(const GradCall& g) { return upsample(g, 1); }
Tensors upsample_bicubic2d(const GradCall& g) { return upsample(g, 2); }

Tensors upsample_backward(const GradCall& g) {
  constexpr OpId kNearest[] = {OpId::upsample_nearest1d, OpId::upsample_nearest2d, OpId::upsample_nearest3d};
  constexpr OpId kLinear[] = {OpId::upsample_linear1d, OpId::upsample_bilinear2d, OpId::upsample_trilinear3d};
  constexpr OpId kExact[] = {OpId::upsample_nearest_exact1d, OpId::upsample_nearest_exact2d,
                             OpId::upsample_nearest_exact3d};
  const std::int64_t interpolation = g.attributes().integer("interpolation", 0);
  const int spatial = g.attributes().list("output_size", {}).size();
  const OpId op = interpolation == 0   ? kNearest[spatial - 1]
                  : interpolation == 1 ? kLinear[spatial - 1]
                  : interpolation == 3 ? kExact[spatial - 1]
                                       : OpId::upsample_bicubic2d;
  return {run_op1({op, {g.grad()}, g.attributes(), {}})};
}

}  // namespace amp::gradients
