// Adam and AdamW, as torch.optim.Adam and torch.optim.AdamW.
#pragma once
#include <concepts>

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

/// Those of AdamW: as AdamOptions, but with torch.optim.AdamW's default for weight_decay.
struct AdamWOptions {
  double lr = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;  ///< see AdamOptions
  double weight_decay = 0.01;
  bool amsgrad = false;
  bool maximize = false;
  bool fused = false;          ///< see SGDOptions
  bool master_weights = true;  ///< see SGDOptions
  /// The same values as AdamOptions.
  operator AdamOptions() const {
    return {lr, beta1, beta2, eps, weight_decay, amsgrad, maximize, fused, master_weights};
  }
};

/// Adam with decoupled weight decay: w = w (1 - lr weight_decay) before the step. Default weight_decay 0.01.
class AdamW : public Adam {
 public:
  explicit AdamW(const Tensors& params, const AdamWOptions& options = {}) : Adam(params, options, true, "AdamW") {}
  /// Options made as an AdamOptions are taken as they are.
  template <std::same_as<AdamOptions> O>
  AdamW(const Tensors& params, const O& options) : Adam(params, options, true, "AdamW") {}
  /// One more group with the options of the constructor.
  void add_param_group(const Tensors& params) { Adam::add_param_group(params); }
  /// One more group; what is not named has AdamW's default.
  void add_param_group(const Tensors& params, const AdamWOptions& options) {
    Adam::add_param_group(params, static_cast<AdamOptions>(options));
  }
  /// One more group with options taken as they are.
  template <std::same_as<AdamOptions> O>
  void add_param_group(const Tensors& params, const O& options) {
    Adam::add_param_group(params, options);
  }
};

}  // namespace amp
