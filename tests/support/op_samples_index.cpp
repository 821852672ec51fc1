// Sample calls of reading and writing by index, joining and resampling.
#include "tests/support/op_sample_row.h"

namespace amp::test {

std::vector<OpSample> index_samples() {
  return {
      AMP_SAMPLE(index, index(a[0], {a[1]}), any({5, 3}), index_below(5, {4})),
      AMP_SAMPLE(index_put, index_put(a[0], {a[2]}, a[1], true), any({5, 3}), any({2, 3}), index_below(5, {2})),
      AMP_SAMPLE(gather, gather(a[0], 1, a[1]), any({3, 5}), index_below(5, {3, 2})),
      AMP_SAMPLE(scatter, scatter(a[0], 1, a[2], a[1]), any({2, 5}), any({1, 3}), index_below(5, {1, 3})),
      AMP_SAMPLE(scatter_add, scatter_add(a[0], 0, a[2], a[1]), any({3, 5}), any({2, 5}), index_below(3, {2, 5})),
      AMP_SAMPLE(index_select, index_select(a[0], 1, a[1]), any({3, 5}), index_below(5, {4})),
      AMP_SAMPLE(index_copy, index_copy(a[0], 0, a[2], a[1]), any({5, 3}), any({2, 3}), index_below(5, {2})),
      AMP_SAMPLE(index_add, index_add(a[0], 0, a[2], a[1]), any({5, 3}), any({2, 3}), index_below(5, {2})),
      AMP_SAMPLE(embedding, embedding(a[0], a[1]), any({6, 4}), index_below(6, {2, 3})),
      AMP_SAMPLE(embedding_dense_backward, embedding_dense_backward(a[0], a[1], 6), any({2, 3, 4}),
                 index_below(6, {2, 3})),
      AMP_SAMPLE(one_hot, one_hot(a[0], 6), index_below(6, {2, 3})),
      AMP_SAMPLE(nonzero, nonzero(a[0]), mask({3, 4})),
      AMP_SAMPLE(triu, triu(a[0]), any({3, 4})),
      AMP_SAMPLE(tril, tril(a[0], -1), any({3, 4})),
      // -- joining
      AMP_SAMPLE(cat, cat(a, 0), any({2, 3}), any({4, 3})),
      AMP_SAMPLE(stack, stack(a, 1), any({2, 3}), any({2, 3})),
      // -- resampling
      // Corners aligned: then no multiple of 1/128 points to a pixel, where the gradient jumps.
      AMP_SAMPLE(grid_sampler, grid_sample(a[0], a[1], "bilinear", "zeros", true), any({1, 2, 4, 4}),
                 unit({1, 3, 3, 2})),
      AMP_SAMPLE(upsample_nearest1d, interpolate(a[0], 7), any({1, 2, 4})),
      AMP_SAMPLE(upsample_nearest2d, interpolate(a[0], {6, 5}), any({1, 2, 4, 3})),
      AMP_SAMPLE(upsample_nearest3d, interpolate(a[0], {3, 4, 5}), any({1, 1, 2, 2, 3})),
      AMP_SAMPLE(upsample_linear1d, interpolate(a[0], 7, "linear"), any({1, 2, 4})),
      AMP_SAMPLE(upsample_bilinear2d, interpolate(a[0], {6, 5}, "bilinear"), any({1, 2, 4, 3})),
      AMP_SAMPLE(upsample_trilinear3d, interpolate(a[0], {3, 4, 5}, "trilinear"), any({1, 1, 2, 2, 3})),
      AMP_SAMPLE(upsample_bicubic2d, interpolate(a[0], {6, 5}, "bicubic"), any({1, 2, 4, 3})),
  };
}

}  // namespace amp::test
