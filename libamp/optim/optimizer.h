// What all optimizers share: parameter groups, zero_grad, state dicts, and what a GradScaler needs of them.
// Algorithms are in sgd.h and adam.h.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "libamp/core/tensor.h"

namespace amp {

/// Named tensors, as PyTorch's state dicts. Scalars are 0-dim tensors.
using StateDict = std::map<std::string, Tensor>;
/// Re-evaluates the model and returns the loss, with gradients computed.
using Closure = std::function<Tensor()>;

/// Base of the optimizers. Updates run without gradients, in phase `optimizer`, in float32 (float64 for float64
/// parameters); parameters of a half type get a float32 master copy, unless the options turn that off.
/// Not thread-safe: one thread steps an optimizer at a time.
class Optimizer {
 public:
  Optimizer() = default;
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// Updates every parameter that has a gradient. Returns the closure's loss, or an undefined tensor without one.
  Tensor step(const Closure& closure = {});
  /// set_to_none: drops the gradients (default, as PyTorch); else fills them with zeros.
  void zero_grad(bool set_to_none = true);

  /// "state.I.NAME" for parameter I counted over all groups, "param_groups.G.NAME" for options of group G.
  [[nodiscard]] StateDict state_dict() const;
  /// Throws naming the key if a parameter's state has another shape, or an entry is not known. Tensors are copied.
  void load_state_dict(const StateDict& state);

  /// All parameters, group by group.
  [[nodiscard]] Tensors parameters() const;

  // -- for GradScaler
  /// True for options with `fused`: the update itself divides by grad_scale, and does nothing if found_inf is not 0.
  [[nodiscard]] virtual bool supports_amp_scaling() const { return false; }
  /// Set by the scaler around step(), undefined otherwise: the factor to divide gradients by, and whether a gradient
  /// is not finite. 0-dim float32.
  Tensor grad_scale, found_inf;
  /// Announces statistics of the weights, on sampled steps, once a step. step() does this; a scaler that skips it
  /// calls it instead.
  void announce_weights();
  /// Announces statistics of unscaled gradients, on sampled steps, once a step. The scaler calls it after unscaling;
  /// without one step() does.
  void announce_gradients();

 protected:
  /// One option of a group by name, for the state dict.
  using Options = std::vector<std::pair<std::string, double*>>;
  using State = std::map<std::string, Tensor>;

  /// Takes on the parameters of a new group. Throws Error(value) for an empty list, Error(type) for tensors that are
  /// not floating leaves, Error(value) for one that is in the optimizer already.
  void add_group(const Tensors& params);
  [[nodiscard]] std::size_t group_count() const { return groups_.size(); }
  /// The options of a group, to be read and written in place.
  virtual Options options(std::size_t group) = 0;
  /// Updates one parameter. `state` starts empty.
  virtual void update(std::size_t group, const Tensor& param, const Tensor& gradient, State& state) = 0;

  /// The float32 master copy of a half parameter, made at the first use; undefined for other types.
  static Tensor master_of(const Tensor& param, State& state);
  /// Zeros like the parameter in the type its arithmetic runs in.
  static Tensor new_state(const Tensor& param);
  /// Will the scaler make this step a no-op? Only known where found_inf is on the host.
  [[nodiscard]] bool skipped_by_scaler() const { return found_inf.defined() && found_inf.item() != 0; }

 private:
  std::vector<Tensors> groups_;
  std::unordered_map<const TensorImpl*, State> states_;
  std::uint32_t weights_announced_ = 0, gradients_announced_ = 0;  // step + 1; 0: never
};

/// Throws Error(value) "[where] invalid NAME: got V, need ..." unless `holds`.
void check_option(bool holds, const char* where, const char* option, double value, const char* need);

}  // namespace amp
