// Sample calls of pooling, normalisation, attention and recurrent layers.
#include "libamp/ops/recurrent_layer.h"
#include "tests/support/op_sample_row.h"

namespace amp::test {
namespace {

Tensors outputs(const RecurrentResult& r) {
  return r.c_n.defined() ? Tensors{r.out, r.h_n, r.c_n} : Tensors{r.out, r.h_n};
}
// Arguments: input, w_ih, w_hh, states, two biases.
Tensors lstm_of(const Tensors& a, bool reverse) {
  return outputs(fused_layer({OpId::lstm_layer, a[0], a[1], a[2], a[3], a[4], a[5], a[6], {}, {}, reverse}));
}
Tensors layer_of(OpId op, const Tensors& a, std::string_view nonlinearity) {
  return outputs(fused_layer({op, a[0], a[1], a[2], a[3], {}, a[4], a[5], {}, {}, false, nonlinearity}));
}
Tensors lstm_cell_of(const Tensors& a) {
  const auto [hidden, cell, gates] = thnn_fused_lstm_cell(a[0], a[1], a[2], a[3], a[4]);
  return {hidden, cell, gates};
}

}  // namespace

std::vector<OpSample> layer_samples() {
  return {
      AMP_SAMPLE(max_pool2d, max_pool2d(a[0], 2), any({1, 2, 6, 6})),
      AMP_SAMPLE(max_pool3d, max_pool3d(a[0], 2), any({1, 2, 4, 4, 2})),
      AMP_SAMPLE(avg_pool2d, avg_pool2d(a[0], 3, 2, 1), any({1, 2, 6, 6})),
      AMP_SAMPLE(avg_pool3d, avg_pool3d(a[0], 2), any({1, 2, 4, 4, 2})),
      AMP_SAMPLE(adaptive_avg_pool2d, adaptive_avg_pool2d(a[0], {3, 2}), any({1, 2, 6, 5})),
      AMP_SAMPLE(adaptive_avg_pool3d, adaptive_avg_pool3d(a[0], 2), any({1, 1, 4, 3, 3})),
      AMP_SAMPLE(layer_norm, layer_norm(a[0], {6}, a[1], a[2]), any({3, 4, 6}), positive({6}), any({6})),
      AMP_SAMPLE(layer_norm, layer_norm(a[0], {4, 6}), any({2, 4, 6})),
      AMP_SAMPLE(rms_norm, rms_norm(a[0], {6}, a[1], 1e-5), any({3, 6}), positive({6})),
      AMP_SAMPLE(group_norm, group_norm(a[0], 3, a[1], a[2]), any({2, 6, 5}), positive({6}), any({6})),
      AMP_SAMPLE(batch_norm, batch_norm(a[0], {}, {}, a[1], a[2], true), any({4, 3, 5}), positive({3}), any({3})),
      AMP_SAMPLE(scaled_dot_product_attention, scaled_dot_product_attention(a[0], a[1], a[2]), any({2, 2, 4, 8}),
                 any({2, 2, 6, 8}), any({2, 2, 6, 8})),
      AMP_SAMPLE(scaled_dot_product_attention, scaled_dot_product_attention(a[0], a[1], a[2], {}, 0, true),
                 any({1, 2, 5, 8}), any({1, 2, 5, 8}), any({1, 2, 5, 8})),
      AMP_SAMPLE(scaled_dot_product_attention, scaled_dot_product_attention(a[0], a[1], a[2], a[3]), any({1, 2, 5, 8}),
                 any({1, 2, 5, 8}), any({1, 2, 5, 8}), fixed(any({5, 5}))),
      AMP_SAMPLE(thnn_fused_lstm_cell, lstm_cell_of(a), any({3, 12}), any({3, 12}), any({3, 3}), any({12}), any({12})),
      AMP_SAMPLE(thnn_fused_gru_cell, thnn_fused_gru_cell(a[0], a[1], a[2], a[3], a[4]), any({3, 9}), any({3, 9}),
                 any({3, 3}), any({9}), any({9})),
      AMP_SAMPLE(lstm_layer, lstm_of(a, false), any({3, 2, 4}), unit({12, 4}), unit({12, 3}), any({2, 3}), any({2, 3}),
                 any({12}), any({12})),
      AMP_SAMPLE(lstm_layer, lstm_of(a, true), any({3, 2, 4}), unit({12, 4}), unit({12, 3}), any({2, 3}), any({2, 3}),
                 any({12}), any({12})),
      AMP_SAMPLE(gru_layer, layer_of(OpId::gru_layer, a, ""), any({3, 2, 4}), unit({9, 4}), unit({9, 3}), any({2, 3}),
                 any({9}), any({9})),
      AMP_SAMPLE(rnn_layer, layer_of(OpId::rnn_layer, a, "tanh"), any({3, 2, 4}), unit({3, 4}), unit({3, 3}),
                 any({2, 3}), any({3}), any({3})),
  };
}

}  // namespace amp::test
