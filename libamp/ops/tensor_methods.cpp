// Tensor's computing methods: PyTorch's spelling of the functions in ops/.
#include "libamp/dispatch/run_op.h"
#include "libamp/ops/ops.h"
#include "libamp/ops/sparse.h"

namespace amp {
namespace {

void require_scalar(const Tensor& other, const char* where) {
  if (other.dim() != 0)
    fail(ErrorCode::not_implemented, where,
         "a sparse tensor can be changed in place by numbers only: got " + describe(other) + ", need a 0-dim tensor");
}

}  // namespace

Tensor Tensor::to(DType dtype) const { return amp::to(*this, dtype); }
Tensor Tensor::to(Device device) const {
  if (device == this->device()) return *this;
  require_available(device.type, "to");
  fail(ErrorCode::not_implemented, "to", "no copy from " + to_string(this->device()) + " to " + to_string(device));
}
Tensor Tensor::clone() const { return amp::clone(*this); }
Tensor Tensor::contiguous() const { return amp::contiguous(*this); }
Tensor Tensor::view(const Shape& sizes) const { return amp::view(*this, sizes); }
Tensor Tensor::reshape(const Shape& sizes) const { return amp::reshape(*this, sizes); }
Tensor Tensor::flatten(std::int64_t start_dim, std::int64_t end_dim) const {
  return amp::flatten(*this, start_dim, end_dim);
}
Tensor Tensor::expand(const Shape& sizes) const { return amp::expand(*this, sizes); }
Tensor Tensor::permute(const Shape& dims) const { return amp::permute(*this, dims); }
Tensor Tensor::transpose(std::int64_t dim0, std::int64_t dim1) const { return amp::transpose(*this, dim0, dim1); }
Tensor Tensor::t() const {
  if (dim() > 2) fail(ErrorCode::runtime, "t", "need at most 2 dimensions: got " + describe(*this));
  return dim() < 2 ? *this : amp::transpose(*this, 0, 1);
}
Tensor Tensor::unsqueeze(std::int64_t dim) const { return amp::unsqueeze(*this, dim); }
Tensor Tensor::squeeze() const { return amp::squeeze(*this); }
Tensor Tensor::squeeze(std::int64_t dim) const { return amp::squeeze(*this, dim); }
Tensor Tensor::narrow(std::int64_t dim, std::int64_t start, std::int64_t length) const {
  return amp::narrow(*this, dim, start, length);
}
Tensor Tensor::select(std::int64_t dim, std::int64_t index) const { return amp::select(*this, dim, index); }
Tensor Tensor::matmul(const Tensor& other) const { return amp::matmul(*this, other); }
Tensor Tensor::sum(std::optional<DType> dtype) const { return amp::sum(*this, dtype); }
Tensor Tensor::sum(const Shape& dims, bool keepdim, std::optional<DType> dtype) const {
  return amp::sum(*this, dims, keepdim, dtype);
}

Tensor Tensor::mean() const { return amp::mean(*this); }
Tensor Tensor::mean(const Shape& dims, bool keepdim) const { return amp::mean(*this, dims, keepdim); }
Tensor Tensor::argmax(std::int64_t dim, bool keepdim) const { return amp::argmax(*this, dim, keepdim); }
Tensor Tensor::eq(const Tensor& other) const { return amp::eq(*this, other); }

Tensor Tensor::coalesce() const { return amp::coalesce(*this); }
Tensor Tensor::to_dense() const { return is_sparse() ? amp::to_dense(*this) : *this; }

const Tensor& Tensor::copy_(const Tensor& source) const {
  run_op({OpId::copy_, {*this, source}, {}, *this});
  return *this;
}
const Tensor& Tensor::fill_(double value) const {
  run_op({OpId::fill_, {*this}, {{"value", value}}, *this});
  return *this;
}
const Tensor& Tensor::zero_() const {
  if (!is_sparse()) return fill_(0);
  // Without entries, as in PyTorch.
  Shape sizes = values().sizes();
  sizes[0] = 0;
  const Tensor none = empty(sizes, dtype(), device());
  impl()->sparse = std::make_shared<SparseParts>(SparseParts{amp::narrow(indices(), 1, 0, 0), none, true});
  impl()->storage = none.impl()->storage;
  return *this;
}
const Tensor& Tensor::add_(const Tensor& other, double alpha) const {
  if (!is_sparse() && other.defined() && other.is_sparse()) {
    add_sparse_(*this, other, alpha);
    return *this;
  }
  run_op({OpId::add, {*this, other}, {{"alpha", alpha}}, *this});
  return *this;
}
const Tensor& Tensor::sub_(const Tensor& other, double alpha) const {
  if (!is_sparse() && other.defined() && other.is_sparse()) return add_(other, -alpha);
  run_op({OpId::sub, {*this, other}, {{"alpha", alpha}}, *this});
  return *this;
}
const Tensor& Tensor::mul_(const Tensor& other) const {
  if (is_sparse()) {
    require_scalar(other, "mul_");
    values().mul_(other);
    return *this;
  }
  run_op({OpId::mul, {*this, other}, {}, *this});
  return *this;
}
const Tensor& Tensor::div_(const Tensor& other) const {
  if (is_sparse()) {
    require_scalar(other, "div_");
    values().div_(other);
    return *this;
  }
  run_op({OpId::div, {*this, other}, {}, *this});
  return *this;
}
const Tensor& Tensor::add_(double other) const { return add_(wrapped_number(other)); }
const Tensor& Tensor::sub_(double other) const { return sub_(wrapped_number(other)); }
const Tensor& Tensor::mul_(double other) const { return mul_(wrapped_number(other)); }
const Tensor& Tensor::div_(double other) const { return div_(wrapped_number(other)); }

}  // namespace amp
