// Stochastic gradient descent, as torch.optim.SGD.
#pragma once
#include "libamp/optim/grouped_optimizer.h"

namespace amp {

struct SGDOptions {
  double lr = 1e-3;
  double momentum = 0;
  double dampening = 0;
  double weight_decay = 0;
  bool nesterov = false;
  bool maximize = false;
  /// The update takes over unscaling and skipping from the scaler (see Optimizer::supports_amp_scaling).
  bool fused = false;
  /// Float32 copies of parameters of a half type.
  bool master_weights = true;
};

/// d = g + weight_decay w;  m = momentum m + (1 - dampening) d (first step: m = d);
/// d = nesterov ? d + momentum m : m;  w = w - lr d.
class SGD : public GroupedOptimizer<SGDOptions> {
 public:
  /// Throws Error(value) for a negative lr, momentum or weight_decay, and for nesterov without momentum or with
  /// dampening.
  explicit SGD(const Tensors& params, const SGDOptions& options = {});

 protected:
  void check(const SGDOptions& options) const override;
  Options options(std::size_t group) override;
  void update(std::size_t group, const Tensor& param, const Tensor& gradient, State& state) override;
  void update_sparse(std::size_t group, const Tensor& param, const Tensor& gradient, State& state) override;
};

}  // namespace amp
