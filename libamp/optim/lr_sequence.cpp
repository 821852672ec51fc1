// Schedulers made of others, OneCycleLR, restarts and plateaus: formulas of torch/optim/lr_scheduler.py.
#include "libamp/optim/lr_sequence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "libamp/ops/create.h"

namespace amp {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::string part_prefix(std::size_t i) { return fmt::format("_schedulers.{}.", i); }

void add_parts(StateDict& state, const LRSchedulers& schedulers) {
  for (std::size_t i = 0; i < schedulers.size(); ++i)
    for (const auto& [name, value] : schedulers[i]->state_dict()) state[part_prefix(i) + name] = value;
}

StateDict part_of(const StateDict& state, std::size_t i) {
  const std::string prefix = part_prefix(i);
  StateDict part;
  for (const auto& [name, value] : state)
    if (name.starts_with(prefix)) part[name.substr(prefix.size())] = value;
  return part;
}

// The optimizer that all belong to.
Optimizer& optimizer_of(const LRSchedulers& schedulers, const char* where) {
  if (schedulers.empty()) fail(ErrorCode::value, where, "got no schedulers, need at least one");
  for (const auto& scheduler : schedulers) {
    if (!scheduler) fail(ErrorCode::value, where, "got none, need a scheduler");
    if (&scheduler->optimizer() != &schedulers[0]->optimizer())
      fail(ErrorCode::value, where, "the schedulers belong to several optimizers, need one");
  }
  return schedulers[0]->optimizer();
}

}  // namespace

// -- one after the other
SequentialLR::SequentialLR(Optimizer& optimizer, LRSchedulers schedulers, std::vector<std::int64_t> milestones,
                           std::int64_t last_epoch)
    : LRScheduler(optimizer, "SequentialLR", last_epoch),
      schedulers_(std::move(schedulers)),
      milestones_(std::move(milestones)) {
  if (&optimizer_of(schedulers_, "SequentialLR") != &optimizer)
    fail(ErrorCode::value, "SequentialLR", "the schedulers belong to another optimizer");
  if (milestones_.size() + 1 != schedulers_.size())
    fail(ErrorCode::value, "SequentialLR",
         fmt::format("got {} milestones for {} schedulers, need one less than schedulers", milestones_.size(),
                     schedulers_.size()));
  // The initial steps of all are taken back, and that of the first is made again.
  set_last_epoch(last_epoch + 1);
  for (std::size_t g = 0; g < optimizer.group_count(); ++g) lr(g) = *optimizer.initial_lr(g);
  for (const auto& scheduler : schedulers_) scheduler->set_last_epoch(scheduler->last_epoch() - 1);
  schedulers_[0]->start();
  count_step();
  note_rates();
}

void SequentialLR::step() {
  set_last_epoch(last_epoch() + 1);
  const auto passed = std::upper_bound(milestones_.begin(), milestones_.end(), last_epoch()) - milestones_.begin();
  LRScheduler& now = *schedulers_[static_cast<std::size_t>(passed)];
  if (passed > 0 && milestones_[static_cast<std::size_t>(passed) - 1] == last_epoch())
    now.step(0);
  else
    now.step();
  note_rates();
}
void SequentialLR::step(double) {
  fail(ErrorCode::not_implemented, "SequentialLR", "step(epoch) is not there: need step()");
}

StateDict SequentialLR::state_dict() const {
  StateDict state = LRScheduler::state_dict();
  add_parts(state, schedulers_);
  return state;
}
void SequentialLR::load_state_dict(const StateDict& state) {
  for (std::size_t i = 0; i < schedulers_.size(); ++i) schedulers_[i]->load_state_dict(part_of(state, i));
  LRScheduler::load_state_dict(state);
}

// -- all at once
ChainedScheduler::ChainedScheduler(LRSchedulers schedulers)
    : LRScheduler(optimizer_of(schedulers, "ChainedScheduler"), "ChainedScheduler", -1),
      schedulers_(std::move(schedulers)) {
  count_step();
  set_last_epoch(0);
  note_rates();
}
void ChainedScheduler::step() {
  for (const auto& scheduler : schedulers_) scheduler->step();
  set_last_epoch(last_epoch() + 1);
  note_rates();
}
void ChainedScheduler::step(double) {
  fail(ErrorCode::not_implemented, "ChainedScheduler", "step(epoch) is not there: need step()");
}
StateDict ChainedScheduler::state_dict() const {
  StateDict state = LRScheduler::state_dict();
  add_parts(state, schedulers_);
  return state;
}
void ChainedScheduler::load_state_dict(const StateDict& state) {
  for (std::size_t i = 0; i < schedulers_.size(); ++i) schedulers_[i]->load_state_dict(part_of(state, i));
  LRScheduler::load_state_dict(state);
}

