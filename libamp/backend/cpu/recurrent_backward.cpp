// Recurrent layers backward: one product a step carries the gradient of the hidden state back in time, and one product
// a block gives each weight's gradient. See recurrent.h for how the work is cut.
#include "libamp/backend/cpu/recurrent.h"

namespace amp::cpu {
namespace {

// What a backward call gets beside the forward call's operands, and what it fills; undefined: left out, not wanted.
struct LayerGradients {
  Tensor out = {}, kept = {}, cells = {};  // of the forward call
  Tensor d_out = {}, d_h = {}, d_c = {};   // of its results
  Tensor d_input = {}, d_w_ih = {}, d_w_hh = {}, d_h0 = {}, d_c0 = {}, d_b = {}, d_b_hh = {}, d_w_hr = {};  // wanted
};

/// A gradient that is summed over blocks in compute type C and rounded once at the end.
template <typename C>
class Sum {
 public:
  explicit Sum(const Tensor& to) : to_(to) {
    if (!to.defined()) return;
    if (to.dtype() != kDTypeOf<C>) wide_ = std::make_unique<Buffer<C>>(to.numel(), false);
    std::fill_n(data(), to.numel(), C(0));
  }
  explicit operator bool() const { return to_.defined(); }
  [[nodiscard]] C* data() const { return wide_ ? wide_->at() : to_.data<C>(); }
  /// += a^T b
  void add_product(const Matrix<C>& a, const Matrix<C>& b) const {
    if (to_.defined()) gemm<C>(transposed(a), b, data(), b.columns, C(1), C(1));
  }
  void add_columns(const C* rows, std::int64_t n, std::int64_t width) const {
    if (!to_.defined()) return;
    parallel_for(width, std::max<std::int64_t>(64, kGrain / std::max<std::int64_t>(1, n)),
                 [&](std::int64_t begin, std::int64_t end) {
                   C* sums = data();
                   for (std::int64_t r = 0; r < n; ++r)
                     for (std::int64_t i = begin; i < end; ++i) sums[i] += rows[r * width + i];
                 });
  }
  void finish() const {
    if (wide_) store_from<C>(to_.raw(), to_.dtype(), 0, 1, to_.numel(), wide_->at());
  }

 private:
  Tensor to_;
  std::unique_ptr<Buffer<C>> wide_;
};

template <typename C, Recurrence kKind>
class LayerBackward {
 public:
  static constexpr std::int64_t kGates = gates_of(kKind), kKept = kept_of(kKind);

  LayerBackward(const LayerOperands& o, const LayerGradients& g, bool relu)
      : o_(o),
        g_(g),
        relu_(relu),
        narrow_(o.dtype != kDTypeOf<C>),
        blocks_(blocks_of(o.steps)),
        most_(most_rows(blocks_)),
        w_ih_(o.w_ih),
        w_hh_(o.w_hh),
        d_state_(o.steps.batch * o.out),
        d_cell_(kKind == Recurrence::lstm ? o.steps.batch * o.hidden : 0),
        d_gates_(most_ * kGates * o.hidden),
        d_of_hidden_(kKind == Recurrence::gru ? most_ * kGates * o.hidden : 0),
        before_(most_ * o.out),
        projected_(o.w_hr.defined() ? most_ * o.out : 0),
        hidden_(o.w_hr.defined() ? most_ * o.hidden : 0),
        d_hidden_(o.w_hr.defined() ? o.steps.batch * o.hidden : 0),
        d_w_ih_(g.d_w_ih),
        d_w_hh_(g.d_w_hh),
        d_b_(g.d_b),
        d_b_hh_(g.d_b_hh),
        d_w_hr_(g.d_w_hr) {
    if (o.w_hr.defined()) w_hr_ = std::make_unique<Operand2D<C>>(o.w_hr);
    if (narrow_) wide_input_ = std::make_unique<Buffer<C>>(most_ * o.in, false);
  }

  void run() {
    start(g_.d_h, o_.steps.batch * o_.out, d_state_.at());
    if constexpr (kKind == Recurrence::lstm) start(g_.d_c, o_.steps.batch * o_.hidden, d_cell_.at());
    const std::int64_t work = kGates * o_.hidden * (o_.out + 64);
    for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block) {
      over_batch(o_.steps.batch, work * (block->end - block->begin), [&](std::int64_t begin, std::int64_t end) {
        const Buffer<C> row((kKept + 4) * std::max(o_.hidden, o_.out), !narrow_);
        for (std::int64_t s = block->end - 1; s >= block->begin; --s) {
          const std::int64_t t = o_.steps.time(s), last = std::min(end, o_.steps.rows[t]);
          if (begin < last) step(*block, t, begin, last - begin, row.at());
        }
      });
      collect(*block);
    }
    if (g_.d_h0.defined()) store_rows<C>(g_.d_h0, 0, o_.steps.batch, o_.out, d_state_.at());
    if (g_.d_c0.defined()) store_rows<C>(g_.d_c0, 0, o_.steps.batch, o_.hidden, d_cell_.at());
    for (const Sum<C>* sum : {&d_w_ih_, &d_w_hh_, &d_b_, &d_b_hh_, &d_w_hr_}) sum->finish();
  }

