// Gradients that stay non-finite because nobody cleared them: the backward pass of a later step was finite, the sum
// with what an earlier one had left is not.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "profiler/analysis/tensors.h"

namespace ampprof::analysis {

struct NotCleared {
  std::uint32_t since_step = 0;         ///< the accumulated gradients are not finite since this one
  std::uint32_t seen_in_step = 0;       ///< the first step whose own backward pass was finite all the same
  std::vector<std::string> parameters;  ///< those it is known of in that step
  bool nan = false;                     ///< NaN is among them; else infinities only
};

/// Empty where gradients are cleared, or where no two sampled steps tell. `tensors` are in order of time.
std::optional<NotCleared> find_not_cleared(const std::vector<TensorRow>& tensors);

}  // namespace ampprof::analysis