// -- restarts
CosineAnnealingWarmRestarts::CosineAnnealingWarmRestarts(Optimizer& optimizer, std::int64_t T_0, std::int64_t T_mult,
                                                         double eta_min, std::int64_t last_epoch)
    : LRScheduler(optimizer, "CosineAnnealingWarmRestarts", last_epoch),
      t_0_(static_cast<double>(T_0)),
      t_mult_(static_cast<double>(T_mult)),
      eta_min_(eta_min),
      t_i_(t_0_),
      t_cur_(static_cast<double>(last_epoch)) {
  check_option(T_0 >= 1, "CosineAnnealingWarmRestarts", "T_0", t_0_, "at least 1");
  check_option(T_mult >= 1, "CosineAnnealingWarmRestarts", "T_mult", t_mult_, "at least 1");
  start();
}
double CosineAnnealingWarmRestarts::next(std::size_t group, double) const {
  return eta_min_ + (base_lr(group) - eta_min_) * (1 + std::cos(kPi * t_cur_ / t_i_)) / 2;
}
void CosineAnnealingWarmRestarts::step() {
  if (last_epoch() < 0) return step(0);
  count_step();
  t_cur_ += 1;
  if (t_cur_ >= t_i_) {
    t_cur_ -= t_i_;
    t_i_ *= t_mult_;
  }
  set_last_epoch(last_epoch() + 1);
  set_rates();
}
void CosineAnnealingWarmRestarts::step(double epoch) {
  check_option(epoch >= 0, "CosineAnnealingWarmRestarts", "epoch", epoch, "at least 0");
  count_step();
  t_i_ = t_0_;
  t_cur_ = epoch;
  if (epoch >= t_0_ && t_mult_ == 1) {
    t_cur_ = std::fmod(epoch, t_0_);
  } else if (epoch >= t_0_) {
    const double n = std::floor(std::log(epoch / t_0_ * (t_mult_ - 1) + 1) / std::log(t_mult_));
    t_cur_ = epoch - t_0_ * (std::pow(t_mult_, n) - 1) / (t_mult_ - 1);
    t_i_ = t_0_ * std::pow(t_mult_, n);
  }
  set_last_epoch(static_cast<std::int64_t>(std::floor(epoch)));
  set_rates();
}
LRScheduler::Numbers CosineAnnealingWarmRestarts::numbers() {
  return {{"T_0", &t_0_}, {"T_mult", &t_mult_}, {"eta_min", &eta_min_}, {"T_i", &t_i_}, {"T_cur", &t_cur_}};
}

// -- one cycle
namespace {

// The base rate has to be there before the base class reads it.
Optimizer& with_initial_lr(Optimizer& optimizer, double initial_lr, std::int64_t last_epoch) {
  if (last_epoch == -1)
    for (std::size_t g = 0; g < optimizer.group_count(); ++g) optimizer.initial_lr(g) = initial_lr;
  return optimizer;
}

}  // namespace

OneCycleLR::OneCycleLR(Optimizer& optimizer, double max_lr, const OneCycleOptions& o, std::int64_t last_epoch)
    : LRScheduler(with_initial_lr(optimizer, max_lr / o.div_factor, last_epoch), "OneCycleLR", last_epoch),
      options_(o),
      total_steps_(static_cast<double>(o.total_steps > 0 ? o.total_steps : o.epochs * o.steps_per_epoch)) {
  check_option(total_steps_ > 0, "OneCycleLR", "total_steps", total_steps_,
               "a number of steps, or of epochs and steps");
  check_option(o.pct_start >= 0 && o.pct_start <= 1, "OneCycleLR", "pct_start", o.pct_start, "a value in [0, 1]");
  if (o.anneal_strategy != "cos" && o.anneal_strategy != "linear")
    fail(ErrorCode::value, "OneCycleLR",
         "unknown anneal_strategy: got '" + o.anneal_strategy + "', need 'cos' or 'linear'");
  const double low = max_lr / o.div_factor, lowest = low / o.final_div_factor;
  const double up = o.pct_start * total_steps_;
  phases_.push_back({up - 1, low, max_lr, o.max_momentum, o.base_momentum});
  if (o.three_phase) {
    phases_.push_back({2 * up - 2, max_lr, low, o.base_momentum, o.max_momentum});
    phases_.push_back({total_steps_ - 1, low, lowest, o.max_momentum, o.max_momentum});
  } else {
    phases_.push_back({total_steps_ - 1, max_lr, lowest, o.base_momentum, o.max_momentum});
  }
  for (std::size_t g = 0; o.cycle_momentum && g < optimizer.group_count(); ++g) {
    if (momentum(g) == nullptr || (optimizer.find_option(g, "momentum") != nullptr && *momentum(g) == 0))
      fail(ErrorCode::value, "OneCycleLR", "cycle_momentum needs an optimizer with momentum or betas");
    if (last_epoch == -1) *momentum(g) = o.max_momentum;
  }
  start();
}

