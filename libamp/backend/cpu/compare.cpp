// Comparisons and logic: operands meet in their common type, the result is bool.
#include "libamp/backend/cpu/elementwise.h"

namespace amp::cpu {
namespace {

template <typename Op>
Tensors compare(const OpCall& call, Op op) {
  const Tensor &a = call.in(0), &b = call.in(1);
  Tensor out = make_output(call, broadcast_shapes(a.sizes(), b.sizes(), call.info().name), DType::bool_);
  with_compute_type(result_type({a, b}), [&]<typename C>(TypeTag<C>) {
    elementwise<C, 2>(out, {&a, &b}, [op](const C* x, const C* y, C* o, std::int64_t n) {
      for (std::int64_t i = 0; i < n; ++i) o[i] = static_cast<C>(op(x[i], y[i]) ? 1 : 0);
    });
  });
  return {out};
}

}  // namespace

#define AMP_COMPARE(id, expression)                                  \
  Tensors id(const OpCall& call) {                                   \
    return compare(call, [](auto x, auto y) { return expression; }); \
  }
AMP_COMPARE(eq, x == y)
AMP_COMPARE(ne, x != y)
AMP_COMPARE(lt, x < y)
AMP_COMPARE(le, x <= y)
AMP_COMPARE(gt, x > y)
AMP_COMPARE(ge, x >= y)
AMP_COMPARE(logical_and, x != 0 && y != 0)
AMP_COMPARE(logical_or, x != 0 || y != 0)
AMP_COMPARE(logical_xor, (x != 0) != (y != 0))
#undef AMP_COMPARE

}  // namespace amp::cpu
