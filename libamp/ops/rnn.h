// Recurrent cells, one step each. Under CUDA's rules all operands are cast to the fast dtype; under the CPU's they are
// on no list, and the products inside are cast one by one. Biases may be left out.
#pragma once
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

}  // namespace amp
