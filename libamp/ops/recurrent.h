// Recurrent layers over whole sequences, as torch.lstm, torch.gru, torch.rnn_tanh and torch.rnn_relu.
//
// input [steps, batch, features], or [batch, steps, features] if batch_first. hx [layers * directions, batch, hidden].
// params: for each layer and direction w_ih, w_hh, then b_ih, b_hh if has_biases, then the projection w_hr if there is
// one. Returns out [steps, batch, directions * hidden] (batch first if the input is) and the last states.
// The other overloads take a packed sequence: data [rows, features] and int64 batch_sizes [steps].
//
// dropout: probability with which elements between layers are zeroed while `train`.
//
// Dtypes under autocast are those of PyTorch. CUDA's rules: everything is cast to float16 whatever the region's dtype,
// as _cudnn_rnn does. The CPU's: an LSTM without projection is cast to the region's dtype; of the others only the
// products are, so a float32 state stays float32. Without autocast all operands must have one dtype.
#pragma once
#include <tuple>
#include <utility>

#include "libamp/core/tensor.h"

namespace amp {

/// Hidden and cell state.
using LstmState = std::pair<Tensor, Tensor>;

/// Returns out, h_n, c_n. With projections the hidden state has their width, the cell state keeps the hidden size.
std::tuple<Tensor, Tensor, Tensor> lstm(const Tensor& input, const LstmState& hx, const Tensors& params,
                                        bool has_biases, std::int64_t num_layers, double dropout, bool train,
                                        bool bidirectional, bool batch_first);
std::tuple<Tensor, Tensor, Tensor> lstm(const Tensor& data, const Tensor& batch_sizes, const LstmState& hx,
                                        const Tensors& params, bool has_biases, std::int64_t num_layers, double dropout,
                                        bool train, bool bidirectional);

/// Return out and h_n.
std::pair<Tensor, Tensor> gru(const Tensor& input, const Tensor& hx, const Tensors& params, bool has_biases,
                              std::int64_t num_layers, double dropout, bool train, bool bidirectional,
                              bool batch_first);
std::pair<Tensor, Tensor> gru(const Tensor& data, const Tensor& batch_sizes, const Tensor& hx, const Tensors& params,
                              bool has_biases, std::int64_t num_layers, double dropout, bool train, bool bidirectional);
std::pair<Tensor, Tensor> rnn_tanh(const Tensor& input, const Tensor& hx, const Tensors& params, bool has_biases,
                                   std::int64_t num_layers, double dropout, bool train, bool bidirectional,
                                   bool batch_first);
std::pair<Tensor, Tensor> rnn_tanh(const Tensor& data, const Tensor& batch_sizes, const Tensor& hx,
                                   const Tensors& params, bool has_biases, std::int64_t num_layers, double dropout,
                                   bool train, bool bidirectional);
std::pair<Tensor, Tensor> rnn_relu(const Tensor& input, const Tensor& hx, const Tensors& params, bool has_biases,
                                   std::int64_t num_layers, double dropout, bool train, bool bidirectional,
                                   bool batch_first);
std::pair<Tensor, Tensor> rnn_relu(const Tensor& data, const Tensor& batch_sizes, const Tensor& hx,
                                   const Tensors& params, bool has_biases, std::int64_t num_layers, double dropout,
                                   bool train, bool bidirectional);

}  // namespace amp
