// Bodies that read by index: index, gather, index_select, embedding, and the small ones that make or find positions.
#include "libamp/backend/cpu/indexing.h"

namespace amp::cpu {

IndexPlan plan_index(const OpCall& call, std::size_t first) {
  const Tensor& self = call.in(0);
  const std::size_t given = call.inputs.size() - std::min(first, call.inputs.size());
  if (static_cast<int>(given) > self.dim())
    call.fail("too many indices: got " + std::to_string(given) + " for " + describe(self), ErrorCode::index);
  IndexPlan plan;
  int first_dim = -1, last_dim = -1, count = 0;
  for (std::size_t i = 0; i < given; ++i) {
    const Tensor& index = call.in(first + i);
    if (!index.defined()) continue;
    if (index.dtype() != DType::int64)
      call.fail("an index has the wrong dtype: got " + describe(index) + ", need int64", ErrorCode::index);
    plan.index_sizes = count == 0 ? index.sizes() : broadcast_shapes(plan.index_sizes, index.sizes(), call.info().name);
    if (count++ == 0) first_dim = static_cast<int>(i);
    last_dim = static_cast<int>(i);
  }
  if (count == 0) call.fail("at least one index tensor is needed", ErrorCode::index);
  const bool neighbours = last_dim - first_dim + 1 == count;
  for (int d = 0; d < self.dim(); ++d) {
    if (static_cast<std::size_t>(d) < given && call.in(first + static_cast<std::size_t>(d)).defined()) continue;
    if (neighbours && d < first_dim) ++plan.rest_before;
    plan.rest_sizes.push_back(self.sizes()[d]);
    plan.rest_dims.push_back(d);
  }
  for (int d = 0; d < plan.rest_before; ++d) plan.sizes.push_back(plan.rest_sizes[d]);
  for (const auto s : plan.index_sizes) plan.sizes.push_back(s);
  for (int d = plan.rest_before; d < plan.rest_sizes.size(); ++d) plan.sizes.push_back(plan.rest_sizes[d]);

  plan.offsets.assign(static_cast<std::size_t>(numel_of(plan.index_sizes)), 0);
  std::vector<std::int64_t> values(plan.offsets.size());
  for (std::size_t i = 0; i < given; ++i) {
    const Tensor& index = call.in(first + i);
    if (!index.defined()) continue;
    read_indices(index, plan.index_sizes, values.data());
    const int d = static_cast<int>(i);
    for (std::size_t k = 0; k < values.size(); ++k)
      plan.offsets[k] += wrap_index(call, values[k], self.sizes()[d], d) * self.strides()[d];
  }
  return plan;
}

void read_indices(const Tensor& index, const Shape& sizes, std::int64_t* out) {
  const Tensor target = make_view(index, sizes, contiguous_strides(sizes), 0);  // shape of the walk only
  const Loop<1> loop = make_loop<1>(target, {&index});
  const std::int64_t* in = index.data<std::int64_t>();
  for_stretches<1>(loop, 0, loop.numel, [&](const auto& offsets, const auto& steps, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) *out++ = in[offsets[1] + i * steps[1]];
  });
}

std::int64_t wrap_index(const OpCall& call, std::int64_t index, std::int64_t size, int dim, bool negative) {
  const std::int64_t wrapped = negative && index < 0 ? index + size : index;
  if (wrapped < 0 || wrapped >= size)
    call.fail("index out of range: got " + std::to_string(index) + " in dim " + std::to_string(dim) + ", need [" +
                  std::to_string(negative ? -size : 0) + ", " + std::to_string(size - 1) + "]",
              ErrorCode::index);
  return wrapped;
}

