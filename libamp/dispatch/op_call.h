// One call of an op on its way through dispatch.
#pragma once
#include "libamp/base/op.h"
#include "libamp/core/tensor.h"
#include "libamp/tape/attributes.h"

namespace amp {

struct OpCall {
  OpId op = OpId::none;
  Tensors inputs;  // in PyTorch's signature order; undefined: optional argument left out
  Attributes attributes;
  /// Destination of an in-place or out= call; undefined for the ordinary form. Bodies write into it (see make_output).
  Tensor out;

  [[nodiscard]] const Tensor& in(std::size_t i) const { return inputs[i]; }
  [[nodiscard]] bool has(std::size_t i) const { return i < inputs.size() && inputs[i].defined(); }
  [[nodiscard]] const OpInfo& info() const { return op_info(op); }
  /// Throws Error(code) with the op's name in brackets.
  [[noreturn]] void fail(std::string_view message, ErrorCode code = ErrorCode::runtime) const {
    amp::fail(code, info().name, message);
  }
};

/// The output of a body: `call.out` if there is one (its shape must be `sizes`; its dtype may differ only if
/// `converts`), else a new tensor.
Tensor make_output(const OpCall& call, const Shape& sizes, DType dtype, bool converts = false);

/// Flops and bytes of one call, from the operands alone.
struct Cost {
  double flops = 0, bytes = 0;
};

}  // namespace amp
