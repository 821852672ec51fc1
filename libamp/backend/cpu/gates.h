// The pointwise part of recurrent cells: one pass over the gates of one row of a batch, forward and backward. Used by
// the single cells (cell.cpp) and by whole layers (recurrent_*.cpp). n: hidden size; C: float or double. Arrays may be
// the same only where a line says so.
#pragma once
#include <cstdint>

namespace amp::cpu {

/// gates [4 n] in the order input, forget, cell, output: pre-activations in, activations out.
/// cell = forget * previous + input * new; hidden = output * tanh(cell). `cell` may be `previous`.
template <typename C>
void lstm_forward(C* gates, const C* previous, C* cell, C* hidden, std::int64_t n);
/// d_hidden: gradient of hidden; d_cell: gradient of cell in, of the previous cell out; d_gates [4 n]: of the
/// pre-activations. gates: activations.
template <typename C>
void lstm_backward(const C* gates, const C* previous, const C* cell, const C* d_hidden, C* d_cell, C* d_gates,
                   std::int64_t n);
/// gates [4 n]: the input's part of reset, update, new in; reset, update, new and the hidden part of new out.
/// of_hidden [3 n]: the hidden state's part. hidden = new + update (previous - new); it may be `previous`.
template <typename C>
void gru_forward(C* gates, const C* of_hidden, const C* previous, C* hidden, std::int64_t n);
/// d_hidden: gradient of hidden in, its direct share for the previous hidden state out. d_input [3 n],
/// d_of_hidden [3 n]: gradients of the two parts of the pre-activations.
template <typename C>
void gru_backward(const C* gates, const C* previous, C* d_hidden, C* d_input, C* d_of_hidden, std::int64_t n);
/// values = tanh(values)
template <typename C>
void tanh_forward(C* values, std::int64_t n);

}  // namespace amp::cpu
