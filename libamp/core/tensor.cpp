// Making tensors, reading single values, and type promotion.
#include "libamp/core/tensor.h"

#include "libamp/core/dtype_dispatch.h"

namespace amp {
namespace {

double read_element(const void* at, DType dtype) {
  return dispatch_dtype(dtype,
                        [&]<typename T>(TypeTag<T>) { return convert_element<double>(*static_cast<const T*>(at)); });
}

const void* element_at(const Tensor& t, std::int64_t flat) {
  std::int64_t at = 0;
  for (int d = t.dim() - 1; d >= 0; --d) {
    at += flat % t.sizes()[d] * t.strides()[d];
    flat /= t.sizes()[d];
  }
  return t.data<std::byte>() + at * static_cast<std::int64_t>(size_of(t.dtype()));
}

void require_one_element(const Tensor& t) {
  if (!t.defined()) fail(ErrorCode::runtime, "item", "need a tensor, got none");
  if (t.numel() != 1) fail(ErrorCode::runtime, "item", "need a tensor of one element, got " + describe(t));
}

std::size_t bytes_if_fp32(std::int64_t numel, DType dtype) {
  return static_cast<std::size_t>(numel) * (is_low_precision(dtype) ? 4 : size_of(dtype));
}

}  // namespace

void Tensor::fail_undefined() { fail(ErrorCode::runtime, "tensor", "need a tensor, got none (an undefined tensor)"); }

void Tensor::fail_sparse() const {
  fail(ErrorCode::runtime, "tensor", "need a dense tensor, got " + describe(*this) + "; need to_dense()");
}

bool Tensor::is_contiguous() const {
  if (is_sparse()) return false;
  if (numel() == 0) return true;  // there is nothing to be out of order
  std::int64_t step = 1;
  for (int d = dim() - 1; d >= 0; --d) {
    if (sizes()[d] == 1) continue;
    if (strides()[d] != step) return false;
    step *= sizes()[d];
  }
  return true;
}

namespace {
const SparseParts& sparse_parts(const Tensor& t, const char* where) {
  if (!t.is_sparse()) fail(ErrorCode::runtime, where, "need a sparse tensor, got " + describe(t));
  return *t.impl()->sparse;
}
}  // namespace

bool Tensor::is_coalesced() const { return sparse_parts(*this, "is_coalesced").coalesced; }
Tensor Tensor::indices() const { return sparse_parts(*this, "indices").indices; }
Tensor Tensor::values() const { return sparse_parts(*this, "values").values; }

double Tensor::item_as_double() const {
  require_one_element(*this);
  return read_element(raw(), dtype());
}

std::int64_t Tensor::item_as_int64() const {
  require_one_element(*this);
  if (dtype() == DType::int64) return *data<std::int64_t>();
  return static_cast<std::int64_t>(read_element(raw(), dtype()));
}

std::vector<double> Tensor::to_vector() const {
  std::vector<double> values(static_cast<std::size_t>(numel()));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = read_element(element_at(*this, static_cast<std::int64_t>(i)), dtype());
  return values;
}

Tensor empty(const Shape& sizes, DType dtype, Device device) {
  auto impl = std::make_shared<TensorImpl>();
  const std::int64_t numel = numel_of(sizes);
  impl->storage = std::make_shared<Storage>(static_cast<std::size_t>(numel) * size_of(dtype),
                                            bytes_if_fp32(numel, dtype), dtype, device);
  impl->sizes = sizes;
  impl->strides = contiguous_strides(sizes);
  impl->dtype = dtype;
  return Tensor(std::move(impl));
}

Tensor make_view(const Tensor& base, const Shape& sizes, const Shape& strides, std::int64_t offset) {
  auto impl = std::make_shared<TensorImpl>();
  impl->storage = base.impl()->storage;
  impl->sizes = sizes;
  impl->strides = strides;
  impl->offset = offset;
  impl->dtype = base.dtype();
  impl->is_view = true;
  return Tensor(std::move(impl));
}

std::string describe(const Tensor& t) {
  if (!t.defined()) return "none";
  std::string text(t.is_sparse() ? "sparse " : "");
  text += name(t.dtype());
  text += to_string(t.sizes());
  if (t.device().type != DeviceType::cpu) text += " on " + to_string(t.device());
  return text;
}

DType promote_types(DType a, DType b) {
  if (a == b) return a;
  const auto is_fp8 = [](DType t) { return is_floating(t) && size_of(t) == 1; };
  if ((is_fp8(a) && is_floating(b)) || (is_fp8(b) && is_floating(a)))
    fail(ErrorCode::runtime, "promote_types",
         "float8 types promote with nothing else: got " + std::string(name(a)) + " and " + std::string(name(b)) +
             ", need an explicit .to()");
  if (is_floating(a) != is_floating(b)) return is_floating(a) ? a : b;
  if (is_floating(a)) {
    if (a == DType::float64 || b == DType::float64) return DType::float64;
    return DType::float32;  // float32 with a half type, or float16 with bfloat16
  }
  if (a == DType::bool_) return b;
  if (b == DType::bool_) return a;
  // uint8 with a signed type needs the next wider signed one.
  if (a == DType::uint8) std::swap(a, b);
  if (b == DType::uint8) return a == DType::int8 ? DType::int16 : a;
  return size_of(a) >= size_of(b) ? a : b;
}

DType result_type(const Tensors& operands) {
  // Three ranks of operands: with dimensions, 0-dim, wrapped numbers. A lower rank counts only by its category.
  DType found[3] = {DType::count_, DType::count_, DType::count_};
  for (const auto& t : operands) {
    if (!t.defined()) continue;
    const int rank = t.impl()->is_wrapped_number ? 2 : t.dim() == 0 ? 1 : 0;
    found[rank] = found[rank] == DType::count_ ? t.dtype() : promote_types(found[rank], t.dtype());
  }
  const auto category = [](DType t) { return is_floating(t) ? 2 : t == DType::bool_ ? 0 : 1; };
  DType result = DType::count_;
  for (int rank = 0; rank < 3; ++rank) {
    if (found[rank] == DType::count_) continue;
    if (result == DType::count_) {
      result = found[rank];
      // A number alone has PyTorch's default types: float32 for floating ones.
      if (rank == 2 && result == DType::float64) result = DType::float32;
    } else if (category(found[rank]) > category(result)) {
      DType next = found[rank];
      if (rank == 2 && next == DType::float64) next = DType::float32;
      result = next;
    }
  }
  return result;
}

}  // namespace amp
