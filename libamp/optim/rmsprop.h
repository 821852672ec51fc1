// RMSprop, as torch.optim.RMSprop.
#pragma once
#include "libamp/optim/grouped_optimizer.h"

namespace amp {

struct RMSpropOptions {
  double lr = 1e-2;
  double alpha = 0.99;
  double eps = 1e-8;  ///< added in float32
  double weight_decay = 0;
  double momentum = 0;
  bool centered = false;
  bool maximize = false;
  bool fused = false;          ///< see SGDOptions; PyTorch has no such form of RMSprop
  bool master_weights = true;  ///< see SGDOptions
};

/// v = alpha v + (1 - alpha) g^2;  a = centered ? alpha a + (1 - alpha) g : 0;  d = g / (sqrt(v - a^2) + eps);
/// with momentum b = momentum b + d and d = b;  w = w - lr d. Weight decay is added to the gradient.
class RMSprop : public GroupedOptimizer<RMSpropOptions> {
 public:
  /// Throws Error(value) for an option below 0.
  explicit RMSprop(const Tensors& params, const RMSpropOptions& options = {});

 protected:
  void check(const RMSpropOptions& options) const override;
  Options options(std::size_t group) override;
  void update(std::size_t group, const Tensor& param, const Tensor& gradient, State& state) override;
};

}  // namespace amp
