// The stages of one iteration. The arithmetic is in two ops, amp_foreach_non_finite_check_and_unscale_ and
// amp_update_scale_, so that a device does it without the host waiting.
#include "libamp/scaler/grad_scaler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "libamp/core/grad_mode.h"
#include "libamp/core/observer.h"
#include "libamp/core/step_clock.h"
#include "libamp/dispatch/announce.h"
#include "libamp/dispatch/run_op.h"
#include "libamp/ops/ops.h"

namespace amp {
namespace {

std::string_view default_device() { return is_available(DeviceType::cuda) ? "cuda" : "cpu"; }

bool usable(std::string_view text) {
  const Device wanted = device(text);
  if (is_available(wanted.type)) return true;
  std::fprintf(stderr,
               "libamp warning: [GradScaler] device '%.*s' was asked for, but CUDA is not available: the scaler is "
               "disabled\n",
               static_cast<int>(text.size()), text.data());
  return false;
}

std::string label(const Tensor& param, std::size_t index) {
  const std::string_view name = observe::text(param.name());
  return name.empty() ? fmt::format("parameter {}", index) : std::string(name);
}

// What of a gradient is checked and multiplied: the tensor, or the values of a sparse one. Those are checked one by
// one, as PyTorch does; only float16 is coalesced first (and replaces .grad), so that sums that overflow are found.
Tensor values_of(const Tensor& param) {
  Tensor g = param.grad();
  if (!g.defined() || !g.is_sparse()) return g;
  if (g.dtype() == DType::float16 && !g.is_coalesced()) {
    g = g.coalesce();
    param.set_grad(g);
  }
  return g.values();
}

// Work of the scaler belongs to the optimizer's phase, whoever calls it.
struct Quiet {
  PhaseScope phase{&Context::phase, Phase::optimizer};
  CauseScope cause{&Context::cause, MemoryCause::optimizer_state};
  no_grad gradients_off;
};

}  // namespace

GradScaler::GradScaler(std::string_view device, const GradScalerOptions& options)
    : enabled_(options.enabled && usable(device)), options_(options) {
  if (!enabled_) return;
  if (!(options.growth_factor > 1))
    fail(ErrorCode::assertion, "GradScaler",
         fmt::format("the growth factor must be > 1.0: got {}", options.growth_factor));
  if (!(options.backoff_factor < 1))
    fail(ErrorCode::assertion, "GradScaler",
         fmt::format("the backoff factor must be < 1.0: got {}", options.backoff_factor));
}
GradScaler::GradScaler(const GradScalerOptions& options) : GradScaler(default_device(), options) {}

void GradScaler::make_scale(Device device) {
  if (scale_.defined()) return;
  const Quiet quiet;
  scale_ = full({}, static_cast<float>(options_.init_scale), {.device = device});
  growth_tracker_ = full({}, static_cast<double>(init_growth_tracker_), {.dtype = DType::int32, .device = device});
  if (!observe::active()) return;
  announce::set_loss_scale(get_scale());
  ScalerEvent event;
  event.scale_before = event.scale_after = get_scale();
  send(ScalerAction::init, nullptr, event);
}

Tensor GradScaler::scale(const Tensor& outputs) {
  if (!enabled_) return outputs;
  if (!outputs.defined())
    fail(ErrorCode::value, "GradScaler::scale", "outputs must be a tensor or a container of tensors: got none");
  make_scale(outputs.device());
  return mul(outputs, outputs.device() == scale_.device() ? scale_ : scale_.to(outputs.device()));
}

void GradScaler::require_scale(const char* where) const {
  if (!scale_.defined())
    fail(ErrorCode::assertion, where,
         "attempted before the scale exists: need scale(loss) and backward() earlier in the iteration");
}

GradScaler::Checked GradScaler::check_and_unscale(Optimizer& optimizer, PerOptimizer& state, const Tensor& scale,
                                                  bool allow_half) {
  struct Group {
    Device device;
    DType dtype;
    Tensors gradients;
    std::vector<std::size_t> parameters;
  };
  std::vector<Group> groups;
  const Tensors params = optimizer.parameters();
  Checked result;
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (!params[i].grad().defined()) continue;
    ++result.params;
    if (const Tensor g = params[i].grad(); !allow_half && g.dtype() == DType::float16)
      fail(ErrorCode::value, "GradScaler::unscale_",
           "attempting to unscale float16 gradients: got " + describe(g) + " for " + label(params[i], i) +
               ", need float32 parameters; keep the model in float32 and let autocast choose the types");
    const Tensor g = values_of(params[i]);
    auto at = std::find_if(groups.begin(), groups.end(),
                           [&](const Group& group) { return group.device == g.device() && group.dtype == g.dtype(); });
    if (at == groups.end()) at = groups.insert(groups.end(), Group{g.device(), g.dtype(), {}, {}});
    at->gradients.push_back(g);
    at->parameters.push_back(i);
  }
  std::vector<bool> nonfinite(params.size());
  const bool observed = observe::active();
  for (const Group& group : groups) {
    auto at = std::find_if(state.found_inf.begin(), state.found_inf.end(),
                           [&](const auto& entry) { return entry.first == group.device; });
    if (at == state.found_inf.end())
      at = state.found_inf.insert(at, {group.device, full({}, 0, {.device = group.device})});
    OpCall call{OpId::amp_foreach_non_finite_check_and_unscale_, group.gradients, {{"per_tensor", observed}}, {}};
    call.inputs.push_back(at->second);
    call.inputs.push_back(!scale.defined() || scale.device() == group.device ? scale : scale.to(group.device));
    const Tensors flags = run_op(std::move(call));
    if (!observed) continue;
    const std::vector<double> bad = flags[0].to_vector();
    for (std::size_t i = 0; i < bad.size(); ++i) nonfinite[group.parameters[i]] = bad[i] != 0;
  }
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (!nonfinite[i]) continue;
    if (result.nonfinite_params++ == 0) result.first_nonfinite = label(params[i], i);
  }
  return result;
}

