// Which training step is it? PyTorch's loops have no call that says so, so steps are inferred: a step begins with the
// first forward op that records a gradient, and is over when an optimizer has stepped (or was skipped) and the next
// such op comes. A loop that does it differently calls mark_step(). The clock only runs while somebody listens.
#pragma once
#include <cstdint>

#include "libamp/base/event.h"

namespace amp::step_clock {

/// The current step, kNoStep outside steps. [any thread]
std::uint32_t current() noexcept;
/// Are tensor statistics gathered in this step? [any thread]
bool sampled() noexcept;
/// Are ops announced in this step (inside the window that was asked for)? [any thread]
bool recorded() noexcept;

/// A forward op runs; records_gradient tells training from evaluation. Called by dispatch.
void note_forward_op(bool records_gradient);
/// An optimizer stepped or its step was skipped. Called by optim and scaler.
void note_optimizer_step();
/// Ends the current step and begins the next one by hand; from then on steps are no longer inferred.
void mark_step();

/// Sampling and window, as "every=N" or "off", and "A:B" (steps A to B-1). Read from AMP_STATS and AMP_STEPS at the
/// first use; malformed text is reported by returning false, and leaves the setting as it was.
bool set_sampling(const char* text);
bool set_window(const char* text);
/// Back to the state before the first step (for tests and for several runs in one process).
void reset();

}  // namespace amp::step_clock
