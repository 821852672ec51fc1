// layer_norm and rms_norm: each row (the normalised dims, flattened) on its own, read once into compute type and worked
// on in cache. Mean and variance in two passes over the cached row, which loses no digits to cancellation.
#include <cmath>

#include "libamp/backend/cpu/norm.h"

namespace amp::cpu {
namespace {

struct RowShape {
  std::int64_t rows = 1, n = 1;
  Shape row_sizes;  // of mean and rstd: the leading dims
};

RowShape row_shape(const OpCall& call, const Tensor& input, const Tensor& weight, const Tensor& bias) {
  const Shape normalized = call.attributes.list("normalized_shape", {});
  RowShape shape;
  const int leading = input.dim() - normalized.size();
  bool fits = !normalized.empty() && leading >= 0;
  for (int d = 0; fits && d < normalized.size(); ++d) fits = input.sizes()[leading + d] == normalized[d];
  for (const Tensor* t : {&weight, &bias}) fits = fits && (!t->defined() || t->sizes() == normalized);
  if (!fits)
    call.fail("arguments do not fit normalized_shape " + to_string(normalized) + ": got input " + describe(input) +
              ", weight " + describe(weight) + ", bias " + describe(bias));
  for (int d = 0; d < leading; ++d) {
    shape.rows *= input.sizes()[d];
    shape.row_sizes.push_back(input.sizes()[d]);
  }
  shape.n = numel_of(normalized);
  return shape;
}

std::int64_t row_grain(std::int64_t n) { return std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, n)); }

Tensor optional_input(const OpCall& call, std::size_t i) { return call.has(i) ? call.in(i) : Tensor(); }

// What the backward passes of both norms do with a row.
template <typename C>
struct RowGradient {
  const C *x, *g, *w;
  std::int64_t n;
  C mean, rstd;
  bool centred;

  void run(C* gx, C* gw, C* gb) const {
    const auto hat = [&](std::int64_t i) { return (x[i] - mean) * rstd; };
    const auto weighted = [&](std::int64_t i) { return w != nullptr ? g[i] * w[i] : g[i]; };
    if (gx != nullptr) {
      const C inverse = C(1) / static_cast<C>(n);
      const C along = lane_sum<C>(n, [&](std::int64_t i) { return weighted(i) * hat(i); }) * inverse;
      const C average = centred ? lane_sum<C>(n, weighted) * inverse : C(0);
      for (std::int64_t i = 0; i < n; ++i) gx[i] = rstd * (weighted(i) - average - hat(i) * along);
    }
    if (gw != nullptr)
      for (std::int64_t i = 0; i < n; ++i) gw[i] += g[i] * hat(i);
    if (gb != nullptr)
      for (std::int64_t i = 0; i < n; ++i) gb[i] += g[i];
  }
};

struct BackwardTensors {
  Tensor grad, input, mean, rstd, weight;
  Tensor gx, gw, gb;
};

// Threads sum parameter gradients over their share of the rows; the shares are added in order.
template <typename C>
void rows_backward(const RowShape& shape, const BackwardTensors& t) {
  const std::int64_t n = shape.n;
  const Wide<C> means(t.mean), rstds(t.rstd), weight(t.weight);
  const std::int64_t parts =
      std::max<std::int64_t>(1, std::min<std::int64_t>(num_threads(), shape.rows / row_grain(n)));
  const Workspace sums(static_cast<std::size_t>(2 * parts * n) * sizeof(C), true);
  C* weight_sums = sums.data<C>();
  C* bias_sums = weight_sums + parts * n;
  std::fill_n(weight_sums, 2 * parts * n, C(0));
  parallel_for(parts, 1, [&](std::int64_t first, std::int64_t last) {
    const Workspace buffer(static_cast<std::size_t>(3 * n) * sizeof(C), t.input.dtype() == kDTypeOf<C>);
    C* memory = buffer.data<C>();
    for (std::int64_t part = first; part < last; ++part)
      for (std::int64_t row = part * shape.rows / parts; row < (part + 1) * shape.rows / parts; ++row) {
        const C* x = load_block<C>(t.input, row * n, 1, n, memory);
        const C* g = load_block<C>(t.grad, row * n, 1, n, memory + n);
        const RowGradient<C> gradient{x, g, weight.data(), n, means ? means[row] : C(0), rstds[row], t.mean.defined()};
        C* gw = t.gw.defined() ? weight_sums + part * n : nullptr;
        C* gb = t.gb.defined() ? bias_sums + part * n : nullptr;
        if (!t.gx.defined()) {
          gradient.run(nullptr, gw, gb);
          continue;
        }
        const Piece<C> gx(t.gx, row * n, n, memory + 2 * n);
        gradient.run(gx.data(), gw, gb);
        gx.store();
      }
  });
  const auto add_shares = [&](const Tensor& out, C* shares) {
    if (!out.defined()) return;
    for (std::int64_t part = 1; part < parts; ++part)
      for (std::int64_t i = 0; i < n; ++i) shares[i] += shares[part * n + i];
    store_from<C>(out.raw(), out.dtype(), 0, 1, n, shares);
  };
  add_shares(t.gw, weight_sums);
  add_shares(t.gb, bias_sums);
}

}  // namespace

