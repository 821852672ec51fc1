// Recurrent modules: parameters, shapes, and the function each calls.
#include "libamp/nn/rnn.h"

#include <cmath>
#include <cstdio>

#include "libamp/autocast/scope.h"
#include "libamp/nn/init.h"
#include "libamp/ops/create.h"
#include "libamp/ops/index.h"
#include "libamp/ops/rnn.h"
#include "libamp/ops/view.h"

namespace amp::nn {
namespace {

Tensor new_parameter(const Shape& sizes, std::int64_t hidden_size) {
  const CauseScope cause(&Context::cause, MemoryCause::weights);
  const double bound = hidden_size > 0 ? 1 / std::sqrt(static_cast<double>(hidden_size)) : 0;
  Tensor value = empty(sizes);
  init::uniform_(value, -bound, bound);
  return value;
}

bool is_relu(const char* where, const std::string& nonlinearity) {
  if (nonlinearity != "tanh" && nonlinearity != "relu")
    fail(ErrorCode::value, where, "unknown nonlinearity: got '" + nonlinearity + "', need tanh or relu");
  return nonlinearity == "relu";
}

void check_size(const char* where, const char* what, std::int64_t value, std::int64_t least) {
  if (value < least)
    fail(
        ErrorCode::value, where,
        std::string(what) + " is too small: got " + std::to_string(value) + ", need at least " + std::to_string(least));
}

}  // namespace

RNNBase::RNNBase(const char* name, std::int64_t gates, const Sizes& s) : name_(name), sizes_(s) {
  check_size(name, "input_size", s.input_size, 0);
  check_size(name, "hidden_size", s.hidden_size, 1);
  check_size(name, "num_layers", s.num_layers, 1);
  check_size(name, "proj_size", s.proj_size, 0);
  if (s.proj_size >= s.hidden_size)
    fail(ErrorCode::value, name,
         "proj_size must be smaller than hidden_size: got " + std::to_string(s.proj_size) + " and " +
             std::to_string(s.hidden_size));
  if (!(s.dropout >= 0 && s.dropout <= 1))
    fail(ErrorCode::value, name,
         "dropout must be a probability: got " + std::to_string(s.dropout) + ", need a value in [0, 1]");
  if (s.dropout > 0 && s.num_layers == 1)
    std::fprintf(stderr, "[%s] dropout acts between layers: with num_layers = 1 it does nothing\n", name);
  const std::int64_t out = s.proj_size > 0 ? s.proj_size : s.hidden_size, rows = gates * s.hidden_size;
  for (std::int64_t layer = 0; layer < s.num_layers; ++layer)
    for (int direction = 0; direction < (s.bidirectional ? 2 : 1); ++direction) {
      const std::int64_t in = layer == 0 ? s.input_size : out * (s.bidirectional ? 2 : 1);
      const std::string suffix = "_l" + std::to_string(layer) + (direction == 1 ? "_reverse" : "");
      const auto add = [&](const char* what, const Shape& sizes) {
        flat_weights_.push_back(register_parameter(what + suffix, new_parameter(sizes, s.hidden_size)));
      };
      add("weight_ih", {rows, in});
      add("weight_hh", {rows, out});
      if (s.bias) add("bias_ih", {rows}), add("bias_hh", {rows});
      if (s.proj_size > 0) add("weight_hr", {s.proj_size, s.hidden_size});
    }
}

RNNBase::Input RNNBase::prepare(const Tensor& input) const {
  if (input.dim() != 2 && input.dim() != 3)
    fail(ErrorCode::value, name_,
         "input needs 3 dims, or 2 without a batch: got " + describe(input) + ", need [" +
             (sizes_.batch_first ? "batch, steps" : "steps, batch") + ", features]");
  const int batch_dim = sizes_.batch_first ? 0 : 1;
  Input in{input.dim() == 3 ? input : unsqueeze(input, batch_dim), {}, input.dim() == 3, 0};
  in.batch = in.data.size(batch_dim);
  if (input.sizes().back() != sizes_.input_size)
    fail(ErrorCode::runtime, name_,
         "input has the wrong number of features: got " + describe(input) + ", need " +
             std::to_string(sizes_.input_size));
  const DType weights = flat_weights_[0].dtype();
  const AutocastState& autocast = autocast_state();
  if (input.dtype() != weights && !autocast.cpu.enabled && !autocast.cuda.enabled)
    fail(ErrorCode::value, name_,
         "input dtype does not match weight dtype: got " + std::string(name(input.dtype())) + ", need " +
             std::string(name(weights)));
  return in;
}

RNNBase::Input RNNBase::prepare(const PackedSequence& input) const {
  if (!input.data.defined() || input.data.dim() != 2 || !input.batch_sizes.defined() || input.batch_sizes.numel() == 0)
    fail(ErrorCode::value, name_,
         "a packed sequence needs data [rows, features] and batch sizes: got " + describe(input.data) + " and " +
             describe(input.batch_sizes));
  Input in = prepare(input.data);
  in.data = input.data;
  in.batch_sizes = input.batch_sizes;
  in.batched = true;
  in.batch = input.batch_sizes[0].item_as_int64();
  return in;
}

Tensor RNNBase::initial_state(const Tensor& given, const Input& input, std::int64_t width, const Tensor& sorted) const {
  const Shape sizes = {sizes_.num_layers * (sizes_.bidirectional ? 2 : 1), input.batch, width};
  if (!given.defined()) return zeros(sizes, {.dtype = input.data.dtype(), .device = input.data.device()});
  const int dims = input.batched ? 3 : 2;
  if (given.dim() != dims)
    fail(ErrorCode::runtime, name_,
         "the initial state needs " + std::to_string(dims) + " dims as the input has: got " + describe(given));
  const Tensor state = input.batched ? given : unsqueeze(given, 1);
  if (!(state.sizes() == sizes))
    fail(ErrorCode::runtime, name_,
         "the initial state does not fit: got " + describe(given) + ", need " + to_string(sizes));
  return sorted.defined() ? index_select(state, 1, sorted) : state;
}

Tensor RNNBase::final_state(const Tensor& state, const Input& input, const Tensor& unsorted) const {
  if (unsorted.defined()) return index_select(state, 1, unsorted);
  return input.batched ? state : squeeze(state, 1);
}

Tensor RNNBase::output(const Tensor& out, const Input& input) const {
  return input.batched ? out : squeeze(out, sizes_.batch_first ? 0 : 1);
}

RNN::RNN(std::int64_t input_size, std::int64_t hidden_size, const RNNArguments& a)
    : RNNBase("RNN", 1, {input_size, hidden_size, a.num_layers, a.bias, a.batch_first, a.dropout, a.bidirectional, 0}),
      relu_(is_relu("RNN", a.nonlinearity)) {}
Tensor RNN::forward(const Tensor& input) { return (*this)(input).first; }
std::pair<Tensor, Tensor> RNN::operator()(const Tensor& input, const Tensor& hx) {
  const Scope scope(*this);
  const Input in = prepare(input);
  const Tensor h0 = initial_state(hx, in, sizes_.hidden_size);
  const auto [out, h_n] = relu_ ? rnn_relu(in.data, h0, flat_weights_, sizes_.bias, sizes_.num_layers, sizes_.dropout,
                                           is_training(), sizes_.bidirectional, sizes_.batch_first)
                                : rnn_tanh(in.data, h0, flat_weights_, sizes_.bias, sizes_.num_layers, sizes_.dropout,
                                           is_training(), sizes_.bidirectional, sizes_.batch_first);
  return {output(out, in), final_state(h_n, in)};
}
std::pair<PackedSequence, Tensor> RNN::operator()(const PackedSequence& input, const Tensor& hx) {
  const Scope scope(*this);
  const Input in = prepare(input);
  const Tensor h0 = initial_state(hx, in, sizes_.hidden_size, input.sorted_indices);
  const auto [out, h_n] = relu_ ? rnn_relu(in.data, in.batch_sizes, h0, flat_weights_, sizes_.bias, sizes_.num_layers,
                                           sizes_.dropout, is_training(), sizes_.bidirectional)
                                : rnn_tanh(in.data, in.batch_sizes, h0, flat_weights_, sizes_.bias, sizes_.num_layers,
                                           sizes_.dropout, is_training(), sizes_.bidirectional);
  return {{out, input.batch_sizes, input.sorted_indices, input.unsorted_indices},
          final_state(h_n, in, input.unsorted_indices)};
}

GRU::GRU(std::int64_t input_size, std::int64_t hidden_size, const GRUArguments& a)
    : RNNBase("GRU", 3, {input_size, hidden_size, a.num_layers, a.bias, a.batch_first, a.dropout, a.bidirectional, 0}) {
}
Tensor GRU::forward(const Tensor& input) { return (*this)(input).first; }
std::pair<Tensor, Tensor> GRU::operator()(const Tensor& input, const Tensor& hx) {
  const Scope scope(*this);
  const Input in = prepare(input);
  const auto [out, h_n] =
      gru(in.data, initial_state(hx, in, sizes_.hidden_size), flat_weights_, sizes_.bias, sizes_.num_layers,
          sizes_.dropout, is_training(), sizes_.bidirectional, sizes_.batch_first);
  return {output(out, in), final_state(h_n, in)};
}
std::pair<PackedSequence, Tensor> GRU::operator()(const PackedSequence& input, const Tensor& hx) {
  const Scope scope(*this);
  const Input in = prepare(input);
  const auto [out, h_n] =
      gru(in.data, in.batch_sizes, initial_state(hx, in, sizes_.hidden_size, input.sorted_indices), flat_weights_,
          sizes_.bias, sizes_.num_layers, sizes_.dropout, is_training(), sizes_.bidirectional);
  return {{out, input.batch_sizes, input.sorted_indices, input.unsorted_indices},
          final_state(h_n, in, input.unsorted_indices)};
}

LSTM::LSTM(std::int64_t input_size, std::int64_t hidden_size, const LSTMArguments& a)
    : RNNBase("LSTM", 4,
              {input_size, hidden_size, a.num_layers, a.bias, a.batch_first, a.dropout, a.bidirectional, a.proj_size}) {
}
Tensor LSTM::forward(const Tensor& input) { return (*this)(input).first; }
std::pair<Tensor, LstmState> LSTM::operator()(const Tensor& input, const LstmState& hx) {
  const Scope scope(*this);
  const Input in = prepare(input);
  const std::int64_t width = sizes_.proj_size > 0 ? sizes_.proj_size : sizes_.hidden_size;
  const LstmState state{initial_state(hx.first, in, width), initial_state(hx.second, in, sizes_.hidden_size)};
  const auto [out, h_n, c_n] = lstm(in.data, state, flat_weights_, sizes_.bias, sizes_.num_layers, sizes_.dropout,
                                    is_training(), sizes_.bidirectional, sizes_.batch_first);
  return {output(out, in), {final_state(h_n, in), final_state(c_n, in)}};
}
std::pair<PackedSequence, LstmState> LSTM::operator()(const PackedSequence& input, const LstmState& hx) {
  const Scope scope(*this);
  const Input in = prepare(input);
  const std::int64_t width = sizes_.proj_size > 0 ? sizes_.proj_size : sizes_.hidden_size;
  const LstmState state{initial_state(hx.first, in, width, input.sorted_indices),
                        initial_state(hx.second, in, sizes_.hidden_size, input.sorted_indices)};
  const auto [out, h_n, c_n] = lstm(in.data, in.batch_sizes, state, flat_weights_, sizes_.bias, sizes_.num_layers,
                                    sizes_.dropout, is_training(), sizes_.bidirectional);
  return {{out, input.batch_sizes, input.sorted_indices, input.unsorted_indices},
          {final_state(h_n, in, input.unsorted_indices), final_state(c_n, in, input.unsorted_indices)}};
}

RNNCellBase::RNNCellBase(std::int64_t gates, std::int64_t input_size, std::int64_t hidden_size, bool bias)
    : hidden_size_(hidden_size) {
  check_size("RNNCell", "input_size", input_size, 0);
  check_size("RNNCell", "hidden_size", hidden_size, 1);
  const std::int64_t rows = gates * hidden_size;
  weight_ih = register_parameter("weight_ih", new_parameter({rows, input_size}, hidden_size));
  weight_hh = register_parameter("weight_hh", new_parameter({rows, hidden_size}, hidden_size));
  if (!bias) return;
  bias_ih = register_parameter("bias_ih", new_parameter({rows}, hidden_size));
  bias_hh = register_parameter("bias_hh", new_parameter({rows}, hidden_size));
}

Tensor RNNCellBase::state_for(const Tensor& given, const Tensor& input) const {
  if (input.dim() != 1 && input.dim() != 2)
    fail(ErrorCode::value, "RNNCell",
         "input needs 2 dims, or 1 without a batch: got " + describe(input) + ", need [batch, features]");
  if (!given.defined()) {
    const std::int64_t batch = input.dim() == 2 ? input.size(0) : 1;
    return zeros({batch, hidden_size_}, {.dtype = input.dtype(), .device = input.device()});
  }
  if (given.dim() != input.dim())
    fail(ErrorCode::value, "RNNCell",
         "input and state must both have a batch, or none: got " + describe(input) + " and " + describe(given));
  return given.dim() == 1 ? unsqueeze(given, 0) : given;
}

namespace {

Tensor with_batch(const Tensor& t) { return t.dim() == 1 ? unsqueeze(t, 0) : t; }
Tensor without_batch(const Tensor& t, const Tensor& input) { return input.dim() == 1 ? squeeze(t, 0) : t; }

}  // namespace

RNNCell::RNNCell(std::int64_t input_size, std::int64_t hidden_size, bool bias, std::string nonlinearity)
    : RNNCellBase(1, input_size, hidden_size, bias), relu_(is_relu("RNNCell", nonlinearity)) {}
Tensor RNNCell::operator()(const Tensor& input, const Tensor& hx) {
  const Scope scope(*this);
  const Tensor state = state_for(hx, input), x = with_batch(input);
  return without_batch(relu_ ? rnn_relu_cell(x, state, weight_ih, weight_hh, bias_ih, bias_hh)
                             : rnn_tanh_cell(x, state, weight_ih, weight_hh, bias_ih, bias_hh),
                       input);
}

GRUCell::GRUCell(std::int64_t input_size, std::int64_t hidden_size, bool bias)
    : RNNCellBase(3, input_size, hidden_size, bias) {}
Tensor GRUCell::operator()(const Tensor& input, const Tensor& hx) {
  const Scope scope(*this);
  const Tensor state = state_for(hx, input);
  return without_batch(gru_cell(with_batch(input), state, weight_ih, weight_hh, bias_ih, bias_hh), input);
}

LSTMCell::LSTMCell(std::int64_t input_size, std::int64_t hidden_size, bool bias)
    : RNNCellBase(4, input_size, hidden_size, bias) {}
LstmState LSTMCell::operator()(const Tensor& input, const LstmState& hx) {
  const Scope scope(*this);
  const Tensor h0 = state_for(hx.first, input), c0 = state_for(hx.second, input);
  const auto [h, c] = lstm_cell(with_batch(input), {h0, c0}, weight_ih, weight_hh, bias_ih, bias_hh);
  return {without_batch(h, input), without_batch(c, input)};
}

}  // namespace amp::nn
