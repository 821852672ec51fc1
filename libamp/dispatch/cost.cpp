// The formulas.
#include "libamp/dispatch/cost.h"

#include <algorithm>
#include <limits>

namespace amp::cost {
namespace {

double elements(const Tensor& t) { return t.defined() ? static_cast<double>(t.numel()) : 0; }
double tensor_bytes(const Tensor& t) {
  return t.defined() ? elements(t) * static_cast<double>(size_of(t.dtype())) : 0;
}
double input_bytes(const OpCall& call) {
  double sum = 0;
  for (const auto& t : call.inputs) sum += tensor_bytes(t);
  return sum;
}
double largest(const OpCall& call) {
  double most = 0;
  for (const auto& t : call.inputs) most = std::max(most, elements(t));
  return most;
}
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

}  // namespace

Cost free(const OpCall&) { return {}; }

Cost copy(const OpCall& call) {
  const double out = elements(call.in(0)) * static_cast<double>(size_of(call.attributes.dtype("dtype", call.in(0).dtype())));
  return {0, input_bytes(call) + out};
}

Cost pointwise(const OpCall& call) {
  const double out = largest(call);
  return {out, input_bytes(call) + out * static_cast<double>(size_of(call.in(0).dtype()))};
}

Cost matmul(const OpCall& call) {
  const Tensor &a = call.in(0), &b = call.in(1);
  if (a.dim() == 0 || b.dim() == 0) return {kUnknown, kUnknown};
  const double k = static_cast<double>(a.sizes().back());
  const double m = a.dim() > 1 ? static_cast<double>(a.size(-2)) : 1;
  const double n = b.dim() > 1 ? static_cast<double>(b.sizes().back()) : 1;
  const double batch_a = m * k > 0 ? elements(a) / (m * k) : 0;
  const double batch_b = n * k > 0 ? elements(b) / (n * k) : 0;
  const double out = std::max(batch_a, batch_b) * m * n;
  return {2 * out * k, input_bytes(call) + out * static_cast<double>(size_of(a.dtype()))};
}

Cost linear(const OpCall& call) {
  const Tensor &x = call.in(0), &w = call.in(1);
  if (x.dim() == 0 || w.dim() != 2 || x.sizes().back() == 0) return {kUnknown, kUnknown};
  const double k = static_cast<double>(x.sizes().back());
  const double out = elements(x) / k * static_cast<double>(w.sizes()[0]);
  return {2 * out * k + (call.has(2) ? out : 0), input_bytes(call) + out * static_cast<double>(size_of(x.dtype()))};
}

}  // namespace amp::cost
