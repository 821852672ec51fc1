// Single recurrent cells after their matrix products: the gates are summed and activated in one pass, and the
// activations are kept for the gradient. What PyTorch's CUDA library calls _thnn_fused_*_cell.
#include "libamp/backend/cpu/dense.h"
#include "libamp/backend/cpu/gates.h"

namespace amp::cpu {
namespace {

constexpr std::int64_t kCellGrain = 2048;  // hidden elements; each costs a handful of exponentials

struct CellShape {
  std::int64_t batch, hidden;
};

void require_like(const OpCall& call, const Tensor& t, const Shape& sizes, DType dtype) {
  if (t.sizes() == sizes && t.dtype() == dtype) return;
  call.fail("operands do not fit: got " + describe(t) + ", need " + std::string(name(dtype)) + to_string(sizes));
}

// Operands of a forward call: gates of input and hidden state, the state, and two biases or none.
CellShape cell_shape(const OpCall& call, std::int64_t gates) {
  const Tensor& state = call.in(2);
  if (state.dim() != 2) call.fail("the state needs 2 dims: got " + describe(state) + ", need [batch, hidden]");
  const CellShape s{state.size(0), state.size(1)};
  for (const std::size_t i : {0u, 1u}) require_like(call, call.in(i), {s.batch, gates * s.hidden}, state.dtype());
  for (const std::size_t i : {3u, 4u})
    if (call.has(i)) require_like(call, call.in(i), {gates * s.hidden}, state.dtype());
  if (call.has(3) != call.has(4)) call.fail("one bias is missing: need both or none");
  return s;
}

Tensor optional_dense(const OpCall& call, std::size_t i) { return call.has(i) ? dense(call.in(i)) : Tensor(); }

template <typename F>
void each_row(const CellShape& s, F f) {
  parallel_for(s.batch, std::max<std::int64_t>(1, kCellGrain / std::max<std::int64_t>(1, s.hidden)), f);
}

template <typename C>
void add_row(C* sum, const C* addend, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) sum[i] += addend[i];
}

}  // namespace

// Inputs: input gates, hidden gates, cell state, biases. Outputs: hidden state, cell state, activated gates.
Tensors thnn_fused_lstm_cell(const OpCall& call) {
  const CellShape s = cell_shape(call, 4);
  const std::int64_t n = s.hidden;
  const DType dtype = call.in(2).dtype();
  const Tensor hidden = empty({s.batch, n}, dtype), cell = empty({s.batch, n}, dtype),
               gates = empty({s.batch, 4 * n}, dtype);
  with_float_type(call, dtype, [&]<typename C>(TypeTag<C>) {
    const Wide<C> in(call.in(0)), state(call.in(1)), previous(call.in(2)), b_in(optional_dense(call, 3)),
        b_state(optional_dense(call, 4));
    each_row(s, [&](std::int64_t begin, std::int64_t end) {
      const Workspace buffer(static_cast<std::size_t>(6 * n) * sizeof(C), false);
      C* memory = buffer.template data<C>();
      for (std::int64_t row = begin; row < end; ++row) {
        const Piece<C> g(gates, row * 4 * n, 4 * n, memory), c(cell, row * n, n, memory + 4 * n),
            h(hidden, row * n, n, memory + 5 * n);
        std::copy_n(in.data() + row * 4 * n, 4 * n, g.data());
        add_row(g.data(), state.data() + row * 4 * n, 4 * n);
        if (b_in) add_row(g.data(), b_in.data(), 4 * n), add_row(g.data(), b_state.data(), 4 * n);
        lstm_forward<C>(g.data(), previous.data() + row * n, c.data(), h.data(), n);
        g.store(), c.store(), h.store();
      }
    });
  });
  return {hidden, cell, gates};
}