namespace {

Shape pick(const Shape& from, const Shape& dims) {
  Shape picked;
  for (const auto d : dims) picked.push_back(from[static_cast<int>(d)]);
  return picked;
}

// out and `in` have the sizes of a plan; copies element by element whatever the type.
void copy_indexed(const Tensor& out, const Tensor& self, const IndexPlan& plan) {
  const Shape strides = plan.strides_of(out);
  const Tensor in_rest = make_view(self, plan.rest_sizes, pick(self.strides(), plan.rest_dims), 0);
  const Tensor out_rest = make_view(out, plan.rest_sizes, plan.rest_strides(out), 0);
  const Loop<1> loop = make_loop<1>(out_rest, {&in_rest});
  const std::int64_t rest = numel_of(plan.rest_sizes);
  dispatch_dtype(out.dtype(), [&]<typename T>(TypeTag<T>) {
    const T* source = self.data<T>();
    T* target = out.data<T>();
    parallel_for(static_cast<std::int64_t>(plan.offsets.size()),
                 std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, rest)),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t b = begin; b < end; ++b) {
                     const T* from = source + plan.offsets[static_cast<std::size_t>(b)];
                     T* to = target + offset_of(b, plan.index_sizes, strides);
                     for_stretches<1>(loop, 0, rest, [&](const auto& offsets, const auto& steps, std::int64_t n) {
                       if (steps[0] == 1 && steps[1] == 1)
                         std::copy_n(from + offsets[1], n, to + offsets[0]);
                       else
                         for (std::int64_t i = 0; i < n; ++i)
                           to[offsets[0] + i * steps[0]] = from[offsets[1] + i * steps[1]];
                     });
                   }
                 });
  });
}

Tensor triangle(const OpCall& call, bool upper) {
  const Tensor& in = call.in(0);
  if (in.dim() < 2) call.fail("needs at least 2 dims: got " + describe(in));
  const std::int64_t diagonal = call.attributes.integer("diagonal", 0);
  Tensor out = make_output(call, in.sizes(), in.dtype());
  const int rows_dim = in.dim() - 2;
  const std::int64_t rows = in.sizes()[rows_dim], columns = in.sizes()[rows_dim + 1];
  dispatch_dtype(in.dtype(), [&]<typename T>(TypeTag<T>) {
    const std::int64_t step = slice_step(in, rows_dim + 1), out_step = slice_step(out, rows_dim + 1);
    const std::int64_t slices = columns > 0 ? in.numel() / columns : 0;
    for (std::int64_t s = 0; s < slices; ++s) {
      const T* from = in.data<T>() + slice_offset(in, rows_dim + 1, s);
      T* to = out.data<T>() + slice_offset(out, rows_dim + 1, s);
      for (std::int64_t c = 0; c < columns; ++c) {
        const bool kept = upper ? c - s % rows >= diagonal : c - s % rows <= diagonal;
        to[c * out_step] = kept ? from[c * step] : T{};
      }
    }
  });
  return out;
}

}  // namespace

Tensors index(const OpCall& call) {
  const IndexPlan plan = plan_index(call, 1);
  Tensor out = make_output(call, plan.sizes, call.in(0).dtype());
  copy_indexed(out, call.in(0), plan);
  return {out};
}

Tensors gather(const OpCall& call) {
  const Tensor &in = call.in(0), &index = call.in(1);
  const int dim = wrap_dim(call.attributes.integer("dim", 0), in.dim(), "gather");
  check_scatter_index(call, in, index, dim);
  Tensor out = make_output(call, index.sizes(), in.dtype());
  dispatch_dtype(in.dtype(), [&]<typename T>(TypeTag<T>) {
    for_indexed_slices(call, in, index, out, dim,
                       [&](std::int64_t source, std::int64_t target) { out.data<T>()[target] = in.data<T>()[source]; });
  });
  return {out};
}

namespace {

// Slices of one dim by a list: index with one index tensor.
IndexPlan plan_slices(const Tensor& self, int dim, const std::vector<std::int64_t>& offsets, const Shape& index_sizes) {
  IndexPlan plan;
  plan.index_sizes = index_sizes;
  plan.rest_before = dim;
  for (int d = 0; d < self.dim(); ++d) {
    if (d == dim) continue;
    plan.rest_sizes.push_back(self.sizes()[d]);
    plan.rest_dims.push_back(d);
  }
  for (int d = 0; d < dim; ++d) plan.sizes.push_back(self.sizes()[d]);
  for (const auto s : index_sizes) plan.sizes.push_back(s);
  for (int d = dim + 1; d < self.dim(); ++d) plan.sizes.push_back(self.sizes()[d]);
  plan.offsets = offsets;
  return plan;
}

}  // namespace

