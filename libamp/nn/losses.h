// Losses as modules: options in the constructor, `loss(input, target)` per call. Each calls the function of the same
// meaning in ops/loss.h or ops/softmax.h. reduction: "mean", "sum" or "none".
#pragma once
#include <string>

#include "libamp/nn/module.h"
#include "libamp/ops/loss.h"
#include "libamp/ops/softmax.h"

namespace amp::nn {

/// Base of the losses: two arguments instead of one.
class Loss : public Module {
 public:
  using Module::forward;
  virtual Tensor forward(const Tensor& input, const Tensor& target) = 0;
  Tensor operator()(const Tensor& input, const Tensor& target) {
    const Scope scope(*this);
    return forward(input, target);
  }
};

/// Base of the losses of three arguments.
class Loss3 : public Module {
 public:
  using Module::forward;
  virtual Tensor forward(const Tensor& input1, const Tensor& input2, const Tensor& target) = 0;
  Tensor operator()(const Tensor& input1, const Tensor& input2, const Tensor& target) {
    const Scope scope(*this);
    return forward(input1, input2, target);
  }
};

/// weight: [classes] or undefined
class CrossEntropyLoss : public Loss {
 public:
  explicit CrossEntropyLoss(const Tensor& weight = {}, std::int64_t ignore_index = -100, std::string reduction = "mean",
                            double label_smoothing = 0)
      : weight_(register_buffer("weight", weight)),
        ignore_index_(ignore_index),
        reduction_(std::move(reduction)),
        label_smoothing_(label_smoothing) {}
  Tensor forward(const Tensor& input, const Tensor& target) override {
    return cross_entropy(input, target, weight_, ignore_index_, reduction_, label_smoothing_);
  }

 private:
  Tensor weight_;
  std::int64_t ignore_index_;
  std::string reduction_;
  double label_smoothing_;
};

/// On log probabilities; weight: [classes] or undefined
class NLLLoss : public Loss {
 public:
  explicit NLLLoss(const Tensor& weight = {}, std::int64_t ignore_index = -100, std::string reduction = "mean")
      : weight_(register_buffer("weight", weight)), ignore_index_(ignore_index), reduction_(std::move(reduction)) {}
  Tensor forward(const Tensor& input, const Tensor& target) override {
    return nll_loss(input, target, weight_, ignore_index_, reduction_);
  }

 private:
  Tensor weight_;
  std::int64_t ignore_index_;
  std::string reduction_;
};

/// (input - target)^2
class MSELoss : public Loss {
 public:
  explicit MSELoss(std::string reduction = "mean") : reduction_(std::move(reduction)) {}
  Tensor forward(const Tensor& input, const Tensor& target) override { return mse_loss(input, target, reduction_); }

 private:
  std::string reduction_;
};

/// |input - target|
class L1Loss : public Loss {
 public:
  explicit L1Loss(std::string reduction = "mean") : reduction_(std::move(reduction)) {}
  Tensor forward(const Tensor& input, const Tensor& target) override { return l1_loss(input, target, reduction_); }

 private:
  std::string reduction_;
};

/// Quadratic below beta, linear above.
class SmoothL1Loss : public Loss {
 public:
  explicit SmoothL1Loss(std::string reduction = "mean", double beta = 1)
      : reduction_(std::move(reduction)), beta_(beta) {}
  Tensor forward(const Tensor& input, const Tensor& target) override {
    return smooth_l1_loss(input, target, reduction_, beta_);
  }

 private:
  std::string reduction_;
  double beta_;
};

/// Quadratic below delta, linear above.
class HuberLoss : public Loss {
 public:
  explicit HuberLoss(std::string reduction = "mean", double delta = 1)
      : reduction_(std::move(reduction)), delta_(delta) {}
  Tensor forward(const Tensor& input, const Tensor& target) override {
    return huber_loss(input, target, reduction_, delta_);
  }

