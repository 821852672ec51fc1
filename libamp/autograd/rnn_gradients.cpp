// Gradients of recurrent cells and layers. Ordinarily one op each; while the backward pass itself is recorded, the
// same formula from differentiable ops: a cell's is written out, a layer is run again step by step.
#include "libamp/autocast/scope.h"
#include "libamp/autograd/autograd.h"
#include "libamp/autograd/gradient.h"
#include "libamp/core/grad_mode.h"
#include "libamp/dispatch/run_op.h"
#include "libamp/ops/recurrent_layer.h"

namespace amp::gradients {
namespace {

DType wide_of(DType dtype) { return dtype == DType::float64 ? DType::float64 : DType::float32; }

Tensor given(const GradCall& g, std::size_t i) { return g.has_grad(i) ? g.grad(i) : Tensor(); }

// Gradients of `result` for the inputs, as new ops on the tape. The inputs are seen through views made here, so that
// paths from one of them to another, further up in the graph, do not count.
template <typename Run>
Tensors differentiate_again(const GradCall& g, std::size_t tensors, Run run) {
  const AutocastSuspended off;  // the inputs have the dtypes they were cast to
  Tensors inputs(g.input_count()), wanted;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    inputs[i] = g.in(i);
    if (i >= tensors || !g.needs(i)) continue;
    inputs[i] = view(inputs[i], inputs[i].sizes());
    wanted.push_back(inputs[i]);
  }
  const RecurrentResult r = run(inputs);
  Tensors results, gradients;
  for (const auto& [result, output] : {std::pair{r.out, 0}, std::pair{r.h_n, -1}, std::pair{r.c_n, -2}}) {
    // out comes first; the last states come last, h_n before c_n.
    const std::size_t count = g.node().outputs.size(), states = r.c_n.defined() ? 2 : 1;
    const std::size_t at = output == 0 ? 0 : output == -1 ? count - states : count - 1;
    if (!result.defined() || !g.has_grad(at)) continue;
    results.push_back(result);
    gradients.push_back(g.grad(at));
  }
  const Tensors found = grad(results, wanted, gradients, true, true, true);
  Tensors all(g.input_count());
  for (std::size_t i = 0, k = 0; i < tensors; ++i)
    if (g.needs(i)) all[i] = found[k++];
  return all;
}

std::int64_t wanted_bits(const GradCall& g,
                         std::initializer_list<std::initializer_list<std::size_t>> inputs_of_output) {
  std::int64_t bits = 0;
  int output = 0;
  for (const auto& inputs : inputs_of_output) {
    for (const std::size_t i : inputs)
      if (g.needs(i)) bits |= std::int64_t{1} << output;
    ++output;
  }
  return bits;
}

Attributes with_wanted(const GradCall& g, std::int64_t bits) {
  Attributes attributes = g.attributes();
  attributes.set("wanted", bits);
  return attributes;
}

RecurrentLayer layer_without_cell(const GradCall& g, OpId op, const Tensors& i) {
  return {op,
          i[0],
          i[1],
          i[2],
          i[3],
          {},
          i[4],
          i[5],
          {},
          i[6],
          g.attributes().flag("reverse", false),
          g.attributes().text("nonlinearity", "tanh") == "relu" ? "relu" : "tanh"};
}

}  // namespace

// From the kept activations, which are an output of the cell and may have a gradient themselves.
Tensors thnn_fused_lstm_cell(const GradCall& g) {
  Tensors result(g.input_count());
  Tensor d_gates, d_previous;
  if (!grad_mode().enabled && !g.has_grad(2)) {
    const Tensors r =
        run_op({OpId::thnn_fused_lstm_cell_backward, {g.in(2), g.out(1), g.out(2), given(g, 0), given(g, 1)}, {}, {}});
    d_gates = r[0], d_previous = r[1];
  } else {
    const DType wide = wide_of(g.input_dtype(2));
    const Tensors a = chunk(to(g.out(2), wide), 4, 1), extra = chunk(to(g.grad(2), wide), 4, 1);
    const Tensor dh = to(g.grad(0), wide), squashed = tanh(to(g.out(1), wide));
    const Tensor dc = to(g.grad(1), wide) + dh * a[3] * (1.0 - squashed * squashed);
    const auto through_sigmoid = [](const Tensor& d, const Tensor& s) { return d * s * (1.0 - s); };
    d_gates =
        cat({through_sigmoid(dc * a[2] + extra[0], a[0]), through_sigmoid(dc * to(g.in(2), wide) + extra[1], a[1]),
             (dc * a[0] + extra[2]) * (1.0 - a[2] * a[2]), through_sigmoid(dh * squashed + extra[3], a[3])},
            1);
    d_previous = dc * a[1];
  }
  // The engine sums over the batch for the biases.
  for (const std::size_t i : {0u, 1u, 3u, 4u})
    if (g.needs(i)) result[i] = d_gates;
  result[2] = d_previous;
  return result;
}

