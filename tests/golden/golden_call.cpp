// What adaptors see of a case, and the table of adaptors.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "libamp/base/error.h"
#include "tests/golden/golden.h"

namespace amp::golden {
namespace {

[[noreturn]] void wrong_type(std::string_view attribute) {
  fail(ErrorCode::type, "golden",
       "attribute '" + std::string(attribute) + "' has another type than the adaptor asks for");
}

const GoldenCall::Value* find(const GoldenCall& call, std::string_view attribute) {
  const auto found = call.attributes.find(attribute);
  return found == call.attributes.end() ? nullptr : &found->second;
}

std::map<std::string, Adaptor, std::less<>>& table() {
  static std::map<std::string, Adaptor, std::less<>> rows;
  return rows;
}

}  // namespace

Tensor GoldenCall::in(std::string_view name) const {
  for (const auto& [key, tensor] : inputs)
    if (key == name) return tensor;
  return {};
}

double GoldenCall::number(std::string_view attribute, double otherwise) const {
  const Value* value = find(*this, attribute);
  if (value == nullptr) return otherwise;
  if (const auto* v = std::get_if<double>(value)) return *v;
  if (const auto* v = std::get_if<std::int64_t>(value)) return static_cast<double>(*v);
  if (const auto* v = std::get_if<std::string>(value)) {
    if (*v == "inf") return std::numeric_limits<double>::infinity();
    if (*v == "-inf") return -std::numeric_limits<double>::infinity();
  }
  wrong_type(attribute);
}

std::int64_t GoldenCall::integer(std::string_view attribute, std::int64_t otherwise) const {
  const Value* value = find(*this, attribute);
  if (value == nullptr) return otherwise;
  if (const auto* v = std::get_if<std::int64_t>(value)) return *v;
  wrong_type(attribute);
}

bool GoldenCall::flag(std::string_view attribute, bool otherwise) const {
  const Value* value = find(*this, attribute);
  if (value == nullptr) return otherwise;
  if (const auto* v = std::get_if<bool>(value)) return *v;
  wrong_type(attribute);
}

std::string GoldenCall::text(std::string_view attribute, std::string_view otherwise) const {
  const Value* value = find(*this, attribute);
  if (value == nullptr) return std::string(otherwise);
  if (const auto* v = std::get_if<std::string>(value)) return *v;
  wrong_type(attribute);
}

Shape GoldenCall::list(std::string_view attribute, const Shape& otherwise) const {
  const Value* value = find(*this, attribute);
  if (value == nullptr) return otherwise;
  if (const auto* v = std::get_if<std::int64_t>(value)) return {*v};
  const auto* values = std::get_if<std::vector<double>>(value);
  if (values == nullptr) wrong_type(attribute);
  Shape shape;
  for (const double v : *values) shape.push_back(static_cast<std::int64_t>(v));
  return shape;
}

RegisterOps::RegisterOps(std::initializer_list<std::pair<const char*, Adaptor>> rows) {
  for (const auto& [op, adaptor] : rows)
    if (!table().emplace(op, adaptor).second) {
      std::fprintf(stderr, "amp_golden: the op '%s' has two adaptors\n", op);
      std::exit(2);
    }
}

Adaptor find_adaptor(std::string_view op) {
  const auto found = table().find(op);
  return found == table().end() ? nullptr : found->second;
}

}  // namespace amp::golden
