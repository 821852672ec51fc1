// Views. Four ops cover them: view, permute, expand, narrow; their functions work out sizes and strides.
#include "libamp/ops/view.h"

#include <algorithm>

#include "libamp/dispatch/run_op.h"
#include "libamp/ops/create.h"
#include "libamp/ops/index.h"
#include "libamp/ops/sparse.h"

namespace amp {
namespace {

// Replaces a single -1 by what is left of numel.
Shape infer_size(const Tensor& input, const Shape& sizes, std::string_view where) {
  Shape result = sizes;
  std::int64_t known = 1;
  int open = -1;
  for (int d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == -1) {
      if (open >= 0) fail(ErrorCode::runtime, where, "only one size can be -1: got " + to_string(sizes));
      open = d;
    } else {
      known *= sizes[d];
    }
  }
  const std::int64_t numel = input.numel();
  if (open >= 0 && known != 0 && numel % known == 0) {
    result[open] = numel / known;
    known *= result[open];
  }
  if (known != numel || (open >= 0 && result[open] == -1))
    fail(ErrorCode::runtime, where, "shape " + to_string(sizes) + " does not fit: got " + describe(input));
  return result;
}

// Strides for viewing `input` as `sizes`, if its memory order allows it.
bool view_strides(const Tensor& input, const Shape& sizes, Shape& strides) {
  strides = contiguous_strides(sizes);
  if (input.numel() == 0 || input.is_contiguous()) return true;
  // Walk both shapes from the back; each run of input dims that is contiguous in itself must split evenly.
  int v = sizes.size() - 1;
  std::int64_t run = 1, viewed = 1;
  std::int64_t base = input.dim() > 0 ? input.strides()[input.dim() - 1] : 1;
  for (int d = input.dim() - 1; d >= 0; --d) {
    run *= input.sizes()[d];
    const bool run_ends = d == 0 || (input.sizes()[d - 1] != 1 && input.strides()[d - 1] != run * base);
    if (!run_ends) continue;
    while (v >= 0 && (viewed < run || sizes[v] == 1)) {
      strides[v] = viewed * base;
      viewed *= sizes[v--];
    }
    if (viewed != run) return false;
    if (d > 0) {
      base = input.strides()[d - 1];
      run = viewed = 1;
    }
  }
  return v == -1;
}

Tensor view_op(OpId op, const Tensor& input, const Shape& sizes, const Shape& strides, std::int64_t offset,
               Attributes attributes = {}) {
  attributes.set("size", sizes);
  attributes.set("stride", strides);
  attributes.set("storage_offset", offset);
  return run_op1({op, {input}, std::move(attributes), {}});
}
Tensor view_op(const Tensor& input, const Shape& sizes, const Shape& strides) {
  return view_op(OpId::view, input, sizes, strides, input.impl()->offset);
}

}  // namespace

Tensor view(const Tensor& input, const Shape& sizes) {
  const Shape wanted = infer_size(input, sizes, "view");
  Shape strides;
  if (!view_strides(input, wanted, strides))
    fail(ErrorCode::runtime, "view",
         "strides " + to_string(input.strides()) + " of " + describe(input) + " do not allow a view as " +
             to_string(wanted) + "; need reshape()");
  return view_op(input, wanted, strides);
}

Tensor reshape(const Tensor& input, const Shape& sizes) {
  const Shape wanted = infer_size(input, sizes, "reshape");
  Shape strides;
  if (view_strides(input, wanted, strides)) return view_op(input, wanted, strides);
  return view(clone(input), wanted);
}

Tensor flatten(const Tensor& input, std::int64_t start_dim, std::int64_t end_dim) {
  const int first = wrap_dim(start_dim, input.dim(), "flatten"), last = wrap_dim(end_dim, input.dim(), "flatten");
  if (last < first)
    fail(ErrorCode::runtime, "flatten",
         "start_dim is after end_dim: got " + std::to_string(start_dim) + " and " + std::to_string(end_dim));
  if (input.dim() == 0) return reshape(input, {1});
  Shape sizes;
  for (int d = 0; d < input.dim(); ++d) {
    if (d > first && d <= last)
      sizes[sizes.size() - 1] *= input.sizes()[d];
    else
      sizes.push_back(input.sizes()[d]);
  }
  return reshape(input, sizes);
}

