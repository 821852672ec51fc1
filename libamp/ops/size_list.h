// Arguments like stride or kernel_size: one number for all spatial dims, or one for each.
#pragma once
#include <initializer_list>
#include <string_view>

#include "libamp/core/shape.h"

namespace amp {

/// `2`, `{2, 1}` or a Shape, as PyTorch takes an int or a tuple.
class SizeList {
 public:
  SizeList() = default;
  SizeList(int value) : values_{value} {}
  SizeList(std::int64_t value) : values_{value} {}
  SizeList(std::initializer_list<std::int64_t> values) : values_(values) {}
  SizeList(const Shape& values) : values_(values) {}

  /// Left out: the op takes its default.
  [[nodiscard]] bool empty() const { return values_.empty(); }
  /// As they were given, not expanded.
  [[nodiscard]] const Shape& values() const { return values_; }
  /// One number per spatial dim; `where` names the op and argument in the error.
  [[nodiscard]] Shape expand(int spatial, std::string_view where) const {
    if (values_.size() == spatial) return values_;
    if (values_.size() != 1)
      fail(ErrorCode::runtime, where,
           "wrong number of values: got " + to_string(values_) + ", need 1 or " + std::to_string(spatial));
    Shape all;
    for (int d = 0; d < spatial; ++d) all.push_back(values_[0]);
    return all;
  }

 private:
  Shape values_;
};

/// Padding of a convolution: numbers, or "valid" (none) or "same" (the output has the input's size; stride 1 only).
class ConvPadding : public SizeList {
 public:
  using SizeList::SizeList;
  ConvPadding(const char* mode) : mode_(mode) {}
  /// The word that was given; empty for numbers.
  [[nodiscard]] std::string_view mode() const { return mode_; }

 private:
  std::string_view mode_;
};

}  // namespace amp
