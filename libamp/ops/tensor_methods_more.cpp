// The rest of Tensor's computing methods: PyTorch's spelling of the functions in ops/, and their in-place forms.
#include <cmath>

#include "libamp/dispatch/run_op.h"
#include "libamp/ops/ops.h"

namespace amp {
namespace {

const Tensor& in_place(OpId op, const Tensor& self, Tensors others, Attributes attributes = {}) {
  others.insert(others.begin(), self);
  run_op({op, std::move(others), std::move(attributes), self});
  return self;
}
// A whole number beside integers stays an integer.
Tensor number_beside(const Tensor& self, double value) {
  const bool whole = !self.is_floating_point() && value == std::floor(value) && std::abs(value) < 9e15;
  return whole ? wrapped_number(static_cast<std::int64_t>(value)) : wrapped_number(value);
}
Attributes limits(std::optional<double> min, std::optional<double> max) {
  if (!min && !max) fail(ErrorCode::value, "clamp_", "neither min nor max was given: need at least one");
  Attributes attributes;
  if (min) attributes.set("min", *min);
  if (max) attributes.set("max", *max);
  return attributes;
}

}  // namespace

// Functions of one tensor that are also methods in place.
#define AMP_BOTH_WAYS(X) \
  X(abs)                 \
  X(sign)                \
  X(floor)               \
  X(ceil)                \
  X(round)               \
  X(trunc)               \
  X(sqrt)                \
  X(sin)                 \
  X(cos)                 \
  X(tan)                 \
  X(asin)                \
  X(acos)                \
  X(atan)                \
  X(sinh)                \
  X(cosh)                \
  X(tanh)                \
  X(erf)                 \
  X(erfc)                \
  X(erfinv)              \
  X(exp)                 \
  X(exp2)                \
  X(expm1)               \
  X(log)                 \
  X(log2)                \
  X(log10)               \
  X(log1p)               \
  X(reciprocal)          \
  X(rsqrt)               \
  X(sigmoid)             \
  X(relu)                \
  X(neg)                 \
  X(logical_not)         \
  X(bitwise_not)

#define AMP_METHOD(name) \
  Tensor Tensor::name() const { return amp::name(*this); }
AMP_BOTH_WAYS(AMP_METHOD)
AMP_METHOD(frac)
AMP_METHOD(square)
AMP_METHOD(asinh)
AMP_METHOD(acosh)
AMP_METHOD(atanh)
AMP_METHOD(isnan)
AMP_METHOD(isinf)
AMP_METHOD(isfinite)
AMP_METHOD(nonzero)
AMP_METHOD(trace)
AMP_METHOD(max)
AMP_METHOD(min)
AMP_METHOD(median)
#undef AMP_METHOD

#define AMP_METHOD(name) \
  Tensor Tensor::name(const Tensor& other) const { return amp::name(*this, other); }
AMP_METHOD(maximum)
AMP_METHOD(minimum)
AMP_METHOD(atan2)
AMP_METHOD(logical_and)
AMP_METHOD(logical_or)
AMP_METHOD(logical_xor)
AMP_METHOD(bitwise_and)
AMP_METHOD(bitwise_or)
AMP_METHOD(bitwise_xor)
AMP_METHOD(dot)
AMP_METHOD(mm)
AMP_METHOD(mv)
AMP_METHOD(bmm)
AMP_METHOD(ne)
AMP_METHOD(lt)
AMP_METHOD(le)
AMP_METHOD(gt)
AMP_METHOD(ge)
AMP_METHOD(mul)
AMP_METHOD(div)
AMP_METHOD(remainder)
AMP_METHOD(fmod)
AMP_METHOD(floor_divide)
#undef AMP_METHOD

#define AMP_METHOD(name) \
  Tensor Tensor::name(double other) const { return amp::name(*this, other); }
AMP_METHOD(eq)
AMP_METHOD(ne)
AMP_METHOD(lt)
AMP_METHOD(le)
AMP_METHOD(gt)
AMP_METHOD(ge)
AMP_METHOD(remainder)
AMP_METHOD(fmod)
AMP_METHOD(floor_divide)
#undef AMP_METHOD

Tensor Tensor::pow(double exponent) const { return amp::pow(*this, exponent); }
Tensor Tensor::pow(const Tensor& exponent) const { return amp::pow(*this, exponent); }
Tensor Tensor::clamp(std::optional<double> min, std::optional<double> max) const { return amp::clamp(*this, min, max); }
Tensor Tensor::nan_to_num(double nan) const { return amp::nan_to_num(*this, nan); }
Tensor Tensor::add(const Tensor& other, double alpha) const { return amp::add(*this, other, alpha); }
Tensor Tensor::sub(const Tensor& other, double alpha) const { return amp::sub(*this, other, alpha); }
Tensor Tensor::add(double other) const { return *this + other; }
Tensor Tensor::sub(double other) const { return *this - other; }
Tensor Tensor::mul(double other) const { return *this * other; }
Tensor Tensor::div(double other) const { return *this / other; }
Tensor Tensor::lerp(const Tensor& end, double weight) const { return amp::lerp(*this, end, weight); }
Tensor Tensor::addcmul(const Tensor& tensor1, const Tensor& tensor2, double value) const {
  return amp::addcmul(*this, tensor1, tensor2, value);
}
Tensor Tensor::addcdiv(const Tensor& tensor1, const Tensor& tensor2, double value) const {
  return amp::addcdiv(*this, tensor1, tensor2, value);
}
Tensor Tensor::masked_fill(const Tensor& mask, double value) const { return amp::masked_fill(*this, mask, value); }
bool Tensor::equal(const Tensor& other) const { return amp::equal(*this, other); }
bool Tensor::allclose(const Tensor& other, double rtol, double atol) const {
  return amp::allclose(*this, other, rtol, atol);
}
Tensor Tensor::addmm(const Tensor& mat1, const Tensor& mat2, double beta, double alpha) const {
  return amp::addmm(*this, mat1, mat2, beta, alpha);
}
Tensor Tensor::baddbmm(const Tensor& batch1, const Tensor& batch2, double beta, double alpha) const {
  return amp::baddbmm(*this, batch1, batch2, beta, alpha);
}
Tensor Tensor::softmax(std::int64_t dim, std::optional<DType> dtype) const { return amp::softmax(*this, dim, dtype); }
Tensor Tensor::log_softmax(std::int64_t dim, std::optional<DType> dtype) const {
  return amp::log_softmax(*this, dim, dtype);
}
Tensor Tensor::prod(std::optional<DType> dtype) const { return amp::prod(*this, dtype); }
Tensor Tensor::prod(std::int64_t dim, bool keepdim, std::optional<DType> dtype) const {
  return amp::prod(*this, dim, keepdim, dtype);
}
Tensor Tensor::var(const Shape& dims, double correction, bool keepdim) const {
  return amp::var(*this, dims, correction, keepdim);
}
Tensor Tensor::std(const Shape& dims, double correction, bool keepdim) const {
  return amp::std(*this, dims, correction, keepdim);
}
Tensor Tensor::norm(double p, const Shape& dims, bool keepdim) const { return amp::norm(*this, p, dims, keepdim); }
Tensor Tensor::logsumexp(const Shape& dims, bool keepdim) const { return amp::logsumexp(*this, dims, keepdim); }
ValuesIndices Tensor::max(std::int64_t dim, bool keepdim) const { return amp::max(*this, dim, keepdim); }
ValuesIndices Tensor::min(std::int64_t dim, bool keepdim) const { return amp::min(*this, dim, keepdim); }
Tensor Tensor::amax(const Shape& dims, bool keepdim) const { return amp::amax(*this, dims, keepdim); }
Tensor Tensor::amin(const Shape& dims, bool keepdim) const { return amp::amin(*this, dims, keepdim); }
Tensor Tensor::argmin(std::int64_t dim, bool keepdim) const { return amp::argmin(*this, dim, keepdim); }
Tensor Tensor::argmax() const { return amp::argmax(*this); }
Tensor Tensor::argmin() const { return amp::argmin(*this); }
Tensor Tensor::all(const Shape& dims, bool keepdim) const { return amp::all(*this, dims, keepdim); }
Tensor Tensor::any(const Shape& dims, bool keepdim) const { return amp::any(*this, dims, keepdim); }
ValuesIndices Tensor::median(std::int64_t dim, bool keepdim) const { return amp::median(*this, dim, keepdim); }
ValuesIndices Tensor::topk(std::int64_t k, std::int64_t dim, bool largest) const {
  return amp::topk(*this, k, dim, largest);
}
ValuesIndices Tensor::sort(std::int64_t dim, bool descending) const { return amp::sort(*this, dim, descending); }
Tensor Tensor::argsort(std::int64_t dim, bool descending) const { return amp::argsort(*this, dim, descending); }
Tensor Tensor::cumsum(std::int64_t dim, std::optional<DType> dtype) const { return amp::cumsum(*this, dim, dtype); }
Tensor Tensor::cumprod(std::int64_t dim, std::optional<DType> dtype) const { return amp::cumprod(*this, dim, dtype); }
ValuesIndices Tensor::cummax(std::int64_t dim) const { return amp::cummax(*this, dim); }
ValuesIndices Tensor::cummin(std::int64_t dim) const { return amp::cummin(*this, dim); }
Tensor Tensor::logcumsumexp(std::int64_t dim) const { return amp::logcumsumexp(*this, dim); }
Tensor Tensor::index(const Tensors& indices) const { return amp::index(*this, indices); }
Tensor Tensor::gather(std::int64_t dim, const Tensor& index) const { return amp::gather(*this, dim, index); }
Tensor Tensor::scatter(std::int64_t dim, const Tensor& index, const Tensor& src) const {
  return amp::scatter(*this, dim, index, src);
}
Tensor Tensor::scatter_add(std::int64_t dim, const Tensor& index, const Tensor& src) const {
  return amp::scatter_add(*this, dim, index, src);
}
Tensor Tensor::index_select(std::int64_t dim, const Tensor& index) const {
  return amp::index_select(*this, dim, index);
}
Tensor Tensor::index_copy(std::int64_t dim, const Tensor& index, const Tensor& source) const {
  return amp::index_copy(*this, dim, index, source);
}
Tensor Tensor::index_add(std::int64_t dim, const Tensor& index, const Tensor& source) const {
  return amp::index_add(*this, dim, index, source);
}
Tensor Tensor::masked_select(const Tensor& mask) const { return amp::masked_select(*this, mask); }
Tensor Tensor::triu(std::int64_t diagonal) const { return amp::triu(*this, diagonal); }
Tensor Tensor::tril(std::int64_t diagonal) const { return amp::tril(*this, diagonal); }
Tensor Tensor::diagonal(std::int64_t offset, std::int64_t dim1, std::int64_t dim2) const {
  return amp::diagonal(*this, offset, dim1, dim2);
}
Tensor Tensor::diag(std::int64_t diagonal) const { return amp::diag(*this, diagonal); }
Tensor Tensor::flip(const Shape& dims) const { return amp::flip(*this, dims); }
Tensor Tensor::roll(const Shape& shifts, const Shape& dims) const { return amp::roll(*this, shifts, dims); }
Tensor Tensor::repeat(const Shape& repeats) const { return amp::repeat(*this, repeats); }
Tensor Tensor::tile(const Shape& dims) const { return amp::tile(*this, dims); }
Tensor Tensor::repeat_interleave(std::int64_t repeats, std::optional<std::int64_t> dim) const {
  return amp::repeat_interleave(*this, repeats, dim);
}
Tensors Tensor::split(std::int64_t size, std::int64_t dim) const { return amp::split(*this, size, dim); }
Tensors Tensor::split(const Shape& sizes, std::int64_t dim) const { return amp::split(*this, sizes, dim); }
Tensors Tensor::chunk(std::int64_t chunks, std::int64_t dim) const { return amp::chunk(*this, chunks, dim); }
Tensors Tensor::unbind(std::int64_t dim) const { return amp::unbind(*this, dim); }
Tensor Tensor::movedim(std::int64_t source, std::int64_t destination) const {
  return amp::movedim(*this, source, destination);
}
Tensor Tensor::unflatten(std::int64_t dim, const Shape& sizes) const { return amp::unflatten(*this, dim, sizes); }
Tensor Tensor::slice(std::int64_t dim, std::int64_t start, std::int64_t end, std::int64_t step) const {
  return amp::slice(*this, dim, start, end, step);
}
Tensor Tensor::where(const Tensor& condition, const Tensor& other) const { return amp::where(condition, *this, other); }

#define AMP_METHOD(name) \
  const Tensor& Tensor::name##_() const { return in_place(OpId::name, *this, {}); }
AMP_BOTH_WAYS(AMP_METHOD)
#undef AMP_METHOD
#undef AMP_BOTH_WAYS

const Tensor& Tensor::pow_(double exponent) const { return in_place(OpId::pow, *this, {}, {{"exponent", exponent}}); }
const Tensor& Tensor::pow_(const Tensor& exponent) const { return in_place(OpId::pow, *this, {exponent}); }
const Tensor& Tensor::clamp_(std::optional<double> min, std::optional<double> max) const {
  return in_place(OpId::clamp, *this, {}, limits(min, max));
}
const Tensor& Tensor::remainder_(double other) const {
  return in_place(OpId::remainder, *this, {number_beside(*this, other)});
}
const Tensor& Tensor::fmod_(double other) const { return in_place(OpId::fmod, *this, {number_beside(*this, other)}); }
const Tensor& Tensor::floor_divide_(double other) const {
  return in_place(OpId::floor_divide, *this, {number_beside(*this, other)});
}
const Tensor& Tensor::lerp_(const Tensor& end, double weight) const {
  return in_place(OpId::lerp, *this, {end}, {{"weight", weight}});
}
const Tensor& Tensor::addcmul_(const Tensor& tensor1, const Tensor& tensor2, double value) const {
  return in_place(OpId::addcmul, *this, {tensor1, tensor2}, {{"value", value}});
}
const Tensor& Tensor::addcdiv_(const Tensor& tensor1, const Tensor& tensor2, double value) const {
  return in_place(OpId::addcdiv, *this, {tensor1, tensor2}, {{"value", value}});
}
const Tensor& Tensor::addmm_(const Tensor& mat1, const Tensor& mat2, double beta, double alpha) const {
  return in_place(OpId::addmm, *this, {mat1, mat2}, {{"beta", beta}, {"alpha", alpha}});
}
const Tensor& Tensor::baddbmm_(const Tensor& batch1, const Tensor& batch2, double beta, double alpha) const {
  return in_place(OpId::baddbmm, *this, {batch1, batch2}, {{"beta", beta}, {"alpha", alpha}});
}
const Tensor& Tensor::masked_fill_(const Tensor& mask, double value) const {
  return amp::masked_fill_(*this, mask, value);
}
const Tensor& Tensor::index_put_(const Tensors& indices, const Tensor& values, bool accumulate) const {
  return amp::index_put_(*this, indices, values, accumulate);
}
const Tensor& Tensor::scatter_(std::int64_t dim, const Tensor& index, const Tensor& src) const {
  return in_place(OpId::scatter, *this, {index, src}, {{"dim", dim}});
}
const Tensor& Tensor::scatter_add_(std::int64_t dim, const Tensor& index, const Tensor& src) const {
  return in_place(OpId::scatter_add, *this, {index, src}, {{"dim", dim}});
}
const Tensor& Tensor::index_copy_(std::int64_t dim, const Tensor& index, const Tensor& source) const {
  return in_place(OpId::index_copy, *this, {index, source}, {{"dim", dim}});
}
const Tensor& Tensor::index_add_(std::int64_t dim, const Tensor& index, const Tensor& source) const {
  return in_place(OpId::index_add, *this, {index, source}, {{"dim", dim}});
}
const Tensor& Tensor::index_fill_(std::int64_t dim, const Tensor& index, double value) const {
  return copy_(amp::index_fill(*this, dim, index, value));
}
const Tensor& Tensor::triu_(std::int64_t diagonal) const {
  return in_place(OpId::triu, *this, {}, {{"diagonal", diagonal}});
}
const Tensor& Tensor::tril_(std::int64_t diagonal) const {
  return in_place(OpId::tril, *this, {}, {{"diagonal", diagonal}});
}
const Tensor& Tensor::cumsum_(std::int64_t dim) const {
  return in_place(OpId::cumsum, *this, {}, {{"dim", Shape{dim}}});
}
const Tensor& Tensor::cumprod_(std::int64_t dim) const {
  return in_place(OpId::cumprod, *this, {}, {{"dim", Shape{dim}}});
}
const Tensor& Tensor::uniform_(double from, double to) const {
  if (!(from <= to))
    fail(ErrorCode::runtime, "uniform_",
         "needs a lower end not above the upper one: got " + std::to_string(from) + " and " + std::to_string(to));
  // Drawn in the tensor's own precision, so that no value is rounded up to `to`.
  return copy_(amp::to(rand(sizes(), {.dtype = dtype()}), DType::float64) * (to - from) + from);
}
const Tensor& Tensor::normal_(double mean, double std) const {
  if (!(std >= 0)) fail(ErrorCode::runtime, "normal_", "std must not be negative: got " + std::to_string(std));
  return copy_(randn(sizes(), {.dtype = DType::float64}) * std + mean);
}
const Tensor& Tensor::bernoulli_(double p) const { return copy_(bernoulli(full(sizes(), p))); }

}  // namespace amp
