// The seam between dispatch and what runs ops. Hardware is a folder: backend/cpu, backend/cuda. Each offers one table,
// expanded from ops.def, so an op that is declared and has no body does not link.
#pragma once
#include <vector>

#include "libamp/base/event.h"
#include "libamp/dispatch/op_call.h"

namespace amp {

using Body = Tensors (*)(const OpCall&);

struct Backend {
  Body bodies[kOpCount];  // null: this device has no body for the op
  /// Fills count, zero, nan, inf, min, max, underflow, overflow, exponent_first and exponent_bins of the event, and
  /// the exponent counts, in one pass over a floating tensor.
  void (*tensor_stats)(const Tensor& tensor, TensorStatEvent& event, std::vector<std::uint64_t>& counts);
};

/// The table of a device; throws naming the device if this build has none. Defined in backend/backends.cpp.
const Backend& backend(DeviceType device, std::string_view where);
/// The body of a composite row, written with other ops. Defined in ops/composite_table.cpp.
Body composite_body(OpId op);
/// The cost formula of a row. Defined in dispatch/cost_table.cpp.
Cost cost_of(const OpCall& call);

/// Counts what rounding to a narrow type loses, while a sampled op runs. Bodies that round float32 results report here.
struct RoundingLoss {
  bool measured = false;
  std::uint64_t to_zero = 0, to_inf = 0;
};
/// Is somebody counting now? Bodies then scan their float32 results before rounding.
bool counting_rounding() noexcept;
/// Adds to the count. [any thread]
void add_rounding_loss(std::uint64_t to_zero, std::uint64_t to_inf) noexcept;

}  // namespace amp
