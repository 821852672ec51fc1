// See not_cleared.h. A parameter's `gradient` rows are what a backward pass brought, its `unscaled_gradient` row is the
// sum that the optimizer is given; a step has any number of the former before the latter.
#include "profiler/analysis/not_cleared.h"

#include <map>
#include <utility>

namespace ampprof::analysis {
namespace {

struct History {
  std::optional<std::uint32_t> brought_in;  // the step the next field is about
  bool brought_finite = true;
  std::optional<std::uint32_t> sum_bad_since;
};

void note_backward(History& history, const TensorRow& row) {
  if (history.brought_in != row.step) history.brought_finite = true;
  history.brought_in = row.step;
  history.brought_finite = history.brought_finite && row.nonfinite() == 0;
}

}  // namespace

std::optional<NotCleared> find_not_cleared(const std::vector<TensorRow>& tensors) {
  std::map<std::pair<std::uint32_t, std::string>, History> histories;
  std::optional<NotCleared> found;
  for (const TensorRow& row : tensors) {
    if (row.role != amp::TensorRole::gradient && row.role != amp::TensorRole::unscaled_gradient) continue;
    if (found && row.step != found->seen_in_step) break;
    History& history = histories[{row.pid, row.name}];
    if (row.role == amp::TensorRole::gradient) {
      note_backward(history, row);
    } else if (row.nonfinite() == 0) {
      history.sum_bad_since.reset();
    } else if (!history.sum_bad_since) {
      history.sum_bad_since = row.step;
    } else if (history.brought_in == row.step && history.brought_finite) {
      if (!found) found = NotCleared{*history.sum_bad_since, row.step, {}, false};
      found->parameters.push_back(row.name);
      found->nan = found->nan || row.nan != 0;
    }
  }
  return found;
}

}  // namespace ampprof::analysis
