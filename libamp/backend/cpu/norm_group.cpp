// group_norm: the channels of a group of one image are normalised together; each channel is a stretch of memory with
// one scale and shift.
#include <cmath>

#include "libamp/backend/cpu/norm.h"

namespace amp::cpu {
namespace {

struct GroupShape {
  std::int64_t batch = 0, channels = 0, groups = 1, positions = 1;
  [[nodiscard]] std::int64_t channels_each() const { return channels / groups; }
  [[nodiscard]] std::int64_t row() const { return channels_each() * positions; }
};

GroupShape group_shape(const OpCall& call, const Tensor& input, const Tensor& weight, const Tensor& bias) {
  GroupShape g;
  g.groups = call.attributes.integer("num_groups", 1);
  const bool shaped = input.dim() >= 2 && g.groups > 0 && input.size(1) % g.groups == 0;
  const auto fits = [&](const Tensor& t) { return !t.defined() || t.sizes() == Shape{input.size(1)}; };
  if (!shaped || !fits(weight) || !fits(bias))
    call.fail("arguments do not fit " + std::to_string(g.groups) + " groups: got input " + describe(input) +
              ", weight " + describe(weight) + ", bias " + describe(bias));
  g.batch = input.size(0);
  g.channels = input.size(1);
  for (int d = 2; d < input.dim(); ++d) g.positions *= input.size(d);
  return g;
}

std::int64_t row_grain(std::int64_t n) { return std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, n)); }

}  // namespace

// Inputs: input [batch, channels, ...], weight or none, bias or none. Outputs: the result, mean and 1 / deviation
// [batch, groups].
Tensors group_norm(const OpCall& call) {
  const Tensor input = dense(call.in(0)), weight = call.has(1) ? call.in(1) : Tensor(),
               bias = call.has(2) ? call.in(2) : Tensor();
  require_norm_dtypes(call, input, {&weight, &bias});
  const GroupShape s = group_shape(call, input, weight, bias);
  const double eps = call.attributes.number("eps", 1e-5);
  const Tensor out = make_output(call, input.sizes(), input.dtype());
  const Tensor mean = empty({s.batch, s.groups}, moment_dtype(input.dtype())), rstd = empty(mean.sizes(), mean.dtype());
  with_float_type(call, input.dtype(), [&]<typename C>(TypeTag<C>) {
    const std::int64_t n = s.row();
    const Wide<C> w(weight), b(bias);
    parallel_for(s.batch * s.groups, row_grain(n), [&](std::int64_t begin, std::int64_t end) {
      const Workspace buffer(static_cast<std::size_t>(2 * n) * sizeof(C), input.dtype() == kDTypeOf<C>);
      for (std::int64_t row = begin; row < end; ++row) {
        const C* x = load_block<C>(input, row * n, 1, n, buffer.data<C>());
        const C m = lane_sum<C>(n, [&](std::int64_t i) { return x[i]; }) / static_cast<C>(n);
        const C variance = lane_sum<C>(n, [&](std::int64_t i) { return (x[i] - m) * (x[i] - m); }) / static_cast<C>(n);
        const C r = C(1) / std::sqrt(variance + static_cast<C>(eps));
        const Piece<C> y(out, row * n, n, buffer.data<C>() + n);
        for (std::int64_t k = 0; k < s.channels_each(); ++k) {
          const std::int64_t channel = row % s.groups * s.channels_each() + k, at = k * s.positions;
          const C scale = w ? w[channel] * r : r, shift = (b ? b[channel] : C(0));
          for (std::int64_t i = at; i < at + s.positions; ++i) y.data()[i] = (x[i] - m) * scale + shift;
        }
        y.store();
        mean.data<C>()[row] = m;
        rstd.data<C>()[row] = r;
      }
    });
  });
  return {out, mean, rstd};
}

// Inputs: gradient, input, mean, rstd, weight or none. Outputs: gradients of input, weight, bias.
Tensors group_norm_backward(const OpCall& call) {
  const Tensor grad = dense(call.in(0)), input = dense(call.in(1)), weight = call.has(4) ? call.in(4) : Tensor();
  const GroupShape s = group_shape(call, input, weight, {});
  const Tensor gx = make_output(call, input.sizes(), input.dtype());
  const DType parameter = weight.defined() ? weight.dtype() : input.dtype();
  const bool has_bias = call.attributes.flag("bias", false);
  const Tensor gw = weight.defined() ? empty({s.channels}, parameter) : Tensor(),
               gb = has_bias ? empty({s.channels}, parameter) : Tensor();
  with_float_type(call, input.dtype(), [&]<typename C>(TypeTag<C>) {
    const std::int64_t n = s.row(), images = s.batch * s.channels;
    const Wide<C> w(weight), means(call.in(2)), rstds(call.in(3));
    // Per image and channel: sum of g * normalised x, and of g. Added over images in order afterwards.
    const Workspace sums(static_cast<std::size_t>(2 * images) * sizeof(C), true);
    C *along = sums.data<C>(), *plain = along + images;
    parallel_for(s.batch * s.groups, row_grain(n), [&](std::int64_t begin, std::int64_t end) {
      const Workspace buffer(static_cast<std::size_t>(3 * n) * sizeof(C), input.dtype() == kDTypeOf<C>);
      for (std::int64_t row = begin; row < end; ++row) {
        const C* x = load_block<C>(input, row * n, 1, n, buffer.data<C>());
        const C* g = load_block<C>(grad, row * n, 1, n, buffer.data<C>() + n);
        const Piece<C> result(gx, row * n, n, buffer.data<C>() + 2 * n);
        const C m = means[row], r = rstds[row];
        const std::int64_t first = row * s.channels_each();
        C total_along = 0, total = 0;
        for (std::int64_t k = 0; k < s.channels_each(); ++k) {
          const C *xk = x + k * s.positions, *gk = g + k * s.positions;
          along[first + k] = lane_sum<C>(s.positions, [&](std::int64_t i) { return gk[i] * (xk[i] - m) * r; });
          plain[first + k] = lane_sum<C>(s.positions, [&](std::int64_t i) { return gk[i]; });
          const C scale = w ? w[first % s.channels + k] : C(1);
          total_along += scale * along[first + k];
          total += scale * plain[first + k];
        }
        total_along /= static_cast<C>(n);
        total /= static_cast<C>(n);
        for (std::int64_t k = 0; k < s.channels_each(); ++k) {
          const C scale = w ? w[first % s.channels + k] : C(1);
          for (std::int64_t i = k * s.positions; i < (k + 1) * s.positions; ++i)
            result.data()[i] = r * (scale * g[i] - total - (x[i] - m) * r * total_along);
        }
        result.store();
      }
    });
    const auto add_images = [&](const Tensor& out, C* values) {
      if (!out.defined()) return;
      for (std::int64_t i = s.channels; i < images; ++i) values[i % s.channels] += values[i];
      std::vector<C> result(static_cast<std::size_t>(s.channels), C(0));
      if (images > 0) std::copy_n(values, s.channels, result.begin());
      store_from<C>(out.raw(), out.dtype(), 0, 1, s.channels, result.data());
    };
    add_images(gw, along);
    add_images(gb, plain);
  });
  return {gx, gw, gb};
}

}  // namespace amp::cpu
