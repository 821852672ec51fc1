// Schedulers that are made of others, move other options too, restart, or follow a loss. The simple ones, and what all
// share, are in lr_scheduler.h.
#pragma once
#include <limits>

#include "libamp/optim/lr_scheduler.h"

namespace amp {

using LRSchedulers = std::vector<std::shared_ptr<LRScheduler>>;

/// One scheduler after the other: number i + 1 takes over at milestones[i]. A warm-up with what follows it:
///
///     SequentialLR scheduler(optimizer, {std::make_shared<LinearLR>(optimizer, 0.1, 1, 100),
///                                        std::make_shared<CosineAnnealingLR>(optimizer, 900)}, {100});
class SequentialLR : public LRScheduler {
 public:
  /// Throws Error(value) for schedulers of another optimizer, or a number of milestones that does not fit.
  SequentialLR(Optimizer& optimizer, LRSchedulers schedulers, std::vector<std::int64_t> milestones,
               std::int64_t last_epoch = -1);
  void step() override;
  [[noreturn]] void step(double epoch) override;
  /// The schedulers' own entries follow as "_schedulers.I.NAME".
  [[nodiscard]] StateDict state_dict() const override;
  void load_state_dict(const StateDict& state) override;

 protected:
  double next(std::size_t, double lr) const override { return lr; }

 private:
  LRSchedulers schedulers_;
  std::vector<std::int64_t> milestones_;
};

/// Several schedulers at once, each on top of what the others left.
class ChainedScheduler : public LRScheduler {
 public:
  /// Throws Error(value) for an empty list or schedulers of several optimizers.
  explicit ChainedScheduler(LRSchedulers schedulers);
  void step() override;
  [[noreturn]] void step(double epoch) override;
  [[nodiscard]] StateDict state_dict() const override;
  void load_state_dict(const StateDict& state) override;

 protected:
  double next(std::size_t, double lr) const override { return lr; }

 private:
  LRSchedulers schedulers_;
};

/// eta_min + (initial lr - eta_min) (1 + cos(pi T_cur / T_i)) / 2, over and over: T_i starts as T_0 and grows by T_mult
/// at each restart. step(epoch) takes fractions of an epoch.
class CosineAnnealingWarmRestarts : public LRScheduler {
 public:
  /// Throws Error(value) for T_0 or T_mult below 1.
  CosineAnnealingWarmRestarts(Optimizer& optimizer, std::int64_t T_0, std::int64_t T_mult = 1, double eta_min = 0,
                              std::int64_t last_epoch = -1);
  void step() override;
  void step(double epoch) override;

 protected:
  double next(std::size_t group, double lr) const override;
  Numbers numbers() override;

 private:
  double t_0_, t_mult_, eta_min_, t_i_, t_cur_;
};

struct OneCycleOptions {
  /// Either total_steps, or epochs and steps_per_epoch.
  std::int64_t total_steps = 0, epochs = 0, steps_per_epoch = 0;
  double pct_start = 0.3;               ///< the share of steps on the way up
  std::string anneal_strategy = "cos";  ///< or "linear"
  bool cycle_momentum = true;           ///< momentum (Adam: beta1) goes down while the rate goes up
  double base_momentum = 0.85, max_momentum = 0.95;
  double div_factor = 25, final_div_factor = 1e4;
  bool three_phase = false;
};

/// From max_lr / div_factor up to max_lr and down to max_lr / div_factor / final_div_factor, once, over all steps.
class OneCycleLR : public LRScheduler {
 public:
  /// Throws Error(value) without a number of steps, for a pct_start outside [0, 1], an unknown anneal_strategy, and
  /// for cycle_momentum with an optimizer that has none.
  OneCycleLR(Optimizer& optimizer, double max_lr, const OneCycleOptions& options, std::int64_t last_epoch = -1);

 protected:
  /// Throws Error(value) past the last step.
  double next(std::size_t group, double lr) const override;
  Numbers numbers() override;

 private:
  struct Phase {
    double end, lr_from, lr_to, momentum_from, momentum_to;
  };
  [[nodiscard]] double* momentum(std::size_t group) const;

  OneCycleOptions options_;
  double total_steps_;
  std::vector<Phase> phases_;
};

struct PlateauOptions {
  std::string mode = "min";  ///< or "max": which way the metric should go
  double factor = 0.1;
  std::int64_t patience = 10;  ///< steps without getting better before the rate is lowered
  double threshold = 1e-4;
  std::string threshold_mode = "rel";  ///< or "abs"
  std::int64_t cooldown = 0;
  double min_lr = 0, eps = 1e-8;
};

/// Times factor when a metric has not become better for more than `patience` steps. Not finite counts as not better.
class ReduceLROnPlateau {
 public:
  /// Throws Error(value) for a factor of 1 or more and unknown modes.
  explicit ReduceLROnPlateau(Optimizer& optimizer, const PlateauOptions& options = {});
  void step(double metrics);
  [[nodiscard]] std::vector<double> get_last_lr() const;
  /// best, num_bad_epochs, cooldown_counter, last_epoch
  [[nodiscard]] StateDict state_dict() const;
  /// Throws Error(value) naming a missing entry.
  void load_state_dict(const StateDict& state);

 private:
  [[nodiscard]] bool is_better(double metrics) const;

  Optimizer& optimizer_;
  PlateauOptions options_;
  double best_;
  std::int64_t bad_epochs_ = 0, cooldown_counter_ = 0, last_epoch_ = 0;
};

}  // namespace amp
