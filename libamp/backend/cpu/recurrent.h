// What the bodies of whole recurrent layers share: operands, the order of the steps, and blocks of them.
//
// A layer runs one direction over a whole sequence. Its products are few and large: the input's part of all gates is
// one product for a block of steps, and so is each weight's gradient. Only the hidden state's part is a product a step.
// The rows of a batch do not see each other, so each thread takes some of them through all steps of a block without
// waiting for the others.
#pragma once
#include <vector>

#include "libamp/backend/cpu/dense.h"
#include "libamp/backend/cpu/gates.h"
#include "libamp/backend/cpu/gemm.h"

namespace amp::cpu {

enum class Recurrence { plain, gru, lstm };

/// Rows of pre-activations per hidden element, and of what is kept of them for the gradient.
constexpr std::int64_t gates_of(Recurrence r) { return r == Recurrence::lstm ? 4 : r == Recurrence::gru ? 3 : 1; }
constexpr std::int64_t kept_of(Recurrence r) { return r == Recurrence::plain ? 1 : 4; }

/// The rows of each time step. A sequence [steps, batch, ...] has `batch` rows in each; a packed one [rows, ...] has
/// batch_sizes[t] rows in step t, never more than in the step before.
struct Steps {
  std::int64_t count = 0, batch = 0, total = 0;
  bool reverse = false;
  std::vector<std::int64_t> rows, first;

  /// Time of the s-th step that is run.
  [[nodiscard]] std::int64_t time(std::int64_t s) const { return reverse ? count - 1 - s : s; }
  /// Where the state comes from in row b of time t: a row of the output, or -1 for the initial state.
  [[nodiscard]] std::int64_t previous(std::int64_t t, std::int64_t b) const {
    if (!reverse) return t == 0 ? -1 : first[t - 1] + b;
    return t + 1 == count || b >= rows[t + 1] ? -1 : first[t + 1] + b;
  }
};

/// Steps [begin, end) in the order they are run, whose rows [first, last) lie together.
struct Block {
  std::int64_t begin, end, first, last;
  [[nodiscard]] std::int64_t rows() const { return last - first; }
};
/// Blocks of about a thousand rows: large enough for the products to be fast, small enough to stay in the cache.
std::vector<Block> blocks_of(const Steps& steps);

/// Named operands of a layer's forward or backward call, dense, and checked against each other.
struct LayerOperands {
  Tensor input, w_ih, w_hh, h0, c0, b_ih, b_hh, w_hr;
  Steps steps;
  std::int64_t in = 0, hidden = 0, out = 0;  // sizes; `out` differs from `hidden` with a projection
  DType dtype = DType::float32;
};

/// Where optional operands stand in a call's inputs; -1: the call has none.
struct LayerPlaces {
  int b_ih = -1, b_hh = -1, w_hr = -1, batch_sizes = -1;
};
LayerOperands layer_operands(const OpCall& call, Recurrence kind, const LayerPlaces& places);

/// Runs f(first row, last row) over the batch, on several threads where that pays; a product inside then stays in its
/// thread.
template <typename F>
void over_batch(std::int64_t batch, std::int64_t work_per_row, F&& f) {
  constexpr std::int64_t kLeastRows = 4, kLeastWork = 200'000;
  const std::int64_t worth = std::max(kLeastRows, kLeastWork / std::max<std::int64_t>(1, work_per_row));
  const std::int64_t grain = std::max(worth, (batch + num_threads() - 1) / num_threads());
  if (batch <= grain) {
    if (batch > 0) f(std::int64_t{0}, batch);
    return;
  }
  parallel_for(batch, grain, f);
}

/// A row-major matrix of `rows` times `columns`, and its transpose.
template <typename C>
Matrix<C> matrix(const C* data, std::int64_t rows, std::int64_t columns) {
  return {data, rows, columns, columns, 1};
}
template <typename C>
Matrix<C> transposed(const Matrix<C>& m) {
  return {m.data, m.columns, m.rows, m.column_step, m.row_step};
}

/// Rows [first, first + n) of a dense tensor whose rows have `width` elements, in compute type C.
template <typename C>
const C* load_rows(const Tensor& t, std::int64_t first, std::int64_t n, std::int64_t width, C* buffer) {
  return load_block<C>(t, first * width, 1, n * width, buffer);
}
template <typename C>
void store_rows(const Tensor& t, std::int64_t first, std::int64_t n, std::int64_t width, const C* from) {
  store_from<C>(t.raw(), t.dtype(), first * width, 1, n * width, from);
}

template <typename C>
class Buffer {
 public:
  explicit Buffer(std::int64_t n, bool exists_in_fp32 = true)
      : memory_(static_cast<std::size_t>(std::max<std::int64_t>(1, n)) * sizeof(C), exists_in_fp32) {}
  [[nodiscard]] C* at(std::int64_t i = 0) const { return memory_.data<C>() + i; }

 private:
  Workspace memory_;
};

}  // namespace amp::cpu