IndexPlan plan_index_list(const OpCall& call, const Tensor& self, int dim, const Tensor& index, bool negative) {
  if (is_floating(index.dtype()) || index.dtype() == DType::bool_)
    call.fail("the index has the wrong dtype: got " + describe(index) + ", need int64");
  if (self.dim() == 0) call.fail("needs a tensor with dims: got " + describe(self), ErrorCode::index);
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(index.numel()));
  if (index.dtype() == DType::int64) {
    read_indices(index, index.sizes(), offsets.data());
  } else {
    const Tensor wide = empty(index.sizes(), DType::int64, index.device());
    elementwise<std::int64_t, 1>(wide, {&index}, [](const std::int64_t* a, std::int64_t* o, std::int64_t n) {
      if (a != o) std::copy_n(a, n, o);
    });
    read_indices(wide, index.sizes(), offsets.data());
  }
  for (auto& value : offsets) value = wrap_index(call, value, self.sizes()[dim], dim, negative) * self.strides()[dim];
  return plan_slices(self, dim, offsets, index.sizes());
}

Tensors index_select(const OpCall& call) {
  const Tensor &in = call.in(0), &index = call.in(1);
  const int dim = wrap_dim(call.attributes.integer("dim", 0), in.dim(), "index_select");
  if (index.dim() > 1) call.fail("the index must be a vector: got " + describe(index), ErrorCode::index);
  const IndexPlan plan =
      plan_index_list(call, in, dim, index.dim() == 1 ? index : make_view(index, {1}, {1}, index.impl()->offset));
  Tensor out = make_output(call, plan.sizes, in.dtype());
  copy_indexed(out, in, plan);
  return {out};
}

Tensors embedding(const OpCall& call) {
  const Tensor& weight = call.in(0);
  if (weight.dim() != 2) call.fail("weight must be a matrix: got " + describe(weight));
  const IndexPlan plan = plan_index_list(call, weight, 0, call.in(1));
  Tensor out = make_output(call, plan.sizes, weight.dtype());
  copy_indexed(out, weight, plan);
  return {out};
}

Tensors one_hot(const OpCall& call) {
  const Tensor& in = call.in(0);
  if (in.dtype() != DType::int64) call.fail("needs int64 indices: got " + describe(in));
  const std::int64_t classes = call.attributes.integer("num_classes", 0);
  std::vector<std::int64_t> values(static_cast<std::size_t>(in.numel()));
  read_indices(in, in.sizes(), values.data());
  Shape sizes = in.sizes();
  sizes.push_back(classes);
  Tensor out = empty(sizes, DType::int64, in.device());
  std::int64_t* o = out.data<std::int64_t>();
  std::fill_n(o, out.numel(), std::int64_t{0});
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] < 0 || values[i] >= classes)
      call.fail("class out of range: got " + std::to_string(values[i]) + ", need [0, " + std::to_string(classes - 1) +
                "]");
    o[static_cast<std::int64_t>(i) * classes + values[i]] = 1;
  }
  return {out};
}

Tensors triu(const OpCall& call) { return {triangle(call, true)}; }
Tensors tril(const OpCall& call) { return {triangle(call, false)}; }

Tensors nonzero(const OpCall& call) {
  const Tensor& in = call.in(0);
  std::vector<std::int64_t> found;
  std::int64_t flat = 0;
  with_compute_type(in.dtype(), [&]<typename C>(TypeTag<C>) {
    const Loop<1> loop = make_loop<1>(make_view(in, in.sizes(), contiguous_strides(in.sizes()), 0), {&in});
    std::array<C, kBlock> buffer;
    for_stretches<1>(loop, 0, in.numel(), [&](const auto& offsets, const auto& steps, std::int64_t n) {
      for (std::int64_t done = 0; done < n; done += kBlock) {
        const std::int64_t m = std::min(kBlock, n - done);
        const C* values = load_block<C>(in, offsets[1] + done * steps[1], steps[1], m, buffer.data());
        for (std::int64_t i = 0; i < m; ++i, ++flat)
          if (values[i] != C(0)) found.push_back(flat);
      }
    });
  });
  Tensor out = empty({static_cast<std::int64_t>(found.size()), in.dim()}, DType::int64, in.device());
  std::int64_t* o = out.data<std::int64_t>();
  for (std::size_t i = 0; i < found.size(); ++i)
    for (int d = in.dim() - 1; d >= 0; --d) {
      o[static_cast<std::int64_t>(i) * in.dim() + d] = found[i] % in.sizes()[d];
      found[i] /= in.sizes()[d];
    }
  return {out};
}

}  // namespace amp::cpu
