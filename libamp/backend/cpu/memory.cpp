// Conversion, copies, fills and views.
#include <cstring>

#include "libamp/backend/cpu/elementwise.h"

namespace amp::cpu {
namespace {

// Copies with conversion. int64 and float64 sources go through their own compute type so that no bit is lost.
void copy_into(const Tensor& out, const Tensor& in) {
  if (out.dtype() == in.dtype() && out.is_contiguous() && in.is_contiguous() && out.sizes() == in.sizes()) {
    const std::int64_t bytes = out.numel() * static_cast<std::int64_t>(size_of(out.dtype()));
    parallel_for(bytes, kGrain * 8, [&](std::int64_t begin, std::int64_t end) {
      std::memcpy(out.data<std::byte>() + begin, in.data<std::byte>() + begin, static_cast<std::size_t>(end - begin));
    });
    return;
  }
  with_compute_type(in.dtype(), [&]<typename C>(TypeTag<C>) {
    elementwise<C, 1>(out, {&in}, [](const C* a, C* o, std::int64_t n) {
      if (a != o) std::memcpy(o, a, static_cast<std::size_t>(n) * sizeof(C));
    });
  });
}

}  // namespace

Tensors to(const OpCall& call) {
  const Tensor& in = call.in(0);
  Tensor out = empty(in.sizes(), call.attributes.dtype("dtype", in.dtype()), in.device());
  copy_into(out, in);
  return {out};
}

Tensors clone(const OpCall& call) {
  Tensor out = make_output(call, call.in(0).sizes(), call.in(0).dtype());
  copy_into(out, call.in(0));
  return {out};
}

Tensors copy_(const OpCall& call) {
  const Tensor &out = call.in(0), &in = call.in(1);
  if (!(broadcast_shapes(out.sizes(), in.sizes(), "copy_") == out.sizes()))
    call.fail("source does not broadcast to the destination: got " + describe(in) + ", need " + to_string(out.sizes()));
  copy_into(out, in);
  return {out};
}

Tensors fill_(const OpCall& call) {
  const Tensor& out = call.in(0);
  const double value = call.attributes.number("value", 0);
  with_compute_type(out.dtype(), [&]<typename C>(TypeTag<C>) {
    elementwise<C, 0>(out, {}, [value](C* o, std::int64_t n) { std::fill(o, o + n, static_cast<C>(value)); });
  });
  return {out};
}

// All view ops are one: their function computed the sizes, strides and offset.
Tensors view(const OpCall& call) {
  const Tensor& in = call.in(0);
  const Shape sizes = call.attributes.list("size", {}), strides = call.attributes.list("stride", {});
  const std::int64_t offset = call.attributes.integer("storage_offset", 0);
  std::int64_t last = offset;
  for (int d = 0; d < sizes.size(); ++d) last += sizes[d] > 0 ? (sizes[d] - 1) * strides[d] : 0;
  const auto held = static_cast<std::int64_t>(in.impl()->storage->bytes() / size_of(in.dtype()));
  if (offset < 0 || (numel_of(sizes) > 0 && last >= held))
    call.fail("view leaves the storage: need element " + std::to_string(last) + ", storage has " +
              std::to_string(held));
  return {make_view(in, sizes, strides, offset)};
}
Tensors permute(const OpCall& call) { return view(call); }
Tensors expand(const OpCall& call) { return view(call); }
Tensors narrow(const OpCall& call) { return view(call); }

Tensors narrow_backward(const OpCall& call) {
  const Tensor& in = call.in(0);
  const Shape sizes = call.attributes.list("size", {});
  const auto dim = static_cast<int>(call.attributes.integer("dim", 0));
  Tensor out = make_output(call, sizes, in.dtype());
  std::memset(out.raw(), 0, static_cast<std::size_t>(out.numel()) * size_of(out.dtype()));
  copy_into(make_view(out, in.sizes(), out.strides(), call.attributes.integer("start", 0) * out.strides()[dim]), in);
  return {out};
}

}  // namespace amp::cpu
