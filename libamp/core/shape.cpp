// Shape arithmetic.
#include "libamp/core/shape.h"

#include <limits>

namespace amp {

std::int64_t numel_of(const Shape& sizes) {
  std::int64_t n = 1;
  for (const auto s : sizes) {
    if (s < 0) fail(ErrorCode::runtime, "tensor", "negative size in shape " + to_string(sizes));
    if (s != 0 && n > std::numeric_limits<std::int64_t>::max() / s / 8)
      fail(ErrorCode::runtime, "tensor", "shape " + to_string(sizes) + " has too many elements for 63 bits of bytes");
    n *= s;
  }
  return n;
}

Shape contiguous_strides(const Shape& sizes) {
  Shape strides = sizes;
  std::int64_t step = 1;
  for (int i = sizes.size() - 1; i >= 0; --i) {
    strides[i] = step;
    step *= sizes[i] > 0 ? sizes[i] : 1;
  }
  return strides;
}

Shape broadcast_shapes(const Shape& a, const Shape& b, std::string_view where) {
  Shape result = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  const int shift = result.size() - shorter.size();
  for (int i = 0; i < shorter.size(); ++i) {
    std::int64_t& size = result[i + shift];
    if (size == shorter[i] || shorter[i] == 1) continue;
    if (size != 1)
      fail(ErrorCode::runtime, where,
           "shapes do not broadcast: got " + to_string(a) + " and " + to_string(b) + ", need sizes equal or 1 at dim " +
               std::to_string(i + shift));
    size = shorter[i];
  }
  return result;
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (int i = 0; i < shape.size(); ++i) {
    if (i) text += ", ";
    text += std::to_string(shape[i]);
  }
  return text + "]";
}

int wrap_dim(std::int64_t dim, int ndim, std::string_view where) {
  const int n = ndim == 0 ? 1 : ndim;
  if (dim < -n || dim >= n)
    fail(ErrorCode::index, where,
         "dimension out of range: got " + std::to_string(dim) + ", need [" + std::to_string(-n) + ", " +
             std::to_string(n - 1) + "]");
  return static_cast<int>(dim < 0 ? dim + n : dim);
}

}  // namespace amp
