// Comparisons of runs: each gives back what differs, or nothing.
#pragma once
#include <string>

#include "tests/random/execute.h"

namespace amp::fuzz {

/// Types and errors against the prediction. errors: counts the errors that were due.
std::string compare_types(const Program& program, const Run& run, long& errors);
/// Each step against the same step in float64, on the operands its body saw.
std::string compare_values(const Program& program, const Run& run);
/// Type, sizes and every bit.
std::string compare_bits(const Tensor& a, const Tensor& b);
/// All values, errors and perhaps gradients of two runs of a program, to the bit.
std::string compare_runs(const Program& program, const Run& a, const Run& b, bool with_gradients);

}  // namespace amp::fuzz