void GradScaler::unscale_(Optimizer& optimizer) {
  if (!enabled_) return;
  require_scale("GradScaler::unscale_");
  PerOptimizer& state = per_optimizer_[&optimizer];
  if (state.stage == Stage::unscaled)
    fail(ErrorCode::runtime, "GradScaler::unscale_",
         "unscale_() has already been called on this optimizer since the last update(): need update() once an "
         "iteration");
  if (state.stage == Stage::stepped)
    fail(ErrorCode::runtime, "GradScaler::unscale_", "unscale_() is being called after step(): need it before step()");
  const Quiet quiet;
  const Checked checked = check_and_unscale(optimizer, state, scale_, false);
  state.stage = Stage::unscaled;
  if (!observe::active()) return;
  ScalerEvent event;
  event.params = checked.params;
  event.nonfinite_params = checked.nonfinite_params;
  event.found_inf = checked.nonfinite_params > 0;
  if (!checked.first_nonfinite.empty()) event.first_nonfinite = observe::intern(checked.first_nonfinite);
  event.scale_before = event.scale_after = get_scale();
  send(ScalerAction::unscale, &optimizer, event);
  optimizer.announce_gradients();
}

Tensor GradScaler::sum_found_inf(const PerOptimizer& state) const {
  Tensor sum;
  for (const auto& [device, found] : state.found_inf) {
    const Tensor here = device == scale_.device() ? found : found.to(scale_.device());
    sum = sum.defined() ? sum + here : here;
  }
  return sum;
}

GradScaler::StepResult GradScaler::step(Optimizer& optimizer, const Closure& closure) {
  if (!enabled_) {
    last_skipped_[&optimizer] = false;
    return {false, optimizer.step(closure)};
  }
  if (closure)
    fail(ErrorCode::runtime, "GradScaler::step",
         "closures are not supported while the scaler is enabled: need step(optimizer)");
  return step(optimizer);
}