double* OneCycleLR::momentum(std::size_t group) const {
  double* beta1 = optimizer().find_option(group, "betas");
  return beta1 != nullptr ? beta1 : optimizer().find_option(group, "momentum");
}

double OneCycleLR::next(std::size_t group, double) const {
  const auto now = static_cast<double>(last_epoch());
  if (now > total_steps_)
    fail(ErrorCode::value, "OneCycleLR", fmt::format("step {} is past the schedule's {} steps", now, total_steps_));
  double begin = 0;
  for (std::size_t i = 0; i < phases_.size(); ++i) {
    const Phase& phase = phases_[i];
    if (now > phase.end && i + 1 < phases_.size()) {
      begin = phase.end;
      continue;
    }
    const double part = (now - begin) / (phase.end - begin);
    const auto anneal = [&](double from, double to) {
      return options_.anneal_strategy == "linear" ? (to - from) * part + from
                                                  : to + (from - to) / 2 * (std::cos(kPi * part) + 1);
    };
    if (options_.cycle_momentum) *momentum(group) = anneal(phase.momentum_from, phase.momentum_to);
    return anneal(phase.lr_from, phase.lr_to);
  }
  return 0;  // not reached: the last phase takes what is left
}
LRScheduler::Numbers OneCycleLR::numbers() { return {{"total_steps", &total_steps_}}; }

// -- plateaus
ReduceLROnPlateau::ReduceLROnPlateau(Optimizer& optimizer, const PlateauOptions& o)
    : optimizer_(optimizer), options_(o), best_(o.mode == "min" ? kInfinity : -kInfinity) {
  check_option(o.factor < 1, "ReduceLROnPlateau", "factor", o.factor, "less than 1");
  if (o.mode != "min" && o.mode != "max")
    fail(ErrorCode::value, "ReduceLROnPlateau", "unknown mode: got '" + o.mode + "', need 'min' or 'max'");
  if (o.threshold_mode != "rel" && o.threshold_mode != "abs")
    fail(ErrorCode::value, "ReduceLROnPlateau",
         "unknown threshold_mode: got '" + o.threshold_mode + "', need 'rel' or 'abs'");
}

bool ReduceLROnPlateau::is_better(double metrics) const {
  const double t = options_.threshold;
  if (options_.mode == "min") return metrics < (options_.threshold_mode == "rel" ? best_ * (1 - t) : best_ - t);
  return metrics > (options_.threshold_mode == "rel" ? best_ * (1 + t) : best_ + t);
}

void ReduceLROnPlateau::step(double metrics) {
  ++last_epoch_;
  if (is_better(metrics)) {
    best_ = metrics;
    bad_epochs_ = 0;
  } else {
    ++bad_epochs_;
  }
  if (cooldown_counter_ > 0) {
    --cooldown_counter_;
    bad_epochs_ = 0;
  }
  if (bad_epochs_ <= options_.patience) return;
  for (std::size_t g = 0; g < optimizer_.group_count(); ++g) {
    double& lr = *optimizer_.find_option(g, "lr");
    const double lower = std::max(lr * options_.factor, options_.min_lr);
    if (lr - lower > options_.eps) lr = lower;
  }
  cooldown_counter_ = options_.cooldown;
  bad_epochs_ = 0;
}

std::vector<double> ReduceLROnPlateau::get_last_lr() const {
  std::vector<double> rates;
  for (std::size_t g = 0; g < optimizer_.group_count(); ++g) rates.push_back(*optimizer_.find_option(g, "lr"));
  return rates;
}

StateDict ReduceLROnPlateau::state_dict() const {
  const auto count = [](std::int64_t n) { return scalar_tensor(static_cast<double>(n), {.dtype = DType::int64}); };
  return {{"best", scalar_tensor(best_, {.dtype = DType::float64})},
          {"num_bad_epochs", count(bad_epochs_)},
          {"cooldown_counter", count(cooldown_counter_)},
          {"last_epoch", count(last_epoch_)}};
}

void ReduceLROnPlateau::load_state_dict(const StateDict& state) {
  const auto entry = [&](const char* key) {
    const auto found = state.find(key);
    if (found == state.end() || !found->second.defined())
      fail(ErrorCode::value, "ReduceLROnPlateau", fmt::format("the state's entry '{}' is missing", key));
    return found->second.item();
  };
  const double best = entry("best"), bad = entry("num_bad_epochs"), cooldown = entry("cooldown_counter"),
               epoch = entry("last_epoch");
  best_ = best;
  bad_epochs_ = static_cast<std::int64_t>(bad);
  cooldown_counter_ = static_cast<std::int64_t>(cooldown);
  last_epoch_ = static_cast<std::int64_t>(epoch);
}

}  // namespace amp
