// Bodies that put elements elsewhere: flipping, padding with a constant, diagonals.
#include "libamp/backend/cpu/elementwise.h"

namespace amp::cpu {
namespace {

void copy_elements(const Tensor& to, const Tensor& from) {
  with_compute_type(from.dtype(), [&]<typename C>(TypeTag<C>) {
    elementwise<C, 1>(to, {&from}, [](const C* a, C* o, std::int64_t n) {
      if (a != o) std::copy(a, a + n, o);
    });
  });
}
void fill_with(const Tensor& out, double value) {
  with_compute_type(out.dtype(), [&]<typename C>(TypeTag<C>) {
    elementwise<C, 0>(out, {}, [fill = convert_element<C>(value)](C* o, std::int64_t n) { std::fill(o, o + n, fill); });
  });
}

}  // namespace

// The input read backwards: a view with negative strides, copied.
Tensors flip(const OpCall& call) {
  const Tensor& in = call.in(0);
  Shape strides = in.strides();
  std::int64_t offset = in.impl()->offset;
  std::uint32_t seen = 0;
  for (const auto dim : call.attributes.list("dims", {})) {
    const int d = wrap_dim(dim, in.dim(), "flip");
    if (seen & (1u << d)) call.fail("dim " + std::to_string(d) + " appears more than once");
    seen |= 1u << d;
    if (in.dim() == 0 || in.sizes()[d] == 0) continue;
    offset += (in.sizes()[d] - 1) * strides[d];
    strides[d] = -strides[d];
  }
  const Tensor out = make_output(call, in.sizes(), in.dtype());
  if (in.numel() > 0) copy_elements(out, make_view(in, in.sizes(), strides, offset));
  return {out};
}

// Attribute pad: pairs (before, after) from the last dim on; negative ones cut off.
Tensors constant_pad_nd(const OpCall& call) {
  const Tensor& in = call.in(0);
  const Shape pad = call.attributes.list("pad", {});
  if (pad.size() % 2 != 0 || pad.size() / 2 > in.dim())
    call.fail("pad needs pairs, at most one for each dim: got " + to_string(pad) + " for " + describe(in));
  Shape sizes = in.sizes(), kept = in.sizes();
  std::int64_t from = in.impl()->offset, to = 0;
  for (int i = 0; i < pad.size() / 2; ++i) {
    const int d = in.dim() - 1 - i;
    sizes[d] += pad[2 * i] + pad[2 * i + 1];
    if (sizes[d] < 0) call.fail("more is cut off than there is: got pad " + to_string(pad) + " for " + describe(in));
    kept[d] = std::max<std::int64_t>(
        0, in.sizes()[d] + std::min<std::int64_t>(0, pad[2 * i]) + std::min<std::int64_t>(0, pad[2 * i + 1]));
    from += std::max<std::int64_t>(0, -pad[2 * i]) * in.strides()[d];
  }
  const Tensor out = make_output(call, sizes, in.dtype());
  for (int i = 0; i < pad.size() / 2; ++i)
    to += std::max<std::int64_t>(0, pad[2 * i]) * out.strides()[in.dim() - 1 - i];
  fill_with(out, call.attributes.number("value", 0));
  if (numel_of(kept) > 0)
    copy_elements(make_view(out, kept, out.strides(), out.impl()->offset + to),
                  make_view(in, kept, in.strides(), from));
  return {out};
}

// A view: its function computed sizes, strides and offset.
Tensors view(const OpCall& call);
Tensors diagonal(const OpCall& call) { return view(call); }

// Zeros of shape input_sizes with the input on a diagonal. Attributes offset, dim1, dim2 (not negative).
Tensors diagonal_backward(const OpCall& call) {
  const Tensor& in = call.in(0);
  const Shape sizes = call.attributes.list("input_sizes", {});
  const std::int64_t shift = call.attributes.integer("offset", 0);
  const auto dim1 = static_cast<int>(call.attributes.integer("dim1", 0)),
             dim2 = static_cast<int>(call.attributes.integer("dim2", 1));
  const Tensor out = make_output(call, sizes, in.dtype());
  fill_with(out, 0);
  Shape strides;
  for (int d = 0; d < sizes.size(); ++d)
    if (d != dim1 && d != dim2) strides.push_back(out.strides()[d]);
  strides.push_back(out.strides()[dim1] + out.strides()[dim2]);
  const std::int64_t start = shift >= 0 ? shift * out.strides()[dim2] : -shift * out.strides()[dim1];
  if (in.numel() > 0) copy_elements(make_view(out, in.sizes(), strides, start), in);
  return {out};
}

}  // namespace amp::cpu
