// The formulas.
#include "libamp/dispatch/cost.h"

#include <algorithm>
#include <limits>

namespace amp::cost {
namespace {

double elements(const Tensor& t) { return t.defined() ? static_cast<double>(t.numel()) : 0; }
double tensor_bytes(const Tensor& t) { return t.defined() ? elements(t) * static_cast<double>(size_of(t.dtype())) : 0; }
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
  const double out =
      elements(call.in(0)) * static_cast<double>(size_of(call.attributes.dtype("dtype", call.in(0).dtype())));
  return {0, input_bytes(call) + out};
}

Cost pointwise(const OpCall& call) {
  const double out = largest(call);
  return {out, input_bytes(call) + out * static_cast<double>(size_of(call.in(0).dtype()))};
}

Cost gathered(const OpCall& call) {
  const Tensor &table = call.in(0), &index = call.in(1);
  double indices = 0, indexed = 1;
  for (std::size_t i = 1; i < call.inputs.size(); ++i) {
    if (!call.has(i)) continue;
    indices = std::max(indices, elements(call.in(i)));
    const int d = static_cast<int>(call.attributes.integer("dim", static_cast<std::int64_t>(i) - 1));
    if (-table.dim() <= d && d < table.dim()) indexed *= static_cast<double>(table.size(d));
  }
  // gather's index has the input's dims: one element for each. The others take what their indices leave of the table.
  const bool one_each = call.has(1) && index.dim() == table.dim() && call.attributes.has("dim");
  const double out = one_each ? indices : indexed > 0 ? indices * elements(table) / indexed : 0;
  return {0, 2 * out * static_cast<double>(size_of(table.dtype())) + input_bytes(call) - tensor_bytes(table)};
}

Cost pairs(const OpCall& call) {
  const Tensor &a = call.in(0), &b = call.in(1);
  if (a.dim() < 2 || b.dim() < 2) return {kUnknown, kUnknown};
  const double width = static_cast<double>(a.sizes().back());
  const double rows_a = static_cast<double>(a.size(-2)), rows_b = static_cast<double>(b.size(-2));
  const double batch = std::max(rows_a * width > 0 ? elements(a) / (rows_a * width) : 0,
                                rows_b * width > 0 ? elements(b) / (rows_b * width) : 0);
  const double out = batch * rows_a * rows_b;
  return {3 * out * width, input_bytes(call) + out * static_cast<double>(size_of(a.dtype()))};
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

Cost conv(const OpCall& call) {
  const Tensor &x = call.in(0), &w = call.in(1);
  if (x.dim() < 3 || w.dim() != x.dim() || w.sizes()[0] == 0) return {kUnknown, kUnknown};
  const Shape stride = call.attributes.list("stride", {}), padding = call.attributes.list("padding", {}),
              dilation = call.attributes.list("dilation", {});
  double out = static_cast<double>(x.sizes()[0] * w.sizes()[0]);
  for (int d = 2; d < x.dim() && d - 2 < stride.size() && stride[d - 2] > 0; ++d) {
    const std::int64_t span = x.sizes()[d] + 2 * padding[d - 2] - dilation[d - 2] * (w.sizes()[d] - 1) - 1;
    const std::int64_t positions = span / stride[d - 2] + 1;
    out *= static_cast<double>(positions);
  }
  const double per_output = elements(w) / static_cast<double>(w.sizes()[0]);
  return {2 * out * per_output + (call.has(2) ? out : 0),
          input_bytes(call) + out * static_cast<double>(size_of(x.dtype()))};
}

Cost conv_transpose(const OpCall& call) {
  const Tensor &x = call.in(0), &w = call.in(1);
  if (w.dim() == 0 || w.sizes()[0] == 0) return {kUnknown, kUnknown};
  return {2 * elements(x) * elements(w) / static_cast<double>(w.sizes()[0]), kUnknown};
}

Cost conv_backward_weight(const OpCall& call) {
  const Shape weight = call.attributes.list("weight_sizes", {});
  if (weight.empty() || weight[0] == 0) return {kUnknown, kUnknown};
  const double weights = static_cast<double>(numel_of(weight));
  return {2 * elements(call.in(0)) * weights / static_cast<double>(weight[0]),
          input_bytes(call) + weights * static_cast<double>(size_of(call.in(0).dtype()))};
}

Cost unscale(const OpCall& call) {
  double all = 0;
  for (const auto& t : call.inputs) all += elements(t);
  return {all, 2 * input_bytes(call)};
}

Cost optimizer(const OpCall& call) {
  double state = 0;
  for (const auto& t : call.inputs) state += elements(t);
  state -= elements(call.in(1));
  return {2 * state, 2 * input_bytes(call) - tensor_bytes(call.in(1))};
}

Cost add_matmul(const OpCall& call) {
  OpCall product{call.op, {call.in(1), call.in(2)}, {}, {}};
  Cost cost = matmul(product);
  cost.flops += elements(call.in(0));
  cost.bytes += tensor_bytes(call.in(0));
  return cost;
}

Cost bilinear(const OpCall& call) {
  const Tensor &x = call.in(0), &w = call.in(2);
  if (w.dim() != 3 || x.dim() == 0 || x.sizes().back() == 0) return {kUnknown, kUnknown};
  const double rows = elements(x) / static_cast<double>(x.sizes().back()), outs = static_cast<double>(w.sizes()[0]);
  return {2 * rows * (elements(w) + outs * static_cast<double>(w.sizes()[2])),
          input_bytes(call) + rows * outs * static_cast<double>(size_of(x.dtype()))};
}

Cost decomposition(const OpCall& call) {
  const Tensor& a = call.in(0);
  if (a.dim() < 2) return {kUnknown, kUnknown};
  const double rows = static_cast<double>(a.size(-2)), columns = static_cast<double>(a.size(-1));
  return {2 * elements(a) * std::min(rows, columns), 2 * input_bytes(call)};
}

Cost composite(const OpCall&) { return {kUnknown, kUnknown}; }

Cost attention(const OpCall& call) {
  const Tensor &q = call.in(0), &k = call.in(1), &v = call.in(2);
  if (q.dim() < 2 || k.dim() < 2 || v.dim() < 2) return {kUnknown, kUnknown};
  const double pairs = elements(q) * static_cast<double>(k.size(-2));
  const double out = elements(q) / std::max(1.0, static_cast<double>(q.size(-1))) * static_cast<double>(v.size(-1));
  return {2 * pairs + 2 * out * static_cast<double>(k.size(-2)),
          input_bytes(call) + out * static_cast<double>(size_of(q.dtype()))};
}

Cost attention_backward(const OpCall& call) {
  const OpCall forward{call.op, {call.in(1), call.in(2), call.in(3)}, {}, {}};
  return {2.5 * attention(forward).flops, input_bytes(call)};
}

Cost cell(const OpCall& call) {
  const double gates = largest(call);
  return {3 * gates, input_bytes(call) + gates * static_cast<double>(size_of(call.in(0).dtype()))};
}

Cost recurrent(const OpCall& call) {
  const Tensor &x = call.in(0), &w_ih = call.in(1), &w_hh = call.in(2);
  if (x.dim() < 2 || w_ih.dim() != 2 || w_hh.dim() != 2 || x.sizes().back() == 0) return {kUnknown, kUnknown};
  const double rows = elements(x) / static_cast<double>(x.sizes().back());
  const double out = rows * static_cast<double>(w_hh.sizes()[1]);
  return {rows * (2 * (elements(w_ih) + elements(w_hh)) + 5 * static_cast<double>(w_ih.sizes()[0])),
          input_bytes(call) + out * static_cast<double>(size_of(x.dtype()))};
}

Cost recurrent_backward(const OpCall& call) { return {2 * recurrent(call).flops, input_bytes(call)}; }

}  // namespace amp::cost