 private:
  static std::int64_t most_rows(const std::vector<Block>& blocks) {
    std::int64_t most = 0;
    for (const Block& b : blocks) most = std::max(most, b.rows());
    return most;
  }
  static void start(const Tensor& gradient, std::int64_t n, C* to) {
    if (gradient.defined())
      load_as<C>(gradient.raw(), gradient.dtype(), 0, 1, n, to);
    else
      std::fill_n(to, n, C(0));
  }
  // A row of what all steps gave out, or of the initial state.
  static const C* row_of(const Tensor& all, const Tensor& initial, std::int64_t previous, std::int64_t b,
                         std::int64_t n, C* buffer) {
    return previous < 0 ? load_rows<C>(initial, b, 1, n, buffer) : load_rows<C>(all, previous, 1, n, buffer);
  }

  // Rows [b, b + m) of the batch back through time t. d_state, d_cell: of the states after it in, before it out.
  void step(const Block& block, std::int64_t t, std::int64_t b, std::int64_t m, C* buffer) {
    const std::int64_t n = o_.hidden, p = o_.out, first = o_.steps.first[t] + b, local = first - block.first;
    C *d_state = d_state_.at(b * p), *d_gates = d_gates_.at(local * kGates * n);
    for (std::int64_t i = 0; i < m; ++i) {
      if (g_.d_out.defined()) {
        const C* more = load_rows<C>(g_.d_out, first + i, 1, p, buffer);
        for (std::int64_t j = 0; j < p; ++j) d_state[i * p + j] += more[j];
      }
      const C* before = row_of(g_.out, o_.h0, o_.steps.previous(t, b + i), b + i, p, buffer);
      std::copy_n(before, p, before_.at((local + i) * p));
    }
    const C* d_hidden = d_state;
    if (w_hr_) {
      std::copy_n(d_state, m * p, projected_.at(local * p));
      C* wide = d_hidden_.at(b * n);
      gemm<C>(matrix<C>(d_state, m, p), w_hr_->matrix(0, {}), wide, n);
      d_hidden = wide;
    }
    for (std::int64_t i = 0; i < m; ++i) cell_backward(t, b + i, first + i, local + i, d_hidden + i * n, buffer);
    // The GRU's state also goes on directly: that share is in d_state already.
    const C* of_hidden = kKind == Recurrence::gru ? d_of_hidden_.at(local * kGates * n) : d_gates;
    gemm<C>(matrix<C>(of_hidden, m, kGates * n), w_hh_.matrix(0, {}), d_state, p, C(1),
            kKind == Recurrence::gru ? C(1) : C(0));
  }

  void cell_backward(std::int64_t t, std::int64_t b, std::int64_t row, std::int64_t local, const C* d_hidden,
                     C* buffer) {
    const std::int64_t n = o_.hidden;
    C* d_gates = d_gates_.at(local * kGates * n);
    if constexpr (kKind == Recurrence::lstm) {
      const C* gates = load_rows<C>(g_.kept, row, 1, kKept * n, buffer);
      const C* cell = load_rows<C>(g_.cells, row, 1, n, buffer + kKept * n);
      const C* previous = row_of(g_.cells, o_.c0, o_.steps.previous(t, b), b, n, buffer + (kKept + 1) * n);
      lstm_backward<C>(gates, previous, cell, d_hidden, d_cell_.at(b * n), d_gates, n);
      if (w_hr_) {
        C* hidden = hidden_.at(local * n);
        std::copy_n(cell, n, hidden);
        tanh_forward<C>(hidden, n);
        for (std::int64_t i = 0; i < n; ++i) hidden[i] *= gates[3 * n + i];
      }
    } else if constexpr (kKind == Recurrence::gru) {
      const C* gates = load_rows<C>(g_.kept, row, 1, kKept * n, buffer);
      gru_backward<C>(gates, before_.at(local * n), d_state_.at(b * n), d_gates, d_of_hidden_.at(local * kGates * n),
                      n);
    } else {
      const C* h = load_rows<C>(g_.out, row, 1, n, buffer);
      if (relu_)
        for (std::int64_t i = 0; i < n; ++i) d_gates[i] = h[i] > 0 ? d_hidden[i] : C(0);
      else
        for (std::int64_t i = 0; i < n; ++i) d_gates[i] = d_hidden[i] * (C(1) - h[i] * h[i]);
    }
  }

  // The products that wait until all gate gradients of a block are there.
  void collect(const Block& block) {
    const std::int64_t rows = block.rows(), gates = kGates * o_.hidden;
    const Matrix<C> d = matrix<C>(d_gates_.at(), rows, gates);
    const Matrix<C> d_of_hidden = kKind == Recurrence::gru ? matrix<C>(d_of_hidden_.at(), rows, gates) : d;
    d_w_hh_.add_product(d_of_hidden, matrix<C>(before_.at(), rows, o_.out));
    if (d_w_ih_) {
      const C* x = load_rows<C>(o_.input, block.first, rows, o_.in, wide_input_ ? wide_input_->at() : nullptr);
      d_w_ih_.add_product(d, matrix(x, rows, o_.in));
    }
    d_b_.add_columns(d.data, rows, gates);
    d_b_hh_.add_columns(d_of_hidden.data, rows, gates);
    if (d_w_hr_)
      d_w_hr_.add_product(matrix<C>(projected_.at(), rows, o_.out), matrix<C>(hidden_.at(), rows, o_.hidden));
    if (!g_.d_input.defined()) return;
    const Piece<C> dx(g_.d_input, block.first * o_.in, rows * o_.in, wide_input_ ? wide_input_->at() : nullptr);
    gemm<C>(d, w_ih_.matrix(0, {}), dx.data(), o_.in);
    dx.store();
  }

