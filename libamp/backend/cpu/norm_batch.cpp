// batch_norm: each channel over the batch and all positions. Channels are split over threads; the moments of a channel
// are taken in two passes and summed in double, since a channel may have millions of elements.
#include <cmath>

#include "libamp/backend/cpu/norm.h"

namespace amp::cpu {
namespace {

struct ChannelShape {
  std::int64_t batch = 0, channels = 0, positions = 1;
  [[nodiscard]] std::int64_t count() const { return batch * positions; }
};

ChannelShape channel_shape(const OpCall& call, const Tensor& input, std::initializer_list<const Tensor*> parameters) {
  if (input.dim() < 2) call.fail("needs an input [batch, channels, ...]: got " + describe(input));
  ChannelShape s{input.size(0), input.size(1), 1};
  for (int d = 2; d < input.dim(); ++d) s.positions *= input.size(d);
  for (const Tensor* t : parameters)
    if (t->defined() && !(t->sizes() == Shape{s.channels}))
      call.fail("parameters and statistics need one value per channel: got " + describe(*t) + " for " +
                describe(input));
  return s;
}

// Calls run(offset, step, n) for the stretches of memory that make up a channel.
template <typename F>
void for_stretches_of_channel(const ChannelShape& s, std::int64_t channel, F run) {
  if (s.positions == 1) {
    // [batch, channels]: a column. In blocks, since the caller's buffers have a block's size.
    for (std::int64_t n = 0; n < s.batch; n += kBlock)
      run(n * s.channels + channel, s.channels, std::min(kBlock, s.batch - n));
    return;
  }
  for (std::int64_t n = 0; n < s.batch; ++n)
    for (std::int64_t i = 0; i < s.positions; i += kBlock)
      run((n * s.channels + channel) * s.positions + i, 1, std::min(kBlock, s.positions - i));
}

struct Moments {
  double mean, variance;  // variance: divided by the count
};

template <typename C>
Moments moments_of(const ChannelShape& s, const Tensor& input, std::int64_t channel) {
  std::array<C, kBlock> buffer;
  double sum = 0, squares = 0;
  for_stretches_of_channel(s, channel, [&](std::int64_t at, std::int64_t step, std::int64_t n) {
    const C* x = load_block<C>(input, at, step, n, buffer.data());
    sum += lane_sum<double>(n, [&](std::int64_t i) { return static_cast<double>(x[i]); });
  });
  const double mean = sum / static_cast<double>(s.count());
  const C centre = static_cast<C>(mean);
  for_stretches_of_channel(s, channel, [&](std::int64_t at, std::int64_t step, std::int64_t n) {
    const C* x = load_block<C>(input, at, step, n, buffer.data());
    squares += static_cast<double>(lane_sum<C>(n, [&](std::int64_t i) { return (x[i] - centre) * (x[i] - centre); }));
  });
  // The centre was rounded to C: correct for what it is off.
  const double rest = mean - static_cast<double>(centre);
  return {mean, std::max(0.0, squares / static_cast<double>(s.count()) - rest * rest)};
}

// running = (1 - momentum) * running + momentum * now, in place.
void update_running(const Tensor& running, const std::vector<double>& now, double momentum) {
  if (!running.defined()) return;
  std::vector<double> values(now.size());
  const std::int64_t n = static_cast<std::int64_t>(now.size()), step = running.strides()[0];
  load_as<double>(running.raw(), running.dtype(), 0, step, n, values.data());
  for (std::size_t i = 0; i < now.size(); ++i) values[i] = (1 - momentum) * values[i] + momentum * now[i];
  store_from<double>(running.raw(), running.dtype(), 0, step, n, values.data());
  running.bump_version();
}

std::int64_t channel_grain(const ChannelShape& s) {
  return std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, s.count()));
}

}  // namespace

