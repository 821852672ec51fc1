// Losses as modules: options in the constructor, `loss(input, target)` per call. Each calls the function of ops/.
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

class CrossEntropyLoss : public Loss {
 public:
  /// weight: [classes] or undefined
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

class MSELoss : public Loss {
 public:
  explicit MSELoss(std::string reduction = "mean") : reduction_(std::move(reduction)) {}
  Tensor forward(const Tensor& input, const Tensor& target) override { return mse_loss(input, target, reduction_); }

 private:
  std::string reduction_;
};

class L1Loss : public Loss {
 public:
  explicit L1Loss(std::string reduction = "mean") : reduction_(std::move(reduction)) {}
  Tensor forward(const Tensor& input, const Tensor& target) override { return l1_loss(input, target, reduction_); }

 private:
  std::string reduction_;
};

/// On logits: safe under autocast, unlike binary_cross_entropy after a sigmoid.
class BCEWithLogitsLoss : public Loss {
 public:
  explicit BCEWithLogitsLoss(const Tensor& weight = {}, std::string reduction = "mean", const Tensor& pos_weight = {})
      : weight_(register_buffer("weight", weight)),
        pos_weight_(register_buffer("pos_weight", pos_weight)),
        reduction_(std::move(reduction)) {}
  Tensor forward(const Tensor& input, const Tensor& target) override {
    return binary_cross_entropy_with_logits(input, target, weight_, reduction_, pos_weight_);
  }

 private:
  Tensor weight_, pos_weight_;
  std::string reduction_;
};

}  // namespace amp::nn
