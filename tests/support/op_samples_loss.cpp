// Sample calls of losses and softmax.
#include "tests/support/op_sample_row.h"

namespace amp::test {

std::vector<OpSample> loss_samples() {
  return {
      AMP_SAMPLE(softmax, softmax(a[0], -1), any({3, 6})),
      AMP_SAMPLE(softmax, softmax(a[0], 1), any({3, 4, 5})),
      AMP_SAMPLE(softmax_backward, run_op1({OpId::softmax_backward, a, {{"dim", std::int64_t{1}}}, {}}), any({3, 4}),
                 probability({3, 4})),
      AMP_SAMPLE(log_softmax, log_softmax(a[0], -1), any({3, 6})),
      AMP_SAMPLE(log_softmax_backward, run_op1({OpId::log_softmax_backward, a, {{"dim", std::int64_t{1}}}, {}}),
                 any({3, 4}), any({3, 4})),
      AMP_SAMPLE(nll_loss, nll_loss(a[0], a[1], a[2]), any({5, 4}), index_below(4, {5}), fixed(positive({4}))),
      AMP_SAMPLE(nll_loss, nll_loss(a[0], a[1]), any({2, 4, 3}), index_below(4, {2, 3})),
      AMP_SAMPLE(cross_entropy_loss, cross_entropy(a[0], a[1]), any({5, 4}), index_below(4, {5})),
      AMP_SAMPLE(cross_entropy_loss, cross_entropy(a[0], a[1], a[2], -100, "mean", 0.1), any({5, 4}),
                 index_below(4, {5}), fixed(positive({4}))),
      AMP_SAMPLE(mse_loss, mse_loss(a[0], a[1]), any({3, 4}), any({3, 4})),
      AMP_SAMPLE(l1_loss, l1_loss(a[0], a[1], "sum"), any({3, 4}), any({3, 4})),
      AMP_SAMPLE(smooth_l1_loss, smooth_l1_loss(a[0], a[1]), any({3, 4}), any({3, 4})),
      AMP_SAMPLE(huber_loss, huber_loss(a[0], a[1], "mean", 0.5), any({3, 4}), any({3, 4})),
      AMP_SAMPLE(soft_margin_loss, soft_margin_loss(a[0], a[1]), any({3, 4}), signs({3, 4})),
      AMP_SAMPLE(kl_div, kl_div(a[0], a[1], "batchmean"), any({3, 4}), positive({3, 4})),
      AMP_SAMPLE(poisson_nll_loss, poisson_nll_loss(a[0], a[1]), any({3, 4}), positive({3, 4})),
      AMP_SAMPLE(binary_cross_entropy, binary_cross_entropy(a[0], a[1]), probability({3, 4}), binary({3, 4})),
      AMP_SAMPLE(binary_cross_entropy_with_logits, binary_cross_entropy_with_logits(a[0], a[1], a[2], "mean", a[3]),
                 any({3, 4}), binary({3, 4}), fixed(positive({4})), fixed(positive({4}))),
      AMP_SAMPLE(cosine_embedding_loss, cosine_embedding_loss(a[0], a[1], a[2]), any({3, 4}), any({3, 4}), signs({3})),
      AMP_SAMPLE(hinge_embedding_loss, hinge_embedding_loss(a[0], a[1]), any({3, 4}), signs({3, 4})),
      AMP_SAMPLE(margin_ranking_loss, margin_ranking_loss(a[0], a[1], a[2], 0.5), any({4}), any({4}), signs({4})),
      AMP_SAMPLE(triplet_margin_loss, triplet_margin_loss(a[0], a[1], a[2]), any({3, 4}), any({3, 4}), any({3, 4})),
      AMP_SAMPLE(multi_margin_loss, multi_margin_loss(a[0], a[1]), any({3, 4}), index_below(4, {3})),
      AMP_SAMPLE(multilabel_margin_loss, multilabel_margin_loss(a[0], a[1]), any({4}), index_below(4, {4})),
  };
}

}  // namespace amp::test
