// What the bodies that read or write by index share: where the indexed elements lie, and walking along an index tensor.
#pragma once
#include <string>
#include <vector>

#include "libamp/backend/cpu/slices.h"

namespace amp::cpu {

/// Offset in elements of position `flat` (row-major in `sizes`) by strides.
inline std::int64_t offset_of(std::int64_t flat, const Shape& sizes, const Shape& strides) {
  std::int64_t offset = 0;
  for (int d = sizes.size() - 1; d >= 0; --d) {
    offset += flat % sizes[d] * strides[d];
    flat /= sizes[d];
  }
  return offset;
}

/// Advanced indexing of a tensor. Its dims are either indexed or in the rest; the indexed shape is
/// rest[0 .. rest_before), index_sizes, rest[rest_before ..).
struct IndexPlan {
  Shape index_sizes;            // the index tensors broadcast together
  Shape rest_sizes, rest_dims;  // the dims that are not indexed
  int rest_before = 0;
  Shape sizes;                        // the indexed shape
  std::vector<std::int64_t> offsets;  // elements into the tensor, for each position of index_sizes

  /// Strides of the index part, and of the rest part, of a tensor of shape `sizes`.
  [[nodiscard]] Shape strides_of(const Tensor& t) const {
    Shape part;
    for (int d = 0; d < index_sizes.size(); ++d) part.push_back(t.strides()[rest_before + d]);
    return part;
  }
  [[nodiscard]] Shape rest_strides(const Tensor& t) const {
    Shape part;
    for (int d = 0; d < rest_sizes.size(); ++d)
      part.push_back(t.strides()[d < rest_before ? d : d + index_sizes.size()]);
    return part;
  }
};

/// Plans call.in(0)[call.in(first), call.in(first + 1), ...]. Negative indices count from the end.
IndexPlan plan_index(const OpCall& call, std::size_t first);
/// Plans the slices `index` of one dim.
IndexPlan plan_index_list(const OpCall& call, const Tensor& self, int dim, const Tensor& index, bool negative = false);
/// Elements of an int64 tensor broadcast to `sizes`, in row-major order.
void read_indices(const Tensor& index, const Shape& sizes, std::int64_t* out);
/// An index in [0, size), or an index error. negative: [-size, 0) counts from the end.
std::int64_t wrap_index(const OpCall& call, std::int64_t index, std::int64_t size, int dim, bool negative = true);
/// What gather and scatter ask of their index.
void check_scatter_index(const OpCall& call, const Tensor& self, const Tensor& index, int dim);

/// For each element of `index`, calls f(offset in self with the index in place of dim, offset in other at the index's
/// own position). Offsets in elements from the tensors' data. In order, in one thread.
template <typename F>
void for_indexed_slices(const OpCall& call, const Tensor& self, const Tensor& index, const Tensor& other, int dim,
                        F f) {
  const std::int64_t n = slice_length(index, dim);
  const std::int64_t slices = n > 0 ? index.numel() / n : 0;
  const std::int64_t index_step = slice_step(index, dim), other_step = slice_step(other, dim);
  const std::int64_t self_step = slice_step(self, dim), size = slice_length(self, dim);
  for (std::int64_t s = 0; s < slices; ++s) {
    std::int64_t rest = s, at_self = 0, at_index = 0, at_other = 0;
    for (int d = index.dim() - 1; d >= 0; --d) {
      if (d == dim) continue;
      const std::int64_t k = rest % index.sizes()[d];
      rest /= index.sizes()[d];
      at_self += k * self.strides()[d];
      at_index += k * index.strides()[d];
      at_other += k * other.strides()[d];
    }
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t to = wrap_index(call, index.data<std::int64_t>()[at_index + i * index_step], size, dim, false);
      f(at_self + to * self_step, at_other + i * other_step);
    }
  }
}

}  // namespace amp::cpu
