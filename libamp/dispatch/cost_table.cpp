// From op id to cost formula, by the rows of ops.def.
#include "libamp/dispatch/backend.h"
#include "libamp/dispatch/cost.h"

namespace amp {

Cost cost_of(const OpCall& call) {
  using Formula = Cost (*)(const OpCall&);
  static constexpr Formula kFormulas[kOpCount] = {
      cost::free,
#define AMP_OP(id, cuda_rule, cpu_rule, min_inputs, max_inputs, backends, gradient, saves, cost_name, text) \
  cost::cost_name,
#include "libamp/base/ops.def"
  };
  return kFormulas[static_cast<std::size_t>(call.op)](call);
}

Tensor make_output(const OpCall& call, const Shape& sizes, DType dtype, bool converts) {
  if (!call.out.defined()) return empty(sizes, dtype, call.inputs.empty() ? kCPU : call.in(0).device());
  if (!(call.out.sizes() == sizes))
    call.fail("output has the wrong shape: got " + describe(call.out) + ", need " + to_string(sizes));
  const bool fits = call.out.dtype() == dtype || (converts && (is_floating(call.out.dtype()) || !is_floating(dtype)) &&
                                                  call.out.dtype() != DType::bool_);
  if (!fits)
    call.fail("output has the wrong dtype: got " + describe(call.out) + ", need " + std::string(name(dtype)) +
              "; in-place and out= forms are not autocast, use the out-of-place form");
  return call.out;
}

}  // namespace amp
