// Bodies that write by index: index_put, scatter, scatter_add, index_copy, index_add, and the gradient of embedding.
// Sums are made in the compute type over the whole result, and half results are rounded once at the end, in the order
// of the index: as exact as can be, and the same in every run.
#include "libamp/backend/cpu/indexing.h"

namespace amp::cpu {

void check_scatter_index(const OpCall& call, const Tensor& self, const Tensor& index, int dim) {
  if (index.dtype() != DType::int64)
    call.fail("the index has the wrong dtype: got " + describe(index) + ", need int64");
  if (index.numel() == 0) return;
  if (index.dim() != self.dim())
    call.fail("the index must have the input's number of dims: got " + describe(index) + " for " + describe(self));
  for (int d = 0; d < index.dim(); ++d)
    if (d != dim && index.sizes()[d] > self.sizes()[d])
      call.fail("the index is larger than the input in dim " + std::to_string(d) + ": got " + describe(index) +
                " for " + describe(self));
}

namespace {

void require_same_dtype(const OpCall& call, const Tensor& self, const Tensor& source, const char* name) {
  if (self.dtype() != source.dtype())
    call.fail("input and " + std::string(name) + " must have the same dtype: got " + describe(self) + " and " +
              describe(source));
}

// A contiguous copy of the input as the result (or the input itself for the in-place form).
Tensor start_result(const OpCall& call, const Shape& sizes, DType dtype) {
  Tensor out = make_output(call, sizes, dtype);
  if (!out.is_contiguous()) call.fail("the in-place form needs a contiguous tensor: got " + describe(out));
  return out;
}

// Calls f(C* data) on the result in the compute type, starting from `self` (undefined: zeros).
template <typename F>
void in_compute_type(const Tensor& out, const Tensor& self, F f) {
  with_compute_type(out.dtype(), [&]<typename C>(TypeTag<C>) {
    const bool direct = out.dtype() == kDTypeOf<C>;
    std::unique_ptr<Workspace> wide;
    if (!direct) wide = std::make_unique<Workspace>(static_cast<std::size_t>(out.numel()) * sizeof(C), false);
    C* data = direct ? out.data<C>() : wide->template data<C>();
    if (!self.defined()) {
      std::fill_n(data, out.numel(), C(0));
    } else if (!self.is_same(out) || !direct) {
      const Loop<1> loop = make_loop<1>(out, {&self});
      for_stretches<1>(loop, 0, loop.numel, [&](const auto& offsets, const auto& steps, std::int64_t n) {
        load_as<C>(self.raw(), self.dtype(), offsets[1], steps[1], n, data + offsets[0]);
      });
    }
    f(data);
    if (!direct) store_from<C>(out.raw(), out.dtype(), 0, 1, out.numel(), data);
  });
}

// The result's layout for a plan made over `self`: offsets by the strides of a contiguous tensor.
Tensor contiguous_shape_of(const Tensor& self) {
  return make_view(self, self.sizes(), contiguous_strides(self.sizes()), 0);
}

// out[plan] = or += source, source of the plan's shape with any strides.
void write_planned(const Tensor& out, const Tensor& self, const IndexPlan& plan, const Tensor& source, bool add) {
  const Shape source_strides = plan.strides_of(source);
  Shape out_rest;
  for (const auto d : plan.rest_dims) out_rest.push_back(out.strides()[static_cast<int>(d)]);
  const Tensor to_shape = make_view(out, plan.rest_sizes, out_rest, 0);
  const Tensor from_shape = make_view(source, plan.rest_sizes, plan.rest_strides(source), 0);
  const Loop<1> loop = make_loop<1>(to_shape, {&from_shape});
  in_compute_type(out, self, [&]<typename C>(C* data) {
    std::array<C, kBlock> buffer;
    for (std::size_t b = 0; b < plan.offsets.size(); ++b) {
      C* to = data + plan.offsets[b];
      const std::int64_t from = offset_of(static_cast<std::int64_t>(b), plan.index_sizes, source_strides);
      for_stretches<1>(loop, 0, loop.numel, [&](const auto& offsets, const auto& steps, std::int64_t n) {
        for (std::int64_t done = 0; done < n; done += kBlock) {
          const std::int64_t m = std::min(kBlock, n - done);
          const C* values = load_block<C>(source, from + offsets[1] + done * steps[1], steps[1], m, buffer.data());
          C* at = to + offsets[0] + done * steps[0];
          for (std::int64_t i = 0; i < m; ++i) at[i * steps[0]] = add ? at[i * steps[0]] + values[i] : values[i];
        }
      });
    }
  });
}

// `values` broadcast to `sizes` without copying.
Tensor broadcast_view(const OpCall& call, const Tensor& values, const Shape& sizes) {
  if (!(broadcast_shapes(values.sizes(), sizes, call.info().name) == sizes))
    call.fail("values do not broadcast to the indexed shape: got " + describe(values) + ", need " + to_string(sizes));
  Shape strides;
  for (int d = 0; d < sizes.size(); ++d) {
    const int own = d - (sizes.size() - values.dim());
    strides.push_back(own < 0 || values.sizes()[own] == 1 ? 0 : values.strides()[own]);
  }
  return make_view(values, sizes, strides, values.impl()->offset);
}

Tensors write_slices(const OpCall& call, bool add) {
  const Tensor &self = call.in(0), &index = call.in(1), &source = call.in(2);
  require_same_dtype(call, self, source, "source");
  const int dim = wrap_dim(call.attributes.integer("dim", 0), self.dim(), call.info().name);
  if (index.dim() != 1) call.fail("the index must be a vector: got " + describe(index), ErrorCode::index);
  Tensor out = start_result(call, self.sizes(), self.dtype());
  const IndexPlan plan = plan_index_list(call, contiguous_shape_of(self), dim, index, false);
  if (!(plan.sizes == source.sizes()))
    call.fail("source has the wrong shape: got " + describe(source) + ", need " + to_string(plan.sizes));
  write_planned(out, self, plan, source, add);
  return {out};
}

Tensors scatter_into(const OpCall& call, bool add) {
  const Tensor &self = call.in(0), &index = call.in(1), &source = call.in(2);
  require_same_dtype(call, self, source, "src");
  const int dim = wrap_dim(call.attributes.integer("dim", 0), self.dim(), call.info().name);
  check_scatter_index(call, self, index, dim);
  for (int d = 0; d < index.dim() && index.numel() > 0; ++d)
    if (source.dim() != index.dim() || index.sizes()[d] > source.sizes()[d])
      call.fail("the index is larger than src in dim " + std::to_string(d) + ": got " + describe(index) + " for " +
                describe(source));
  Tensor out = start_result(call, self.sizes(), self.dtype());
  in_compute_type(out, self, [&]<typename C>(C* data) {
    for_indexed_slices(call, out, index, source, dim, [&](std::int64_t to, std::int64_t from) {
      C value;
      load_as<C>(source.raw(), source.dtype(), from, 1, 1, &value);
      data[to] = add ? data[to] + value : value;
    });
  });
  return {out};
}

}  // namespace

Tensors index_put(const OpCall& call) {
  const Tensor &self = call.in(0), &values = call.in(1);
  require_same_dtype(call, self, values, "values");
  Tensor out = start_result(call, self.sizes(), self.dtype());
  OpCall on_result = call;
  on_result.inputs[0] = contiguous_shape_of(self);
  const IndexPlan plan = plan_index(on_result, 2);
  write_planned(out, self, plan, broadcast_view(call, values, plan.sizes), call.attributes.flag("accumulate", false));
  return {out};
}

Tensors scatter(const OpCall& call) { return scatter_into(call, false); }
Tensors scatter_add(const OpCall& call) { return scatter_into(call, true); }
Tensors index_copy(const OpCall& call) { return write_slices(call, false); }
Tensors index_add(const OpCall& call) { return write_slices(call, true); }

Tensors embedding_dense_backward(const OpCall& call) {
  const Tensor &grad = call.in(0), &indices = call.in(1);
  const std::int64_t rows = call.attributes.integer("num_weights", 0), width = grad.sizes().back();
  const std::int64_t padding = call.attributes.integer("padding_idx", -1);
  Tensor out = make_output(call, {rows, width}, grad.dtype());
  IndexPlan plan = plan_index_list(call, out, 0, indices);
  if (padding >= 0) {
    // Rows of the padding index are sent to one row too many, which is dropped.
    Tensor padded = empty({rows + 1, width}, grad.dtype(), grad.device());
    for (auto& offset : plan.offsets)
      if (offset == padding * width) offset = rows * width;
    write_planned(padded, Tensor(), plan, grad, true);
    return {make_view(padded, {rows, width}, {width, 1}, 0)};
  }
  write_planned(out, Tensor(), plan, grad, true);
  return {out};
}

}  // namespace amp::cpu
