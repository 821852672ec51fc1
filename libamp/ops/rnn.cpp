// Recurrent cells: arguments in, op calls out.
#include "libamp/ops/rnn.h"

#include "libamp/dispatch/run_op.h"

namespace amp {

Tensor rnn_tanh_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih,
                     const Tensor& b_hh) {
  return run_op1({OpId::rnn_tanh_cell, {input, hx, w_ih, w_hh, b_ih, b_hh}, {}, {}});
}
Tensor rnn_relu_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih,
                     const Tensor& b_hh) {
  return run_op1({OpId::rnn_relu_cell, {input, hx, w_ih, w_hh, b_ih, b_hh}, {}, {}});
}
Tensor gru_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih,
                const Tensor& b_hh) {
  return run_op1({OpId::gru_cell, {input, hx, w_ih, w_hh, b_ih, b_hh}, {}, {}});
}
std::pair<Tensor, Tensor> lstm_cell(const Tensor& input, const std::pair<Tensor, Tensor>& hx, const Tensor& w_ih,
                                    const Tensor& w_hh, const Tensor& b_ih, const Tensor& b_hh) {
  const Tensors states = run_op({OpId::lstm_cell, {input, hx.first, hx.second, w_ih, w_hh, b_ih, b_hh}, {}, {}});
  return {states[0], states[1]};
}

std::tuple<Tensor, Tensor, Tensor> thnn_fused_lstm_cell(const Tensor& input_gates, const Tensor& hidden_gates,
                                                        const Tensor& cx, const Tensor& input_bias,
                                                        const Tensor& hidden_bias) {
  const Tensors r =
      run_op({OpId::thnn_fused_lstm_cell, {input_gates, hidden_gates, cx, input_bias, hidden_bias}, {}, {}});
  return {r[0], r[1], r[2]};
}
std::pair<Tensor, Tensor> thnn_fused_gru_cell(const Tensor& input_gates, const Tensor& hidden_gates, const Tensor& hx,
                                              const Tensor& input_bias, const Tensor& hidden_bias) {
  const Tensors r =
      run_op({OpId::thnn_fused_gru_cell, {input_gates, hidden_gates, hx, input_bias, hidden_bias}, {}, {}});
  return {r[0], r[1]};
}

}  // namespace amp
