// Builds and sends the events of an op call. Only called when observe::active().
#pragma once
#include "libamp/autocast/cast_rule.h"
#include "libamp/dispatch/op_call.h"

namespace amp::announce {

/// Operand facts as they were before casts; kept by run_op for the event.
struct Before {
  std::size_t count = 0;
  DType dtypes[kMaxEventInputs] = {};
};

/// Announces the begin of an op when made and its end when destroyed.
class OpScope {
 public:
  OpScope(const OpCall& call, const CastDecision& decision, Policy policy, const Before& before);
  ~OpScope();
  OpScope(const OpScope&) = delete;
  OpScope& operator=(const OpScope&) = delete;

 private:
  bool announced_;
  OpEvent event_;
};

/// Announces a conversion that is done while it lives.
class CastScope {
 public:
  CastScope(const Tensor& source, DType to, CastKind kind, OpId cause);
  ~CastScope();
  CastScope(const CastScope&) = delete;
  CastScope& operator=(const CastScope&) = delete;

 private:
  CastEvent event_;
};

/// Keeps what rounding the outputs lost, for their statistics. Called before the scope of their op or cast ends.
void note_rounding(const Tensors& outputs);

/// Announces a conversion the cache saved.
void cached_cast(const Tensor& source, DType to, OpId cause);

/// The loss scale that gradients carry now, for their statistics; set by GradScaler, 1 without one.
void set_loss_scale(double scale) noexcept;
double loss_scale() noexcept;

/// Announces statistics of a floating tensor; `name` is a string id.
void tensor_stats(const Tensor& tensor, StringId name, TensorRole role, OpId op, double scale = 1);

}  // namespace amp::announce
