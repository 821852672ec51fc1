// Adam and AdamW, as torch.optim.Adam and torch.optim.AdamW.
#pragma once
#include "libamp/optim/grouped_optimizer.h"

namespace amp {

struct AdamOptions {
  double lr = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;  ///< added in float32: it does not round to 0 as it would in float16
  double weight_decay = 0;
  bool amsgrad = false;
  bool maximize = false;
  bool fused = false;          ///< see SGDOptions
  bool master_weights = true;  ///< see SGDOptions
};

/// m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2;
/// w = w - lr / (1 - beta1^t) m / (sqrt(v) / sqrt(1 - beta2^t) + eps). Weight decay is added to the gradient.
class Adam : public GroupedOptimizer<AdamOptions> {
 public:
  /// Throws Error(value) for lr, eps or weight_decay below 0 and for betas outside [0, 1).
  explicit Adam(const Tensors& params, const AdamOptions& options = {}) : Adam(params, options, false, "Adam") {}

 protected:
  Adam(const Tensors& params, const AdamOptions& options, bool decoupled, const char* name);
  void check(const AdamOptions& options) const override;
  Options options(std::size_t group) override;
  void update(std::size_t group, const Tensor& param, const Tensor& gradient, State& state) override;

 private:
  bool decoupled_;
};

/// Adam with decoupled weight decay: w = w (1 - lr weight_decay) before the step. Default weight_decay 0.01.
class AdamW : public Adam {
 public:
  explicit AdamW(const Tensors& params, const AdamOptions& options = {.weight_decay = 0.01})
      : Adam(params, options, true, "AdamW") {}
};

}  // namespace amp
