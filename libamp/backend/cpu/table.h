// The CPU's table of op bodies.
#pragma once
#include "libamp/dispatch/backend.h"

namespace amp::cpu {

const Backend& table();

/// One pass over a floating tensor: exponent counts, zeros, non-finite values, extremes, losses in the narrow types.
void tensor_stats(const Tensor& tensor, TensorStatEvent& event, std::vector<std::uint64_t>& counts);

}  // namespace amp::cpu
