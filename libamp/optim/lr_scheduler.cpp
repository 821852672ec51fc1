// The frame of schedulers, and the rates of the simple ones: formulas of torch/optim/lr_scheduler.py.
#include "libamp/optim/lr_scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>

#include "libamp/ops/create.h"

namespace amp {
namespace {

constexpr double kPi = std::numbers::pi;

Tensor list_of(const std::vector<double>& values) { return tensor(values, {.dtype = DType::float64}); }
Tensor count_of(std::int64_t value) { return scalar_tensor(static_cast<double>(value), {.dtype = DType::int64}); }

double as_number(std::int64_t count, bool holds, const char* where, const char* what) {
  if (!holds) fail(ErrorCode::value, where, fmt::format("invalid {}: got {}, need at least 1", what, count));
  return static_cast<double>(count);
}

}  // namespace

LRScheduler::LRScheduler(Optimizer& optimizer, const char* name, std::int64_t last_epoch)
    : optimizer_(optimizer),
      name_(name),
      last_epoch_(last_epoch),
      optimizer_steps_at_start_(optimizer.steps_taken() + optimizer.steps_skipped()) {
  for (std::size_t g = 0; g < optimizer.group_count(); ++g) {
    std::optional<double>& initial = optimizer.initial_lr(g);
    if (last_epoch == -1 && !initial) initial = lr(g);
    if (!initial)
      fail(
          ErrorCode::value, name,
          fmt::format("initial_lr of group {} is not there: got last_epoch {}, need an optimizer whose state was saved "
                      "with a scheduler",
                      g, last_epoch));
    base_lrs_.push_back(*initial);
  }
}

double& LRScheduler::lr(std::size_t group) const {
  double* found = optimizer_.find_option(group, "lr");
  if (found == nullptr) fail(ErrorCode::value, name_, "the optimizer has no option 'lr'");
  return *found;
}

void LRScheduler::start() {
  step_count_ = 0;
  step();
}

// PyTorch warns as well when the first optimizer step was skipped by a scaler, which is no mistake of the program.
void LRScheduler::count_step() {
  if (step_count_ == 1 && optimizer_.steps_taken() + optimizer_.steps_skipped() == optimizer_steps_at_start_)
    std::fprintf(stderr,
                 "libamp warning: [%s] scheduler.step() was called before optimizer.step(): the first learning rate of "
                 "the schedule is left out; call optimizer.step() first\n",
                 name_);
  ++step_count_;
}

void LRScheduler::step() {
  count_step();
  ++last_epoch_;
  set_rates();
}

void LRScheduler::step(double epoch) {
  count_step();
  last_epoch_ = static_cast<std::int64_t>(std::floor(epoch));
  set_rates(true);
}

void LRScheduler::set_rates(bool closed) {
  // All are worked out before one is set: a function may throw.
  std::vector<double> rates;
  for (std::size_t g = 0; g < base_lrs_.size(); ++g) rates.push_back(closed ? closed_form(g, lr(g)) : next(g, lr(g)));
  for (std::size_t g = 0; g < rates.size(); ++g) lr(g) = rates[g];
  note_rates();
}

void LRScheduler::note_rates() {
  last_lr_.clear();
  for (std::size_t g = 0; g < base_lrs_.size(); ++g) last_lr_.push_back(lr(g));
}

StateDict LRScheduler::state_dict() const {
  StateDict state{{"base_lrs", list_of(base_lrs_)},
                  {"last_epoch", count_of(last_epoch_)},
                  {"_step_count", count_of(step_count_)},
                  {"_last_lr", list_of(last_lr_)}};
  for (const auto& [key, value] : const_cast<LRScheduler*>(this)->numbers())
    state[key] = scalar_tensor(*value, {.dtype = DType::float64});
  return state;
}

void LRScheduler::load_state_dict(const StateDict& state) {
  const auto entry = [&](const std::string& key, std::size_t count) {
    const auto found = state.find(key);
    if (found == state.end()) fail(ErrorCode::value, name_, fmt::format("the state's entry '{}' is missing", key));
    if (!found->second.defined() || found->second.numel() != static_cast<std::int64_t>(count))
      fail(ErrorCode::value, name_,
           fmt::format("the state's entry '{}': got {}, need {} numbers", key, describe(found->second), count));
    return found->second.to_vector();
  };
  const std::vector<double> bases = entry("base_lrs", base_lrs_.size()), last = entry("_last_lr", base_lrs_.size());
  const double epoch = entry("last_epoch", 1)[0], count = entry("_step_count", 1)[0];
  const Numbers own = numbers();
  std::vector<double> values;
  for (const auto& [key, where] : own) values.push_back(entry(key, 1)[0]);
  base_lrs_ = bases;
  last_lr_ = last;
  last_epoch_ = static_cast<std::int64_t>(epoch);
  step_count_ = static_cast<std::int64_t>(count);
  for (std::size_t i = 0; i < own.size(); ++i) *own[i].second = values[i];
}

// -- functions
LambdaLR::LambdaLR(Optimizer& optimizer, LRLambda lr_lambda, std::int64_t last_epoch)
    : LambdaLR(optimizer, std::vector<LRLambda>(optimizer.group_count(), lr_lambda), last_epoch) {}
LambdaLR::LambdaLR(Optimizer& optimizer, std::vector<LRLambda> lr_lambdas, std::int64_t last_epoch)
    : LRScheduler(optimizer, "LambdaLR", last_epoch), lambdas_(std::move(lr_lambdas)) {
  if (lambdas_.size() != optimizer.group_count())
    fail(ErrorCode::value, "LambdaLR",
         fmt::format("got {} functions, need one for each of {} groups", lambdas_.size(), optimizer.group_count()));
  for (const LRLambda& lambda : lambdas_)
    if (!lambda) fail(ErrorCode::value, "LambdaLR", "got an empty function");
  start();
}
double LambdaLR::next(std::size_t group, double) const { return base_lr(group) * lambdas_[group](last_epoch()); }

MultiplicativeLR::MultiplicativeLR(Optimizer& optimizer, LRLambda lr_lambda, std::int64_t last_epoch)
    : LRScheduler(optimizer, "MultiplicativeLR", last_epoch), lambda_(std::move(lr_lambda)) {
  if (!lambda_) fail(ErrorCode::value, "MultiplicativeLR", "got an empty function");
  start();
}
double MultiplicativeLR::next(std::size_t, double lr) const {
  return last_epoch() > 0 ? lr * lambda_(last_epoch()) : lr;
}

// -- steps
StepLR::StepLR(Optimizer& optimizer, std::int64_t step_size, double gamma, std::int64_t last_epoch)
    : LRScheduler(optimizer, "StepLR", last_epoch),
      step_size_(as_number(step_size, step_size >= 1, "StepLR", "step_size")),
      gamma_(gamma) {
  start();
}
double StepLR::next(std::size_t, double lr) const {
  return last_epoch() == 0 || last_epoch() % static_cast<std::int64_t>(step_size_) != 0 ? lr : lr * gamma_;
}
double StepLR::closed_form(std::size_t group, double) const {
  return base_lr(group) * std::pow(gamma_, static_cast<double>(last_epoch() / static_cast<std::int64_t>(step_size_)));
}
LRScheduler::Numbers StepLR::numbers() { return {{"step_size", &step_size_}, {"gamma", &gamma_}}; }

MultiStepLR::MultiStepLR(Optimizer& optimizer, std::vector<std::int64_t> milestones, double gamma,
                         std::int64_t last_epoch)
    : LRScheduler(optimizer, "MultiStepLR", last_epoch), milestones_(std::move(milestones)), gamma_(gamma) {
  std::sort(milestones_.begin(), milestones_.end());
  start();
}
double MultiStepLR::next(std::size_t, double lr) const {
  return lr * std::pow(gamma_, static_cast<double>(std::count(milestones_.begin(), milestones_.end(), last_epoch())));
}
double MultiStepLR::closed_form(std::size_t group, double) const {
  const auto passed = std::upper_bound(milestones_.begin(), milestones_.end(), last_epoch()) - milestones_.begin();
  return base_lr(group) * std::pow(gamma_, static_cast<double>(passed));
}
LRScheduler::Numbers MultiStepLR::numbers() { return {{"gamma", &gamma_}}; }

ExponentialLR::ExponentialLR(Optimizer& optimizer, double gamma, std::int64_t last_epoch)
    : LRScheduler(optimizer, "ExponentialLR", last_epoch), gamma_(gamma) {
  start();
}
double ExponentialLR::next(std::size_t, double lr) const { return last_epoch() == 0 ? lr : lr * gamma_; }
double ExponentialLR::closed_form(std::size_t group, double) const {
  return base_lr(group) * std::pow(gamma_, static_cast<double>(last_epoch()));
}
LRScheduler::Numbers ExponentialLR::numbers() { return {{"gamma", &gamma_}}; }

// -- warm-ups
ConstantLR::ConstantLR(Optimizer& optimizer, double factor, std::int64_t total_iters, std::int64_t last_epoch)
    : LRScheduler(optimizer, "ConstantLR", last_epoch),
      factor_(factor),
      total_iters_(static_cast<double>(total_iters)) {
  check_option(factor >= 0 && factor <= 1, "ConstantLR", "factor", factor, "a value in [0, 1]");
  start();
}
double ConstantLR::next(std::size_t, double lr) const {
  if (last_epoch() == 0) return lr * factor_;
  return static_cast<double>(last_epoch()) != total_iters_ ? lr : lr * (1 / factor_);
}
double ConstantLR::closed_form(std::size_t group, double) const {
  return base_lr(group) * (static_cast<double>(last_epoch()) >= total_iters_ ? 1 : factor_);
}
LRScheduler::Numbers ConstantLR::numbers() { return {{"factor", &factor_}, {"total_iters", &total_iters_}}; }

LinearLR::LinearLR(Optimizer& optimizer, double start_factor, double end_factor, std::int64_t total_iters,
                   std::int64_t last_epoch)
    : LRScheduler(optimizer, "LinearLR", last_epoch),
      start_factor_(start_factor),
      end_factor_(end_factor),
      total_iters_(static_cast<double>(total_iters)) {
  check_option(start_factor > 0 && start_factor <= 1, "LinearLR", "start_factor", start_factor, "a value in (0, 1]");
  check_option(end_factor >= 0 && end_factor <= 1, "LinearLR", "end_factor", end_factor, "a value in [0, 1]");
  start();
}
double LinearLR::next(std::size_t, double lr) const {
  const auto epoch = static_cast<double>(last_epoch());
  if (last_epoch() == 0) return lr * start_factor_;
  if (epoch > total_iters_) return lr;
  const double rise = end_factor_ - start_factor_;
  return lr * (1 + rise / (total_iters_ * start_factor_ + (epoch - 1) * rise));
}
double LinearLR::closed_form(std::size_t group, double) const {
  const double part = std::min(total_iters_, static_cast<double>(last_epoch())) / total_iters_;
  return base_lr(group) * (start_factor_ + (end_factor_ - start_factor_) * part);
}
LRScheduler::Numbers LinearLR::numbers() {
  return {{"start_factor", &start_factor_}, {"end_factor", &end_factor_}, {"total_iters", &total_iters_}};
}

// -- decays
PolynomialLR::PolynomialLR(Optimizer& optimizer, std::int64_t total_iters, double power, std::int64_t last_epoch)
    : LRScheduler(optimizer, "PolynomialLR", last_epoch),
      total_iters_(as_number(total_iters, total_iters >= 1, "PolynomialLR", "total_iters")),
      power_(power) {
  start();
}
double PolynomialLR::next(std::size_t, double lr) const {
  const auto epoch = static_cast<double>(last_epoch());
  if (last_epoch() == 0 || epoch > total_iters_) return lr;
  return lr * std::pow((1 - epoch / total_iters_) / (1 - (epoch - 1) / total_iters_), power_);
}
double PolynomialLR::closed_form(std::size_t group, double) const {
  return base_lr(group) *
         std::pow(1 - std::min(total_iters_, static_cast<double>(last_epoch())) / total_iters_, power_);
}
LRScheduler::Numbers PolynomialLR::numbers() { return {{"total_iters", &total_iters_}, {"power", &power_}}; }

CosineAnnealingLR::CosineAnnealingLR(Optimizer& optimizer, std::int64_t T_max, double eta_min, std::int64_t last_epoch)
    : LRScheduler(optimizer, "CosineAnnealingLR", last_epoch),
      t_max_(as_number(T_max, T_max >= 1, "CosineAnnealingLR", "T_max")),
      eta_min_(eta_min) {
  start();
}
double CosineAnnealingLR::next(std::size_t group, double lr) const {
  const auto epoch = static_cast<double>(last_epoch());
  if (last_epoch() == 0) return lr;
  if (step_count() == 1) return closed_form(group, lr);  // started in the middle
  if (std::fmod(epoch - 1 - t_max_, 2 * t_max_) == 0)
    return lr + (base_lr(group) - eta_min_) * (1 - std::cos(kPi / t_max_)) / 2;
  return (1 + std::cos(kPi * epoch / t_max_)) / (1 + std::cos(kPi * (epoch - 1) / t_max_)) * (lr - eta_min_) + eta_min_;
}
double CosineAnnealingLR::closed_form(std::size_t group, double) const {
  return eta_min_ + (base_lr(group) - eta_min_) * (1 + std::cos(kPi * static_cast<double>(last_epoch()) / t_max_)) / 2;
}
LRScheduler::Numbers CosineAnnealingLR::numbers() { return {{"T_max", &t_max_}, {"eta_min", &eta_min_}}; }

}  // namespace amp
