// Adagrad, as torch.optim.Adagrad.
#pragma once
#include "libamp/optim/grouped_optimizer.h"

namespace amp {

struct AdagradOptions {
  double lr = 1e-2;
  double lr_decay = 0;
  double weight_decay = 0;
  double initial_accumulator_value = 0;
  double eps = 1e-10;  ///< added in float32
  bool maximize = false;
  bool fused = false;          ///< see SGDOptions
  bool master_weights = true;  ///< see SGDOptions
};

/// s = s + g^2;  w = w - lr / (1 + (t - 1) lr_decay) g / (sqrt(s) + eps). Weight decay is added to the gradient.
class Adagrad : public GroupedOptimizer<AdagradOptions> {
 public:
  /// Throws Error(value) for an option below 0.
  explicit Adagrad(const Tensors& params, const AdagradOptions& options = {});

 protected:
  void check(const AdagradOptions& options) const override;
  Options options(std::size_t group) override;
  void update(std::size_t group, const Tensor& param, const Tensor& gradient, State& state) override;
  void update_sparse(std::size_t group, const Tensor& param, const Tensor& gradient, State& state) override;

 private:
  void make_state(std::size_t group, const Tensor& param, State& state);
};

}  // namespace amp
