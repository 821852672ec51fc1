// One direction of one recurrent layer over a whole sequence: as one op, or composed of a linear product for all steps
// and, for each step, another one and a cell. Between the functions of recurrent.h and the ops.
#pragma once
#include <string_view>
#include <utility>

#include "libamp/base/op.h"
#include "libamp/core/tensor.h"

namespace amp {

/// Operands of a layer. input [steps, batch, in], or packed [rows, in] with int64 batch_sizes [steps] on the CPU;
/// h0 [batch, out], c0 [batch, hidden] (LSTM); w_ih [gates hidden, in], w_hh [gates hidden, out], biases
/// [gates hidden] or undefined; w_hr [out, hidden] or undefined (LSTM with a projection; otherwise out = hidden).
struct RecurrentLayer {
  OpId op = OpId::none;  // lstm_layer, gru_layer or rnn_layer
  Tensor input, w_ih, w_hh, h0, c0, b_ih, b_hh, w_hr, batch_sizes;
  bool reverse = false;                    // from the last step to the first
  std::string_view nonlinearity = "tanh";  // of rnn_layer: tanh or relu
};
/// out: as input, with the last dim `out`; h_n, c_n: as h0, c0.
struct RecurrentResult {
  Tensor out, h_n, c_n;
};

RecurrentResult fused_layer(const RecurrentLayer& layer);
/// The same values from ops that can be differentiated twice, and that autocast sees one by one.
RecurrentResult composed_layer(const RecurrentLayer& layer);

/// The end of a cell, from its gates [batch, gates hidden]: the fused pass if all dtypes are one, else single ops.
std::pair<Tensor, Tensor> lstm_from_gates(const Tensor& of_input, const Tensor& of_hidden, const Tensor& cx);
Tensor gru_from_gates(const Tensor& of_input, const Tensor& of_hidden, const Tensor& hx);

}  // namespace amp
