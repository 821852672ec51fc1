// The two ways to run a recurrent layer.
#include "libamp/ops/recurrent_layer.h"

#include <algorithm>

#include "libamp/dispatch/run_op.h"
#include "libamp/ops/join.h"
#include "libamp/ops/math.h"
#include "libamp/ops/pointwise.h"
#include "libamp/ops/rnn.h"
#include "libamp/ops/view.h"

namespace amp {

RecurrentResult fused_layer(const RecurrentLayer& l) {
  if (l.op == OpId::lstm_layer) {
    const Tensors r = run_op({l.op,
                              {l.input, l.w_ih, l.w_hh, l.h0, l.c0, l.b_ih, l.b_hh, l.w_hr, l.batch_sizes},
                              {{"reverse", l.reverse}},
                              {}});
    return {r[0], r[3], r[4]};
  }
  Attributes attributes{{"reverse", l.reverse}};
  if (l.op == OpId::rnn_layer) attributes.set("nonlinearity", std::string(l.nonlinearity));
  const Tensors r =
      run_op({l.op, {l.input, l.w_ih, l.w_hh, l.h0, l.b_ih, l.b_hh, l.batch_sizes}, std::move(attributes), {}});
  return {r[0], r.back(), {}};
}

std::pair<Tensor, Tensor> lstm_from_gates(const Tensor& of_input, const Tensor& of_hidden, const Tensor& cx) {
  if (of_input.dtype() == cx.dtype() && of_hidden.dtype() == cx.dtype()) {
    const auto [hidden, cell, gates] = thnn_fused_lstm_cell(of_input, of_hidden, cx);
    return {hidden, cell};
  }
  const Tensors gates = chunk(of_input + of_hidden, 4, 1);
  const Tensor cell = sigmoid(gates[1]) * cx + sigmoid(gates[0]) * tanh(gates[2]);
  return {sigmoid(gates[3]) * tanh(cell), cell};
}

// h' = n + z (h - n), n = tanh(in_n + r hidden_n)
Tensor gru_from_gates(const Tensor& of_input, const Tensor& of_hidden, const Tensor& hx) {
  if (of_input.dtype() == hx.dtype() && of_hidden.dtype() == hx.dtype())
    return thnn_fused_gru_cell(of_input, of_hidden, hx).first;
  const Tensors in = chunk(of_input, 3, 1), state = chunk(of_hidden, 3, 1);
  const Tensor reset = sigmoid(in[0] + state[0]), update = sigmoid(in[1] + state[1]);
  const Tensor fresh = tanh(in[2] + reset * state[2]);
  return (hx - fresh) * update + fresh;
}

namespace {

// The first `rows` rows replaced; those below belong to sequences that have ended or not begun.
Tensor with_first_rows(const Tensor& state, const Tensor& rows) {
  if (rows.size(0) == state.size(0)) return rows;
  return cat({rows, narrow(state, 0, rows.size(0), state.size(0) - rows.size(0))}, 0);
}

}  // namespace

RecurrentResult composed_layer(const RecurrentLayer& l) {
  const bool packed = l.batch_sizes.defined();
  const std::int64_t steps = packed ? l.batch_sizes.numel() : l.input.size(0);
  const Tensor of_input = linear(l.input, l.w_ih, l.b_ih);
  Tensor h = l.h0, c = l.c0;
  std::vector<std::int64_t> first(static_cast<std::size_t>(steps) + 1, 0);
  for (std::int64_t t = 0; t < steps; ++t)
    first[t + 1] = first[t] + (packed ? l.batch_sizes.data<std::int64_t>()[t] : l.input.size(1));
  Tensors out(static_cast<std::size_t>(steps));
  for (std::int64_t s = 0; s < steps; ++s) {
    const std::int64_t t = l.reverse ? steps - 1 - s : s, rows = first[t + 1] - first[t];
    const Tensor gates = packed ? narrow(of_input, 0, first[t], rows) : select(of_input, 0, t);
    const bool all = rows == h.size(0);
    const Tensor before = all ? h : narrow(h, 0, 0, rows), of_hidden = linear(before, l.w_hh, l.b_hh);
    Tensor now;
    if (l.op == OpId::lstm_layer) {
      const auto [hidden, cell] = lstm_from_gates(gates, of_hidden, all ? c : narrow(c, 0, 0, rows));
      now = l.w_hr.defined() ? linear(hidden, l.w_hr) : hidden;
      c = with_first_rows(c, cell);
    } else if (l.op == OpId::gru_layer) {
      now = gru_from_gates(gates, of_hidden, before);
    } else {
      now = l.nonlinearity == "relu" ? relu(gates + of_hidden) : tanh(gates + of_hidden);
    }
    h = with_first_rows(h, now);
    out[t] = now;
  }
  return {packed ? cat(out, 0) : stack(out, 0), h, c};
}

}  // namespace amp
