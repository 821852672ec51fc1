// conv_transpose1d, 2d, 3d and the gradient of a convolution for its input, which are one computation: gemm + col2im
// over tiles, split over images.
#include "libamp/backend/cpu/conv.h"
#include "libamp/backend/cpu/tile_product.h"

namespace amp::cpu {
namespace {

template <typename C>
void scatter_image(const ConvGeometry& g, const C* from, const C* weights, C* columns, std::int64_t tile, C* to) {
  const std::int64_t positions = g.out_positions();
  for (std::int64_t group = 0; group < g.groups; ++group) {
    const C* group_from = from + group * g.out_per_group() * positions;
    // Weight [out, rows] read as its transpose.
    const Matrix<C> transposed{weights + group * g.out_per_group() * g.column_rows(), g.column_rows(),
                               g.out_per_group(), 1, g.column_rows()};
    C* group_to = to + group * g.in_per_group() * g.in_positions();
    if (g.is_pointwise()) {
      tile_product<C>(transposed, {group_from, g.out_per_group(), positions, positions, 1}, group_to, positions, true);
      continue;
    }
    for (std::int64_t first = 0; first < positions; first += tile) {
      const std::int64_t last = std::min(positions, first + tile), n = last - first;
      tile_product<C>(transposed, {group_from + first, g.out_per_group(), n, positions, 1}, columns, n, false);
      col2im_add<C>(g, columns, first, last, group_to);
    }
  }
}

template <typename C>
void scatter(const ConvGeometry& g, const Tensor& from, const Tensor& weight, const Tensor& bias, const Tensor& to) {
  const Tensor source = dense(from);
  const Wide<C> weights(weight), biases(bias);
  const std::int64_t tile = conv_tile_columns(g, sizeof(C));
  const std::int64_t from_elements = g.out_channels * g.out_positions(), to_elements = g.in_channels * g.in_positions();
  const bool widen = source.dtype() != kDTypeOf<C>, narrow = to.dtype() != kDTypeOf<C>;
  parallel_for(g.batch, 1, [&](std::int64_t begin, std::int64_t end) {
    const Workspace columns(g.is_pointwise() ? 0 : static_cast<std::size_t>(g.column_rows() * tile) * sizeof(C), true);
    const Workspace wide(widen ? static_cast<std::size_t>(from_elements) * sizeof(C) : 0, false);
    const Workspace result(narrow ? static_cast<std::size_t>(to_elements) * sizeof(C) : 0, false);
    for (std::int64_t image = begin; image < end; ++image) {
      const C* in = load_block<C>(source, image * from_elements, 1, from_elements, wide.data<C>());
      const Piece<C> out(to, image * to_elements, to_elements, result.data<C>());
      for (std::int64_t c = 0; c < g.in_channels; ++c)
        std::fill_n(out.data() + c * g.in_positions(), g.in_positions(), biases ? biases[c] : C(0));
      scatter_image<C>(g, in, weights.data(), columns.data<C>(), tile, out.data());
      out.store();
    }
  });
}

Tensor run(const OpCall& call, const ConvGeometry& g, const Tensor& bias, const Shape& to_sizes) {
  const Tensor &from = call.in(0), &weight = call.in(1);
  const Tensor to = make_output(call, to_sizes, from.dtype());
  with_float_type(call, from.dtype(), [&]<typename C>(TypeTag<C>) { scatter<C>(g, from, weight, bias, to); });
  return to;
}

void require_from_sizes(const OpCall& call, const ConvGeometry& g, const Tensor& from) {
  bool fits = from.sizes()[0] == g.batch && from.sizes()[1] == g.out_channels;
  for (int d = 2; d < from.dim() && fits; ++d) fits = from.sizes()[d] == g.out[3 - from.dim() + d];
  if (!fits)
    call.fail("operand does not fit the other sizes: got " + describe(from) + " and weight " + describe(call.in(1)));
}

Tensors transposed(const OpCall& call, int spatial) {
  const Tensor &input = call.in(0), &weight = call.in(1), bias = call.has(2) ? call.in(2) : Tensor();
  require_conv_dtypes(call, input, weight, bias);
  if (input.dim() != spatial + 2 || weight.dim() != spatial + 2)
    call.fail("needs input [batch, channels, " + std::to_string(spatial) +
              " spatial] and weight [in, out / groups, kernel]: got " + describe(input) + " and " + describe(weight));
  const std::int64_t groups = call.attributes.integer("groups", 1);
  Shape to_sizes{input.size(0), weight.size(1) * groups};
  if (input.size(1) != weight.size(0))
    call.fail("weight must have one row per input channel: got " + describe(input) + " and " + describe(weight));
  const Shape stride = call.attributes.list("stride", {}), padding = call.attributes.list("padding", {}),
              dilation = call.attributes.list("dilation", {}), extra = call.attributes.list("output_padding", {});
  for (int d = 0; d < spatial; ++d) {
    if (extra[d] < 0 || (extra[d] >= stride[d] && extra[d] >= dilation[d]))
      call.fail("output_padding must be smaller than stride or dilation: got " + to_string(extra) + ", stride " +
                to_string(stride) + ", dilation " + to_string(dilation));
    const std::int64_t size =
        (input.size(d + 2) - 1) * stride[d] - 2 * padding[d] + dilation[d] * (weight.size(d + 2) - 1) + extra[d] + 1;
    if (size <= 0) call.fail("the output would be empty: got " + describe(input) + " and " + describe(weight));
    to_sizes.push_back(size);
  }
  if (bias.defined() && !(bias.sizes() == Shape{to_sizes[1]}))
    call.fail("bias does not fit: got " + describe(bias) + ", need [" + std::to_string(to_sizes[1]) + "]");
  const ConvGeometry g = conv_geometry(call, spatial, to_sizes, weight.sizes());
  require_from_sizes(call, g, input);
  return {run(call, g, bias, to_sizes)};
}

}  // namespace

Tensors conv_transpose1d(const OpCall& call) { return transposed(call, 1); }
Tensors conv_transpose2d(const OpCall& call) { return transposed(call, 2); }
Tensors conv_transpose3d(const OpCall& call) { return transposed(call, 3); }

// Inputs: gradient of the output, weight of the convolution. Attribute input_sizes.
Tensors conv_backward_input(const OpCall& call) {
  const Tensor &grad = call.in(0), &weight = call.in(1);
  require_conv_dtypes(call, grad, weight, {});
  const Shape input_sizes = call.attributes.list("input_sizes", {});
  const ConvGeometry g = conv_geometry(call, weight.dim() - 2, input_sizes, weight.sizes());
  require_from_sizes(call, g, grad);
  return {run(call, g, {}, input_sizes)};
}

}  // namespace amp::cpu
