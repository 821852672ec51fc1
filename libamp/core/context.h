// What the current thread is doing, for whoever announces something: phase, module path, op, cause of allocations.
// Only observation reads it; nothing here changes a result.
#pragma once
#include "libamp/base/event.h"
#include "libamp/base/op.h"

namespace amp {

/// Id of an interned string, see observer.h; 0 is none.
using StringId = std::uint64_t;

struct Context {
  Phase phase = Phase::forward;
  MemoryCause cause = MemoryCause::activations;
  OpId op = OpId::none;
  StringId module_path = 0;
  // The next allocation is a cast of this allocation (0: it is not a cast).
  std::uint64_t alias_of = 0;
  // Nested inside another op's body.
  int op_depth = 0;
};

/// This thread's context.
Context& context() noexcept;

/// Restores one field of the context at the end of a scope.
template <typename T>
class ContextScope {
 public:
  ContextScope(T Context::*field, T value) : field_(field), before_(context().*field) { context().*field = value; }
  ~ContextScope() { context().*field_ = before_; }
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

 private:
  T Context::*field_;
  T before_;
};
using PhaseScope = ContextScope<Phase>;
using CauseScope = ContextScope<MemoryCause>;

}  // namespace amp