Tensor expand(const Tensor& input, const Shape& sizes) {
  const int extra = sizes.size() - input.dim();
  if (extra < 0)
    fail(ErrorCode::runtime, "expand", "too few dimensions: got " + describe(input) + ", need " + to_string(sizes));
  Shape wanted = sizes, strides = sizes;
  for (int d = 0; d < sizes.size(); ++d) {
    const std::int64_t have = d < extra ? 1 : input.sizes()[d - extra];
    if (wanted[d] == -1 && d >= extra) wanted[d] = have;
    if (have != wanted[d] && have != 1)
      fail(ErrorCode::runtime, "expand", "cannot expand " + describe(input) + " to " + to_string(sizes));
    strides[d] = d < extra || (have == 1 && wanted[d] != 1) ? 0 : input.strides()[d - extra];
  }
  return view_op(OpId::expand, input, wanted, strides, input.impl()->offset);
}

Tensor permute(const Tensor& input, const Shape& dims) {
  if (dims.size() != input.dim())
    fail(ErrorCode::runtime, "permute", "need one entry per dim of " + describe(input) + ": got " + to_string(dims));
  Shape sizes = dims, strides = dims;
  std::uint32_t seen = 0;
  for (int d = 0; d < dims.size(); ++d) {
    const int from = wrap_dim(dims[d], input.dim(), "permute");
    if (seen & (1u << from)) fail(ErrorCode::runtime, "permute", "dim appears twice in " + to_string(dims));
    seen |= 1u << from;
    sizes[d] = input.sizes()[from];
    strides[d] = input.strides()[from];
  }
  return view_op(OpId::permute, input, sizes, strides, input.impl()->offset, {{"dims", dims}});
}

Tensor transpose(const Tensor& input, std::int64_t dim0, std::int64_t dim1) {
  const int a = wrap_dim(dim0, input.dim(), "transpose"), b = wrap_dim(dim1, input.dim(), "transpose");
  if (input.dim() == 0) return input;
  Shape dims;
  for (int d = 0; d < input.dim(); ++d) dims.push_back(d == a ? b : d == b ? a : d);
  return permute(input, dims);
}

Tensor unsqueeze(const Tensor& input, std::int64_t dim) {
  const int at = wrap_dim(dim, input.dim() + 1, "unsqueeze");
  Shape sizes = input.sizes(), strides = input.strides();
  strides.insert(at, at < input.dim() ? input.sizes()[at] * input.strides()[at] : 1);
  sizes.insert(at, 1);
  return view_op(input, sizes, strides);
}

Tensor squeeze(const Tensor& input) {
  Shape sizes, strides;
  for (int d = 0; d < input.dim(); ++d)
    if (input.sizes()[d] != 1) {
      sizes.push_back(input.sizes()[d]);
      strides.push_back(input.strides()[d]);
    }
  return view_op(input, sizes, strides);
}

Tensor squeeze(const Tensor& input, std::int64_t dim) {
  const int at = wrap_dim(dim, input.dim(), "squeeze");
  if (input.dim() == 0 || input.sizes()[at] != 1) return input;
  Shape sizes = input.sizes(), strides = input.strides();
  sizes.erase(at);
  strides.erase(at);
  return view_op(input, sizes, strides);
}

Tensor narrow(const Tensor& input, std::int64_t dim, std::int64_t start, std::int64_t length) {
  const int at = wrap_dim(dim, input.dim(), "narrow");
  if (input.dim() == 0) fail(ErrorCode::runtime, "narrow", "cannot narrow a 0-dim tensor");
  const std::int64_t size = input.sizes()[at];
  const std::int64_t first = start < 0 ? start + size : start;
  if (first < 0 || length < 0 || first > size || length > size - first)
    fail(ErrorCode::index, "narrow",
         "range leaves dim " + std::to_string(at) + " of " + describe(input) + ": got start " + std::to_string(start) +
             ", length " + std::to_string(length));
  Shape sizes = input.sizes();
  sizes[at] = length;
  return view_op(OpId::narrow, input, sizes, input.strides(), input.impl()->offset + first * input.strides()[at],
                 {{"dim", std::int64_t{at}}, {"start", first}});
}

