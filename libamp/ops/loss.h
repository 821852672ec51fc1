// Losses other than those of softmax.h. reduction: "mean", "sum" or "none"; operands broadcast unless said otherwise.
// Half operands are computed in float32 and the result rounded once. Float32 under both devices' rules, so that a loss
// keeps its digits inside an autocast region.
#pragma once
#include <string_view>

#include "libamp/core/tensor.h"

namespace amp {

Tensor mse_loss(const Tensor& input, const Tensor& target, std::string_view reduction = "mean");
Tensor l1_loss(const Tensor& input, const Tensor& target, std::string_view reduction = "mean");
/// Quadratic below beta, linear above.
Tensor smooth_l1_loss(const Tensor& input, const Tensor& target, std::string_view reduction = "mean", double beta = 1);
Tensor huber_loss(const Tensor& input, const Tensor& target, std::string_view reduction = "mean", double delta = 1);
/// log(1 + exp(-target input)), target 1 or -1
Tensor soft_margin_loss(const Tensor& input, const Tensor& target, std::string_view reduction = "mean");
/// input: log probabilities; target: probabilities, or their logarithms. reduction also "batchmean": sum / first size.
Tensor kl_div(const Tensor& input, const Tensor& target, std::string_view reduction = "mean", bool log_target = false);
Tensor poisson_nll_loss(const Tensor& input, const Tensor& target, bool log_input = true, bool full = false,
                        double eps = 1e-8, std::string_view reduction = "mean");

/// input: probabilities in [0, 1], of target's shape. Banned under CUDA's rules: use the form with logits there.
Tensor binary_cross_entropy(const Tensor& input, const Tensor& target, const Tensor& weight = {},
                            std::string_view reduction = "mean");
/// The same on sigmoid(input), safe in half precision regions. pos_weight scales the positive part.
Tensor binary_cross_entropy_with_logits(const Tensor& input, const Tensor& target, const Tensor& weight = {},
                                        std::string_view reduction = "mean", const Tensor& pos_weight = {});

// Rankings and embeddings. target: 1 or -1.
Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target, double margin = 0,
                             std::string_view reduction = "mean");
Tensor hinge_embedding_loss(const Tensor& input, const Tensor& target, double margin = 1,
                            std::string_view reduction = "mean");
Tensor margin_ranking_loss(const Tensor& input1, const Tensor& input2, const Tensor& target, double margin = 0,
                           std::string_view reduction = "mean");
Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative, double margin = 1,
                           double p = 2, double eps = 1e-6, bool swap = false, std::string_view reduction = "mean");
/// input [N, C] or [C]; target: int64 classes [N] or []; weight [C]. p: 1 or 2.
Tensor multi_margin_loss(const Tensor& input, const Tensor& target, double p = 1, double margin = 1,
                         const Tensor& weight = {}, std::string_view reduction = "mean");
/// input, target [N, C] or [C]; target: int64 classes, of which those before the first -1 count.
Tensor multilabel_margin_loss(const Tensor& input, const Tensor& target, std::string_view reduction = "mean");

/// The mean over classes of the binary cross entropies of logits. input, target [..., C]; weight [C].
Tensor multilabel_soft_margin_loss(const Tensor& input, const Tensor& target, const Tensor& weight = {},
                                   std::string_view reduction = "mean");
/// (log max(var, eps) + (input - target)^2 / max(var, eps)) / 2, + log(2 pi) / 2 with `full`. var broadcasts.
Tensor gaussian_nll_loss(const Tensor& input, const Tensor& target, const Tensor& var, bool full = false,
                         double eps = 1e-6, std::string_view reduction = "mean");
/// Minus the log probability of target sequences under all alignments. log_probs [time, batch, classes] or
/// [time, classes]; targets [batch, longest], or all in a row; lengths [batch] (or []), int64. reduction: mean (of the
/// losses divided by their target lengths), sum, none. zero_infinity: impossible alignments count as zero.
/// Float32 under the CPU's rules.
Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, std::int64_t blank = 0, std::string_view reduction = "mean",
                bool zero_infinity = false);

}  // namespace amp
