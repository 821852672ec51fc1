// Look-up in the short list of attributes.
#include "libamp/tape/attributes.h"

#include "libamp/base/error.h"

namespace amp {
namespace {

template <typename T>
T get(const AttributeValue* value, std::string_view name, T otherwise) {
  if (value == nullptr) return otherwise;
  if (const T* held = std::get_if<T>(value)) return *held;
  fail(ErrorCode::type, "attributes", "attribute '" + std::string(name) + "' has another type than the op expects");
}

}  // namespace

void Attributes::set(std::string_view name, AttributeValue value) {
  for (auto& [key, held] : values_)
    if (key == name) {
      held = std::move(value);
      return;
    }
  values_.emplace_back(name, std::move(value));
}

const AttributeValue* Attributes::find(std::string_view name) const {
  for (const auto& [key, held] : values_)
    if (key == name) return &held;
  return nullptr;
}

bool Attributes::flag(std::string_view name, bool otherwise) const { return get(find(name), name, otherwise); }
std::int64_t Attributes::integer(std::string_view name, std::int64_t otherwise) const {
  return get(find(name), name, otherwise);
}
double Attributes::number(std::string_view name, double otherwise) const {
  const AttributeValue* value = find(name);
  if (value != nullptr)
    if (const auto* integer = std::get_if<std::int64_t>(value)) return static_cast<double>(*integer);
  return get(value, name, otherwise);
}
Shape Attributes::list(std::string_view name, const Shape& otherwise) const { return get(find(name), name, otherwise); }
std::string Attributes::text(std::string_view name, std::string_view otherwise) const {
  return get(find(name), name, std::string(otherwise));
}
DType Attributes::dtype(std::string_view name, DType otherwise) const { return get(find(name), name, otherwise); }

}  // namespace amp
