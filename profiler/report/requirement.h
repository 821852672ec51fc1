// Requirements over a report, for `ampprof check`:
//   memory.saved_bytes > 0            loss_scale.skipped_steps <= 3        totals.cast_share < 5%
//   findings[id=overflow_skip].severity != 'critical'                      count(ops[compute_dtype=float16]) >= 1
//   sum(casts[cause_op=linear].cpu_ns) < 2ms && memory.peak_bytes < 1.5GiB  !findings[id=fp16_underflow]
// Paths are those of SCHEMA.md; [key=value, ...] keeps the rows that match, [n] takes one. Functions over rows: count,
// sum, min, max; measured(path) asks whether there is a figure. Numbers may carry % ns us ms s B KiB MiB GiB.
// A figure that was not measured satisfies no comparison, neither one way nor the other.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

namespace ampprof::report {

/// The expression cannot be read, or asks for a key that reports do not have.
class BadExpression : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct RequirementResult {
  bool satisfied = false;
  std::string why;  ///< the figures it was decided on, as "memory.saved_bytes is -393216"
};

/// Throws BadExpression.
RequirementResult check_requirement(const nlohmann::json& report, std::string_view expression);

}  // namespace ampprof::report
