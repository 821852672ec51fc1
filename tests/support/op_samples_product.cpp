// Sample calls of conversions, views, matrix products, convolutions and recurrent cells.
#include "tests/support/op_sample_row.h"

namespace amp::test {

std::vector<OpSample> product_samples() {
  return {
      // -- conversion and memory
      AMP_SAMPLE_METHOD(to, to(a[0], DType::float32), a[0].to(DType::float32), any({3, 4})),
      AMP_SAMPLE_METHOD(clone, clone(a[0]), a[0].clone(), any({3, 4})),
      AMP_SAMPLE_METHOD(view, view(a[0], {4, 3}), a[0].view({4, 3}), any({3, 4})),
      AMP_SAMPLE_METHOD(permute, permute(a[0], {2, 0, 1}), a[0].permute({2, 0, 1}), any({2, 3, 4})),
      AMP_SAMPLE_METHOD(expand, expand(a[0], {2, 3, 4}), a[0].expand({2, 3, 4}), any({3, 1})),
      AMP_SAMPLE_METHOD(narrow, narrow(a[0], 1, 1, 2), a[0].narrow(1, 1, 2), any({3, 4})),
      // -- matrix products
      AMP_SAMPLE_METHOD(matmul, matmul(a[0], a[1]), a[0].matmul(a[1]), any({4, 8}), any({8, 5})),
      AMP_SAMPLE_METHOD(matmul, matmul(a[0], a[1]), a[0].matmul(a[1]), any({2, 3, 8}), any({8, 5})),
      AMP_SAMPLE_METHOD(matmul, matmul(a[0], a[1]), a[0].matmul(a[1]), any({8}), any({8})),
      AMP_SAMPLE_METHOD(matmul, matmul(a[0], a[1]), a[0].matmul(a[1]), any({2, 1, 3, 4}), any({3, 4, 2})),
      AMP_SAMPLE(linear, linear(a[0], a[1], a[2]), any({2, 3, 8}), any({5, 8}), any({5})),
      AMP_SAMPLE(linear, linear(a[0], a[1]), any({4, 8}), any({5, 8})),
      AMP_SAMPLE(mm, mm(a[0], a[1]), any({7, 9}), any({9, 3})),
      AMP_SAMPLE(mv, mv(a[0], a[1]), any({7, 9}), any({9})),
      AMP_SAMPLE(bmm, bmm(a[0], a[1]), any({3, 4, 8}), any({3, 8, 2})),
      AMP_SAMPLE(addmm, addmm(a[0], a[1], a[2], 0.5, 2.0), any({4, 5}), any({4, 8}), any({8, 5})),
      AMP_SAMPLE(addmm, addmm(a[0], a[1], a[2]), any({5}), any({4, 8}), any({8, 5})),
      AMP_SAMPLE(addmv, addmv(a[0], a[1], a[2]), any({4}), any({4, 8}), any({8})),
      AMP_SAMPLE(addr, addr(a[0], a[1], a[2]), any({4, 5}), any({4}), any({5})),
      AMP_SAMPLE(addbmm, addbmm(a[0], a[1], a[2]), any({4, 5}), any({3, 4, 8}), any({3, 8, 5})),
      AMP_SAMPLE(baddbmm, baddbmm(a[0], a[1], a[2]), any({3, 4, 5}), any({3, 4, 8}), any({3, 8, 5})),
      AMP_SAMPLE(chain_matmul, chain_matmul(a), any({3, 6}), any({6, 2}), any({2, 5})),
      AMP_SAMPLE(linalg_multi_dot, multi_dot(a), any({3, 6}), any({6, 2}), any({2, 5})),
      AMP_SAMPLE(einsum, einsum("bij,bjk->bik", a), any({2, 3, 4}), any({2, 4, 2})),
      AMP_SAMPLE(tensordot, tensordot(a[0], a[1], {1, 2}, {0, 1}), any({3, 4, 5}), any({4, 5, 2})),
      AMP_SAMPLE(bilinear, bilinear(a[0], a[1], a[2], a[3]), any({3, 4}), any({3, 5}), any({2, 4, 5}), any({2})),
      AMP_SAMPLE(trilinear, run_op1({OpId::trilinear, a, {}, {}}), any({3, 4}), any({3, 5}), any({2, 4, 5})),
      // -- convolutions
      AMP_SAMPLE(conv1d, conv1d(a[0], a[1], a[2], 2, 1), any({2, 4, 9}), any({6, 4, 3}), any({6})),
      AMP_SAMPLE(conv2d, conv2d(a[0], a[1], a[2], 1, 1), any({2, 4, 6, 5}), any({6, 4, 3, 3}), any({6})),
      AMP_SAMPLE(conv2d, conv2d(a[0], a[1], {}, {2, 1}, SizeList{0, 2}.values(), {2, 1}, 2), any({2, 4, 7, 7}),
                 any({8, 2, 3, 3})),
      AMP_SAMPLE(conv3d, conv3d(a[0], a[1], a[2]), any({1, 2, 4, 4, 4}), any({3, 2, 2, 2, 2}), any({3})),
      AMP_SAMPLE(conv_transpose1d, conv_transpose1d(a[0], a[1], a[2], 2, 1, 1), any({2, 4, 5}), any({4, 3, 3}),
                 any({3})),
      AMP_SAMPLE(conv_transpose2d, conv_transpose2d(a[0], a[1], a[2], 2, 1), any({2, 4, 4, 3}), any({4, 3, 3, 3}),
                 any({3})),
      AMP_SAMPLE(conv_transpose3d, conv_transpose3d(a[0], a[1]), any({1, 2, 3, 3, 3}), any({2, 3, 2, 2, 2})),
      AMP_SAMPLE(conv_backward_input, conv_backward_input(a[0], a[1], {2, 3, 5}, {{2}, {1}, {1}, 1}), any({2, 4, 3}),
                 any({4, 3, 3})),
      AMP_SAMPLE(conv_backward_weight, conv_backward_weight(a[0], a[1], {4, 3, 3}, {{2}, {1}, {1}, 1}), any({2, 4, 3}),
                 any({2, 3, 5})),
      // -- recurrent cells
      AMP_SAMPLE(rnn_tanh_cell, rnn_tanh_cell(a[0], a[1], a[2], a[3], a[4], a[5]), any({3, 4}), any({3, 5}),
                 unit({5, 4}), unit({5, 5}), unit({5}), unit({5})),
      AMP_SAMPLE(rnn_relu_cell, rnn_relu_cell(a[0], a[1], a[2], a[3], a[4], a[5]), any({3, 4}), any({3, 5}),
                 unit({5, 4}), unit({5, 5}), unit({5}), unit({5})),
      AMP_SAMPLE(gru_cell, gru_cell(a[0], a[1], a[2], a[3], a[4], a[5]), any({3, 4}), any({3, 5}), unit({15, 4}),
                 unit({15, 5}), unit({15}), unit({15})),
      AMP_SAMPLE(lstm_cell, lstm_cell(a[0], {a[1], a[2]}, a[3], a[4], a[5], a[6]), any({3, 4}), any({3, 5}),
                 any({3, 5}), unit({20, 4}), unit({20, 5}), unit({20}), unit({20})),
  };
}

}  // namespace amp::test
