// Parts become names with a prefix, and back.
#include "libamp/io/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <set>

#include "libamp/core/context.h"
#include "libamp/core/grad_mode.h"
#include "libamp/ops/create.h"

namespace amp::io {
namespace {

constexpr const char* kFormatKey = "format";
constexpr const char* kFormat = "amp-checkpoint/1";
// A part with an empty state (a disabled scaler) leaves no tensor behind: the list tells it from one that is missing.
constexpr const char* kPartsKey = "parts";

std::string full_name(const std::string& part, const std::string& key) { return key.empty() ? part : part + "." + key; }

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

NamedTensors cloned(NamedTensors state) {
  const no_grad quiet;
  for (auto& [name, tensor] : state) tensor = tensor.detach().clone();
  return state;
}

/// The names of the parts, as the file lists them.
std::string list_of(const Parts& parts, const char* where) {
  std::set<std::string> names;
  std::string list;
  for (const Part& part : parts) {
    const std::string& name = part.name();
    if (name.empty() || name.find_first_of(".,") != std::string::npos || !names.insert(name).second)
      fail(ErrorCode::value, where,
           fmt::format("names of parts must differ, and not be empty or hold a dot or comma: got {}", in_quotes(name)));
    list += (list.empty() ? "" : ",") + name;
  }
  return list;
}

/// The tensors of each part; names that belong to none are a fault of the file.
std::map<std::string, NamedTensors> states_of(const std::string& path) {
  const safe_open file(path);
  const auto& metadata = file.metadata();
  const auto format = metadata.find(kFormatKey), listed = metadata.find(kPartsKey);
  if (format == metadata.end() || format->second != kFormat || listed == metadata.end())
    fail(ErrorCode::io, "load_checkpoint",
         fmt::format("{}: is no checkpoint: need metadata {} = {} and {}; use load_file for plain weights", path,
                     kFormatKey, kFormat, kPartsKey));
  std::map<std::string, NamedTensors> states;
  for (const std::string& part : split(listed->second)) states[part];
  for (const std::string& name : file.keys()) {
    const std::size_t dot = name.find('.');
    const auto part = states.find(name.substr(0, dot));
    if (part == states.end())
      fail(ErrorCode::io, "load_checkpoint",
           fmt::format("{}: tensor {} belongs to none of the parts", path, in_quotes(name)));
    part->second[dot == std::string::npos ? "" : name.substr(dot + 1)] = file.get_tensor(name);
  }
  return states;
}

}  // namespace

Part::Part(std::string name, NamedTensors& tensors)
    : name_(std::move(name)),
      save_([&tensors] { return tensors; }),
      load_([&tensors](const NamedTensors& state) { tensors = state; }) {}

Tensor Part::float_tensor(double number) { return scalar_tensor(number, {.dtype = DType::float64}); }
Tensor Part::integer_tensor(std::int64_t number) { return from_memory(&number, {}, DType::int64); }

Tensor Part::one_number(const NamedTensors& state, DType dtype) {
  const auto found = state.find("");
  if (state.size() != 1 || found == state.end() || found->second.dim() != 0 || found->second.dtype() != dtype)
    fail(ErrorCode::value, "load_state_dict",
         fmt::format("need one number of type {}, got {}", amp::name(dtype),
                     found == state.end() ? fmt::format("{} tensors", state.size()) : describe(found->second)));
  return found->second;
}

void Part::fail_range(const std::string& value) {
  fail(ErrorCode::value, "load_state_dict", fmt::format("the variable's type cannot hold the number: got {}", value));
}

NamedTensors Part::to_tensors(const NamedNumbers& numbers) {
  NamedTensors tensors;
  for (const auto& [key, value] : numbers) tensors[key] = float_tensor(value);
  return tensors;
}

NamedNumbers Part::to_numbers(const NamedTensors& tensors) {
  NamedNumbers numbers;
  for (const auto& [key, tensor] : tensors) {
    if (tensor.numel() != 1)
      fail(ErrorCode::value, "load_state_dict",
           fmt::format("entry {}: need a number, got {}", in_quotes(key), describe(tensor)));
    numbers[key] = tensor.item_as_double();
  }
  return numbers;
}

NamedTensors RandomState::state_dict() const { return {{"state", get_rng_state()}}; }

void RandomState::load_state_dict(const NamedTensors& state) const {
  const auto found = state.find("state");
  if (state.size() != 1 || found == state.end())
    fail(ErrorCode::value, "load_state_dict", "need the one entry 'state' of a random number generator");
  set_rng_state(found->second);
}

void save_checkpoint(const std::string& path, const Parts& parts, Metadata metadata) {
  const std::string list = list_of(parts, "save_checkpoint");
  NamedTensors tensors;
  for (const Part& part : parts)
    for (auto& [key, tensor] : part.save()) tensors[full_name(part.name(), key)] = tensor;
  for (const char* key : {kFormatKey, kPartsKey})
    if (metadata.contains(key))
      fail(ErrorCode::value, "save_checkpoint", fmt::format("metadata '{}' is the checkpoint's own", key));
  metadata[kFormatKey] = kFormat;
  metadata[kPartsKey] = list;
  save_file(tensors, path, metadata);
}

std::vector<std::string> load_checkpoint(const std::string& path, const Parts& parts) {
  list_of(parts, "load_checkpoint");
  std::map<std::string, NamedTensors> states = states_of(path);
  std::string wrong;
  for (const Part& part : parts)
    if (!states.contains(part.name())) wrong += fmt::format("; part {} is missing", in_quotes(part.name()));
  // Every part is tried, so that one error tells all; then those that changed get their former states back.
  std::vector<std::pair<const Part*, NamedTensors>> former;
  for (const Part& part : parts) {
    const auto state = states.find(part.name());
    if (state == states.end()) continue;
    NamedTensors before = cloned(part.save());
    try {
      part.load(state->second);
      former.emplace_back(&part, std::move(before));
    } catch (const std::exception& e) {
      wrong += fmt::format("; part {}: {}", in_quotes(part.name()), e.what());
    }
    states.erase(state);
  }
  if (!wrong.empty()) {
    for (const auto& [part, state] : former) part->load(state);
    fail(ErrorCode::value, "load_checkpoint", path + ": does not fit" + wrong);
  }
  std::vector<std::string> rest;
  for (const auto& [name, state] : states) rest.push_back(name);
  return rest;
}

}  // namespace amp::io
