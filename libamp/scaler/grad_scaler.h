// GradScaler: multiplies the loss so that half precision gradients do not flush to zero, and skips optimizer steps
// whose gradients overflowed. torch.amp.GradScaler of PyTorch 2.11, call by call; deviations are marked (deviation).
#pragma once
#include <array>
#include <concepts>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "libamp/optim/optimizer.h"

namespace amp {

struct GradScalerOptions {
  double init_scale = 65536;
  double growth_factor = 2;
  double backoff_factor = 0.5;
  std::int64_t growth_interval = 2000;  ///< clean updates in a row before the scale grows
  bool enabled = true;
  /// (deviation) Floor under which the scale is not backed off; 0, as PyTorch: none. Without a floor a run whose
  /// gradients are never finite halves the scale down to 0, and its inverse becomes infinite.
  double min_scale = 0;
};

/// The use, per iteration: scale(loss).backward(); [unscale_(optimizer); clip;] step(optimizer); update().
///
/// Each optimizer goes READY -> UNSCALED -> STEPPED, and update() makes all READY again. The scale and its tracker are
/// tensors made by the first scale(), on the device of the first tensor. Not thread-safe.
/// Errors, all amp::Error: assertion for calls in an order in which there is nothing to work with (no scale() before
/// unscale_, no gradients), runtime for repeated calls, value for float16 gradients.
class GradScaler {
 public:
  using State = std::map<std::string, double>;

  /// device "cuda" where there is no CUDA prints a warning and gives a disabled scaler, as PyTorch.
  /// Throws Error(assertion) if growth_factor <= 1 or backoff_factor >= 1; nothing else is checked, also not by
  /// setters.
  explicit GradScaler(std::string_view device, const GradScalerOptions& options = {});
  /// (deviation) No device given: CUDA if this machine has it, else the CPU. PyTorch's default is always "cuda".
  explicit GradScaler(const GradScalerOptions& options = {});
  GradScaler(GradScaler&&) = default;
  GradScaler& operator=(GradScaler&&) = default;
  GradScaler(const GradScaler&) = delete;
  GradScaler& operator=(const GradScaler&) = delete;

  /// outputs * scale, differentiable. A 0-dim half becomes float32, other tensors keep their dtype. Lists, arrays,
  /// pairs and tuples of outputs give the same kind of container. Throws Error(value) for an undefined tensor.
  Tensor scale(const Tensor& outputs);
  template <typename T>
  std::vector<T> scale(const std::vector<T>& outputs) {
    std::vector<T> scaled;
    scaled.reserve(outputs.size());
    for (const T& output : outputs) scaled.push_back(scale(output));
    return scaled;
  }
  template <typename T, std::size_t N>
  std::array<T, N> scale(std::array<T, N> outputs) {
    for (T& output : outputs) output = scale(output);
    return outputs;
  }
  template <typename A, typename B>
  std::pair<A, B> scale(const std::pair<A, B>& outputs) {
    A first = scale(outputs.first);
    return {std::move(first), scale(outputs.second)};
  }
  template <typename... T>
  std::tuple<T...> scale(const std::tuple<T...>& outputs) {
    return std::apply([this](const T&... output) { return std::tuple<T...>{scale(output)...}; }, outputs);
  }

  /// Divides the gradients of the optimizer's parameters by the scale, in place, and notes whether one is not finite.
  /// Errors: no scale() yet (assertion), already unscaled or stepped since update() (runtime), a float16 gradient
  /// (value: parameters must be float32); then no gradient was changed.
  void unscale_(Optimizer& optimizer);

  /// What step() did.
  struct StepResult {
    bool skipped =
        false;    ///< (deviation: PyTorch does not tell) a gradient was not finite: the optimizer was left alone
    Tensor loss;  ///< what the optimizer's own step returned
  };
  /// Unscales unless unscale_ did, then optimizer.step() unless a gradient is not finite.
  /// Errors: no scale() yet, no gradients at all (assertion), stepped already since update() (runtime).
  StepResult step(Optimizer& optimizer);
  /// Closures are refused with Error(runtime); a disabled scaler passes them on.
  StepResult step(Optimizer& optimizer, const Closure& closure);
  /// (deviation) Did the last step(optimizer) skip? Stays known after update(), for learning rate schedulers.
  [[nodiscard]] bool step_was_skipped(const Optimizer& optimizer) const;

  /// Moves the scale by what the steps since the last update found: one backoff if any gradient was not finite, growth
  /// after growth_interval clean updates. Error(assertion) if nothing was checked since the last update.
  void update();
  /// Sets the scale; the growth tracker keeps its value.
  void update(double new_scale);
  /// A one-element tensor on the scaler's device that does not require a gradient; else Error(assertion).
  void update(const Tensor& new_scale);
  /// As PyTorch: an integer is not a scale.
  template <std::integral T>
  void update(T) = delete;

  /// The scale; the initial one before the first scale(); 1 if disabled. Waits for the device.
  [[nodiscard]] double get_scale() const;
  /// Factors and interval. Getting them from a disabled scaler is an Error(runtime), as its attributes do not exist.
  [[nodiscard]] double get_growth_factor() const;
  [[nodiscard]] double get_backoff_factor() const;
  [[nodiscard]] std::int64_t get_growth_interval() const;
  void set_growth_factor(double factor) { options_.growth_factor = factor; }
  void set_backoff_factor(double factor) { options_.backoff_factor = factor; }
  void set_growth_interval(std::int64_t interval) { options_.growth_interval = interval; }
  [[nodiscard]] bool is_enabled() const { return enabled_; }

  /// scale, growth_factor, backoff_factor, growth_interval, _growth_tracker; empty if disabled. Save after update().
  [[nodiscard]] State state_dict() const;
  /// Ignored if disabled. Error(runtime) for an empty state, Error(value) naming a missing entry.
  void load_state_dict(const State& state);
  /// A copy whose scale is made anew by its first scale(), as pickling gives it. Error(assertion) between unscale_ or
  /// step and update().
  [[nodiscard]] GradScaler clone() const;

 private:
  enum class Stage { ready, unscaled, stepped };
  struct PerOptimizer {
    Stage stage = Stage::ready;
    std::vector<std::pair<Device, Tensor>> found_inf;  // one a device with gradients
  };
  struct Checked {
    std::string first_nonfinite;
    std::uint32_t params = 0, nonfinite_params = 0;
  };

  void make_scale(Device device);
  void require_scale(const char* where) const;
  /// Checks all gradients, in groups of one device and dtype, and divides them by `scale` unless that is undefined.
  Checked check_and_unscale(Optimizer& optimizer, PerOptimizer& state, const Tensor& scale, bool allow_half);
  StepResult step_with_scaling_optimizer(Optimizer& optimizer, PerOptimizer& state);
  [[nodiscard]] Tensor sum_found_inf(const PerOptimizer& state) const;
  void finish_update(double scale_before, bool found_inf, bool explicit_scale);
  void send(ScalerAction action, const Optimizer* optimizer, ScalerEvent event) const;
  [[nodiscard]] double attribute(double value, const char* where) const;

  bool enabled_;
  GradScalerOptions options_;
  std::int64_t init_growth_tracker_ = 0;
  Tensor scale_, growth_tracker_;
  std::unordered_map<const Optimizer*, PerOptimizer> per_optimizer_;
  std::unordered_map<const Optimizer*, bool> last_skipped_;
};

}  // namespace amp
