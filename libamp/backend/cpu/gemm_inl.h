// The templates of gemm.h.
#pragma once
#include "libamp/backend/cpu/elementwise.h"
#include "libamp/backend/cpu/gemm.h"

namespace amp::cpu {

template <typename C>
Operand2D<C>::Operand2D(const Tensor& tensor) : tensor_(tensor), sizes_(tensor.sizes()), strides_(tensor.strides()) {
  const int n = tensor.dim();
  // BLAS takes either order, but one of the two inner steps must be 1 and no step 0 or negative.
  const bool row_major = strides_[n - 1] == 1 && (strides_[n - 2] >= sizes_[n - 1] || sizes_[n - 2] == 1);
  const bool column_major = strides_[n - 2] == 1 && (strides_[n - 1] >= sizes_[n - 2] || sizes_[n - 1] == 1);
  const bool same_type = tensor.dtype() == kDTypeOf<C>;
  if (same_type && (row_major || column_major)) {
    data_ = tensor.data<C>();
    return;
  }
  // Keep the transposed order when widening: the copy is then a straight run through memory. (The buffer exists in a
  // float32 run too only if it is the layout that forces it.)
  Shape order = contiguous_strides(sizes_);
  Tensor source = tensor;
  if (!row_major && column_major) {
    Shape swapped = sizes_, swapped_strides = strides_;
    std::swap(swapped[n - 1], swapped[n - 2]);
    std::swap(swapped_strides[n - 1], swapped_strides[n - 2]);
    source = make_view(tensor, swapped, swapped_strides, tensor.impl()->offset);
    order = contiguous_strides(swapped);
    std::swap(order[n - 1], order[n - 2]);
  }
  widened_ = std::make_unique<Workspace>(static_cast<std::size_t>(tensor.numel()) * sizeof(C), same_type);
  C* buffer = widened_->data<C>();
  const Loop<1> loop =
      make_loop<1>(make_view(source, source.sizes(), contiguous_strides(source.sizes()), 0), {&source});
  parallel_for(loop.numel, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for_stretches<1>(loop, begin, end, [&](const auto& offsets, const auto& steps, std::int64_t count) {
      load_as<C>(source.raw(), source.dtype(), offsets[1], steps[1], count, buffer + offsets[0]);
    });
  });
  data_ = buffer;
  strides_ = order;
}

template <typename C>
Matrix<C> Operand2D<C>::matrix(std::int64_t batch, const Shape& batch_sizes) const {
  const int n = sizes_.size();
  const int own = n - 2;
  std::int64_t offset = 0;
  for (int d = batch_sizes.size() - 1; d >= 0; --d) {
    const std::int64_t i = batch % batch_sizes[d];
    batch /= batch_sizes[d];
    const int mine = d - (batch_sizes.size() - own);
    if (mine >= 0 && sizes_[mine] != 1) offset += i * strides_[mine];
  }
  return {data_ + offset, sizes_[n - 2], sizes_[n - 1], strides_[n - 2], strides_[n - 1]};
}

template <typename C, typename F>
void with_result(const Tensor& out, F&& f) {
  if (out.dtype() == kDTypeOf<C>) {
    f(out.data<C>());
    return;
  }
  const Workspace wide(static_cast<std::size_t>(out.numel()) * sizeof(C), false);
  f(wide.data<C>());
  parallel_for(out.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    store_from<C>(out.raw(), out.dtype(), begin, 1, end - begin, wide.data<C>() + begin);
  });
}

}  // namespace amp::cpu
