// The contiguous copy behind dense.h.
#include "libamp/backend/cpu/dense.h"

namespace amp::cpu {

Tensor dense(const Tensor& tensor) {
  if (tensor.is_contiguous()) return tensor;
  const Tensor copy = empty(tensor.sizes(), tensor.dtype());
  with_compute_type(tensor.dtype(), [&]<typename C>(TypeTag<C>) {
    elementwise<C, 1>(copy, {&tensor}, [](const C* in, C* out, std::int64_t n) { std::copy(in, in + n, out); });
  });
  return copy;
}

}  // namespace amp::cpu
