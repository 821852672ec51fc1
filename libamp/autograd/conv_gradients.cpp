// Gradients of convolutions. Convolution, its gradient for the input and its gradient for the weight are three linear
// maps of pairs out of (input, weight, output); each one's gradients are the other two.
#include "libamp/autograd/gradient.h"
#include "libamp/ops/conv.h"

namespace amp::gradients {
namespace {

ConvOptions options_of(const GradCall& g) {
  const Attributes& a = g.attributes();
  return {a.list("stride", {}), a.list("padding", {}), a.list("dilation", {}), a.integer("groups", 1)};
}

// The sum over everything but channels.
Tensor bias_gradient(const Tensor& grad) {
  Shape dims{0};
  for (int d = 2; d < grad.dim(); ++d) dims.push_back(d);
  return sum(grad, dims);
}

Tensors conv(const GradCall& g) {
  const Tensor grad = g.grad();
  const ConvOptions options = options_of(g);
  return {g.needs(0) ? conv_backward_input(grad, g.in(1), g.input_sizes(0), options) : Tensor(),
          g.needs(1) ? conv_backward_weight(grad, g.in(0), g.input_sizes(1), options) : Tensor(),
          g.needs(2) ? bias_gradient(grad) : Tensor()};
}

Tensors transposed(const GradCall& g) {
  const Tensor grad = g.grad();
  const ConvOptions options = options_of(g);
  return {g.needs(0) ? convolution(grad, g.in(1), {}, options) : Tensor(),
          g.needs(1) ? conv_backward_weight(g.in(0), grad, g.input_sizes(1), options) : Tensor(),
          g.needs(2) ? bias_gradient(grad) : Tensor()};
}

}  // namespace

Tensors conv1d(const GradCall& g) { return conv(g); }
Tensors conv2d(const GradCall& g) { return conv(g); }
Tensors conv3d(const GradCall& g) { return conv(g); }
Tensors conv_transpose1d(const GradCall& g) { return transposed(g); }
Tensors conv_transpose2d(const GradCall& g) { return transposed(g); }
Tensors conv_transpose3d(const GradCall& g) { return transposed(g); }

// Inputs: output gradient, weight.
Tensors conv_backward_input(const GradCall& g) { return transposed(g); }

// Inputs: output gradient, input.
Tensors conv_backward_weight(const GradCall& g) {
  const Tensor grad = g.grad();
  const ConvOptions options = options_of(g);
  return {g.needs(0) ? convolution(g.in(1), grad, {}, options) : Tensor(),
          g.needs(1) ? conv_backward_input(g.in(0), grad, g.input_sizes(1), options) : Tensor()};
}

}  // namespace amp::gradients
