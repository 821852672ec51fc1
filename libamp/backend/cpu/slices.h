// Loops over the slices of a tensor along one dim, for bodies that need a whole slice at once: scans, sorting, indices.
#pragma once
#include <vector>

#include "libamp/backend/cpu/elementwise.h"

namespace amp::cpu {

/// Offset in elements of slice `s` along `dim`; slices are numbered in row-major order of the other dims.
inline std::int64_t slice_offset(const Tensor& t, int dim, std::int64_t s) {
  std::int64_t offset = 0;
  for (int d = t.dim() - 1; d >= 0; --d) {
    if (d == dim) continue;
    offset += s % t.sizes()[d] * t.strides()[d];
    s /= t.sizes()[d];
  }
  return offset;
}
inline std::int64_t slice_length(const Tensor& t, int dim) { return t.dim() == 0 ? 1 : t.sizes()[dim]; }
inline std::int64_t slice_step(const Tensor& t, int dim) { return t.dim() == 0 ? 1 : t.strides()[dim]; }

/// Calls f(values, n, s) for every slice of `in` along `dim`, its elements converted to C and in order. f may change
/// the values: they are a copy. Slices run in parallel.
template <typename C, typename F>
void for_slices(const Tensor& in, int dim, F f) {
  const std::int64_t n = slice_length(in, dim), step = slice_step(in, dim);
  const std::int64_t slices = n > 0 ? in.numel() / n : 0;
  parallel_for(slices, std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, n)),
               [&](std::int64_t begin, std::int64_t end) {
                 std::vector<C> values(static_cast<std::size_t>(n));
                 for (std::int64_t s = begin; s < end; ++s) {
                   load_as<C>(in.raw(), in.dtype(), slice_offset(in, dim, s), step, n, values.data());
                   f(values.data(), n, s);
                 }
               });
}

/// Writes a slice of results.
template <typename C>
void store_slice(const Tensor& out, int dim, std::int64_t s, const C* values) {
  store_from<C>(out.raw(), out.dtype(), slice_offset(out, dim, s), slice_step(out, dim), slice_length(out, dim),
                values);
}

}  // namespace amp::cpu
