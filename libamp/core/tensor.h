// The tensor: a handle to shared data with sizes, strides and a dtype. What autograd knows about it hangs behind an
// opaque pointer, so that core knows no gradients.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libamp/base/half.h"
#include "libamp/core/context.h"
#include "libamp/core/shape.h"
#include "libamp/core/storage.h"

namespace amp {

struct AutogradMeta;  // tape/autograd_meta.h
class Tensor;
using Tensors = std::vector<Tensor>;

/// dtype, device and requires_grad for factory functions, all optional as in PyTorch's TensorOptions.
struct TensorOptions {
  DType dtype = DType::float32;
  Device device = kCPU;
  bool requires_grad = false;
};

/// The object behind a handle. Its address is the tensor's identity (the cast cache keys on it).
struct TensorImpl {
  std::shared_ptr<Storage> storage;
  std::int64_t offset = 0;  // elements
  Shape sizes, strides;     // strides in elements
  DType dtype = DType::float32;
  bool is_view = false;            // shares another tensor's storage
  bool is_wrapped_number = false;  // a C++ number turned into a 0-dim tensor: weaker in type promotion
  std::shared_ptr<AutogradMeta> autograd;
};

/// A handle with shared ownership, cheap to copy. Copying a handle copies no data. An undefined tensor stands for
/// "none" (an optional argument left out, a gradient that is not there).
/// Thread rules as in PyTorch: reading one tensor from several threads is fine, changing it is not.
/// Methods that compute are declared here for PyTorch's spelling and defined in ops/tensor_methods.cpp.
class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(std::shared_ptr<TensorImpl> impl) : impl_(std::move(impl)) {}

  [[nodiscard]] bool defined() const { return impl_ != nullptr; }
  explicit operator bool() const { return defined(); }
  [[nodiscard]] TensorImpl* impl() const { return impl_.get(); }
  [[nodiscard]] const std::shared_ptr<TensorImpl>& impl_ptr() const { return impl_; }

  // -- facts; Error(runtime) for an undefined tensor, as by every method that needs one
  [[nodiscard]] const Shape& sizes() const { return need().sizes; }
  [[nodiscard]] const Shape& strides() const { return need().strides; }
  [[nodiscard]] std::int64_t size(std::int64_t d) const { return need().sizes[wrap_dim(d, dim(), "size")]; }
  [[nodiscard]] int dim() const { return need().sizes.size(); }
  [[nodiscard]] std::int64_t numel() const { return numel_of(need().sizes); }
  [[nodiscard]] DType dtype() const { return need().dtype; }
  [[nodiscard]] Device device() const { return need().storage->device(); }
  [[nodiscard]] bool is_floating_point() const { return is_floating(need().dtype); }
  [[nodiscard]] bool is_contiguous() const;
  [[nodiscard]] bool is_same(const Tensor& other) const { return impl_ == other.impl_; }
  [[nodiscard]] std::uint32_t version() const { return need().storage->version(); }
  void bump_version() const { need().storage->bump_version(); }

  // -- raw data; the caller knows dtype and strides
  [[nodiscard]] void* raw() const {
    return static_cast<std::byte*>(need().storage->data()) +
           need().offset * static_cast<std::int64_t>(size_of(dtype()));
  }
  template <typename T>
  [[nodiscard]] T* data() const {
    return static_cast<T*>(raw());
  }
  /// The value of a one-element tensor, converted. Throws if it has not exactly one element.
  template <typename T = double>
  [[nodiscard]] T item() const {
    return static_cast<T>(item_as_double());
  }
  [[nodiscard]] double item_as_double() const;
  [[nodiscard]] std::int64_t item_as_int64() const;
  /// All elements in row-major order, converted to double. For tests and small results.
  [[nodiscard]] std::vector<double> to_vector() const;

  // -- autograd (defined in autograd/)
  [[nodiscard]] bool requires_grad() const;
  const Tensor& requires_grad_(bool on = true) const;
  [[nodiscard]] bool is_leaf() const;
  /// The accumulated gradient; undefined if there is none. Assignable: `p.set_grad(g)`, `p.set_grad({})`.
  [[nodiscard]] Tensor grad() const;
  void set_grad(const Tensor& gradient) const;
  void retain_grad() const;
  /// Back-propagates from this tensor; `gradient` may be left out for one-element tensors.
  void backward(const Tensor& gradient = {}, bool retain_graph = false, bool create_graph = false) const;
  [[nodiscard]] Tensor detach() const;
  /// A name for messages and reports, such as the parameter's path. Not copied by ops.
  [[nodiscard]] StringId name() const;
  void set_name(StringId name) const;

