// Recurrent cells in single ops, composed as PyTorch composes them: under the CPU's rules autocast sees the two linear
// products, so their results are half precision while the states stay what they were.
#include "libamp/dispatch/op_call.h"
#include "libamp/ops/math.h"
#include "libamp/ops/pointwise.h"
#include "libamp/ops/recurrent_layer.h"

namespace amp::composite {
namespace {

struct Cell {
  Tensor input, hx, w_ih, w_hh, b_ih, b_hh;
};

// `first`: where the weights start in the inputs. `gates`: rows of the weights per hidden element.
Cell cell_of(const OpCall& call, std::size_t first, std::int64_t gates) {
  const auto optional_input = [&](std::size_t i) { return call.has(i) ? call.in(i) : Tensor(); };
  Cell c{
      call.in(0), call.in(1), call.in(first), call.in(first + 1), optional_input(first + 2), optional_input(first + 3)};
  const bool fits = c.input.dim() == 2 && c.hx.dim() == 2 && c.w_ih.dim() == 2 && c.w_hh.dim() == 2 &&
                    c.hx.size(0) == c.input.size(0) && c.w_ih.size(0) == gates * c.hx.size(1) &&
                    c.w_hh.size(0) == gates * c.hx.size(1) && c.w_ih.size(1) == c.input.size(1) &&
                    c.w_hh.size(1) == c.hx.size(1);
  if (!fits)
    call.fail("operands do not fit: got input " + describe(c.input) + ", hidden state " + describe(c.hx) +
              ", weights " + describe(c.w_ih) + " and " + describe(c.w_hh) + ", need [batch, in], [batch, hidden], [" +
              std::to_string(gates) + " hidden, in] and [" + std::to_string(gates) + " hidden, hidden]");
  return c;
}

Tensor from_input(const Cell& c) { return linear(c.input, c.w_ih, c.b_ih); }
Tensor from_state(const Cell& c) { return linear(c.hx, c.w_hh, c.b_hh); }

}  // namespace

Tensors rnn_tanh_cell(const OpCall& call) {
  const Cell c = cell_of(call, 2, 1);
  return {tanh(from_input(c) + from_state(c))};
}

Tensors rnn_relu_cell(const OpCall& call) {
  const Cell c = cell_of(call, 2, 1);
  return {relu(from_input(c) + from_state(c))};
}

// Ends in the fused pass where all operands have one dtype. Under the CPU's rules a float32 state meets half precision
// gates: then single ops, which promote.
Tensors gru_cell(const OpCall& call) {
  const Cell c = cell_of(call, 2, 3);
  return {gru_from_gates(from_input(c), from_state(c), c.hx)};
}

Tensors lstm_cell(const OpCall& call) {
  const Cell c = cell_of(call, 3, 4);
  const Tensor cx = call.in(2);
  if (!(cx.sizes() == c.hx.sizes())) call.fail("the two states differ: got " + describe(c.hx) + " and " + describe(cx));
  const auto [hidden, cell] = lstm_from_gates(from_input(c), from_state(c), cx);
  return {hidden, cell};
}

}  // namespace amp::composite
