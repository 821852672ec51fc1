// The non-tensor arguments of an op call, by PyTorch's parameter names. Few per call, so a short list is searched.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "libamp/base/words.h"
#include "libamp/core/shape.h"

namespace amp {

using AttributeValue = std::variant<bool, std::int64_t, double, Shape, std::string, DType>;

/// Names must be string literals: they are kept as views.
class Attributes {
 public:
  Attributes() = default;
  Attributes(std::initializer_list<std::pair<std::string_view, AttributeValue>> values) : values_(values) {}

  void set(std::string_view name, AttributeValue value);
  [[nodiscard]] const AttributeValue* find(std::string_view name) const;
  [[nodiscard]] bool has(std::string_view name) const { return find(name) != nullptr; }

  /// The value of that name, or `otherwise` if it is not there. An int64 is taken where a double is asked for.
  /// A value of another type is a bug of the caller and throws Error(type).
  [[nodiscard]] bool flag(std::string_view name, bool otherwise) const;
  [[nodiscard]] std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
  [[nodiscard]] double number(std::string_view name, double otherwise) const;
  [[nodiscard]] Shape list(std::string_view name, const Shape& otherwise) const;
  [[nodiscard]] std::string text(std::string_view name, std::string_view otherwise) const;
  [[nodiscard]] DType dtype(std::string_view name, DType otherwise) const;

  [[nodiscard]] auto begin() const { return values_.begin(); }
  [[nodiscard]] auto end() const { return values_.end(); }

 private:
  std::vector<std::pair<std::string_view, AttributeValue>> values_;
};

}  // namespace amp