  const LayerOperands& o_;
  const LayerGradients& g_;
  bool relu_, narrow_;
  std::vector<Block> blocks_;
  std::int64_t most_;
  Operand2D<C> w_ih_, w_hh_;
  std::unique_ptr<Operand2D<C>> w_hr_;
  Buffer<C> d_state_, d_cell_, d_gates_, d_of_hidden_, before_, projected_, hidden_, d_hidden_;
  std::unique_ptr<Buffer<C>> wide_input_;
  Sum<C> d_w_ih_, d_w_hh_, d_b_, d_b_hh_, d_w_hr_;
};

Tensor optional_dense(const OpCall& call, std::size_t i) { return call.has(i) ? dense(call.in(i)) : Tensor(); }

// Attribute `wanted`: bit i for output i.
template <Recurrence kKind>
void run_backward(const OpCall& call, const LayerOperands& o, LayerGradients& g, bool relu = false) {
  const std::int64_t wanted = call.attributes.integer("wanted", ~std::int64_t{0}), batch = o.steps.batch,
                     gates = gates_of(kKind) * o.hidden;
  int output = 0;
  const auto want = [&](Tensor& to, const Shape& sizes) {
    if (wanted >> output++ & 1) to = empty(sizes, o.dtype);
  };
  want(g.d_input, o.input.sizes());
  want(g.d_w_ih, o.w_ih.sizes());
  want(g.d_w_hh, o.w_hh.sizes());
  want(g.d_h0, {batch, o.out});
  if (kKind == Recurrence::lstm) want(g.d_c0, {batch, o.hidden});
  want(g.d_b, {gates});
  if (kKind == Recurrence::gru) want(g.d_b_hh, {gates});
  if (o.w_hr.defined()) want(g.d_w_hr, o.w_hr.sizes());
  with_float_type(call, o.dtype, [&]<typename C>(TypeTag<C>) { LayerBackward<C, kKind>(o, g, relu).run(); });
}

}  // namespace

// Inputs: input, w_ih, w_hh, h0, c0, out, gates, cells; then, where there are any, the gradients of out, h_n and c_n,
// w_hr and the batch sizes. Outputs: gradients of input, w_ih, w_hh, h0, c0, either bias, w_hr.
Tensors lstm_layer_backward(const OpCall& call) {
  const LayerOperands o = layer_operands(call, Recurrence::lstm, {.w_hr = 11, .batch_sizes = 12});
  LayerGradients g{.out = dense(call.in(5)),
                   .kept = dense(call.in(6)),
                   .cells = dense(call.in(7)),
                   .d_out = optional_dense(call, 8),
                   .d_h = optional_dense(call, 9),
                   .d_c = optional_dense(call, 10)};
  run_backward<Recurrence::lstm>(call, o, g);
  return {g.d_input, g.d_w_ih, g.d_w_hh, g.d_h0, g.d_c0, g.d_b, g.d_w_hr};
}

// Inputs: input, w_ih, w_hh, h0, out, gates; then the gradients of out and h_n, and the batch sizes.
// Outputs: gradients of input, w_ih, w_hh, h0, b_ih, b_hh.
Tensors gru_layer_backward(const OpCall& call) {
  const LayerOperands o = layer_operands(call, Recurrence::gru, {.batch_sizes = 8});
  LayerGradients g{.out = dense(call.in(4)),
                   .kept = dense(call.in(5)),
                   .d_out = optional_dense(call, 6),
                   .d_h = optional_dense(call, 7)};
  run_backward<Recurrence::gru>(call, o, g);
  return {g.d_input, g.d_w_ih, g.d_w_hh, g.d_h0, g.d_b, g.d_b_hh};
}

// Inputs: input, w_ih, w_hh, h0, out; then the gradients of out and h_n, and the batch sizes. Outputs: gradients of
// input, w_ih, w_hh, h0, either bias.
Tensors rnn_layer_backward(const OpCall& call) {
  const LayerOperands o = layer_operands(call, Recurrence::plain, {.batch_sizes = 7});
  LayerGradients g{.out = dense(call.in(4)), .d_out = optional_dense(call, 5), .d_h = optional_dense(call, 6)};
  const bool relu = call.attributes.text("nonlinearity", "tanh") == "relu";
  run_backward<Recurrence::plain>(call, o, g, relu);
  return {g.d_input, g.d_w_ih, g.d_w_hh, g.d_h0, g.d_b};
}

}  // namespace amp::cpu
