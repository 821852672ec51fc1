// What optimizers do with a sparse gradient: read, compute and write only the rows that have entries.
#pragma once
#include "libamp/core/tensor.h"
#include "libamp/ops/math.h"
#include "libamp/ops/pointwise.h"
#include "libamp/ops/sparse.h"

namespace amp {

/// Throws Error(runtime) "[where] OPTION is not for sparse gradients" if it is set.
inline void refuse_for_sparse(bool is_set, const char* where, const char* option) {
  if (is_set) fail(ErrorCode::runtime, where, std::string(option) + " is not for sparse gradients: need it off");
}

/// The rows of one parameter that its gradient touches, each once, in the type the arithmetic runs in.
class SparseRows {
 public:
  /// master: the float32 copy of a half parameter, or undefined.
  SparseRows(const Tensor& param, const Tensor& gradient, const Tensor& master)
      : param_(param.detach()), master_(master), sparse_(gradient.coalesce()) {
    if (is_low_precision(sparse_.dtype())) sparse_ = to(sparse_, DType::float32);
  }
  [[nodiscard]] std::int64_t count() const { return sparse_.values().size(0); }
  [[nodiscard]] Tensor gradient() const { return sparse_.values(); }
  /// Rows of a dense state tensor.
  [[nodiscard]] Tensor at(const Tensor& state) const { return gather_rows(state, sparse_); }
  void set(const Tensor& state, const Tensor& rows) const { set_rows_(state, sparse_, rows); }
  /// param += alpha * rows. A half parameter with a master copy is its rounded copy.
  void add_to_param(const Tensor& rows, double alpha) const {
    const Tensor& target = master_.defined() ? master_ : param_;
    const Tensor updated = to(at(target), rows.dtype()) + rows * alpha;
    set(target, updated);
    if (master_.defined()) set(param_, updated);
  }

 private:
  Tensor param_, master_, sparse_;
};

}  // namespace amp
