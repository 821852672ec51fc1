// Saving and resuming a training run: everything that decides what comes next, in one safetensors file.
//
//     const io::Parts run = {{"model", model}, {"optimizer", optimizer}, {"scaler", scaler},
//                            {"rng", io::rng}, {"loader", loader}, {"epoch", epoch}};
//     io::save_checkpoint("run.safetensors", run);      // after scaler.update()
//     io::load_checkpoint("run.safetensors", run);      // in a new process: goes on with the same bits
#pragma once
#include <cmath>
#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "libamp/io/safetensors.h"

namespace amp::io {

/// Has state_dict() and load_state_dict(state), where a state is tensors by name: modules, optimizers, loaders.
template <typename T>
concept HasTensorState = requires(T& object, const NamedTensors& state) {
  { object.state_dict() } -> std::convertible_to<NamedTensors>;
  object.load_state_dict(state);
};

/// Numbers by name: GradScaler, schedulers.
using NamedNumbers = std::map<std::string, double>;
template <typename T>
concept HasNumberState = requires(T& object, const NamedNumbers& state) {
  { object.state_dict() } -> std::convertible_to<NamedNumbers>;
  object.load_state_dict(state);
};

/// One thing of a checkpoint: its name in the file, and how its state is taken and put back. Keeps a reference; the
/// object must outlive the part. In the file a state's entry K is the tensor NAME.K, a number the 0-dim tensor NAME.
class Part {
 public:
  template <HasTensorState T>
  Part(std::string name, T& object)
      : name_(std::move(name)),
        save_([&object] { return NamedTensors(object.state_dict()); }),
        load_([&object](const NamedTensors& state) { object.load_state_dict(state); }) {}
  /// Numbers are kept as float64.
  template <HasNumberState T>
  requires(!HasTensorState<T>) Part(std::string name, T& object)
      : name_(std::move(name)),
        save_([&object] { return to_tensors(object.state_dict()); }),
        load_([&object](const NamedTensors& state) { object.load_state_dict(to_numbers(state)); }) {}
  /// A counter: any integer (as int64) or floating point variable (as float64). Loading a number that the variable
  /// cannot hold is an Error(value).
  template <typename T>
  requires(std::is_arithmetic_v<T> && !std::is_const_v<T>) Part(std::string name, T& number)
      : name_(std::move(name)), save_([&number] { return from_number(number); }), load_([&number](const auto& state) {
          if constexpr (std::is_floating_point_v<T>) {
            const double value = one_number(state, DType::float64).item_as_double();
            if (std::isfinite(value) && std::abs(value) > static_cast<double>(std::numeric_limits<T>::max()))
              fail_range(std::to_string(value));
            number = static_cast<T>(value);
          } else {
            // There and back, so that an unsigned number of 64 bits, which int64 keeps as its bits, is taken.
            const std::int64_t value = one_number(state, DType::int64).item_as_int64();
            if (static_cast<std::int64_t>(static_cast<T>(value)) != value) fail_range(std::to_string(value));
            number = static_cast<T>(value);
          }
        }) {}
  /// Tensors that belong to nothing else. Loading replaces them all.
  Part(std::string name, NamedTensors& tensors);

  [[nodiscard]] const std::string& name() const { return name_; }  ///< in the file
  [[nodiscard]] NamedTensors save() const { return save_(); }
  void load(const NamedTensors& state) const { load_(state); }

 private:
  static NamedTensors to_tensors(const NamedNumbers& numbers);
  static NamedNumbers to_numbers(const NamedTensors& tensors);
  template <typename T>
  static NamedTensors from_number(T number) {
    if constexpr (std::is_floating_point_v<T>)
      return {{"", float_tensor(static_cast<double>(number))}};
    else
      return {{"", integer_tensor(static_cast<std::int64_t>(number))}};
  }
  static Tensor float_tensor(double number);
  static Tensor integer_tensor(std::int64_t number);
  static Tensor one_number(const NamedTensors& state, DType dtype);
  [[noreturn]] static void fail_range(const std::string& value);

  std::string name_;
  std::function<NamedTensors()> save_;
  std::function<void(const NamedTensors&)> load_;
};
using Parts = std::vector<Part>;

/// The process's random number generator (see manual_seed), as a part.
class RandomState {
 public:
  [[nodiscard]] NamedTensors state_dict() const;  ///< what load_state_dict takes
  /// Throws Error(value) for another state than one that was saved.
  void load_state_dict(const NamedTensors& state) const;
};
inline constexpr RandomState rng;

/// Writes the states of all parts, as a whole or not at all (see AtomicFile). metadata: free text to keep beside them.
/// Throws Error(value) for part names that are empty, taken or hold a dot or comma, and what save_file throws.
void save_checkpoint(const std::string& path, const Parts& parts, Metadata metadata = {});

/// Puts the states back. Either all parts are loaded, or none has changed and the Error says all that was wrong: parts
/// the file lacks, and for each part what its load_state_dict found missing, unexpected or of another shape.
/// Error(io) if the file is damaged or no checkpoint. Returns the parts of the file that were not asked for.
/// Holds the file's tensors and copies of the former state while it works.
std::vector<std::string> load_checkpoint(const std::string& path, const Parts& parts);

}  // namespace amp::io
