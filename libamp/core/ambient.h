// What a layer above keeps for a thread and a recomputation must find again: nn's stack of running modules, from which
// it tells their paths. Core knows only how to capture it and bring it back.
#pragma once
#include <functional>
#include <memory>

namespace amp::ambient {

/// Brings back what was captured, until the returned object dies. Empty: there is nothing to bring back.
using Enter = std::function<std::shared_ptr<void>()>;
/// Captures this thread's state. One layer may set it, once, at start.
using Capture = Enter (*)();

void set_capture(Capture capture) noexcept;
Enter capture();

}  // namespace amp::ambient