Tensor select(const Tensor& input, std::int64_t dim, std::int64_t index) {
  const int at = wrap_dim(dim, input.dim(), "select");
  if (input.dim() == 0) fail(ErrorCode::index, "select", "cannot select from a 0-dim tensor");
  const std::int64_t size = input.sizes()[at];
  const std::int64_t i = index < 0 ? index + size : index;
  if (i < 0 || i >= size)
    fail(ErrorCode::index, "select",
         "index out of range: got " + std::to_string(index) + " for dim " + std::to_string(at) + " of " +
             describe(input));
  return squeeze(narrow(input, at, i, 1), at);
}

Tensor movedim(const Tensor& input, const Shape& source, const Shape& destination) {
  if (source.size() != destination.size())
    fail(ErrorCode::runtime, "movedim",
         "needs as many sources as destinations: got " + to_string(source) + " and " + to_string(destination));
  Shape order;
  for (int d = 0; d < input.dim(); ++d) order.push_back(-1);
  std::uint32_t moved = 0, filled = 0;
  for (int i = 0; i < source.size(); ++i) {
    const int from = wrap_dim(source[i], input.dim(), "movedim"), to = wrap_dim(destination[i], input.dim(), "movedim");
    if ((moved & (1u << from)) || (filled & (1u << to)))
      fail(ErrorCode::runtime, "movedim",
           "a dim appears twice: got " + to_string(source) + " and " + to_string(destination));
    moved |= 1u << from;
    filled |= 1u << to;
    order[to] = from;
  }
  int next = 0;
  for (int d = 0; d < input.dim(); ++d) {
    if (filled & (1u << d)) continue;
    while (moved & (1u << next)) ++next;
    order[d] = next++;
  }
  return permute(input, order);
}
Tensor movedim(const Tensor& input, std::int64_t source, std::int64_t destination) {
  return movedim(input, Shape{source}, Shape{destination});
}

Tensor unflatten(const Tensor& input, std::int64_t dim, const Shape& sizes) {
  const int at = wrap_dim(dim, input.dim(), "unflatten");
  Shape all, parts = sizes;
  std::int64_t known = 1;
  for (const auto n : sizes) known *= n == -1 ? 1 : n;
  for (auto& n : parts)
    if (n == -1) n = known == 0 ? 0 : input.size(at) / known;
  if (numel_of(parts) != input.size(at))
    fail(ErrorCode::runtime, "unflatten",
         "sizes do not fit: got " + to_string(sizes) + " for dim " + std::to_string(at) + " of " + describe(input));
  for (int d = 0; d < input.dim(); ++d) {
    if (d != at)
      all.push_back(input.size(d));
    else
      for (const auto n : parts) all.push_back(n);
  }
  return view(input, all);
}

Tensors broadcast_tensors(const Tensors& tensors) {
  Shape sizes;
  for (const Tensor& t : tensors) sizes = broadcast_shapes(sizes, t.sizes(), "broadcast_tensors");
  Tensors result;
  for (const Tensor& t : tensors) result.push_back(expand(t, sizes));
  return result;
}

Tensor slice(const Tensor& input, std::int64_t dim, std::int64_t start, std::int64_t end, std::int64_t step) {
  const int at = wrap_dim(dim, input.dim(), "slice");
  if (input.dim() == 0 || step < 1)
    fail(ErrorCode::runtime, "slice",
         "needs a dim and a positive step: got step " + std::to_string(step) + " for " + describe(input));
  const std::int64_t n = input.size(at);
  const auto inside = [n](std::int64_t i) { return std::clamp<std::int64_t>(i < 0 ? i + n : i, 0, n); };
  const std::int64_t first = inside(start), last = std::max(first, inside(end));
  if (step == 1) return narrow(input, at, first, last - first);
  return index_select(input, at, arange(first, last, step));
}

Tensor clone(const Tensor& input) {
  if (input.defined() && input.is_sparse()) return with_values(input, clone(input.values()));
  return run_op1({OpId::clone, {input}, {}, {}});
}
Tensor contiguous(const Tensor& input) { return input.is_contiguous() ? input : clone(input); }

}  // namespace amp