Tensors thnn_fused_gru_cell(const GradCall& g) {
  Tensors result(g.input_count());
  Tensor d_in, d_state, d_previous;
  if (!grad_mode().enabled && !g.has_grad(1)) {
    const Tensors r = run_op({OpId::thnn_fused_gru_cell_backward, {g.grad(0), g.in(2), g.out(1)}, {}, {}});
    d_in = r[0], d_state = r[1], d_previous = r[2];
  } else {
    const DType wide = wide_of(g.input_dtype(2));
    const Tensors a = chunk(to(g.out(1), wide), 4, 1), extra = chunk(to(g.grad(1), wide), 4, 1);
    const Tensor d = to(g.grad(0), wide);
    const Tensor d_fresh = (d * (1.0 - a[1]) + extra[2]) * (1.0 - a[2] * a[2]);
    const Tensor d_reset = (d_fresh * a[3] + extra[0]) * a[0] * (1.0 - a[0]);
    const Tensor d_update = (d * (to(g.in(2), wide) - a[2]) + extra[1]) * a[1] * (1.0 - a[1]);
    d_in = cat({d_reset, d_update, d_fresh}, 1);
    d_state = cat({d_reset, d_update, d_fresh * a[0] + extra[3]}, 1);
    d_previous = d * a[1];
  }
  for (const std::size_t i : {0u, 3u})
    if (g.needs(i)) result[i] = d_in;
  for (const std::size_t i : {1u, 4u})
    if (g.needs(i)) result[i] = d_state;
  result[2] = d_previous;
  return result;
}

Tensors lstm_layer(const GradCall& g) {
  if (grad_mode().enabled)
    return differentiate_again(g, 8, [&](const Tensors& i) {
      return composed_layer({OpId::lstm_layer, i[0], i[1], i[2], i[3], i[4], i[5], i[6], i[7], i[8],
                             g.attributes().flag("reverse", false), ""});
    });
  const auto r = run_op({OpId::lstm_layer_backward,
                         {g.in(0), g.in(1), g.in(2), g.in(3), g.in(4), g.out(0), g.out(1), g.out(2), given(g, 0),
                          given(g, 3), given(g, 4), g.in(7), g.in(8)},
                         with_wanted(g, wanted_bits(g, {{0}, {1}, {2}, {3}, {4}, {5, 6}, {7}})),
                         {}});
  return {r[0], r[1], r[2], r[3], r[4], r[5], r[5], r[6], {}};
}

Tensors gru_layer(const GradCall& g) {
  if (grad_mode().enabled)
    return differentiate_again(
        g, 6, [&](const Tensors& i) { return composed_layer(layer_without_cell(g, OpId::gru_layer, i)); });
  Tensors r = run_op({OpId::gru_layer_backward,
                      {g.in(0), g.in(1), g.in(2), g.in(3), g.out(0), g.out(1), given(g, 0), given(g, 2), g.in(6)},
                      with_wanted(g, wanted_bits(g, {{0}, {1}, {2}, {3}, {4}, {5}})),
                      {}});
  r.resize(g.input_count());
  return r;
}

Tensors rnn_layer(const GradCall& g) {
  if (grad_mode().enabled)
    return differentiate_again(
        g, 6, [&](const Tensors& i) { return composed_layer(layer_without_cell(g, OpId::rnn_layer, i)); });
  const auto r = run_op({OpId::rnn_layer_backward,
                         {g.in(0), g.in(1), g.in(2), g.in(3), g.out(0), given(g, 0), given(g, 1), g.in(6)},
                         with_wanted(g, wanted_bits(g, {{0}, {1}, {2}, {3}, {4, 5}})),
                         {}});
  return {r[0], r[1], r[2], r[3], r[4], r[4], {}};
}

}  // namespace amp::gradients
