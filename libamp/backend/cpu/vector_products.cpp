// dot, vdot and cross.
#include "libamp/backend/cpu/reduce.h"
#include "libamp/backend/cpu/slices.h"

namespace amp::cpu {
namespace {

// Products are summed in double, so a half result is the exact dot product rounded once in practice.
Tensors dot_product(const OpCall& call) {
  const Tensor &a = call.in(0), &b = call.in(1);
  if (a.dim() != 1 || b.dim() != 1) call.fail("needs two vectors: got " + describe(a) + " and " + describe(b));
  if (a.dtype() != b.dtype())
    call.fail("the vectors must have the same dtype: got " + describe(a) + " and " + describe(b));
  if (a.numel() != b.numel())
    call.fail("the vectors must have the same length: got " + describe(a) + " and " + describe(b));
  Tensor out = make_output(call, {}, a.dtype());
  with_compute_type(a.dtype(), [&]<typename C>(TypeTag<C>) {
    std::array<C, kBlock> x, y;
    SumFolder<C> sum;
    using Accumulator = typename SumFolder<C>::Accumulator;
    for (std::int64_t at = 0; at < a.numel(); at += kBlock) {
      const std::int64_t n = std::min(kBlock, a.numel() - at);
      const C* p = load_block<C>(a, at * a.strides()[0], a.strides()[0], n, x.data());
      const C* q = load_block<C>(b, at * b.strides()[0], b.strides()[0], n, y.data());
      for (std::int64_t i = 0; i < n; ++i)
        sum.lanes[i % 4] += static_cast<Accumulator>(p[i]) * static_cast<Accumulator>(q[i]);
    }
    const C result = sum.finish();
    store_from<C>(out.raw(), out.dtype(), 0, 1, 1, &result);
  });
  return {out};
}

}  // namespace

Tensors dot(const OpCall& call) { return dot_product(call); }
Tensors vdot(const OpCall& call) { return dot_product(call); }

Tensors cross(const OpCall& call) {
  const Tensor &a = call.in(0), &b = call.in(1);
  if (a.dim() != b.dim())
    call.fail("inputs must have the same number of dims: got " + describe(a) + " and " + describe(b));
  const Shape sizes = broadcast_shapes(a.sizes(), b.sizes(), "cross");
  const int dim = wrap_dim(call.attributes.integer("dim", -1), a.dim(), "cross");
  if (a.dim() == 0 || a.sizes()[dim] != 3 || b.sizes()[dim] != 3)
    call.fail("inputs need 3 elements in dim " + std::to_string(dim) + ": got " + describe(a) + " and " + describe(b));
  Tensor out = make_output(call, sizes, result_type({a, b}), true);
  // Element k of each slice is a_i b_j - a_j b_i with (i, j) the two after k.
  const auto element = [dim](const Tensor& t, int k) {
    Shape one = t.sizes();
    one[dim] = 1;
    return make_view(t, one, t.strides(), t.impl()->offset + k * t.strides()[dim]);
  };
  with_compute_type(out.dtype(), [&]<typename C>(TypeTag<C>) {
    const std::int64_t slices = out.numel() / 3;
    std::vector<C> values(static_cast<std::size_t>(slices) * 6);
    for (int k = 0; k < 3; ++k)
      for (int operand = 0; operand < 2; ++operand) {
        const Tensor part = element(operand == 0 ? a : b, k);
        C* to = values.data() + (operand * 3 + k) * slices;
        const Tensor walk = element(make_view(out, sizes, contiguous_strides(sizes), 0), 0);
        const Loop<1> loop = make_loop<1>(walk, {&part});
        for_stretches<1>(loop, 0, slices, [&](const auto& offsets, const auto& steps, std::int64_t n) {
          load_as<C>(part.raw(), part.dtype(), offsets[1], steps[1], n, to);
          to += n;
        });
      }
    std::array<C, 3> result;
    const C *x = values.data(), *y = x + 3 * slices;
    for (std::int64_t s = 0; s < slices; ++s) {
      for (int k = 0; k < 3; ++k) {
        const std::int64_t i = (k + 1) % 3 * slices + s, j = (k + 2) % 3 * slices + s;
        result[static_cast<std::size_t>(k)] = x[i] * y[j] - x[j] * y[i];
      }
      store_slice<C>(out, dim, s, result.data());
    }
  });
  return {out};
}

}  // namespace amp::cpu
