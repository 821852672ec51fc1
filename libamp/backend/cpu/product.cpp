// The named matrix products: mm, mv, bmm and the add* family, and bilinear. Products go through gemm.h; the addend is
// put into the result first and the product added to it, in compute type, so that everything is rounded once.
#include "libamp/backend/cpu/dense.h"
#include "libamp/backend/cpu/gemm.h"

namespace amp::cpu {

Tensors matmul(const OpCall& call);  // matmul.cpp

namespace {

void require_dims(const OpCall& call, std::initializer_list<int> dims) {
  std::size_t i = 0;
  for (const int d : dims) {
    if (call.in(i).dim() != d)
      call.fail("argument " + std::to_string(i) + " has the wrong number of dims: got " + describe(call.in(i)) +
                ", need " + std::to_string(d));
    ++i;
  }
}

void require_one_dtype(const OpCall& call) {
  for (const Tensor& t : call.inputs)
    if (t.defined() && t.dtype() != call.in(0).dtype())
      call.fail("operands must have the same dtype: got " + describe(call.in(0)) + " and " + describe(t) +
                "; cast one with .to(), or run the op out of place inside an autocast region");
}

Tensor with_dim(const Tensor& t, int at) {
  Shape sizes = t.sizes(), strides = t.strides();
  sizes.insert(at, 1);
  strides.insert(at, 0);
  return make_view(t, sizes, strides, t.impl()->offset);
}

// `target` = scale * t broadcast to `sizes`, row-major.
template <typename C>
void load_broadcast(const OpCall& call, const Tensor& t, const Shape& sizes, C scale, C* target) {
  if (!(broadcast_shapes(t.sizes(), sizes, call.info().name) == sizes))
    call.fail("the addend does not broadcast to the product: got " + describe(t) + ", need " + to_string(sizes));
  const Tensor shape_of_result = make_view(t, sizes, contiguous_strides(sizes), 0);
  const Loop<1> loop = make_loop<1>(shape_of_result, {&t});
  parallel_for(numel_of(sizes), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for_stretches<1>(loop, begin, end, [&](const auto& offsets, const auto& steps, std::int64_t n) {
      C* to = target + offsets[0];
      load_as<C>(t.raw(), t.dtype(), offsets[1], steps[1], n, to);
      if (scale != C(1))
        for (std::int64_t i = 0; i < n; ++i) to[i] *= scale;
    });
  });
}

// beta * input + alpha * a x b, for matrices or batches of them; `summed`: the products of a batch are added up.
Tensors add_product(const OpCall& call, const Tensor& a, const Tensor& b, Shape sizes, bool summed) {
  require_one_dtype(call);
  const int dims = a.dim();
  const std::int64_t m = a.size(-2), k = a.size(-1), n = b.size(-1), batch = dims == 3 ? a.size(0) : 1;
  if (b.size(-2) != k || (dims == 3 && b.size(0) != batch))
    call.fail("the factors do not fit: got " + describe(call.in(1)) + " and " + describe(call.in(2)));
  const double beta = call.attributes.number("beta", 1), alpha = call.attributes.number("alpha", 1);
  const Tensor out = make_output(call, sizes, a.dtype());
  if (!out.is_contiguous()) call.fail("out= must be contiguous: got " + describe(out));
  const Shape batch_sizes = dims == 3 ? Shape{batch} : Shape{};
  with_float_type(call, a.dtype(), [&]<typename C>(TypeTag<C>) {
    const Operand2D<C> left(a), right(b);
    with_result<C>(out, [&](C* result) {
      // beta = 0 ignores the addend altogether, NaN and all.
      if (beta != 0)
        load_broadcast<C>(call, call.in(0), sizes, static_cast<C>(beta), result);
      else if (summed)
        std::fill_n(result, m * n, C(0));
      for (std::int64_t i = 0; i < batch; ++i)
        gemm<C>(left.matrix(i, batch_sizes), right.matrix(i, batch_sizes), summed ? result : result + i * m * n, n,
                static_cast<C>(alpha), beta != 0 || summed ? C(1) : C(0));
    });
  });
  return {out};
}

}  // namespace

Tensors mm(const OpCall& call) {
  require_dims(call, {2, 2});
  return matmul(call);
}
Tensors mv(const OpCall& call) {
  require_dims(call, {2, 1});
  return matmul(call);
}
Tensors bmm(const OpCall& call) {
  require_dims(call, {3, 3});
  if (call.in(0).size(0) != call.in(1).size(0))
    call.fail("batches differ: got " + describe(call.in(0)) + " and " + describe(call.in(1)));
  return matmul(call);
}