 private:
  std::string reduction_;
  double delta_;
};

/// reduction also "batchmean"
class KLDivLoss : public Loss {
 public:
  explicit KLDivLoss(std::string reduction = "mean", bool log_target = false)
      : reduction_(std::move(reduction)), log_target_(log_target) {}
  Tensor forward(const Tensor& input, const Tensor& target) override {
    return kl_div(input, target, reduction_, log_target_);
  }

 private:
  std::string reduction_;
  bool log_target_;
};

/// Negative log likelihood of counts.
class PoissonNLLLoss : public Loss {
 public:
  explicit PoissonNLLLoss(bool log_input = true, bool full = false, double eps = 1e-8, std::string reduction = "mean")
      : log_input_(log_input), full_(full), eps_(eps), reduction_(std::move(reduction)) {}
  Tensor forward(const Tensor& input, const Tensor& target) override {
    return poisson_nll_loss(input, target, log_input_, full_, eps_, reduction_);
  }

 private:
  bool log_input_, full_;
  double eps_;
  std::string reduction_;
};

/// On probabilities. Banned under CUDA's rules in an autocast region: use BCEWithLogitsLoss there.
class BCELoss : public Loss {
 public:
  explicit BCELoss(const Tensor& weight = {}, std::string reduction = "mean")
      : weight_(register_buffer("weight", weight)), reduction_(std::move(reduction)) {}
  Tensor forward(const Tensor& input, const Tensor& target) override {
    return binary_cross_entropy(input, target, weight_, reduction_);
  }

 private:
  Tensor weight_;
  std::string reduction_;
};

/// On logits: safe under autocast, unlike binary_cross_entropy after a sigmoid.
class BCEWithLogitsLoss : public Loss {
 public:
  explicit BCEWithLogitsLoss(const Tensor& weight = {}, std::string reduction = "mean", const Tensor& pos_weight = {})
      : weight_(register_buffer("weight", weight)),
        reduction_(std::move(reduction)),
        pos_weight_(register_buffer("pos_weight", pos_weight)) {}
  Tensor forward(const Tensor& input, const Tensor& target) override {
    return binary_cross_entropy_with_logits(input, target, weight_, reduction_, pos_weight_);
  }

 private:
  Tensor weight_;
  std::string reduction_;
  Tensor pos_weight_;
};

/// log(1 + exp(-target input))
class SoftMarginLoss : public Loss {
 public:
  explicit SoftMarginLoss(std::string reduction = "mean") : reduction_(std::move(reduction)) {}
  Tensor forward(const Tensor& input, const Tensor& target) override {
    return soft_margin_loss(input, target, reduction_);
  }

 private:
  std::string reduction_;
};

/// input: distances; target: 1 or -1
class HingeEmbeddingLoss : public Loss {
 public:
  explicit HingeEmbeddingLoss(double margin = 1, std::string reduction = "mean")
      : margin_(margin), reduction_(std::move(reduction)) {}
  Tensor forward(const Tensor& input, const Tensor& target) override {
    return hinge_embedding_loss(input, target, margin_, reduction_);
  }

 private:
  double margin_;
  std::string reduction_;
};

/// target: classes, of which those before the first -1 count
class MultiLabelMarginLoss : public Loss {
 public:
  explicit MultiLabelMarginLoss(std::string reduction = "mean") : reduction_(std::move(reduction)) {}
  Tensor forward(const Tensor& input, const Tensor& target) override {
    return multilabel_margin_loss(input, target, reduction_);
  }

 private:
  std::string reduction_;
};

/// Mean over classes of the cross entropy of logits; input, target [..., classes].
class MultiLabelSoftMarginLoss : public Loss {
 public:
  explicit MultiLabelSoftMarginLoss(const Tensor& weight = {}, std::string reduction = "mean")
      : weight_(register_buffer("weight", weight)), reduction_(std::move(reduction)) {}
  Tensor forward(const Tensor& input, const Tensor& target) override {
    return multilabel_soft_margin_loss(input, target, weight_, reduction_);
  }

