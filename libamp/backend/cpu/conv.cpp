// conv1d, conv2d, conv3d and their gradient for the weight: im2col + gemm over tiles (see conv.h), split over images.
#include "libamp/backend/cpu/conv.h"

#include "libamp/backend/cpu/tile_product.h"

namespace amp::cpu {
namespace {

// Tile t of image n, in the order one thread meets them.
struct Tiles {
  std::int64_t columns, per_image;
  explicit Tiles(const ConvGeometry& g, std::size_t element_bytes)
      : columns(conv_tile_columns(g, element_bytes)), per_image((g.out_positions() + columns - 1) / columns) {}
};

// The columns of one group's tile: a copy, or the image itself for pointwise convolutions.
template <typename C>
Matrix<C> tile_columns(const ConvGeometry& g, const C* group_image, std::int64_t first, std::int64_t last, C* buffer) {
  if (g.is_pointwise()) return {group_image + first, g.column_rows(), last - first, g.out_positions(), 1};
  im2col<C>(g, group_image, first, last, buffer);
  return {buffer, g.column_rows(), last - first, last - first, 1};
}

template <typename C>
std::size_t column_buffer_bytes(const ConvGeometry& g, const Tiles& tiles) {
  return g.is_pointwise() ? 0 : static_cast<std::size_t>(g.column_rows() * tiles.columns) * sizeof(C);
}

// Writes one channel of a narrow output. The sum of products is rounded to the type and then the bias is added and
// rounded again, as PyTorch does on CUDA (cuDNN's convolution, then an in-place add of the bias).
template <typename C>
void store_rounded(const Tensor& out, std::int64_t at, std::int64_t n, C* values, const C* bias) {
  store_from<C>(out.raw(), out.dtype(), at, 1, n, values);
  if (bias == nullptr) return;
  load_as<C>(out.raw(), out.dtype(), at, 1, n, values);
  for (std::int64_t i = 0; i < n; ++i) values[i] += *bias;
  store_from<C>(out.raw(), out.dtype(), at, 1, n, values);
}

template <typename C>
void forward(const ConvGeometry& g, const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& out) {
  const Tensor source = dense(input);
  const Wide<C> weights(weight), biases(bias);
  const Tiles tiles(g, sizeof(C));
  const std::int64_t positions = g.out_positions(), work = g.batch * tiles.per_image;
  const bool direct = out.dtype() == kDTypeOf<C>;
  parallel_for(work, 1, [&](std::int64_t begin, std::int64_t end) {
    Slices<C> images(source, g.in_channels * g.in_positions());
    const Workspace columns(column_buffer_bytes<C>(g, tiles), true);
    const Workspace results(direct ? 0 : static_cast<std::size_t>(g.out_channels * tiles.columns) * sizeof(C), false);
    for (std::int64_t item = begin; item < end; ++item) {
      const std::int64_t image = item / tiles.per_image, first = item % tiles.per_image * tiles.columns;
      const std::int64_t last = std::min(positions, first + tiles.columns), n = last - first;
      const C* in = images.at(image);
      const std::int64_t out_at = image * g.out_channels * positions + first;
      C* result = direct ? out.data<C>() + out_at : results.data<C>();
      const std::int64_t step = direct ? positions : n;
      const bool bias_first = biases && direct;
      if (bias_first)
        for (std::int64_t o = 0; o < g.out_channels; ++o) std::fill_n(result + o * step, n, biases[o]);
      for (std::int64_t group = 0; group < g.groups; ++group) {
        const C* group_weights = weights.data() + group * g.out_per_group() * g.column_rows();
        const Matrix<C> tile =
            tile_columns<C>(g, in + group * g.in_per_group() * g.in_positions(), first, last, columns.data<C>());
        tile_product<C>({group_weights, g.out_per_group(), g.column_rows(), g.column_rows(), 1}, tile,
                        result + group * g.out_per_group() * step, step, bias_first);
      }
      if (direct) continue;
      for (std::int64_t o = 0; o < g.out_channels; ++o)
        store_rounded<C>(out, out_at + o * positions, n, result + o * n, biases ? &biases[o] : nullptr);
    }
  });
}

// Adds the weight gradient of images [begin, end) into `sum`, transposed: for each group [column_rows, out_per_group].
// So the columns are read as they lie, and only the gradient, which is smaller, is transposed first.
template <typename C>
void add_weight_gradient(const ConvGeometry& g, const Tensor& grad, const Tensor& input, std::int64_t begin,
                         std::int64_t end, C* sum) {
  const Tiles tiles(g, sizeof(C));
  const std::int64_t positions = g.out_positions(), outs = g.out_per_group();
  Slices<C> grads(grad, g.out_channels * positions), images(input, g.in_channels * g.in_positions());
  const Workspace columns(column_buffer_bytes<C>(g, tiles), true);
  const Workspace turned(static_cast<std::size_t>(outs * tiles.columns) * sizeof(C), true);
  for (std::int64_t image = begin; image < end; ++image) {
    const C* grad_image = grads.at(image);
    const C* in = images.at(image);
    for (std::int64_t first = 0; first < positions; first += tiles.columns) {
      const std::int64_t last = std::min(positions, first + tiles.columns);
      for (std::int64_t group = 0; group < g.groups; ++group) {
        const Matrix<C> tile =
            tile_columns<C>(g, in + group * g.in_per_group() * g.in_positions(), first, last, columns.data<C>());
        transpose_tile<C>(grad_image + group * outs * positions + first, positions, outs, last - first, C(1),
                          turned.data<C>());
        tile_product<C>(tile, {turned.data<C>(), last - first, outs, outs, 1}, sum + group * outs * g.column_rows(),
                        outs, true);
      }
    }
  }
}

// Each thread sums its share of the images, then the shares are added in order: same bits in every run.
template <typename C>
void weight_gradient(const ConvGeometry& g, const Tensor& grad, const Tensor& input, const Tensor& out) {
  const Tensor grad_source = dense(grad), source = dense(input);
  const std::int64_t n = out.numel(), outs = g.out_per_group(), rows = g.column_rows();
  const std::int64_t parts = std::max<std::int64_t>(1, std::min<std::int64_t>(num_threads(), g.batch));
  const Workspace sums(static_cast<std::size_t>((parts + 1) * n) * sizeof(C), true);
  std::fill_n(sums.data<C>(), parts * n, C(0));
  parallel_for(parts, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t part = first; part < last; ++part)
      add_weight_gradient<C>(g, grad_source, source, part * g.batch / parts, (part + 1) * g.batch / parts,
                             sums.data<C>() + part * n);
  });
  C* turned = sums.data<C>() + parts * n;
  parallel_for(g.groups, std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, outs * rows)),
               [&](std::int64_t begin, std::int64_t end) {
                 C* total = sums.data<C>();
                 for (std::int64_t part = 1; part < parts; ++part)
                   for (std::int64_t i = begin * outs * rows; i < end * outs * rows; ++i)
                     total[i] += total[part * n + i];
                 for (std::int64_t group = begin; group < end; ++group)
                   transpose_tile<C>(total + group * outs * rows, outs, rows, outs, C(1), turned + group * outs * rows);
                 store_from<C>(out.raw(), out.dtype(), begin * outs * rows, 1, (end - begin) * outs * rows,
                               turned + begin * outs * rows);
               });
}