Tensors addmm(const OpCall& call) {
  const Tensor &a = call.in(1), &b = call.in(2);
  if (a.dim() != 2 || b.dim() != 2) call.fail("needs matrices: got " + describe(a) + " and " + describe(b));
  return add_product(call, a, b, {a.size(0), b.size(1)}, false);
}
Tensors addmv(const OpCall& call) {
  const Tensor &a = call.in(1), &b = call.in(2);
  if (a.dim() != 2 || b.dim() != 1)
    call.fail("needs a matrix and a vector: got " + describe(a) + " and " + describe(b));
  return add_product(call, a, with_dim(b, 1), {a.size(0)}, false);
}
Tensors addr(const OpCall& call) {
  const Tensor &a = call.in(1), &b = call.in(2);
  if (a.dim() != 1 || b.dim() != 1) call.fail("needs vectors: got " + describe(a) + " and " + describe(b));
  return add_product(call, with_dim(a, 1), with_dim(b, 0), {a.size(0), b.size(0)}, false);
}
Tensors addbmm(const OpCall& call) {
  const Tensor &a = call.in(1), &b = call.in(2);
  if (a.dim() != 3 || b.dim() != 3) call.fail("needs batches of matrices: got " + describe(a) + " and " + describe(b));
  return add_product(call, a, b, {a.size(1), b.size(2)}, true);
}
Tensors baddbmm(const OpCall& call) {
  const Tensor &a = call.in(1), &b = call.in(2);
  if (a.dim() != 3 || b.dim() != 3) call.fail("needs batches of matrices: got " + describe(a) + " and " + describe(b));
  return add_product(call, a, b, {a.size(0), a.size(1), b.size(2)}, false);
}

namespace {

// What a product's operands and result go through where it would run in `dtype`; count_: nothing.
template <typename C>
void round_through(DType dtype, C* data, std::int64_t n) {
  if (dtype == DType::count_) return;
  std::array<std::byte, kBlock * sizeof(float)> narrow;
  for (std::int64_t done = 0; done < n; done += kBlock) {
    const std::int64_t count = std::min(kBlock, n - done);
    store_from<C>(narrow.data(), dtype, 0, 1, count, data + done);
    load_as<C>(narrow.data(), dtype, 0, 1, count, data + done);
  }
}

template <typename C>
std::unique_ptr<Workspace> rounded_copy(const Tensor& t, DType dtype) {
  auto copy = std::make_unique<Workspace>(static_cast<std::size_t>(t.numel()) * sizeof(C), t.dtype() == kDTypeOf<C>);
  load_as<C>(t.raw(), t.dtype(), 0, 1, t.numel(), copy->template data<C>());
  round_through<C>(dtype, copy->template data<C>(), t.numel());
  return copy;
}

}  // namespace

// Inputs: input1 [..., i], input2 [..., j], weight [o, i, j]. For each o one gemm with its weight, then the row-wise
// dot product with input2. Attribute rounded_to: the type both products would run in under autocast.
Tensors trilinear(const OpCall& call) {
  require_one_dtype(call);
  const Tensor x = dense(call.in(0)), y = dense(call.in(1)), w = dense(call.in(2));
  bool fits = w.dim() == 3 && x.dim() > 0 && x.dim() == y.dim() && x.sizes().back() == w.size(1) &&
              y.sizes().back() == w.size(2);
  for (int d = 0; fits && d + 1 < x.dim(); ++d) fits = x.sizes()[d] == y.sizes()[d];
  if (!fits)
    call.fail("arguments do not fit: got " + describe(x) + ", " + describe(y) + " and weight " + describe(w) +
              ", need [..., i], [..., j] and [o, i, j]");
  Shape sizes = x.sizes();
  const std::int64_t outs = w.size(0), ni = w.size(1), nj = w.size(2);
  sizes[sizes.size() - 1] = outs;
  const Tensor out = make_output(call, sizes, x.dtype());
  const std::int64_t rows = outs == 0 ? 0 : out.numel() / outs;
  const DType rounded_to = call.attributes.dtype("rounded_to", DType::count_);
  with_float_type(call, x.dtype(), [&]<typename C>(TypeTag<C>) {
    const auto first = rounded_copy<C>(x, rounded_to), second = rounded_copy<C>(y, rounded_to),
               weight = rounded_copy<C>(w, rounded_to);
    const Workspace products(static_cast<std::size_t>(rows * nj) * sizeof(C), true);
    with_result<C>(out, [&](C* result) {
      for (std::int64_t o = 0; o < outs; ++o) {
        C* product = products.data<C>();
        gemm<C>({first->template data<C>(), rows, ni, ni, 1}, {weight->template data<C>() + o * ni * nj, ni, nj, nj, 1},
                product, nj);
        round_through<C>(rounded_to, product, rows * nj);
        for (std::int64_t r = 0; r < rows; ++r) {
          C sum = 0;
          for (std::int64_t j = 0; j < nj; ++j) sum += product[r * nj + j] * second->template data<C>()[r * nj + j];
          result[r * outs + o] = sum;
        }
      }
      round_through<C>(rounded_to, result, rows * outs);
    });
  });
  return {out};
}

}  // namespace amp::cpu
