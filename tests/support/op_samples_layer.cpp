// Sample calls of pooling, normalisation and attention.
#include "tests/support/op_sample_row.h"

namespace amp::test {

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
  };
}

}  // namespace amp::test
