// matmul and linear on top of gemm.h.
#include "libamp/backend/cpu/gemm.h"

namespace amp::cpu {
namespace {

void require_same_dtype(const OpCall& call, const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype())
    call.fail("operands must have the same dtype: got " + describe(a) + " and " + describe(b) +
              "; cast one with .to(), or run the op out of place inside an autocast region");
}

// Integer products exist in PyTorch on the CPU; they are rare and done directly.
void integer_product(const Tensor& a, const Tensor& b, const Tensor& out, const Shape& batch) {
  const std::int64_t m = a.size(-2), k = a.size(-1), n = b.size(-1);
  const auto value = [](const Tensor& t, std::int64_t at) {
    std::int64_t v;
    load_as<std::int64_t>(t.raw(), t.dtype(), at, 1, 1, &v);
    return v;
  };
  const auto base = [&](const Tensor& t, std::int64_t index) {
    std::int64_t at = 0;
    for (int d = batch.size() - 1; d >= 0; --d) {
      const int mine = d - (batch.size() - (t.dim() - 2));
      if (mine >= 0 && t.sizes()[mine] != 1) at += index % batch[d] * t.strides()[mine];
      index /= batch[d];
    }
    return at;
  };
  for (std::int64_t i = 0; i < numel_of(batch); ++i)
    for (std::int64_t r = 0; r < m; ++r)
      for (std::int64_t c = 0; c < n; ++c) {
        std::int64_t sum = 0;
        for (std::int64_t j = 0; j < k; ++j)
          sum += value(a, base(a, i) + r * a.strides()[a.dim() - 2] + j * a.strides()[a.dim() - 1]) *
                 value(b, base(b, i) + j * b.strides()[b.dim() - 2] + c * b.strides()[b.dim() - 1]);
        store_from<std::int64_t>(out.raw(), out.dtype(), (i * m + r) * n + c, 1, 1, &sum);
      }
}

Tensor with_dim(const Tensor& t, int at) {
  Shape sizes = t.sizes(), strides = t.strides();
  sizes.insert(at, 1);
  strides.insert(at, 0);
  return make_view(t, sizes, strides, t.impl()->offset);
}

}  // namespace

Tensors matmul(const OpCall& call) {
  Tensor a = call.in(0), b = call.in(1);
  require_same_dtype(call, a, b);
  if (a.dim() == 0 || b.dim() == 0)
    call.fail("both operands need at least one dimension: got " + describe(a) + " and " + describe(b));
  const bool vector_a = a.dim() == 1, vector_b = b.dim() == 1;
  if (vector_a) a = with_dim(a, 0);
  if (vector_b) b = with_dim(b, 1);
  const std::int64_t m = a.size(-2), k = a.size(-1), n = b.size(-1);
  if (b.size(-2) != k)
    call.fail("inner dimensions differ: got " + describe(call.in(0)) + " and " + describe(call.in(1)) + ", need " +
              std::to_string(k) + " rows in the second");
  const auto leading = [](const Tensor& t) {
    Shape s = t.sizes();
    s.erase(s.size() - 1);
    s.erase(s.size() - 1);
    return s;
  };
  const Shape batch = broadcast_shapes(leading(a), leading(b), "matmul");
  Shape sizes = batch;
  if (!vector_a) sizes.push_back(m);
  if (!vector_b) sizes.push_back(n);
  Tensor out = make_output(call, sizes, a.dtype());
  if (!out.is_contiguous()) call.fail("out= must be contiguous");
  if (!is_floating(a.dtype())) {
    integer_product(a, b, out, batch);
    return {out};
  }
  with_float_type(call, a.dtype(), [&]<typename C>(TypeTag<C>) {
    const Operand2D<C> left(a), right(b);
    with_result<C>(out, [&](C* result) {
      // A batch on the left only is one tall product.
      if (b.dim() == 2 && a.is_contiguous() && batch.size() > 0) {
        const auto first = left.matrix(0, batch);
        gemm<C>({first.data, numel_of(batch) * m, k, first.row_step, first.column_step}, right.matrix(0, {}), result,
                n);
        return;
      }
      for (std::int64_t i = 0; i < numel_of(batch); ++i)
        gemm<C>(left.matrix(i, batch), right.matrix(i, batch), result + i * m * n, n);
    });
  });
  return {out};
}

Tensors linear(const OpCall& call) {
  const Tensor &x = call.in(0), &w = call.in(1);
  require_same_dtype(call, x, w);
  if (call.has(2)) require_same_dtype(call, x, call.in(2));
  if (w.dim() != 2 || x.dim() == 0 || x.sizes().back() != w.sizes()[1])
    call.fail("input and weight do not fit: got " + describe(x) + " and " + describe(w) +
              ", need [..., in] and [out, in]");
  const std::int64_t in = w.sizes()[1], out_features = w.sizes()[0];
  if (call.has(2) && !(call.in(2).sizes() == Shape{out_features}))
    call.fail("bias does not fit: got " + describe(call.in(2)) + ", need [" + std::to_string(out_features) + "]");
  Shape sizes = x.sizes();
  sizes[sizes.size() - 1] = out_features;
  const std::int64_t rows = in == 0 ? numel_of(sizes) / std::max<std::int64_t>(1, out_features) : x.numel() / in;
  Tensor out = make_output(call, sizes, x.dtype());
  with_float_type(call, x.dtype(), [&]<typename C>(TypeTag<C>) {
    // Leading dims fold into rows where the strides allow it, else through a contiguous copy.
    Tensor flat = x;
    if (x.dim() != 2) {
      if (!x.is_contiguous()) {
        flat = empty(x.sizes(), x.dtype());
        with_compute_type(x.dtype(), [&]<typename D>(TypeTag<D>) {
          elementwise<D, 1>(flat, {&x}, [](const D* a, D* o, std::int64_t n) { std::copy(a, a + n, o); });
        });
      }
      flat = make_view(flat, {rows, in}, {in, 1}, flat.impl()->offset);
    }
    const Operand2D<C> left(flat), right(w);
    Matrix<C> weight = right.matrix(0, {});
    std::swap(weight.rows, weight.columns);
    std::swap(weight.row_step, weight.column_step);
    std::unique_ptr<Workspace> bias;
    if (call.has(2)) {
      bias = std::make_unique<Workspace>(static_cast<std::size_t>(out_features) * sizeof(C), x.dtype() == kDTypeOf<C>);
      load_as<C>(call.in(2).raw(), call.in(2).dtype(), 0, call.in(2).strides()[0], out_features, bias->data<C>());
    }
    with_result<C>(out, [&](C* result) {
      // The bias goes in first and the product is added to it: one pass less over the result.
      if (bias)
        parallel_for(rows, std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, out_features)),
                     [&](std::int64_t begin, std::int64_t end) {
                       for (std::int64_t r = begin; r < end; ++r)
                         std::copy_n(bias->data<C>(), out_features, result + r * out_features);
                     });
      gemm<C>(left.matrix(0, {}), weight, result, out_features, C(1), bias ? C(1) : C(0));
    });
  });
  return {out};
}

}  // namespace amp::cpu
