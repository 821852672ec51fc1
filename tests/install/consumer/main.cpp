// A matrix product under autocast, as somebody else's program would write it. Fails unless the answer is right.
#include <cstdio>

#include "libamp/amp.h"

int main() {
  const amp::Tensor a = amp::ones({2, 3});
  const amp::Tensor b = amp::ones({3, 4});
  const amp::autocast region("cpu", amp::kFloat16);
  const amp::Tensor c = amp::matmul(a, b);
  const double corner = c.select(0, 1).select(0, 3).item<double>();
  std::printf("%g in %s\n", corner, amp::name(c.dtype()).data());
  return corner == 3.0 && c.dtype() == amp::DType::float16 ? 0 : 1;
}
