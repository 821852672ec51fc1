// Sizes and strides of a tensor: a short inline array, so that making a tensor allocates only its storage.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "libamp/base/error.h"

namespace amp {

/// Most dimensions a tensor can have.
inline constexpr int kMaxDims = 8;

/// A list of up to kMaxDims 64-bit integers: a shape, strides, or a list of dims. Longer lists throw.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> values) : Shape(std::span(values.begin(), values.size())) {}
  Shape(const std::vector<std::int64_t>& values) : Shape(std::span(values)) {}
  explicit Shape(std::span<const std::int64_t> values) {
    for (const auto v : values) push_back(v);
  }

  [[nodiscard]] int size() const { return size_; }  ///< how many numbers; the rest is as in std::vector
  [[nodiscard]] bool empty() const { return size_ == 0; }
  std::int64_t& operator[](int i) { return values_[i]; }
  std::int64_t operator[](int i) const { return values_[i]; }
  [[nodiscard]] std::int64_t back() const { return values_[size_ - 1]; }
  void push_back(std::int64_t value) {
    if (size_ == kMaxDims) fail(ErrorCode::runtime, "tensor", "too many dimensions: need at most 8");
    values_[size_++] = value;
  }
  void insert(int at, std::int64_t value) {
    push_back(value);
    for (int i = size_ - 1; i > at; --i) values_[i] = values_[i - 1];
    values_[at] = value;
  }
  void erase(int at) {
    for (int i = at; i + 1 < size_; ++i) values_[i] = values_[i + 1];
    --size_;
  }
  std::int64_t* begin() { return values_; }
  std::int64_t* end() { return values_ + size_; }
  [[nodiscard]] const std::int64_t* begin() const { return values_; }
  [[nodiscard]] const std::int64_t* end() const { return values_ + size_; }
  [[nodiscard]] std::vector<std::int64_t> vec() const { return {begin(), end()}; }

  friend bool operator==(const Shape& a, const Shape& b) {
    if (a.size_ != b.size_) return false;
    for (int i = 0; i < a.size_; ++i)
      if (a.values_[i] != b.values_[i]) return false;
    return true;
  }

 private:
  std::int64_t values_[kMaxDims] = {};
  int size_ = 0;
};

/// Product of the sizes; 1 for the empty shape. Throws if it does not fit 63 bits or a size is negative.
std::int64_t numel_of(const Shape& sizes);
/// Row-major strides, in elements.
Shape contiguous_strides(const Shape& sizes);
/// Shape both broadcast to, or an Error that names `where` and both shapes.
Shape broadcast_shapes(const Shape& a, const Shape& b, std::string_view where);
/// "[2, 3]"
std::string to_string(const Shape& shape);
/// Maps a dim in [-ndim, ndim) to [0, ndim); ndim 0 counts as 1, as in PyTorch. Throws index errors.
int wrap_dim(std::int64_t dim, int ndim, std::string_view where);

}  // namespace amp
