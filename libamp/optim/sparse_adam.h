// Adam for sparse gradients (torch.optim.SparseAdam, "lazy" Adam): moments and parameters move only where the gradient
// has entries.
#pragma once
#include <array>

#include "libamp/optim/grouped_optimizer.h"

namespace amp {

struct SparseAdamOptions {
  double lr = 1e-3;
  std::array<double, 2> betas = {0.9, 0.999};
  double eps = 1e-8;
  bool maximize = false;
  /// Float32 copies of parameters of a half type.
  bool master_weights = true;
};

/// At the rows of the coalesced gradient g: m += (1 - beta1) (g - m); v += (1 - beta2) (g^2 - v);
/// w -= lr sqrt(1 - beta2^t) / (1 - beta1^t) m / (sqrt(v) + eps). Dense gradients are refused, as in PyTorch.
class SparseAdam : public GroupedOptimizer<SparseAdamOptions> {
 public:
  explicit SparseAdam(const Tensors& params, const SparseAdamOptions& options = {});

 protected:
  void check(const SparseAdamOptions& options) const override;
  Options options(std::size_t group) override;
  void update(std::size_t group, const Tensor& param, const Tensor& gradient, State& state) override;
  void update_sparse(std::size_t group, const Tensor& param, const Tensor& gradient, State& state) override;
};

}  // namespace amp
