// Lists and dictionaries of modules and parameters.
#include "libamp/nn/containers.h"

#include <algorithm>

namespace amp::nn {
namespace {

void check_index(std::size_t i, std::size_t size, const char* where) {
  if (i >= size)
    fail(ErrorCode::index, where,
         "index out of range: got " + std::to_string(i) + ", need less than " + std::to_string(size));
}

}  // namespace

ModuleList& ModuleList::extend(const std::vector<std::shared_ptr<Module>>& modules) {
  for (const auto& module : modules) append(module);
  return *this;
}

const std::shared_ptr<Module>& ModuleList::operator[](std::size_t i) const {
  check_index(i, size(), "ModuleList");
  return named_children()[i].second;
}

bool ModuleDict::contains(std::string_view name) const {
  return std::any_of(named_children().begin(), named_children().end(),
                     [&](const auto& entry) { return entry.first == name; });
}

std::vector<std::string> ModuleDict::keys() const {
  std::vector<std::string> all;
  for (const auto& [name, module] : named_children()) all.push_back(name);
  return all;
}

ParameterList::ParameterList(const Tensors& values) {
  for (const Tensor& value : values) append(value);
}

ParameterList& ParameterList::append(const Tensor& value) {
  if (!value.defined()) fail(ErrorCode::value, "ParameterList", "got none, need a tensor");
  values_.push_back(register_parameter(std::to_string(values_.size()), value));
  return *this;
}

const Tensor& ParameterList::operator[](std::size_t i) const {
  check_index(i, size(), "ParameterList");
  return values_[i];
}

ParameterDict& ParameterDict::insert(std::string name, const Tensor& value) {
  if (!value.defined()) fail(ErrorCode::value, "ParameterDict", "'" + name + "': got none, need a tensor");
  register_parameter(std::move(name), value);
  return *this;
}

bool ParameterDict::contains(std::string_view name) const {
  const Named own = named_parameters(false);
  return std::any_of(own.begin(), own.end(), [&](const auto& entry) { return entry.first == name; });
}

}  // namespace amp::nn