 private:
  Tensor weight_;
  std::string reduction_;
};

/// Margin between the target class and the others; p: 1 or 2.
class MultiMarginLoss : public Loss {
 public:
  explicit MultiMarginLoss(double p = 1, double margin = 1, const Tensor& weight = {}, std::string reduction = "mean")
      : p_(p), margin_(margin), weight_(register_buffer("weight", weight)), reduction_(std::move(reduction)) {}
  Tensor forward(const Tensor& input, const Tensor& target) override {
    return multi_margin_loss(input, target, p_, margin_, weight_, reduction_);
  }

 private:
  double p_, margin_;
  Tensor weight_;
  std::string reduction_;
};

/// By the cosine of pairs; target: 1 or -1
class CosineEmbeddingLoss : public Loss3 {
 public:
  explicit CosineEmbeddingLoss(double margin = 0, std::string reduction = "mean")
      : margin_(margin), reduction_(std::move(reduction)) {}
  Tensor forward(const Tensor& input1, const Tensor& input2, const Tensor& target) override {
    return cosine_embedding_loss(input1, input2, target, margin_, reduction_);
  }

 private:
  double margin_;
  std::string reduction_;
};

/// By which of two should be larger; target: 1 or -1
class MarginRankingLoss : public Loss3 {
 public:
  explicit MarginRankingLoss(double margin = 0, std::string reduction = "mean")
      : margin_(margin), reduction_(std::move(reduction)) {}
  Tensor forward(const Tensor& input1, const Tensor& input2, const Tensor& target) override {
    return margin_ranking_loss(input1, input2, target, margin_, reduction_);
  }

 private:
  double margin_;
  std::string reduction_;
};

/// By distance to a positive and a negative: `loss(anchor, positive, negative)`.
class TripletMarginLoss : public Loss3 {
 public:
  explicit TripletMarginLoss(double margin = 1, double p = 2, double eps = 1e-6, bool swap = false,
                             std::string reduction = "mean")
      : margin_(margin), p_(p), eps_(eps), swap_(swap), reduction_(std::move(reduction)) {}
  Tensor forward(const Tensor& anchor, const Tensor& positive, const Tensor& negative) override {
    return triplet_margin_loss(anchor, positive, negative, margin_, p_, eps_, swap_, reduction_);
  }

 private:
  double margin_, p_, eps_;
  bool swap_;
  std::string reduction_;
};

/// Negative log likelihood of a normal distribution: `loss(mean, target, var)`.
class GaussianNLLLoss : public Loss3 {
 public:
  explicit GaussianNLLLoss(bool full = false, double eps = 1e-6, std::string reduction = "mean")
      : full_(full), eps_(eps), reduction_(std::move(reduction)) {}
  /// var: of input's shape, without its last dim, or with size 1 there. Throws Error(value) for a negative one.
  Tensor forward(const Tensor& input, const Tensor& target, const Tensor& var) override {
    return gaussian_nll_loss(input, target, var, full_, eps_, reduction_);
  }

 private:
  bool full_;
  double eps_;
  std::string reduction_;
};

/// Minus the log probability of target sequences under all alignments, see ctc_loss().
class CTCLoss : public Module {
 public:
  explicit CTCLoss(std::int64_t blank = 0, std::string reduction = "mean", bool zero_infinity = false)
      : blank_(blank), reduction_(std::move(reduction)), zero_infinity_(zero_infinity) {}
  using Module::forward;
  Tensor forward(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                 const Tensor& target_lengths) {
    return ctc_loss(log_probs, targets, input_lengths, target_lengths, blank_, reduction_, zero_infinity_);
  }
  Tensor operator()(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                    const Tensor& target_lengths) {
    const Scope scope(*this);
    return forward(log_probs, targets, input_lengths, target_lengths);
  }

 private:
  std::int64_t blank_;
  std::string reduction_;
  bool zero_infinity_;
};

}  // namespace amp::nn
