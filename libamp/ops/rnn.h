// Recurrent cells, one step each. Under CUDA's rules all operands are cast to the fast dtype; under the CPU's they are
// on no list, and the products inside are cast one by one. Biases may be left out.
#pragma once
#include <tuple>
#include <utility>

#include "libamp/core/tensor.h"

namespace amp {

/// tanh(input w_ih^T + b_ih + hx w_hh^T + b_hh). input [batch, in], hx [batch, hidden], w_ih [hidden, in],
/// w_hh [hidden, hidden], biases [hidden].
Tensor rnn_tanh_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                     const Tensor& b_ih = {}, const Tensor& b_hh = {});
/// The same with relu.
Tensor rnn_relu_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                     const Tensor& b_ih = {}, const Tensor& b_hh = {});
/// Gates in the order reset, update, new: weights and biases have 3 hidden rows.
Tensor gru_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih = {},
                const Tensor& b_hh = {});
/// Gates in the order input, forget, cell, output: weights and biases have 4 hidden rows. Returns hidden and cell
/// state.
std::pair<Tensor, Tensor> lstm_cell(const Tensor& input, const std::pair<Tensor, Tensor>& hx, const Tensor& w_ih,
                                    const Tensor& w_hh, const Tensor& b_ih = {}, const Tensor& b_hh = {});

/// What is left of lstm_cell after its products: input_gates = input w_ih^T, hidden_gates = hx w_hh^T, both
/// [batch, 4 hidden]; cx [batch, hidden]; biases [4 hidden], both or none. One pass over memory. Returns hidden state,
/// cell state and the activated gates. All of one dtype; listed low precision under CUDA's rules. PyTorch:
/// _thnn_fused_lstm_cell.
std::tuple<Tensor, Tensor, Tensor> thnn_fused_lstm_cell(const Tensor& input_gates, const Tensor& hidden_gates,
                                                        const Tensor& cx, const Tensor& input_bias = {},
                                                        const Tensor& hidden_bias = {});
/// The same for gru_cell, with gates [batch, 3 hidden]. Returns the hidden state, and [batch, 4 hidden]: reset, update
/// and new gate, and the hidden state's part of the new gate. PyTorch: _thnn_fused_gru_cell.
std::pair<Tensor, Tensor> thnn_fused_gru_cell(const Tensor& input_gates, const Tensor& hidden_gates, const Tensor& hx,
                                              const Tensor& input_bias = {}, const Tensor& hidden_bias = {});

}  // namespace amp
