// Recurrent layers forward: lstm_layer, gru_layer, rnn_layer. See recurrent.h for how the work is cut.
#include "libamp/backend/cpu/recurrent.h"
#include "libamp/dispatch/tape_note.h"

namespace amp::cpu {
namespace {

// Tensors a forward call fills. kept, cells: undefined where no gradient is recorded.
struct LayerResult {
  Tensor out, kept, cells, h_n, c_n;
};

template <typename C, Recurrence kKind>
class LayerForward {
 public:
  static constexpr std::int64_t kGates = gates_of(kKind), kKept = kept_of(kKind);

  LayerForward(const LayerOperands& o, const LayerResult& result, bool relu)
      : o_(o),
        r_(result),
        relu_(relu),
        narrow_(o.dtype != kDTypeOf<C>),
        width_(kKept * o.hidden),
        blocks_(blocks_of(o.steps)),
        w_ih_(o.w_ih),
        w_hh_(o.w_hh),
        bias_(kGates * o.hidden),
        bias_hidden_(kKind == Recurrence::gru ? kGates * o.hidden : 0),
        state_(o.steps.batch * o.out),
        cell_(kKind == Recurrence::lstm ? o.steps.batch * o.hidden : 0),
        extra_(kKind == Recurrence::gru ? o.steps.batch * kGates * o.hidden
               : o.w_hr.defined()       ? o.steps.batch * o.hidden
                                        : 0) {
    if (o.w_hr.defined()) w_hr_ = std::make_unique<Operand2D<C>>(o.w_hr);
    std::int64_t most = 0;
    for (const Block& b : blocks_) most = std::max(most, b.rows());
    // The gates are computed where they are kept, if they are kept in this type.
    if (const Tensor& kept = kKind == Recurrence::plain ? result.out : result.kept; !narrow_ && kept.defined())
      direct_ = kept.template data<C>();
    else
      gates_ = std::make_unique<Buffer<C>>(most * width_, !narrow_);
    if (narrow_) wide_input_ = std::make_unique<Buffer<C>>(most * o.in, false);
  }

  void run() {
    load_rows_into(o_.h0, o_.steps.batch * o_.out, state_.at());
    if constexpr (kKind == Recurrence::lstm) load_rows_into(o_.c0, o_.steps.batch * o_.hidden, cell_.at());
    load_biases();
    const std::int64_t work = kGates * o_.hidden * (o_.out + 64);
    for (const Block& block : blocks_) {
      project(block);
      over_batch(o_.steps.batch, work * (block.end - block.begin), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t s = block.begin; s < block.end; ++s) {
          const std::int64_t t = o_.steps.time(s), last = std::min(end, o_.steps.rows[t]);
          if (begin < last) step(block, t, begin, last - begin);
        }
      });
    }
    store_rows<C>(r_.h_n, 0, o_.steps.batch, o_.out, state_.at());
    if constexpr (kKind == Recurrence::lstm) store_rows<C>(r_.c_n, 0, o_.steps.batch, o_.hidden, cell_.at());
  }

 private:
  static void load_rows_into(const Tensor& t, std::int64_t n, C* to) { load_as<C>(t.raw(), t.dtype(), 0, 1, n, to); }

  [[nodiscard]] C* gates_at(const Block& block, std::int64_t row) const {
    return gates_ ? gates_->at((row - block.first) * width_) : direct_ + row * width_;
  }

  // Where the two biases meet in one sum they are one.
  void load_biases() {
    const std::int64_t n = kGates * o_.hidden;
    std::fill_n(bias_.at(), n, C(0));
    if (o_.b_ih.defined()) load_rows_into(o_.b_ih, n, bias_.at());
    if constexpr (kKind == Recurrence::gru) {
      std::fill_n(bias_hidden_.at(), n, C(0));
      if (o_.b_hh.defined()) load_rows_into(o_.b_hh, n, bias_hidden_.at());
    } else if (o_.b_hh.defined()) {
      const Wide<C> more(o_.b_hh);
      for (std::int64_t i = 0; i < n; ++i) bias_.at()[i] += more[i];
    }
  }

