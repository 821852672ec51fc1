// cat and stack: each input is copied, converting, into its range of the result.
#include <cstring>

#include "libamp/backend/cpu/elementwise.h"

namespace amp::cpu {
namespace {

void copy_part(const Tensor& out, const Tensor& in) {
  with_compute_type(in.dtype(), [&]<typename C>(TypeTag<C>) {
    elementwise<C, 1>(out, {&in}, [](const C* a, C* o, std::int64_t n) {
      if (a != o) std::memcpy(o, a, static_cast<std::size_t>(n) * sizeof(C));
    });
  });
}

// The range [start, start + length) of one dim; without the dim for a single slice of stack.
Tensor part_of(const Tensor& out, int dim, std::int64_t start, std::int64_t length) {
  Shape sizes = out.sizes();
  sizes[dim] = length;
  return make_view(out, sizes, out.strides(), out.impl()->offset + start * out.strides()[dim]);
}
Tensor slice_of(const Tensor& out, int dim, std::int64_t at) {
  Shape sizes = out.sizes(), strides = out.strides();
  sizes.erase(dim);
  strides.erase(dim);
  return make_view(out, sizes, strides, out.impl()->offset + at * out.strides()[dim]);
}

bool is_skipped(const Tensor& t) { return t.dim() == 1 && t.numel() == 0; }

}  // namespace

Tensors cat(const OpCall& call) {
  const Tensor* first = nullptr;
  for (const Tensor& t : call.inputs) {
    if (t.dim() == 0) call.fail("0-dim tensors cannot be joined: got " + describe(t) + "; use stack");
    if (first == nullptr && !is_skipped(t)) first = &t;
  }
  if (first == nullptr) first = &call.in(0);
  const int dim = wrap_dim(call.attributes.integer("dim", 0), first->dim(), "cat");
  Shape sizes = first->sizes();
  sizes[dim] = 0;
  for (const Tensor& t : call.inputs) {
    if (is_skipped(t)) continue;
    bool fits = t.dim() == first->dim();
    for (int d = 0; d < t.dim() && fits; ++d) fits = d == dim || t.sizes()[d] == first->sizes()[d];
    if (!fits)
      call.fail("sizes must match except in dim " + std::to_string(dim) + ": got " + describe(t) + " and " +
                describe(*first));
    sizes[dim] += t.sizes()[dim];
  }
  Tensor out = make_output(call, sizes, result_type(call.inputs), true);
  std::int64_t start = 0;
  for (const Tensor& t : call.inputs) {
    if (is_skipped(t)) continue;
    copy_part(part_of(out, dim, start, t.sizes()[dim]), t);
    start += t.sizes()[dim];
  }
  return {out};
}

Tensors stack(const OpCall& call) {
  const Tensor& first = call.in(0);
  const int dim = wrap_dim(call.attributes.integer("dim", 0), first.dim() + 1, "stack");
  for (const Tensor& t : call.inputs)
    if (!(t.sizes() == first.sizes())) call.fail("sizes must be equal: got " + describe(t) + " and " + describe(first));
  Shape sizes = first.sizes();
  sizes.insert(dim, static_cast<std::int64_t>(call.inputs.size()));
  Tensor out = make_output(call, sizes, result_type(call.inputs), true);
  for (std::size_t i = 0; i < call.inputs.size(); ++i)
    copy_part(slice_of(out, dim, static_cast<std::int64_t>(i)), call.in(i));
  return {out};
}

}  // namespace amp::cpu
