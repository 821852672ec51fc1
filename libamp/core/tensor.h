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
struct SparseParts;
class Tensor;
using Tensors = std::vector<Tensor>;
struct ValuesIndices;  // ops/reduce.h

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
  std::shared_ptr<const SparseParts> sparse;  // null: dense. Else `storage` is that of the values
};

/// A handle with shared ownership, cheap to copy. Copying a handle copies no data. An undefined tensor stands for
/// "none" (an optional argument left out, a gradient that is not there).
/// Thread rules as in PyTorch: reading one tensor from several threads is fine, changing it is not.
/// Methods that compute are declared here for PyTorch's spelling and defined in ops/tensor_methods.cpp.
class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(std::shared_ptr<TensorImpl> impl) : impl_(std::move(impl)) {}

  [[nodiscard]] bool defined() const { return impl_ != nullptr; }  ///< false: "none"
  explicit operator bool() const { return defined(); }
  [[nodiscard]] TensorImpl* impl() const { return impl_.get(); }  ///< for libamp itself
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
  // -- sparse tensors in coordinate form, see ops/sparse.h; the parts are errors for dense ones
  [[nodiscard]] bool is_sparse() const { return need().sparse != nullptr; }
  [[nodiscard]] bool is_coalesced() const;
  [[nodiscard]] Tensor indices() const;  ///< int64 [sparse_dim, nnz]; of a tensor that is not coalesced too
  [[nodiscard]] Tensor values() const;   ///< [nnz, ...]
  [[nodiscard]] Tensor coalesce() const;
  [[nodiscard]] Tensor to_dense() const;  ///< the tensor itself if it is dense

  /// Goes up with every change of the data in place.
  [[nodiscard]] std::uint32_t version() const { return need().storage->version(); }
  void bump_version() const { need().storage->bump_version(); }

  // -- raw data; the caller knows dtype and strides. Error(runtime) for a sparse tensor
  [[nodiscard]] void* raw() const {
    if (need().sparse) [[unlikely]]
      fail_sparse();
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
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
      if (!is_floating(dtype())) return static_cast<T>(item_as_int64());  // exact above 2^53
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
  /// Cuts this tensor off its history. Error(runtime) for views, whose base would keep it.
  const Tensor& detach_() const;
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
  // pointwise functions (ops/pointwise.h)
  [[nodiscard]] Tensor abs() const;
  [[nodiscard]] Tensor sign() const;
  [[nodiscard]] Tensor floor() const;
  [[nodiscard]] Tensor ceil() const;
  [[nodiscard]] Tensor round() const;
  [[nodiscard]] Tensor trunc() const;
  [[nodiscard]] Tensor frac() const;
  [[nodiscard]] Tensor sqrt() const;
  [[nodiscard]] Tensor square() const;
  [[nodiscard]] Tensor sin() const;
  [[nodiscard]] Tensor cos() const;
  [[nodiscard]] Tensor tan() const;
  [[nodiscard]] Tensor asin() const;
  [[nodiscard]] Tensor acos() const;
  [[nodiscard]] Tensor atan() const;
  [[nodiscard]] Tensor sinh() const;
  [[nodiscard]] Tensor cosh() const;
  [[nodiscard]] Tensor asinh() const;
  [[nodiscard]] Tensor acosh() const;
  [[nodiscard]] Tensor atanh() const;
  [[nodiscard]] Tensor tanh() const;
  [[nodiscard]] Tensor erf() const;
  [[nodiscard]] Tensor erfc() const;
  [[nodiscard]] Tensor erfinv() const;
  [[nodiscard]] Tensor exp() const;
  [[nodiscard]] Tensor exp2() const;
  [[nodiscard]] Tensor expm1() const;
  [[nodiscard]] Tensor log() const;
  [[nodiscard]] Tensor log2() const;
  [[nodiscard]] Tensor log10() const;
  [[nodiscard]] Tensor log1p() const;
  [[nodiscard]] Tensor reciprocal() const;
  [[nodiscard]] Tensor rsqrt() const;
  [[nodiscard]] Tensor sigmoid() const;
  [[nodiscard]] Tensor relu() const;
  [[nodiscard]] Tensor neg() const;
  [[nodiscard]] Tensor isnan() const;
  [[nodiscard]] Tensor isinf() const;
  [[nodiscard]] Tensor isfinite() const;
  [[nodiscard]] Tensor logical_not() const;
  [[nodiscard]] Tensor bitwise_not() const;
  [[nodiscard]] Tensor pow(double exponent) const;
  [[nodiscard]] Tensor pow(const Tensor& exponent) const;
  [[nodiscard]] Tensor clamp(std::optional<double> min, std::optional<double> max = {}) const;
  [[nodiscard]] Tensor clamp_min(double min) const { return clamp(min); }
  [[nodiscard]] Tensor clamp_max(double max) const { return clamp({}, max); }
  [[nodiscard]] Tensor nan_to_num(double nan = 0) const;
  [[nodiscard]] Tensor add(const Tensor& other, double alpha = 1) const;
  [[nodiscard]] Tensor sub(const Tensor& other, double alpha = 1) const;
  [[nodiscard]] Tensor mul(const Tensor& other) const;
  [[nodiscard]] Tensor div(const Tensor& other) const;
  [[nodiscard]] Tensor add(double other) const;
  [[nodiscard]] Tensor sub(double other) const;
  [[nodiscard]] Tensor mul(double other) const;
  [[nodiscard]] Tensor div(double other) const;
  [[nodiscard]] Tensor remainder(const Tensor& other) const;
  [[nodiscard]] Tensor remainder(double other) const;
  [[nodiscard]] Tensor fmod(const Tensor& other) const;
  [[nodiscard]] Tensor fmod(double other) const;
  [[nodiscard]] Tensor floor_divide(const Tensor& other) const;
  [[nodiscard]] Tensor floor_divide(double other) const;
  [[nodiscard]] Tensor lerp(const Tensor& end, double weight) const;
  [[nodiscard]] Tensor addcmul(const Tensor& tensor1, const Tensor& tensor2, double value = 1) const;
  [[nodiscard]] Tensor addcdiv(const Tensor& tensor1, const Tensor& tensor2, double value = 1) const;
  [[nodiscard]] Tensor masked_fill(const Tensor& mask, double value) const;
  [[nodiscard]] Tensor where(const Tensor& condition, const Tensor& other) const;
  [[nodiscard]] Tensor maximum(const Tensor& other) const;
  [[nodiscard]] Tensor minimum(const Tensor& other) const;
  [[nodiscard]] Tensor atan2(const Tensor& other) const;
  [[nodiscard]] Tensor logical_and(const Tensor& other) const;
  [[nodiscard]] Tensor logical_or(const Tensor& other) const;
  [[nodiscard]] Tensor logical_xor(const Tensor& other) const;
  [[nodiscard]] Tensor bitwise_and(const Tensor& other) const;
  [[nodiscard]] Tensor bitwise_or(const Tensor& other) const;
  [[nodiscard]] Tensor bitwise_xor(const Tensor& other) const;
  [[nodiscard]] Tensor dot(const Tensor& other) const;
  [[nodiscard]] Tensor mm(const Tensor& other) const;
  [[nodiscard]] Tensor mv(const Tensor& other) const;
  [[nodiscard]] Tensor bmm(const Tensor& other) const;
  [[nodiscard]] Tensor eq(double other) const;
  [[nodiscard]] Tensor ne(const Tensor& other) const;
  [[nodiscard]] Tensor ne(double other) const;
  [[nodiscard]] Tensor lt(const Tensor& other) const;
  [[nodiscard]] Tensor lt(double other) const;
  [[nodiscard]] Tensor le(const Tensor& other) const;
  [[nodiscard]] Tensor le(double other) const;
  [[nodiscard]] Tensor gt(const Tensor& other) const;
  [[nodiscard]] Tensor gt(double other) const;
  [[nodiscard]] Tensor ge(const Tensor& other) const;
  [[nodiscard]] Tensor ge(double other) const;
  [[nodiscard]] bool equal(const Tensor& other) const;
  [[nodiscard]] bool allclose(const Tensor& other, double rtol = 1e-5, double atol = 1e-8) const;
  // products, softmax
  [[nodiscard]] Tensor addmm(const Tensor& mat1, const Tensor& mat2, double beta = 1, double alpha = 1) const;
  [[nodiscard]] Tensor baddbmm(const Tensor& batch1, const Tensor& batch2, double beta = 1, double alpha = 1) const;
  [[nodiscard]] Tensor softmax(std::int64_t dim, std::optional<DType> dtype = {}) const;
  [[nodiscard]] Tensor log_softmax(std::int64_t dim, std::optional<DType> dtype = {}) const;
  // reductions, scans, orders (ops/reduce.h)
  [[nodiscard]] Tensor prod(std::optional<DType> dtype = {}) const;
  [[nodiscard]] Tensor prod(std::int64_t dim, bool keepdim = false, std::optional<DType> dtype = {}) const;
  [[nodiscard]] Tensor var(const Shape& dims = {}, double correction = 1, bool keepdim = false) const;
  [[nodiscard]] Tensor std(const Shape& dims = {}, double correction = 1, bool keepdim = false) const;
  [[nodiscard]] Tensor norm(double p = 2, const Shape& dims = {}, bool keepdim = false) const;
  [[nodiscard]] Tensor logsumexp(const Shape& dims, bool keepdim = false) const;
  [[nodiscard]] Tensor max() const;
  [[nodiscard]] Tensor min() const;
  [[nodiscard]] ValuesIndices max(std::int64_t dim, bool keepdim = false) const;
  [[nodiscard]] ValuesIndices min(std::int64_t dim, bool keepdim = false) const;
  [[nodiscard]] Tensor amax(const Shape& dims = {}, bool keepdim = false) const;
  [[nodiscard]] Tensor amin(const Shape& dims = {}, bool keepdim = false) const;
  [[nodiscard]] Tensor argmin(std::int64_t dim, bool keepdim = false) const;
  [[nodiscard]] Tensor argmax() const;
  [[nodiscard]] Tensor argmin() const;
  [[nodiscard]] Tensor all(const Shape& dims = {}, bool keepdim = false) const;
  [[nodiscard]] Tensor any(const Shape& dims = {}, bool keepdim = false) const;
  [[nodiscard]] Tensor median() const;
  [[nodiscard]] ValuesIndices median(std::int64_t dim, bool keepdim = false) const;
  [[nodiscard]] ValuesIndices topk(std::int64_t k, std::int64_t dim = -1, bool largest = true) const;
  [[nodiscard]] ValuesIndices sort(std::int64_t dim = -1, bool descending = false) const;
  [[nodiscard]] Tensor argsort(std::int64_t dim = -1, bool descending = false) const;
  [[nodiscard]] Tensor cumsum(std::int64_t dim, std::optional<DType> dtype = {}) const;
  [[nodiscard]] Tensor cumprod(std::int64_t dim, std::optional<DType> dtype = {}) const;
  [[nodiscard]] ValuesIndices cummax(std::int64_t dim) const;
  [[nodiscard]] ValuesIndices cummin(std::int64_t dim) const;
  [[nodiscard]] Tensor logcumsumexp(std::int64_t dim) const;
  // indices and places (ops/index.h, arrange.h, join.h, view.h)
  [[nodiscard]] Tensor index(const Tensors& indices) const;
  [[nodiscard]] Tensor gather(std::int64_t dim, const Tensor& index) const;
  [[nodiscard]] Tensor scatter(std::int64_t dim, const Tensor& index, const Tensor& src) const;
  [[nodiscard]] Tensor scatter_add(std::int64_t dim, const Tensor& index, const Tensor& src) const;
  [[nodiscard]] Tensor index_select(std::int64_t dim, const Tensor& index) const;
  [[nodiscard]] Tensor index_copy(std::int64_t dim, const Tensor& index, const Tensor& source) const;
  [[nodiscard]] Tensor index_add(std::int64_t dim, const Tensor& index, const Tensor& source) const;
  [[nodiscard]] Tensor masked_select(const Tensor& mask) const;
  [[nodiscard]] Tensor nonzero() const;
  [[nodiscard]] Tensor triu(std::int64_t diagonal = 0) const;
  [[nodiscard]] Tensor tril(std::int64_t diagonal = 0) const;
  [[nodiscard]] Tensor diagonal(std::int64_t offset = 0, std::int64_t dim1 = 0, std::int64_t dim2 = 1) const;
  [[nodiscard]] Tensor diag(std::int64_t diagonal = 0) const;
  [[nodiscard]] Tensor trace() const;
  [[nodiscard]] Tensor flip(const Shape& dims) const;
  [[nodiscard]] Tensor roll(const Shape& shifts, const Shape& dims = {}) const;
  [[nodiscard]] Tensor repeat(const Shape& repeats) const;
  [[nodiscard]] Tensor tile(const Shape& dims) const;
  [[nodiscard]] Tensor repeat_interleave(std::int64_t repeats, std::optional<std::int64_t> dim = {}) const;
  [[nodiscard]] Tensors split(std::int64_t size, std::int64_t dim = 0) const;
  [[nodiscard]] Tensors split(const Shape& sizes, std::int64_t dim = 0) const;
  [[nodiscard]] Tensors chunk(std::int64_t chunks, std::int64_t dim = 0) const;
  [[nodiscard]] Tensors unbind(std::int64_t dim = 0) const;
  [[nodiscard]] Tensor movedim(std::int64_t source, std::int64_t destination) const;
  [[nodiscard]] Tensor unflatten(std::int64_t dim, const Shape& sizes) const;
  [[nodiscard]] Tensor slice(std::int64_t dim, std::int64_t start, std::int64_t end, std::int64_t step = 1) const;
  [[nodiscard]] Tensor view_as(const Tensor& other) const { return view(other.sizes()); }
  [[nodiscard]] Tensor reshape_as(const Tensor& other) const { return reshape(other.sizes()); }
  [[nodiscard]] Tensor expand_as(const Tensor& other) const { return expand(other.sizes()); }
  [[nodiscard]] Tensor type_as(const Tensor& other) const { return to(other.dtype()); }
  const Tensor& copy_(const Tensor& source) const;
  const Tensor& fill_(double value) const;
  const Tensor& zero_() const;
  const Tensor& add_(const Tensor& other, double alpha = 1) const;
  const Tensor& sub_(const Tensor& other, double alpha = 1) const;
  const Tensor& mul_(const Tensor& other) const;
  const Tensor& div_(const Tensor& other) const;
  const Tensor& add_(double other) const;
  const Tensor& sub_(double other) const;
  const Tensor& mul_(double other) const;
  const Tensor& div_(double other) const;
  // in-place forms: never autocast, and an error on a leaf that requires a gradient
  const Tensor& abs_() const;
  const Tensor& sign_() const;
  const Tensor& floor_() const;
  const Tensor& ceil_() const;
  const Tensor& round_() const;
  const Tensor& trunc_() const;
  const Tensor& sqrt_() const;
  const Tensor& sin_() const;
  const Tensor& cos_() const;
  const Tensor& tan_() const;
  const Tensor& asin_() const;
  const Tensor& acos_() const;
  const Tensor& atan_() const;
  const Tensor& sinh_() const;
  const Tensor& cosh_() const;
  const Tensor& tanh_() const;
  const Tensor& erf_() const;
  const Tensor& erfc_() const;
  const Tensor& erfinv_() const;
  const Tensor& exp_() const;
  const Tensor& exp2_() const;
  const Tensor& expm1_() const;
  const Tensor& log_() const;
  const Tensor& log2_() const;
  const Tensor& log10_() const;
  const Tensor& log1p_() const;
  const Tensor& reciprocal_() const;
  const Tensor& rsqrt_() const;
  const Tensor& sigmoid_() const;
  const Tensor& relu_() const;
  const Tensor& neg_() const;
  const Tensor& logical_not_() const;
  const Tensor& bitwise_not_() const;
  const Tensor& pow_(double exponent) const;
  const Tensor& pow_(const Tensor& exponent) const;
  const Tensor& clamp_(std::optional<double> min, std::optional<double> max = {}) const;
  const Tensor& clamp_min_(double min) const { return clamp_(min); }
  const Tensor& clamp_max_(double max) const { return clamp_({}, max); }
  const Tensor& remainder_(double other) const;
  const Tensor& fmod_(double other) const;
  const Tensor& floor_divide_(double other) const;
  const Tensor& lerp_(const Tensor& end, double weight) const;
  const Tensor& addcmul_(const Tensor& tensor1, const Tensor& tensor2, double value = 1) const;
  const Tensor& addcdiv_(const Tensor& tensor1, const Tensor& tensor2, double value = 1) const;
  const Tensor& addmm_(const Tensor& mat1, const Tensor& mat2, double beta = 1, double alpha = 1) const;
  const Tensor& baddbmm_(const Tensor& batch1, const Tensor& batch2, double beta = 1, double alpha = 1) const;
  const Tensor& masked_fill_(const Tensor& mask, double value) const;
  const Tensor& index_put_(const Tensors& indices, const Tensor& values, bool accumulate = false) const;
  const Tensor& scatter_(std::int64_t dim, const Tensor& index, const Tensor& src) const;
  const Tensor& scatter_add_(std::int64_t dim, const Tensor& index, const Tensor& src) const;
  const Tensor& index_copy_(std::int64_t dim, const Tensor& index, const Tensor& source) const;
  const Tensor& index_add_(std::int64_t dim, const Tensor& index, const Tensor& source) const;
  const Tensor& index_fill_(std::int64_t dim, const Tensor& index, double value) const;
  const Tensor& triu_(std::int64_t diagonal = 0) const;
  const Tensor& tril_(std::int64_t diagonal = 0) const;
  const Tensor& cumsum_(std::int64_t dim) const;
  const Tensor& cumprod_(std::int64_t dim) const;
  /// Random values: uniform in [from, to), normal, 1 with probability p.
  const Tensor& uniform_(double from = 0, double to = 1) const;
  const Tensor& normal_(double mean = 0, double std = 1) const;
  const Tensor& bernoulli_(double p = 0.5) const;

 private:
  [[nodiscard]] TensorImpl& need() const {
    if (!impl_) [[unlikely]]
      fail_undefined();
    return *impl_;
  }
  [[noreturn]] static void fail_undefined();
  [[noreturn]] void fail_sparse() const;
  std::shared_ptr<TensorImpl> impl_;
};

/// Where a sparse tensor's elements are, and what they are.
struct SparseParts {
  Tensor indices, values;
  bool coalesced = false;
};

/// A new tensor with uninitialised, contiguous data.
Tensor empty(const Shape& sizes, DType dtype = DType::float32, Device device = kCPU);
/// A tensor over the same storage with other sizes, strides and offset (elements). Core-level: notes nothing on the
/// tape.
Tensor make_view(const Tensor& base, const Shape& sizes, const Shape& strides, std::int64_t offset);
/// "float16[2, 3]", for messages; "none" if undefined; "sparse " in front of sparse ones.
std::string describe(const Tensor& tensor);

/// Type two tensors meet in, by PyTorch's rules: category (bool < integer < floating) of dimensioned tensors beats
/// 0-dim tensors, which beat wrapped numbers. float8 types promote with nothing but themselves.
DType promote_types(DType a, DType b);
DType result_type(const Tensors& operands);

}  // namespace amp
