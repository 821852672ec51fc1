// Learning rate schedulers, as torch.optim.lr_scheduler: each sets the lr of every group of an optimizer once a step()
// of its own, which comes after the optimizer's. They compute from the rate the step before left, as PyTorch's do, so
// that several can be chained on one optimizer and a rate that was set by hand is scaled on from there.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "libamp/optim/optimizer.h"

namespace amp {

/// Base. The constructor of every scheduler makes the initial step: it notes each group's lr as its base (initial_lr)
/// and sets the rate of epoch 0. The optimizer must outlive its schedulers.
///
/// A step that a GradScaler skipped does not move a scheduler by itself: PyTorch's loops call step() all the same, and
/// `if (!scaler.step(optimizer).skipped) scheduler.step();` keeps both counts equal.
class LRScheduler {
 public:
  virtual ~LRScheduler() = default;
  LRScheduler(const LRScheduler&) = delete;
  LRScheduler& operator=(const LRScheduler&) = delete;

  /// To the next epoch. Warns on standard error if the first call comes before any optimizer.step(); one that a scaler
  /// skipped counts as a call (PyTorch warns there without need).
  virtual void step();
  /// To an epoch of choice, by the closed form where there is one. Only CosineAnnealingWarmRestarts takes fractions.
  virtual void step(double epoch);
  /// The rate of each group that the last step set.
  [[nodiscard]] const std::vector<double>& get_last_lr() const { return last_lr_; }
  [[nodiscard]] std::int64_t last_epoch() const { return last_epoch_; }
  [[nodiscard]] Optimizer& optimizer() const { return optimizer_; }

  /// PyTorch's entries by name: base_lrs, last_epoch, _step_count, _last_lr and the scheduler's own numbers, float64
  /// or int64. What is no number is not in it: functions, and MultiStepLR's milestones.
  [[nodiscard]] virtual StateDict state_dict() const;
  /// Throws Error(value) naming an entry that is missing or has another size; then nothing was changed.
  virtual void load_state_dict(const StateDict& state);

 protected:
  /// last_epoch -1: from the start; else every group needs its initial_lr, as a loaded optimizer has it: Error(value).
  LRScheduler(Optimizer& optimizer, const char* name, std::int64_t last_epoch);
  /// The constructor's end in every class: virtual functions are there by then.
  void start();

  /// The next rate of a group that has rate `lr`, at last_epoch().
  [[nodiscard]] virtual double next(std::size_t group, double lr) const = 0;
  /// The rate at last_epoch() whatever came before; by default `next`.
  [[nodiscard]] virtual double closed_form(std::size_t group, double lr) const { return next(group, lr); }
  /// Numbers that the state dict holds, by PyTorch's names.
  using Numbers = std::vector<std::pair<std::string, double*>>;
  virtual Numbers numbers() { return {}; }

  [[nodiscard]] double base_lr(std::size_t group) const {
    return base_lrs_[group];
  }  ///< of the group when the scheduler was made
  [[nodiscard]] const char* name() const { return name_; }
  [[nodiscard]] std::int64_t step_count() const { return step_count_; }
  [[nodiscard]] double& lr(std::size_t group) const;
  void set_last_epoch(std::int64_t epoch) { last_epoch_ = epoch; }
  /// Counts the call, warns if it comes too early.
  void count_step();
  /// Sets every group's rate for last_epoch().
  void set_rates(bool closed = false);
  /// Notes the rates as get_last_lr() gives them.
  void note_rates();

 private:
  friend class SequentialLR;  // takes back and repeats the initial steps of its schedulers

  Optimizer& optimizer_;
  const char* name_;
  std::vector<double> base_lrs_, last_lr_;
  std::int64_t last_epoch_, step_count_ = 0;
  std::uint64_t optimizer_steps_at_start_;
};

using LRLambda = std::function<double(std::int64_t epoch)>;

/// lr = initial lr * lambda(epoch). One function for all groups, or one for each.
class LambdaLR : public LRScheduler {
 public:
  LambdaLR(Optimizer& optimizer, LRLambda lr_lambda, std::int64_t last_epoch = -1);
  LambdaLR(Optimizer& optimizer, std::vector<LRLambda> lr_lambdas, std::int64_t last_epoch = -1);