Shape out_sizes(const ConvGeometry& g, int spatial) {
  Shape sizes{g.batch, g.out_channels};
  for (int d = 3 - spatial; d < 3; ++d) sizes.push_back(g.out[d]);
  return sizes;
}

Tensors convolution(const OpCall& call, int spatial) {
  const Tensor &input = call.in(0), &weight = call.in(1), bias = call.has(2) ? call.in(2) : Tensor();
  require_conv_dtypes(call, input, weight, bias);
  const ConvGeometry g = conv_geometry(call, spatial, input.sizes(), weight.sizes());
  if (bias.defined() && !(bias.sizes() == Shape{g.out_channels}))
    call.fail("bias does not fit: got " + describe(bias) + ", need [" + std::to_string(g.out_channels) + "]");
  const Tensor out = make_output(call, out_sizes(g, spatial), input.dtype());
  with_float_type(call, input.dtype(), [&]<typename C>(TypeTag<C>) { forward<C>(g, input, weight, bias, out); });
  return {out};
}

}  // namespace

Tensors conv1d(const OpCall& call) { return convolution(call, 1); }
Tensors conv2d(const OpCall& call) { return convolution(call, 2); }
Tensors conv3d(const OpCall& call) { return convolution(call, 3); }

// Inputs: gradient of the output, input of the convolution. Attribute weight_sizes.
Tensors conv_backward_weight(const OpCall& call) {
  const Tensor &grad = call.in(0), &input = call.in(1);
  require_conv_dtypes(call, grad, input, {});
  const Shape weight_sizes = call.attributes.list("weight_sizes", {});
  const int spatial = input.dim() - 2;
  const ConvGeometry g = conv_geometry(call, spatial, input.sizes(), weight_sizes);
  if (!(grad.sizes() == out_sizes(g, spatial)))
    call.fail("gradient does not fit: got " + describe(grad) + ", need " + to_string(out_sizes(g, spatial)));
  const Tensor out = make_output(call, weight_sizes, input.dtype());
  with_float_type(call, input.dtype(), [&]<typename C>(TypeTag<C>) { weight_gradient<C>(g, grad, input, out); });
  return {out};
}

}  // namespace amp::cpu
