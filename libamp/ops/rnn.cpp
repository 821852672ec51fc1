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

}  // namespace amp
