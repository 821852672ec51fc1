// Gradients of pooling. Pooling is linear once the maxima are chosen: forward and backward are each other's gradients.
#include "libamp/autograd/gradient.h"
#include "libamp/dispatch/run_op.h"

namespace amp::gradients {
namespace {

Attributes with_input(const GradCall& g, std::int64_t spatial) {
  Attributes attributes = g.attributes();
  attributes.set("input_sizes", g.input_sizes(0));
  attributes.set("spatial", spatial);
  return attributes;
}

Tensors max_pool(const GradCall& g, std::int64_t spatial) {
  return {run_op1(
      {OpId::max_pool_backward, {g.grad(), g.out(1)}, {{"input_sizes", g.input_sizes(0)}, {"spatial", spatial}}, {}})};
}

Tensors average(const GradCall& g, std::int64_t spatial) {
  return {run_op1({OpId::avg_pool_backward, {g.grad()}, with_input(g, spatial), {}})};
}

}  // namespace

Tensors max_pool2d(const GradCall& g) { return max_pool(g, 2); }
Tensors max_pool3d(const GradCall& g) { return max_pool(g, 3); }

// Inputs: gradient, indices.
Tensors max_pool_backward(const GradCall& g) {
  return {run_op1({OpId::max_pool_pick, {g.grad(), g.in(1)}, g.attributes(), {}}), {}};
}
Tensors max_pool_pick(const GradCall& g) {
  return {
      run_op1({OpId::max_pool_backward, {g.grad(), g.in(1)}, with_input(g, g.attributes().integer("spatial", 2)), {}}),
      {}};
}

Tensors avg_pool2d(const GradCall& g) { return average(g, 2); }
Tensors avg_pool3d(const GradCall& g) { return average(g, 3); }
Tensors adaptive_avg_pool2d(const GradCall& g) { return average(g, 2); }
Tensors adaptive_avg_pool3d(const GradCall& g) { return average(g, 3); }

Tensors avg_pool_backward(const GradCall& g) {
  const bool adaptive = g.attributes().has("output_size"), flat = g.attributes().integer("spatial", 2) == 2;
  const OpId op = adaptive ? (flat ? OpId::adaptive_avg_pool2d : OpId::adaptive_avg_pool3d)
                           : (flat ? OpId::avg_pool2d : OpId::avg_pool3d);
  return {run_op1({op, {g.grad()}, g.attributes(), {}})};
}

}  // namespace amp::gradients