GradScaler::StepResult GradScaler::step(Optimizer& optimizer) {
  if (!enabled_) return step(optimizer, Closure());
  require_scale("GradScaler::step");
  PerOptimizer& state = per_optimizer_[&optimizer];
  if (state.stage == Stage::stepped)
    fail(ErrorCode::runtime, "GradScaler::step",
         "step() has already been called on this optimizer since the last update(): need update() once an iteration");
  StepResult result;
  if (optimizer.supports_amp_scaling()) {
    result = step_with_scaling_optimizer(optimizer, state);
  } else {
    if (state.stage == Stage::ready) unscale_(optimizer);
    if (state.found_inf.empty())
      fail(ErrorCode::assertion, "GradScaler::step",
           "no inf checks were recorded for this optimizer: none of its parameters has a gradient; need backward() "
           "through them, or leave the optimizer out of this iteration");
    const Quiet quiet;
    result.skipped = sum_found_inf(state).item() != 0;
    if (result.skipped) {
      optimizer.note_skipped_step();
      optimizer.announce_weights();
      step_clock::note_optimizer_step();
    } else {
      result.loss = optimizer.step();
    }
  }
  state.stage = Stage::stepped;
  last_skipped_[&optimizer] = result.skipped;
  ScalerEvent event;
  event.skipped = event.found_inf = result.skipped;
  if (observe::active()) {
    event.scale_before = event.scale_after = get_scale();
    send(ScalerAction::step, &optimizer, event);
  }
  return result;
}

// The optimizer's own update divides by the scale and skips; nothing waits for the device.
GradScaler::StepResult GradScaler::step_with_scaling_optimizer(Optimizer& optimizer, PerOptimizer& state) {
  StepResult result;
  const Quiet quiet;
  const bool ready = state.stage == Stage::ready;
  if (ready) {
    const Checked checked = check_and_unscale(optimizer, state, Tensor(), true);
    if (observe::active()) {
      ScalerEvent event;
      event.params = checked.params;
      event.nonfinite_params = checked.nonfinite_params;
      event.found_inf = checked.nonfinite_params > 0;
      if (!checked.first_nonfinite.empty()) event.first_nonfinite = observe::intern(checked.first_nonfinite);
      event.scale_before = event.scale_after = get_scale();
      send(ScalerAction::unscale, &optimizer, event);
    }
  }
  const Tensor given = optimizer.grad_scale;
  if (ready) optimizer.grad_scale = given.defined() ? scale_ * given : scale_;
  const Tensor found = sum_found_inf(state);
  optimizer.found_inf = found.defined() ? found : full({}, 0, {.device = scale_.device()});
  struct Restore {
    Optimizer& optimizer;
    ~Restore() { optimizer.grad_scale = optimizer.found_inf = Tensor(); }
  } const restore{optimizer};
  result.loss = optimizer.step();
  result.skipped = optimizer.found_inf.item() != 0;
  return result;
}

bool GradScaler::step_was_skipped(const Optimizer& optimizer) const {
  const auto found = last_skipped_.find(&optimizer);
  return found != last_skipped_.end() && found->second;
}

void GradScaler::update() {
  if (!enabled_) return;
  require_scale("GradScaler::update");
  const Quiet quiet;
  Tensor found;
  for (const auto& [optimizer, state] : per_optimizer_) {
    const Tensor sum = sum_found_inf(state);
    if (sum.defined()) found = found.defined() ? found + sum : sum;
  }
  if (!found.defined())
    fail(ErrorCode::assertion, "GradScaler::update",
         "no inf checks were recorded prior to update: need step(optimizer) or unscale_(optimizer) since the last "
         "update()");
  const bool observed = observe::active();
  const double before = observed ? get_scale() : 0;
  run_op({OpId::amp_update_scale_,
          {scale_, growth_tracker_, found},
          {{"growth_factor", options_.growth_factor},
           {"backoff_factor", options_.backoff_factor},
           {"growth_interval", options_.growth_interval},
           {"min_scale", options_.min_scale}},
          {}});
  finish_update(before, observed && found.item() != 0, false);
}

void GradScaler::update(double new_scale) {
  if (!enabled_) return;
  require_scale("GradScaler::update");
  const Quiet quiet;
  const double before = observe::active() ? get_scale() : 0;
  scale_.fill_(new_scale);
  finish_update(before, false, true);
}

void GradScaler::update(const Tensor& new_scale) {
  if (!enabled_) return;
  require_scale("GradScaler::update");
  if (!new_scale.defined() || new_scale.numel() != 1 || new_scale.requires_grad() ||
      new_scale.device().type != scale_.device().type)
    fail(ErrorCode::assertion, "GradScaler::update",
         "new_scale must be a number or a one-element tensor on the scale's device that does not require a gradient: "
         "got " +
             describe(new_scale) + ", the scale is on " + to_string(scale_.device()));
  const Quiet quiet;
  const double before = observe::active() ? get_scale() : 0;
  scale_.copy_(new_scale.reshape({}));
  finish_update(before, false, true);
}