// Inputs: input, weight or none, bias or none. Outputs: the result, mean and 1 / deviation of each row.
Tensors layer_norm(const OpCall& call) {
  const Tensor input = dense(call.in(0)), weight = optional_input(call, 1), bias = optional_input(call, 2);
  require_norm_dtypes(call, input, {&weight, &bias});
  const RowShape shape = row_shape(call, input, weight, bias);
  const double eps = call.attributes.number("eps", 1e-5);
  const Tensor out = make_output(call, input.sizes(), input.dtype());
  const Tensor mean = empty(shape.row_sizes, moment_dtype(input.dtype())), rstd = empty(shape.row_sizes, mean.dtype());
  with_float_type(call, input.dtype(), [&]<typename C>(TypeTag<C>) {
    const std::int64_t n = shape.n;
    const Wide<C> w(weight), b(bias);
    parallel_for(shape.rows, row_grain(n), [&](std::int64_t begin, std::int64_t end) {
      const Workspace buffer(static_cast<std::size_t>(2 * n) * sizeof(C), input.dtype() == kDTypeOf<C>);
      for (std::int64_t row = begin; row < end; ++row) {
        const C* x = load_block<C>(input, row * n, 1, n, buffer.data<C>());
        const C m = lane_sum<C>(n, [&](std::int64_t i) { return x[i]; }) / static_cast<C>(n);
        const C variance = lane_sum<C>(n, [&](std::int64_t i) { return (x[i] - m) * (x[i] - m); }) / static_cast<C>(n);
        const C r = C(1) / std::sqrt(variance + static_cast<C>(eps));
        const Piece<C> y(out, row * n, n, buffer.data<C>() + n);
        C* o = y.data();
        for (std::int64_t i = 0; i < n; ++i) o[i] = (x[i] - m) * r;
        if (w)
          for (std::int64_t i = 0; i < n; ++i) o[i] *= w[i];
        if (b)
          for (std::int64_t i = 0; i < n; ++i) o[i] += b[i];
        y.store();
        mean.data<C>()[row] = m;
        rstd.data<C>()[row] = r;
      }
    });
  });
  return {out, mean, rstd};
}

// Inputs: gradient, input, mean, rstd, weight or none. Outputs: gradients of input, weight, bias.
Tensors layer_norm_backward(const OpCall& call) {
  BackwardTensors t{dense(call.in(0)), dense(call.in(1)), call.in(2), call.in(3), optional_input(call, 4), {}, {}, {}};
  const RowShape shape = row_shape(call, t.input, t.weight, {});
  t.gx = make_output(call, t.input.sizes(), t.input.dtype());
  if (t.weight.defined()) t.gw = empty(t.weight.sizes(), t.weight.dtype());
  if (call.attributes.flag("bias", false))
    t.gb = empty(call.attributes.list("normalized_shape", {}), t.weight.defined() ? t.weight.dtype() : t.input.dtype());
  with_float_type(call, t.input.dtype(), [&]<typename C>(TypeTag<C>) { rows_backward<C>(shape, t); });
  return {t.gx, t.gw, t.gb};
}

// Inputs: input, weight or none. Outputs: the result, in the type input and weight promote to, and 1 / root mean
// square.
Tensors rms_norm(const OpCall& call) {
  const Tensor input = dense(call.in(0)), weight = optional_input(call, 1);
  const RowShape shape = row_shape(call, input, weight, {});
  const double eps = call.attributes.number("eps", 1e-5);
  const Tensor out =
      make_output(call, input.sizes(), weight.defined() ? promote_types(input.dtype(), weight.dtype()) : input.dtype());
  const Tensor rstd = empty(shape.row_sizes, moment_dtype(out.dtype()));
  with_float_type(call, out.dtype(), [&]<typename C>(TypeTag<C>) {
    const std::int64_t n = shape.n;
    const Wide<C> w(weight);
    parallel_for(shape.rows, row_grain(n), [&](std::int64_t begin, std::int64_t end) {
      const Workspace buffer(static_cast<std::size_t>(2 * n) * sizeof(C), input.dtype() == kDTypeOf<C>);
      for (std::int64_t row = begin; row < end; ++row) {
        const C* x = load_block<C>(input, row * n, 1, n, buffer.data<C>());
        const C square = lane_sum<C>(n, [&](std::int64_t i) { return x[i] * x[i]; }) / static_cast<C>(n);
        const C r = C(1) / std::sqrt(square + static_cast<C>(eps));
        const Piece<C> y(out, row * n, n, buffer.data<C>() + n);
        C* o = y.data();
        for (std::int64_t i = 0; i < n; ++i) o[i] = x[i] * r;
        if (w)
          for (std::int64_t i = 0; i < n; ++i) o[i] *= w[i];
        y.store();
        rstd.data<C>()[row] = r;
      }
    });
  });
  return {out, rstd};
}

// Inputs: gradient, input, rstd, weight or none. Outputs: gradients of input and weight.
Tensors rms_norm_backward(const OpCall& call) {
  BackwardTensors t{dense(call.in(0)), dense(call.in(1)), {}, call.in(2), optional_input(call, 3), {}, {}, {}};
  const RowShape shape = row_shape(call, t.input, t.weight, {});
  t.gx = make_output(call, t.input.sizes(), t.input.dtype());
  if (t.weight.defined()) t.gw = empty(t.weight.sizes(), t.weight.dtype());
  with_float_type(call, t.rstd.dtype(), [&]<typename C>(TypeTag<C>) { rows_backward<C>(shape, t); });
  return {t.gx, t.gw};
}

}  // namespace amp::cpu