  // -- computing (defined in ops/tensor_methods.cpp); see ops/ops.h for the functions they call
  [[nodiscard]] Tensor to(DType dtype) const;
  [[nodiscard]] Tensor to(Device device) const;
  [[nodiscard]] Tensor to_float() const { return to(DType::float32); }
  [[nodiscard]] Tensor half() const { return to(DType::float16); }
  [[nodiscard]] Tensor bfloat16() const { return to(DType::bfloat16); }
  [[nodiscard]] Tensor clone() const;
  [[nodiscard]] Tensor contiguous() const;
  [[nodiscard]] Tensor view(const Shape& sizes) const;
  [[nodiscard]] Tensor reshape(const Shape& sizes) const;
  [[nodiscard]] Tensor flatten(std::int64_t start_dim = 0, std::int64_t end_dim = -1) const;
  [[nodiscard]] Tensor expand(const Shape& sizes) const;
  [[nodiscard]] Tensor permute(const Shape& dims) const;
  [[nodiscard]] Tensor transpose(std::int64_t dim0, std::int64_t dim1) const;
  [[nodiscard]] Tensor t() const;
  [[nodiscard]] Tensor unsqueeze(std::int64_t dim) const;
  [[nodiscard]] Tensor squeeze() const;
  [[nodiscard]] Tensor squeeze(std::int64_t dim) const;
  [[nodiscard]] Tensor narrow(std::int64_t dim, std::int64_t start, std::int64_t length) const;
  [[nodiscard]] Tensor select(std::int64_t dim, std::int64_t index) const;
  [[nodiscard]] Tensor operator[](std::int64_t index) const { return select(0, index); }
  [[nodiscard]] Tensor matmul(const Tensor& other) const;
  [[nodiscard]] Tensor sum(std::optional<DType> dtype = {}) const;
  [[nodiscard]] Tensor sum(const Shape& dims, bool keepdim = false, std::optional<DType> dtype = {}) const;
  [[nodiscard]] Tensor mean() const;
  [[nodiscard]] Tensor mean(const Shape& dims, bool keepdim = false) const;
  [[nodiscard]] Tensor argmax(std::int64_t dim, bool keepdim = false) const;
  [[nodiscard]] Tensor eq(const Tensor& other) const;
  const Tensor& copy_(const Tensor& source) const;
  const Tensor& fill_(double value) const;
  const Tensor& zero_() const { return fill_(0); }
  const Tensor& add_(const Tensor& other, double alpha = 1) const;
  const Tensor& sub_(const Tensor& other, double alpha = 1) const;
  const Tensor& mul_(const Tensor& other) const;
  const Tensor& div_(const Tensor& other) const;
  const Tensor& add_(double other) const;
  const Tensor& sub_(double other) const;
  const Tensor& mul_(double other) const;
  const Tensor& div_(double other) const;

 private:
  [[nodiscard]] TensorImpl& need() const {
    if (!impl_) [[unlikely]]
      fail_undefined();
    return *impl_;
  }
  [[noreturn]] static void fail_undefined();
  std::shared_ptr<TensorImpl> impl_;
};

/// A new tensor with uninitialised, contiguous data.
Tensor empty(const Shape& sizes, DType dtype = DType::float32, Device device = kCPU);
/// A tensor over the same storage with other sizes, strides and offset (elements). Core-level: notes nothing on the
/// tape.
Tensor make_view(const Tensor& base, const Shape& sizes, const Shape& strides, std::int64_t offset);
/// "float16[2, 3] on cpu", for messages; "none" if undefined.
std::string describe(const Tensor& tensor);

/// Type two tensors meet in, by PyTorch's rules: category (bool < integer < floating) of dimensioned tensors beats
/// 0-dim tensors, which beat wrapped numbers. float8 types promote with nothing but themselves.
DType promote_types(DType a, DType b);
DType result_type(const Tensors& operands);

}  // namespace amp
