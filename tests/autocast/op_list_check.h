// The harness of PyTorch's op-list tests: a listed op, called as function and as method in a region, gives the listed
// dtype, agrees between the two forms, and equals bit for bit the op run outside on arguments cast by hand.
#pragma once
#include <string>

#include "libamp/autocast/scope.h"
#include "tests/support/op_samples.h"

namespace amp::test {

/// A region on the CPU under the rules of `policy`.
inline AutocastOptions rules(Policy policy, DType fast) { return {.dtype = fast, .policy = policy}; }

/// All floating tensors converted; others as they are.
Tensors cast_all(const Tensors& tensors, DType dtype);

/// Are two lists of results the same bits, dtype and shape? Any NaN equals any NaN.
bool same_bits(const Tensors& a, const Tensors& b);

/// Runs `sample` in a region on arguments of dtype `given`, and compares with the call outside on arguments cast to
/// `ran_in`. `expected`: dtype of the floating outputs. Empty if all holds, else what does not.
std::string check_listed(const OpSample& sample, Policy policy, DType fast, DType given, DType ran_in, DType expected);

}  // namespace amp::test