// Inputs: previous cell state, cell state, activated gates, gradients of hidden and cell state (one may be left out).
// Outputs: gradients of the gates and of the previous cell state.
Tensors thnn_fused_lstm_cell_backward(const OpCall& call) {
  const Tensor& gates = call.in(2);
  const CellShape s{gates.size(0), gates.size(1) / 4};
  const std::int64_t n = s.hidden;
  const Tensor d_gates = empty(gates.sizes(), gates.dtype()), d_previous = empty({s.batch, n}, gates.dtype());
  with_float_type(call, gates.dtype(), [&]<typename C>(TypeTag<C>) {
    const Wide<C> previous(call.in(0)), cell(call.in(1)), activated(gates), dh(optional_dense(call, 3)),
        dc(optional_dense(call, 4));
    each_row(s, [&](std::int64_t begin, std::int64_t end) {
      const Workspace buffer(static_cast<std::size_t>(6 * n) * sizeof(C), false);
      C *memory = buffer.template data<C>(), *zeros = memory + 5 * n;
      std::fill_n(zeros, n, C(0));
      for (std::int64_t row = begin; row < end; ++row) {
        const Piece<C> g(d_gates, row * 4 * n, 4 * n, memory), c(d_previous, row * n, n, memory + 4 * n);
        std::copy_n(dc ? dc.data() + row * n : zeros, n, c.data());
        lstm_backward<C>(activated.data() + row * 4 * n, previous.data() + row * n, cell.data() + row * n,
                         dh ? dh.data() + row * n : zeros, c.data(), g.data(), n);
        g.store(), c.store();
      }
    });
  });
  return {d_gates, d_previous};
}

// Inputs: input gates, hidden gates, hidden state, biases. Outputs: hidden state; activated gates and the hidden part
// of the new gate.
Tensors thnn_fused_gru_cell(const OpCall& call) {
  const CellShape s = cell_shape(call, 3);
  const std::int64_t n = s.hidden;
  const DType dtype = call.in(2).dtype();
  const Tensor hidden = empty({s.batch, n}, dtype), gates = empty({s.batch, 4 * n}, dtype);
  with_float_type(call, dtype, [&]<typename C>(TypeTag<C>) {
    const Wide<C> in(call.in(0)), state(call.in(1)), previous(call.in(2)), b_in(optional_dense(call, 3)),
        b_state(optional_dense(call, 4));
    each_row(s, [&](std::int64_t begin, std::int64_t end) {
      const Workspace buffer(static_cast<std::size_t>(8 * n) * sizeof(C), false);
      C *memory = buffer.template data<C>(), *of_hidden = memory + 5 * n;
      for (std::int64_t row = begin; row < end; ++row) {
        const Piece<C> g(gates, row * 4 * n, 4 * n, memory), h(hidden, row * n, n, memory + 4 * n);
        std::copy_n(in.data() + row * 3 * n, 3 * n, g.data());
        std::copy_n(state.data() + row * 3 * n, 3 * n, of_hidden);
        if (b_in) add_row(g.data(), b_in.data(), 3 * n), add_row(of_hidden, b_state.data(), 3 * n);
        gru_forward<C>(g.data(), of_hidden, previous.data() + row * n, h.data(), n);
        g.store(), h.store();
      }
    });
  });
  return {hidden, gates};
}

// Inputs: gradient of the hidden state, previous hidden state, what the forward call kept. Outputs: gradients of the
// input gates, the hidden gates and the previous hidden state.
Tensors thnn_fused_gru_cell_backward(const OpCall& call) {
  const Tensor& gates = call.in(2);
  const CellShape s{gates.size(0), gates.size(1) / 4};
  const std::int64_t n = s.hidden;
  const DType dtype = gates.dtype();
  const Tensor d_in = empty({s.batch, 3 * n}, dtype), d_state = empty({s.batch, 3 * n}, dtype),
               d_previous = empty({s.batch, n}, dtype);
  with_float_type(call, dtype, [&]<typename C>(TypeTag<C>) {
    const Wide<C> dh(call.in(0)), previous(call.in(1)), activated(gates);
    each_row(s, [&](std::int64_t begin, std::int64_t end) {
      const Workspace buffer(static_cast<std::size_t>(7 * n) * sizeof(C), false);
      C* memory = buffer.template data<C>();
      for (std::int64_t row = begin; row < end; ++row) {
        const Piece<C> in(d_in, row * 3 * n, 3 * n, memory), state(d_state, row * 3 * n, 3 * n, memory + 3 * n),
            h(d_previous, row * n, n, memory + 6 * n);
        std::copy_n(dh.data() + row * n, n, h.data());
        gru_backward<C>(activated.data() + row * 4 * n, previous.data() + row * n, h.data(), in.data(), state.data(),
                        n);
        in.store(), state.store(), h.store();
      }
    });
  });
  return {d_in, d_state, d_previous};
}

}  // namespace amp::cpu
