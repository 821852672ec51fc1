// Operands as plain row-major memory in a compute type, for bodies whose inner loops want pointers.
#pragma once
#include <memory>

#include "libamp/backend/cpu/elementwise.h"

namespace amp::cpu {

/// The tensor itself if it is contiguous, else a contiguous copy in the same dtype.
Tensor dense(const Tensor& tensor);

/// All elements of a tensor in compute type C, row-major: the tensor's own memory where that fits, else a temporary.
template <typename C>
class Wide {
 public:
  explicit Wide(const Tensor& tensor) : tensor_(tensor.defined() ? dense(tensor) : tensor) {
    if (!tensor_.defined()) return;
    if (tensor_.dtype() == kDTypeOf<C>) {
      data_ = tensor_.data<C>();
      return;
    }
    const std::int64_t n = tensor_.numel();
    buffer_ = std::make_unique<Workspace>(static_cast<std::size_t>(n) * sizeof(C), false);
    C* wide = buffer_->template data<C>();
    parallel_for(n, kGrain, [&](std::int64_t begin, std::int64_t end) {
      load_as<C>(tensor_.raw(), tensor_.dtype(), begin, 1, end - begin, wide + begin);
    });
    data_ = wide;
  }
  /// Null for an undefined tensor.
  [[nodiscard]] const C* data() const { return data_; }
  const C& operator[](std::int64_t i) const { return data_[i]; }
  explicit operator bool() const { return data_ != nullptr; }

 private:
  Tensor tensor_;
  std::unique_ptr<Workspace> buffer_;
  const C* data_ = nullptr;
};

/// Equal slices of a contiguous tensor in compute type C, such as the images of a batch: widened one at a time, and
/// held while the same one is asked for. One reader per thread.
template <typename C>
class Slices {
 public:
  Slices(const Tensor& tensor, std::int64_t slice_elements) : tensor_(tensor), n_(slice_elements) {
    if (tensor.dtype() != kDTypeOf<C>)
      buffer_ = std::make_unique<Workspace>(static_cast<std::size_t>(n_) * sizeof(C), false);
  }
  const C* at(std::int64_t slice) {
    if (!buffer_) return tensor_.data<C>() + slice * n_;
    if (slice != held_) load_as<C>(tensor_.raw(), tensor_.dtype(), slice * n_, 1, n_, buffer_->template data<C>());
    held_ = slice;
    return buffer_->template data<C>();
  }

 private:
  const Tensor& tensor_;
  std::int64_t n_, held_ = -1;
  std::unique_ptr<Workspace> buffer_;
};

/// A contiguous output written in pieces of compute type C: pieces point into the tensor where it has that type, else
/// into `buffer` and are rounded on store().
template <typename C>
class Piece {
 public:
  Piece(const Tensor& out, std::int64_t offset, std::int64_t n, C* buffer)
      : out_(out), offset_(offset), n_(n), direct_(out.dtype() == kDTypeOf<C>) {
    data_ = direct_ ? out.data<C>() + offset : buffer;
  }
  [[nodiscard]] C* data() const { return data_; }
  void store() const {
    if (!direct_) store_from<C>(out_.raw(), out_.dtype(), offset_, 1, n_, data_);
  }

 private:
  const Tensor& out_;
  std::int64_t offset_, n_;
  bool direct_;
  C* data_;
};

}  // namespace amp::cpu