 protected:
  double next(std::size_t group, double lr) const override;

 private:
  std::vector<LRLambda> lambdas_;
};

/// lr = lr * lambda(epoch)
class MultiplicativeLR : public LRScheduler {
 public:
  MultiplicativeLR(Optimizer& optimizer, LRLambda lr_lambda, std::int64_t last_epoch = -1);

 protected:
  double next(std::size_t group, double lr) const override;

 private:
  LRLambda lambda_;
};

/// Times gamma every step_size epochs.
class StepLR : public LRScheduler {
 public:
  StepLR(Optimizer& optimizer, std::int64_t step_size, double gamma = 0.1, std::int64_t last_epoch = -1);

 protected:
  double next(std::size_t group, double lr) const override;
  double closed_form(std::size_t group, double lr) const override;
  Numbers numbers() override;

 private:
  double step_size_, gamma_;
};

/// Times gamma at each of the milestones (increasing epochs; one that is there twice counts twice).
class MultiStepLR : public LRScheduler {
 public:
  MultiStepLR(Optimizer& optimizer, std::vector<std::int64_t> milestones, double gamma = 0.1,
              std::int64_t last_epoch = -1);

 protected:
  double next(std::size_t group, double lr) const override;
  double closed_form(std::size_t group, double lr) const override;
  Numbers numbers() override;

 private:
  std::vector<std::int64_t> milestones_;
  double gamma_;
};

/// Times gamma every epoch.
class ExponentialLR : public LRScheduler {
 public:
  ExponentialLR(Optimizer& optimizer, double gamma, std::int64_t last_epoch = -1);

 protected:
  double next(std::size_t group, double lr) const override;
  double closed_form(std::size_t group, double lr) const override;
  Numbers numbers() override;

 private:
  double gamma_;
};

/// Times factor for the first total_iters epochs.
class ConstantLR : public LRScheduler {
 public:
  /// Throws Error(value) for a factor outside [0, 1].
  explicit ConstantLR(Optimizer& optimizer, double factor = 1.0 / 3, std::int64_t total_iters = 5,
                      std::int64_t last_epoch = -1);

 protected:
  double next(std::size_t group, double lr) const override;
  double closed_form(std::size_t group, double lr) const override;
  Numbers numbers() override;

 private:
  double factor_, total_iters_;
};

/// From start_factor to end_factor times the initial lr in a straight line of total_iters epochs: a warm-up.
class LinearLR : public LRScheduler {
 public:
  /// Throws Error(value) for a start_factor outside (0, 1] or an end_factor outside [0, 1].
  explicit LinearLR(Optimizer& optimizer, double start_factor = 1.0 / 3, double end_factor = 1,
                    std::int64_t total_iters = 5, std::int64_t last_epoch = -1);

 protected:
  double next(std::size_t group, double lr) const override;
  double closed_form(std::size_t group, double lr) const override;
  Numbers numbers() override;

 private:
  double start_factor_, end_factor_, total_iters_;
};

/// initial lr * (1 - epoch / total_iters)^power, 0 from there on.
class PolynomialLR : public LRScheduler {
 public:
  explicit PolynomialLR(Optimizer& optimizer, std::int64_t total_iters = 5, double power = 1,
                        std::int64_t last_epoch = -1);

 protected:
  double next(std::size_t group, double lr) const override;
  double closed_form(std::size_t group, double lr) const override;
  Numbers numbers() override;

 private:
  double total_iters_, power_;
};

/// eta_min + (initial lr - eta_min) (1 + cos(pi epoch / T_max)) / 2
class CosineAnnealingLR : public LRScheduler {
 public:
  CosineAnnealingLR(Optimizer& optimizer, std::int64_t T_max, double eta_min = 0, std::int64_t last_epoch = -1);

 protected:
  double next(std::size_t group, double lr) const override;
  double closed_form(std::size_t group, double lr) const override;
  Numbers numbers() override;

 private:
  double t_max_, eta_min_;
};

}  // namespace amp
