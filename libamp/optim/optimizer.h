// What all optimizers share: parameter groups, zero_grad, state dicts, and what a GradScaler or a scheduler needs of
// them. Algorithms are in sgd.h, adam.h, adagrad.h and rmsprop.h; their options by group are in grouped_optimizer.h.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
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
  /// What an optimizer keeps for one parameter, by PyTorch's names: "step", "exp_avg", ...; "master" is the float32
  /// copy of a half parameter.
  using State = std::map<std::string, Tensor>;

  Optimizer() = default;
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// Updates every parameter that has a gradient. Returns the closure's loss, or an undefined tensor without one.
  Tensor step(const Closure& closure = {});
  /// set_to_none: drops the gradients (default, as PyTorch); else fills them with zeros.
  void zero_grad(bool set_to_none = true);

  /// PyTorch's structure, flat: "state.I.NAME" for parameter I counted over all groups, "param_groups.G.NAME" for
  /// options of group G (numbers are float64, flags bool, betas two numbers), "param_groups.G.params" for the numbers
  /// of its parameters. Tensors are copies.
  [[nodiscard]] StateDict state_dict() const;
  /// Throws Error(value) naming the key if a parameter's state has another shape, an entry is not known, or groups
  /// differ in number or size; then nothing was changed. Options that are not in the dict keep their values. Tensors
  /// are copied and brought to the type the arithmetic runs in.
  void load_state_dict(const StateDict& state);

  /// All parameters, group by group.
  [[nodiscard]] Tensors parameters() const;
  [[nodiscard]] std::size_t group_count() const { return groups_.size(); }
  /// The parameters of one group. Throws Error(index).
  [[nodiscard]] const Tensors& group_parameters(std::size_t group) const;
  /// What is kept for a parameter; empty before its first update. Throws Error(value) if it is not optimized here.
  [[nodiscard]] const State& state(const Tensor& param) const;
  /// A number among a group's options by PyTorch's name ("lr", "momentum"; of "betas" number `index`), to be read and
  /// written; null if there is none. Throws Error(index) for a group that is not there.
  [[nodiscard]] double* find_option(std::size_t group, std::string_view name, std::size_t index = 0);
  /// Steps that updated the parameters, and steps that a GradScaler left out. A scheduler looks at both.
  [[nodiscard]] std::uint64_t steps_taken() const { return steps_taken_; }
  [[nodiscard]] std::uint64_t steps_skipped() const { return steps_skipped_; }

  // -- for schedulers
  /// The learning rate a scheduler started a group from; nothing without a scheduler. Part of the state dict.
  [[nodiscard]] std::optional<double>& initial_lr(std::size_t group);

  // -- for GradScaler
  /// Counts a step that the scaler does not take.
  void note_skipped_step() { ++steps_skipped_; }
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
  /// One option of a group: its name in state dicts, and where its numbers or its flag are.
  struct Option {
    std::string_view name;
    std::vector<double*> numbers;
    bool* flag = nullptr;
  };
  using Options = std::vector<Option>;

  /// Takes on the parameters of a new group. Throws Error(value) for an empty list, Error(type) for tensors that are
  /// not floating leaves, Error(value) for one that is in the optimizer already; then nothing was changed.
  void add_group(const Tensors& params);
  /// The options of a group, to be read and written in place.
  virtual Options options(std::size_t group) = 0;
  /// Updates one parameter. `state` starts empty.
  virtual void update(std::size_t group, const Tensor& param, const Tensor& gradient, State& state) = 0;
  /// The same for a sparse gradient. Error(runtime) unless the optimizer has a way of its own, as SGD, Adagrad and
  /// SparseAdam have.
  virtual void update_sparse(std::size_t group, const Tensor& param, const Tensor& gradient, State& state);

  /// The float32 master copy of a half parameter, made at the first use; undefined for other types. Elements of the
  /// parameter that somebody else has changed since the last update are taken over.
  Tensor master_of(const Tensor& param, State& state);
  /// `value` everywhere, like the parameter, in the type its arithmetic runs in.
  static Tensor new_state(const Tensor& param, double value = 0);
  /// An entry that an earlier step has made. Throws Error(value) naming it if a loaded state lacks it.
  static const Tensor& kept(const State& state, const char* name);
  /// Will the scaler make this step a no-op? Only known where found_inf is on the host.
  [[nodiscard]] bool skipped_by_scaler() const { return found_inf.defined() && found_inf.item() != 0; }

 private:
  struct Group {
    Tensors params;
    std::optional<double> initial_lr;
  };
  struct Loaded;
  void load_option(Loaded& loaded, const std::string& key, std::size_t group, std::string_view name,
                   const Tensor& value);
  void check_group(std::size_t group) const;

  // The data an update left behind, to know a parameter that was changed since.
  struct Left {
    const Storage* storage = nullptr;
    std::uint32_t version = 0;
    friend bool operator==(const Left&, const Left&) = default;
  };
  static Left left_in(const Tensor& param) { return {param.impl()->storage.get(), param.version()}; }

  std::vector<Group> groups_;
  std::unordered_map<const TensorImpl*, State> states_;
  std::unordered_map<const TensorImpl*, Left> left_;  // of half parameters
  std::uint64_t steps_taken_ = 0, steps_skipped_ = 0;
  std::uint32_t weights_announced_ = 0, gradients_announced_ = 0;  // step + 1; 0: never
};

/// Throws Error(value) "[where] invalid NAME: got V, need ..." unless `holds`.
void check_option(bool holds, const char* where, const char* option, double value, const char* need);

}  // namespace amp