  // The input's part of all gates of a block, in one product on top of the biases.
  void project(const Block& block) {
    const std::int64_t n = kGates * o_.hidden, rows = block.rows();
    C* gates = gates_at(block, block.first);
    parallel_for(rows, std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, n)),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t r = begin; r < end; ++r) std::copy_n(bias_.at(), n, gates + r * width_);
                 });
    const C* x = load_rows<C>(o_.input, block.first, rows, o_.in, wide_input_ ? wide_input_->at() : nullptr);
    gemm<C>(matrix(x, rows, o_.in), transposed(w_ih_.matrix(0, {})), gates, width_, C(1), C(1));
  }

  // Rows [b, b + m) of the batch through time t.
  void step(const Block& block, std::int64_t t, std::int64_t b, std::int64_t m) {
    const std::int64_t n = o_.hidden, row = o_.steps.first[t] + b;
    C *gates = gates_at(block, row), *state = state_.at(b * o_.out);
    const Matrix<C> before = matrix<C>(state, m, o_.out), weight = transposed(w_hh_.matrix(0, {}));
    if constexpr (kKind == Recurrence::gru) {
      C* of_hidden = extra_.at(b * kGates * n);
      for (std::int64_t i = 0; i < m; ++i) std::copy_n(bias_hidden_.at(), kGates * n, of_hidden + i * kGates * n);
      gemm<C>(before, weight, of_hidden, kGates * n, C(1), C(1));
      for (std::int64_t i = 0; i < m; ++i)
        gru_forward<C>(gates + i * width_, of_hidden + i * kGates * n, state + i * n, state + i * n, n);
    } else if constexpr (kKind == Recurrence::lstm) {
      gemm<C>(before, weight, gates, width_, C(1), C(1));
      C *cell = cell_.at(b * n), *hidden = w_hr_ ? extra_.at(b * n) : state;
      for (std::int64_t i = 0; i < m; ++i)
        lstm_forward<C>(gates + i * width_, cell + i * n, cell + i * n, hidden + i * n, n);
      if (w_hr_) gemm<C>(matrix<C>(hidden, m, n), transposed(w_hr_->matrix(0, {})), state, o_.out);
      if (r_.cells.defined()) store_rows<C>(r_.cells, row, m, n, cell);
    } else {
      gemm<C>(before, weight, gates, width_, C(1), C(1));
      if (relu_)
        for (std::int64_t i = 0; i < m * n; ++i) gates[i] = gates[i] < 0 ? C(0) : gates[i];
      else
        tanh_forward<C>(gates, m * n);
      std::copy_n(gates, m * n, state);
    }
    finish(gates, state, row, m);
  }

  // The next step sees the state as it was given out: rounded.
  void finish(const C* gates, C* state, std::int64_t row, std::int64_t m) {
    if (narrow_ && r_.kept.defined()) store_rows<C>(r_.kept, row, m, width_, gates);
    if (kKind == Recurrence::plain && !narrow_) return;
    store_rows<C>(r_.out, row, m, o_.out, state);
    if (narrow_) load_as<C>(r_.out.raw(), r_.out.dtype(), row * o_.out, 1, m * o_.out, state);
  }

  const LayerOperands& o_;
  const LayerResult& r_;
  bool relu_, narrow_;
  std::int64_t width_;
  std::vector<Block> blocks_;
  Operand2D<C> w_ih_, w_hh_;
  std::unique_ptr<Operand2D<C>> w_hr_;
  Buffer<C> bias_, bias_hidden_, state_, cell_, extra_;
  std::unique_ptr<Buffer<C>> gates_, wide_input_;
  C* direct_ = nullptr;
};

template <Recurrence kKind>
LayerResult run_layer(const OpCall& call, const LayerPlaces& places, bool relu = false) {
  const LayerOperands o = layer_operands(call, kKind, places);
  const std::int64_t batch = o.steps.batch, kept = kept_of(kKind) * o.hidden;
  const bool keep = kKind != Recurrence::plain && records_gradient(call);
  Shape sizes = o.input.sizes();
  sizes[sizes.size() - 1] = o.out;
  LayerResult r;
  r.out = empty(sizes, o.dtype);
  r.h_n = empty({batch, o.out}, o.dtype);
  if (keep) r.kept = empty({o.steps.total, kept}, o.dtype);
  if (kKind == Recurrence::lstm) {
    r.c_n = empty({batch, o.hidden}, o.dtype);
    if (keep) r.cells = empty({o.steps.total, o.hidden}, o.dtype);
  }
  with_float_type(call, o.dtype, [&]<typename C>(TypeTag<C>) { LayerForward<C, kKind>(o, r, relu).run(); });
  return r;
}

}  // namespace

// Inputs: input, w_ih, w_hh, h0, c0, b_ih, b_hh, w_hr, batch sizes; the last four may be left out.
// Outputs: out, activated gates and cell states of all steps (only where a gradient is recorded), h_n, c_n.
Tensors lstm_layer(const OpCall& call) {
  const LayerResult r = run_layer<Recurrence::lstm>(call, {.b_ih = 5, .b_hh = 6, .w_hr = 7, .batch_sizes = 8});
  return {r.out, r.kept, r.cells, r.h_n, r.c_n};
}

// Inputs: input, w_ih, w_hh, h0, b_ih, b_hh, batch sizes. Outputs: out, activated gates and the hidden part of the new
// gate of all steps, h_n.
Tensors gru_layer(const OpCall& call) {
  const LayerResult r = run_layer<Recurrence::gru>(call, {.b_ih = 4, .b_hh = 5, .batch_sizes = 6});
  return {r.out, r.kept, r.h_n};
}

// Inputs as gru_layer. Outputs: out, h_n.
Tensors rnn_layer(const OpCall& call) {
  const bool relu = call.attributes.text("nonlinearity", "tanh") == "relu";
  const LayerResult r = run_layer<Recurrence::plain>(call, {.b_ih = 4, .b_hh = 5, .batch_sizes = 6}, relu);
  return {r.out, r.h_n};
}

}  // namespace amp::cpu
