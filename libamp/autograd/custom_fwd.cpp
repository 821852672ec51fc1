// The one cast of custom_fwd.h: it is made below autograd's view of the function, whose forward records nothing.
#include "libamp/autograd/custom_fwd.h"

#include "libamp/dispatch/run_op.h"

namespace amp {

Tensor cast_nested(const Tensor& tensor, DeviceType device, DType dtype) {
  if (!tensor.defined() || !is_eligible({true, tensor.dtype(), tensor.device().type}, device)) return tensor;
  return cast(tensor, dtype, CastKind::autocast, OpId::to);
}

}  // namespace amp