void GradScaler::finish_update(double scale_before, bool found_inf, bool explicit_scale) {
  per_optimizer_.clear();
  if (!observe::active()) return;
  announce::set_loss_scale(get_scale());
  ScalerEvent event;
  event.found_inf = found_inf;
  event.explicit_scale = explicit_scale;
  event.scale_before = scale_before;
  event.scale_after = get_scale();
  send(ScalerAction::update, nullptr, event);
}

void GradScaler::send(ScalerAction action, const Optimizer* optimizer, ScalerEvent event) const {
  event.step = step_clock::current();
  event.action = static_cast<std::uint8_t>(action);
  event.optimizer = reinterpret_cast<std::uintptr_t>(optimizer);
  event.growth_tracker =
      static_cast<std::uint32_t>(growth_tracker_.defined() ? growth_tracker_.item_as_int64() : init_growth_tracker_);
  event.growth_interval = static_cast<std::uint32_t>(options_.growth_interval);
  event.min_scale = options_.min_scale;
  observe::notify([&](Observer& o) { o.mark(event); });
}

double GradScaler::get_scale() const {
  if (!enabled_) return 1;
  return scale_.defined() ? scale_.item() : options_.init_scale;
}

double GradScaler::attribute(double value, const char* where) const {
  if (!enabled_) fail(ErrorCode::runtime, where, "a disabled scaler has no such attribute: need enabled = true");
  return value;
}
double GradScaler::get_growth_factor() const {
  return attribute(options_.growth_factor, "GradScaler::get_growth_factor");
}
double GradScaler::get_backoff_factor() const {
  return attribute(options_.backoff_factor, "GradScaler::get_backoff_factor");
}
std::int64_t GradScaler::get_growth_interval() const {
  return static_cast<std::int64_t>(
      attribute(static_cast<double>(options_.growth_interval), "GradScaler::get_growth_interval"));
}

GradScaler::State GradScaler::state_dict() const {
  if (!enabled_) return {};
  const std::int64_t tracker = growth_tracker_.defined() ? growth_tracker_.item_as_int64() : init_growth_tracker_;
  return {{"scale", get_scale()},
          {"growth_factor", options_.growth_factor},
          {"backoff_factor", options_.backoff_factor},
          {"growth_interval", static_cast<double>(options_.growth_interval)},
          {"_growth_tracker", static_cast<double>(tracker)}};
}

void GradScaler::load_state_dict(const State& state) {
  if (!enabled_) return;
  if (state.empty())
    fail(ErrorCode::runtime, "GradScaler::load_state_dict",
         "the state is empty, possibly because it was saved from a disabled scaler: need one from an enabled scaler");
  const auto entry = [&](const char* key) {
    const auto found = state.find(key);
    if (found == state.end())
      fail(ErrorCode::value, "GradScaler::load_state_dict", fmt::format("entry '{}' is missing", key));
    return found->second;
  };
  // All are read before one is set.
  const double scale = entry("scale"), growth = entry("growth_factor"), backoff = entry("backoff_factor");
  const auto interval = static_cast<std::int64_t>(entry("growth_interval"));
  const auto tracker = static_cast<std::int64_t>(entry("_growth_tracker"));
  const double before = get_scale();
  options_.init_scale = scale;
  options_.growth_factor = growth;
  options_.backoff_factor = backoff;
  options_.growth_interval = interval;
  init_growth_tracker_ = tracker;
  const Quiet quiet;
  if (scale_.defined()) {
    scale_.fill_(scale);
    growth_tracker_.fill_(static_cast<double>(tracker));
  }
  if (!observe::active()) return;
  announce::set_loss_scale(scale);
  ScalerEvent event;
  event.scale_before = before;
  event.scale_after = scale;
  send(ScalerAction::load, nullptr, event);
}

GradScaler GradScaler::clone() const {
  if (enabled_ && !per_optimizer_.empty())
    fail(ErrorCode::assertion, "GradScaler::clone",
         "a scaler can be copied only at the beginning of an iteration, or at its end after update()");
  GradScalerOptions options = options_;
  options.enabled = enabled_;
  options.init_scale = enabled_ ? get_scale() : options.init_scale;
  GradScaler copy{default_device(), options};
  copy.init_growth_tracker_ = growth_tracker_.defined() ? growth_tracker_.item_as_int64() : init_growth_tracker_;
  return copy;
}

}  // namespace amp