// Inputs: input [batch, channels, ...], weight, bias, running_mean, running_var, all but the first optional.
// Outputs: the result, and the mean and 1 / deviation it used.
Tensors batch_norm(const OpCall& call) {
  const auto optional_input = [&](std::size_t i) { return call.has(i) ? call.in(i) : Tensor(); };
  const Tensor input = dense(call.in(0)), weight = optional_input(1), bias = optional_input(2),
               running_mean = optional_input(3), running_var = optional_input(4);
  require_norm_dtypes(call, input, {&weight, &bias});
  const ChannelShape s = channel_shape(call, input, {&weight, &bias, &running_mean, &running_var});
  const bool training = call.attributes.flag("training", false);
  const double eps = call.attributes.number("eps", 1e-5), momentum = call.attributes.number("momentum", 0.1);
  if (!training && (!running_mean.defined() || !running_var.defined()))
    call.fail("running_mean and running_var must be given unless training");
  if (training && s.count() == 1)
    call.fail("needs more than one value per channel when training: got " + describe(input), ErrorCode::value);
  const Tensor out = make_output(call, input.sizes(), input.dtype());
  const Tensor mean = empty({s.channels}, moment_dtype(input.dtype())), rstd = empty({s.channels}, mean.dtype());
  with_float_type(call, input.dtype(), [&]<typename C>(TypeTag<C>) {
    const Wide<C> w(weight), b(bias), old_mean(training ? Tensor() : running_mean),
        old_var(training ? Tensor() : running_var);
    std::vector<double> means(static_cast<std::size_t>(s.channels)), variances(means.size());
    parallel_for(s.channels, channel_grain(s), [&](std::int64_t begin, std::int64_t end) {
      std::array<C, kBlock> in_buffer, out_buffer;
      const bool direct = out.dtype() == kDTypeOf<C>;
      for (std::int64_t c = begin; c < end; ++c) {
        Moments m{};
        if (training)
          m = moments_of<C>(s, input, c);
        else
          m = {static_cast<double>(old_mean[c]), static_cast<double>(old_var[c])};
        means[static_cast<std::size_t>(c)] = m.mean;
        variances[static_cast<std::size_t>(c)] =
            m.variance * static_cast<double>(s.count()) / static_cast<double>(s.count() - 1);
        const C centre = static_cast<C>(m.mean), r = static_cast<C>(1 / std::sqrt(m.variance + eps));
        mean.data<C>()[c] = centre;
        rstd.data<C>()[c] = r;
        const C scale = w ? w[c] * r : r, shift = b ? b[c] : C(0);
        for_stretches_of_channel(s, c, [&](std::int64_t at, std::int64_t step, std::int64_t n) {
          const C* x = load_block<C>(input, at, step, n, in_buffer.data());
          C* y = direct && step == 1 ? out.data<C>() + at : out_buffer.data();
          for (std::int64_t i = 0; i < n; ++i) y[i] = (x[i] - centre) * scale + shift;
          if (y == out_buffer.data()) store_from<C>(out.raw(), out.dtype(), at, step, n, y);
        });
      }
    });
    if (!training || s.count() == 0) return;  // nothing was seen: the running statistics stay
    update_running(running_mean, means, momentum);
    update_running(running_var, variances, momentum);
  });
  return {out, mean, rstd};
}

// Inputs: gradient, input, mean, rstd, weight or none. Attributes training, bias. Outputs: gradients of input, weight,
// bias.
Tensors batch_norm_backward(const OpCall& call) {
  const Tensor grad = dense(call.in(0)), input = dense(call.in(1)), weight = call.has(4) ? call.in(4) : Tensor();
  const ChannelShape s = channel_shape(call, input, {&weight});
  const bool training = call.attributes.flag("training", false), has_bias = call.attributes.flag("bias", false);
  const Tensor gx = make_output(call, input.sizes(), input.dtype());
  const DType parameter = weight.defined() ? weight.dtype() : input.dtype();
  const Tensor gw = weight.defined() ? empty({s.channels}, parameter) : Tensor(),
               gb = has_bias ? empty({s.channels}, parameter) : Tensor();
  with_float_type(call, input.dtype(), [&]<typename C>(TypeTag<C>) {
    const Wide<C> w(weight), means(call.in(2)), rstds(call.in(3));
    std::vector<C> weight_gradient(static_cast<std::size_t>(s.channels)), bias_gradient(weight_gradient.size());
    parallel_for(s.channels, channel_grain(s), [&](std::int64_t begin, std::int64_t end) {
      std::array<C, kBlock> x_buffer, g_buffer, out_buffer;
      const bool direct = gx.dtype() == kDTypeOf<C>;
      for (std::int64_t c = begin; c < end; ++c) {
        const C m = means[c], r = rstds[c];
        double along = 0, plain = 0;
        for_stretches_of_channel(s, c, [&](std::int64_t at, std::int64_t step, std::int64_t n) {
          const C* x = load_block<C>(input, at, step, n, x_buffer.data());
          const C* g = load_block<C>(grad, at, step, n, g_buffer.data());
          along += static_cast<double>(lane_sum<C>(n, [&](std::int64_t i) { return g[i] * (x[i] - m); }));
          plain += static_cast<double>(lane_sum<C>(n, [&](std::int64_t i) { return g[i]; }));
        });
        along *= static_cast<double>(r);
        weight_gradient[static_cast<std::size_t>(c)] = static_cast<C>(along);
        bias_gradient[static_cast<std::size_t>(c)] = static_cast<C>(plain);
        const C scale = (w ? w[c] : C(1)) * r;
        const C share_along = training ? static_cast<C>(along / static_cast<double>(s.count())) * r : C(0);
        const C share = training ? static_cast<C>(plain / static_cast<double>(s.count())) : C(0);
        for_stretches_of_channel(s, c, [&](std::int64_t at, std::int64_t step, std::int64_t n) {
          const C* x = load_block<C>(input, at, step, n, x_buffer.data());
          const C* g = load_block<C>(grad, at, step, n, g_buffer.data());
          C* y = direct && step == 1 ? gx.data<C>() + at : out_buffer.data();
          for (std::int64_t i = 0; i < n; ++i) y[i] = scale * (g[i] - share - (x[i] - m) * share_along);
          if (y == out_buffer.data()) store_from<C>(gx.raw(), gx.dtype(), at, step, n, y);
        });
      }
    });
    if (gw.defined()) store_from<C>(gw.raw(), gw.dtype(), 0, 1, s.channels, weight_gradient.data());
    if (gb.defined()) store_from<C>(gb.raw(), gb.dtype(), 0, 1, s.channels, bias_gradient.data());
  });
  return {gx, gw, gb};
}

}  // namespace amp::cpu
