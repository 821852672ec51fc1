// Copies of a module's buffers, to put back what the forward pass of a skipped step has done to them: GradScaler keeps
// an overflow from the weights, but running statistics were updated before anybody knew.
#pragma once
#include <utility>
#include <vector>

#include "libamp/nn/module.h"

namespace amp::nn {

/// Taken when made, before the forward pass. The module's buffers must live on and keep their dtypes and shapes.
///
///     const nn::BufferSnapshot before(model);
///     ... forward, backward ...
///     if (scaler.step(optimizer).skipped) before.restore();
class BufferSnapshot {
 public:
  explicit BufferSnapshot(const Module& module);
  /// Copies the values back, in place.
  void restore() const;

 private:
  std::vector<std::pair<Tensor, Tensor>> buffers_;  // the module's own, its copy
};

}  // namespace amp::nn
