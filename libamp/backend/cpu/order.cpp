// Bodies that order a slice or run along it and say where: running extremes, running logsumexp, the k-th smallest,
// medians, and searching in sorted slices.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "libamp/backend/cpu/dense.h"
#include "libamp/backend/cpu/slices.h"

namespace amp::cpu {
namespace {

int dim_of(const OpCall& call, std::int64_t otherwise) {
  return wrap_dim(call.attributes.list("dim", {otherwise})[0], call.in(0).dim(), call.info().name);
}

// Running extremes; a NaN stays, and of equal values the last is named, as in PyTorch.
Tensors running_extreme(const OpCall& call, bool largest) {
  const Tensor& in = call.in(0);
  refuse_float8(call, in.dtype());
  const int dim = dim_of(call, 0);
  const Tensor values = empty(in.sizes(), in.dtype()), indices = empty(in.sizes(), DType::int64);
  with_compute_type(in.dtype(), [&]<typename C>(TypeTag<C>) {
    for_slices<C>(in, dim, [&](C* slice, std::int64_t n, std::int64_t s) {
      std::vector<std::int64_t> where(static_cast<std::size_t>(n));
      std::int64_t best = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        const C v = slice[i], b = slice[best];
        if (v != v || (b == b && (largest ? v >= b : v <= b))) best = i;
        where[static_cast<std::size_t>(i)] = best;
      }
      std::vector<C> result(static_cast<std::size_t>(n));
      for (std::size_t i = 0; i < result.size(); ++i) result[i] = slice[where[i]];
      store_slice<C>(values, dim, s, result.data());
      store_slice<std::int64_t>(indices, dim, s, where.data());
    });
  });
  return {values, indices};
}

// The element of rank k (from 0; NaN above all) of each slice; pick(slice, n) says which k, or -1 for "a NaN".
template <typename Pick>
Tensors ranked(const OpCall& call, Pick pick) {
  const Tensor& in = call.in(0);
  refuse_float8(call, in.dtype());
  const int dim = dim_of(call, -1);
  if (slice_length(in, dim) == 0)
    call.fail("there is no element of an empty slice: got " + describe(in), ErrorCode::index);
  Shape sizes = in.sizes();
  if (in.dim() > 0 && call.attributes.flag("keepdim", false)) sizes[dim] = 1;
  if (in.dim() > 0 && !call.attributes.flag("keepdim", false)) sizes.erase(dim);
  const Tensor values = empty(sizes, in.dtype()), indices = empty(sizes, DType::int64);
  with_compute_type(in.dtype(), [&]<typename C>(TypeTag<C>) {
    for_slices<C>(in, dim, [&](const C* slice, std::int64_t n, std::int64_t s) {
      std::vector<std::int64_t> order(static_cast<std::size_t>(n));
      std::iota(order.begin(), order.end(), std::int64_t{0});
      const std::int64_t k = pick(slice, n);
      // Equal ones by position, so that the choice does not depend on the algorithm.
      std::nth_element(order.begin(), order.begin() + k, order.end(), [&](std::int64_t a, std::int64_t b) {
        const C x = slice[a], y = slice[b];
        if (x != x || y != y) return (x == x && y != y) || ((x == x) == (y == y) && a < b);
        return x < y || (x == y && a < b);
      });
      const std::int64_t at = order[static_cast<std::size_t>(k)];
      store_from<C>(values.raw(), values.dtype(), s, 1, 1, slice + at);
      indices.data<std::int64_t>()[s] = at;
    });
  });
  return {values, indices};
}

template <typename C>
std::int64_t count_nan(const C* slice, std::int64_t n) {
  return std::count_if(slice, slice + n, [](C v) { return v != v; });
}

}  // namespace

Tensors cummax(const OpCall& call) { return running_extreme(call, true); }
Tensors cummin(const OpCall& call) { return running_extreme(call, false); }

Tensors logcumsumexp(const OpCall& call) {
  const Tensor& in = call.in(0);
  const int dim = dim_of(call, 0);
  const Tensor out = make_output(call, in.sizes(), in.dtype());
  with_float_type(call, in.dtype(), [&]<typename C>(TypeTag<C>) {
    for_slices<C>(in, dim, [&](C* slice, std::int64_t n, std::int64_t s) {
      double total = -std::numeric_limits<double>::infinity();
      for (std::int64_t i = 0; i < n; ++i) {
        const double v = static_cast<double>(slice[i]), high = std::max(total, v), low = std::min(total, v);
        total = v != v || total != total ? v + total
                : std::isinf(high)       ? high
                                         : high + std::log1p(std::exp(low - high));
        slice[i] = static_cast<C>(total);
      }
      store_slice<C>(out, dim, s, slice);
    });
  });
  return {out};
}

Tensors kthvalue(const OpCall& call) {
  const std::int64_t k = call.attributes.integer("k", 1);
  const std::int64_t n = slice_length(call.in(0), dim_of(call, -1));
  if (k < 1 || k > n) call.fail("k out of range: got " + std::to_string(k) + ", need [1, " + std::to_string(n) + "]");
  return ranked(call, [k](const auto*, std::int64_t) { return k - 1; });
}
// The lower of the two in the middle; NaN if there is one.
Tensors median(const OpCall& call) {
  return ranked(call, [](const auto* slice, std::int64_t n) {
    const std::int64_t nans = count_nan(slice, n);
    return nans > 0 ? n - nans : (n - 1) / 2;
  });
}
Tensors nanmedian(const OpCall& call) {
  return ranked(call, [](const auto* slice, std::int64_t n) {
    const std::int64_t numbers = n - count_nan(slice, n);
    return numbers == 0 ? 0 : (numbers - 1) / 2;
  });
}

// Inputs: a sorted sequence [n], or one for each row of values [..., n]; values. Where they would be put in.
Tensors searchsorted(const OpCall& call) {
  const Tensor &sequence = call.in(0), &values = call.in(1);
  const bool right = call.attributes.flag("right", false), shared = sequence.dim() == 1;
  for (int d = 0; d + 1 < sequence.dim() && !shared; ++d)
    if (values.dim() != sequence.dim() || values.size(d) != sequence.size(d))
      call.fail("needs one sequence, or one for each row of values: got " + describe(sequence) + " and " +
                describe(values));
  if (sequence.dim() == 0) call.fail("needs a sequence: got " + describe(sequence));
  const Tensor out = make_output(call, values.sizes(), DType::int64);
  with_compute_type(result_type({sequence, values}), [&]<typename C>(TypeTag<C>) {
    const Wide<C> sorted(sequence), wanted(values);
    const std::int64_t n = sequence.sizes().back();
    const std::int64_t row = shared || values.dim() == 0 ? values.numel() : values.sizes().back();
    auto* result = out.data<std::int64_t>();
    for (std::int64_t i = 0; i < values.numel(); ++i) {
      const C* begin = sorted.data() + (shared ? 0 : i / row * n);
      result[i] =
          (right ? std::upper_bound(begin, begin + n, wanted[i]) : std::lower_bound(begin, begin + n, wanted[i])) -
          begin;
    }
  });
  return {out};
}

}  // namespace amp::cpu
