// See buffer_snapshot.h.
#include "libamp/nn/buffer_snapshot.h"

#include "libamp/core/context.h"
#include "libamp/core/grad_mode.h"

namespace amp::nn {

BufferSnapshot::BufferSnapshot(const Module& module) {
  const no_grad quiet;
  const CauseScope cause(&Context::cause, MemoryCause::weights);
  for (const auto& [name, buffer] : module.named_buffers()) buffers_.emplace_back(buffer, buffer.clone());
}

void BufferSnapshot::restore() const {
  const no_grad quiet;
  for (const auto& [buffer, copy] : buffers_) buffer.copy_(copy);
}

}  // namespace amp::nn
