// Stacks of recurrent layers: checks, and which way each layer runs.
#include "libamp/ops/recurrent.h"

#include <optional>

#include "libamp/autocast/scope.h"
#include "libamp/ops/join.h"
#include "libamp/ops/pointwise.h"
#include "libamp/ops/recurrent_layer.h"
#include "libamp/ops/view.h"

namespace amp {
namespace {

// What the overloads have in common.
struct Stack {
  OpId op;
  const char* name;
  std::string_view nonlinearity;
  Tensor input, batch_sizes, h0, c0;
  const Tensors& params;
  bool has_biases;
  std::int64_t num_layers;
  double dropout;
  bool train, bidirectional, batch_first;
};

// How PyTorch's autocast treats recurrent layers, beside what the op table says.
class Region {
 public:
  Region(const Stack& s, bool projected) {
    AutocastState state = autocast_state();
    DeviceAutocast& region = state.of(s.input.device().type);
    if (!region.enabled || s.input.dtype() == DType::float64) return;
    if (region.policy == Policy::cuda) {
      for (const Tensor& p : s.params)
        if (p.dtype() != s.params[0].dtype())
          fail(ErrorCode::runtime, s.name,
               "parameters must have one dtype: got " + describe(s.params[0]) + " and " + describe(p));
      region.dtype = DType::float16;
      scope_.emplace(state);
    } else {
      composed = s.op != OpId::lstm_layer || projected;
    }
  }
  bool composed = false;

 private:
  std::optional<AutocastStateScope> scope_;
};

void check(const Stack& s, std::size_t per_layer, bool projected) {
  const std::int64_t directions = s.bidirectional ? 2 : 1;
  const auto needed = static_cast<std::size_t>(s.num_layers * directions) * per_layer;
  if (s.params.size() != needed)
    fail(ErrorCode::runtime, s.name,
         "wrong number of parameters: got " + std::to_string(s.params.size()) + ", need " + std::to_string(needed));
  const int dims = s.batch_sizes.defined() ? 2 : 3;
  if (s.input.dim() != dims)
    fail(ErrorCode::runtime, s.name, "input needs " + std::to_string(dims) + " dims: got " + describe(s.input));
  const std::int64_t batch = s.batch_sizes.defined()
                                 ? (s.batch_sizes.numel() > 0 ? s.batch_sizes[0].item_as_int64() : 0)
                                 : s.input.size(s.batch_first ? 0 : 1);
  const std::int64_t out = projected ? s.params[per_layer - 1].size(0) : s.params[1].size(1);
  const auto check_state = [&](const Tensor& t, std::int64_t width, const char* what) {
    const Shape sizes = {s.num_layers * directions, batch, width};
    if (!t.defined() || !(t.sizes() == sizes))
      fail(ErrorCode::runtime, s.name,
           std::string("the initial ") + what + " state does not fit: got " + describe(t) + ", need " +
               to_string(sizes));
  };
  check_state(s.h0, out, "hidden");
  if (s.op == OpId::lstm_layer) check_state(s.c0, s.params[0].size(0) / 4, "cell");
}

RecurrentResult run(const Stack& s) {
  const std::size_t directions = s.bidirectional ? 2 : 1, biases = s.has_biases ? 2 : 0;
  const auto states = directions * static_cast<std::size_t>(s.num_layers);
  // A projection shows in the number of parameters.
  const bool projected = s.op == OpId::lstm_layer && s.params.size() == states * (3 + biases);
  const std::size_t per_layer = 2 + biases + (projected ? 1 : 0);
  check(s, per_layer, projected);
  const Region region(s, projected);
  Tensor x = s.batch_first ? transpose(s.input, 0, 1) : s.input;
  Tensors h_n, c_n;
  for (std::int64_t i = 0; i < s.num_layers; ++i) {
    Tensors out;
    for (std::size_t d = 0; d < directions; ++d) {
      const std::size_t state = h_n.size(), at = state * per_layer;
      const auto k = static_cast<std::int64_t>(state);
      const auto parameter = [&](bool there, std::size_t offset) { return there ? s.params[at + offset] : Tensor(); };
      RecurrentLayer layer{s.op,
                           x,
                           s.params[at],
                           s.params[at + 1],
                           select(s.h0, 0, k),
                           s.c0.defined() ? select(s.c0, 0, k) : Tensor(),
                           parameter(s.has_biases, 2),
                           parameter(s.has_biases, 3),
                           parameter(projected, 2 + biases),
                           s.batch_sizes,
                           d == 1,
                           s.nonlinearity};
      const RecurrentResult r = region.composed ? composed_layer(layer) : fused_layer(layer);
      out.push_back(r.out);
      h_n.push_back(r.h_n);
      c_n.push_back(r.c_n);
    }
    x = directions == 2 ? cat(out, -1) : out[0];
    if (s.dropout > 0 && s.train && i + 1 < s.num_layers) x = dropout(x, s.dropout, true);
  }
  return {s.batch_first ? transpose(x, 0, 1) : x, stack(h_n, 0), s.c0.defined() ? stack(c_n, 0) : Tensor()};
}

std::pair<Tensor, Tensor> two(const RecurrentResult& r) { return {r.out, r.h_n}; }
std::tuple<Tensor, Tensor, Tensor> three(const RecurrentResult& r) { return {r.out, r.h_n, r.c_n}; }

}  // namespace

std::tuple<Tensor, Tensor, Tensor> lstm(const Tensor& input, const LstmState& hx, const Tensors& params,
                                        bool has_biases, std::int64_t num_layers, double dropout, bool train,
                                        bool bidirectional, bool batch_first) {
  return three(run({OpId::lstm_layer,
                    "lstm",
                    "tanh",
                    input,
                    {},
                    hx.first,
                    hx.second,
                    params,
                    has_biases,
                    num_layers,
                    dropout,
                    train,
                    bidirectional,
                    batch_first}));
}
std::tuple<Tensor, Tensor, Tensor> lstm(const Tensor& data, const Tensor& batch_sizes, const LstmState& hx,
                                        const Tensors& params, bool has_biases, std::int64_t num_layers, double dropout,
                                        bool train, bool bidirectional) {
  return three(run({OpId::lstm_layer, "lstm", "tanh", data, batch_sizes, hx.first, hx.second, params, has_biases,
                    num_layers, dropout, train, bidirectional, false}));
}

// The functions without a cell state differ in op and nonlinearity only.
#define AMP_RECURRENT(function, op, nonlinearity)                                                                     \
  std::pair<Tensor, Tensor> function(const Tensor& input, const Tensor& hx, const Tensors& params, bool has_biases,   \
                                     std::int64_t num_layers, double dropout, bool train, bool bidirectional,         \
                                     bool batch_first) {                                                              \
    return two(run({OpId::op,                                                                                         \
                    #function,                                                                                        \
                    nonlinearity,                                                                                     \
                    input,                                                                                            \
                    {},                                                                                               \
                    hx,                                                                                               \
                    {},                                                                                               \
                    params,                                                                                           \
                    has_biases,                                                                                       \
                    num_layers,                                                                                       \
                    dropout,                                                                                          \
                    train,                                                                                            \
                    bidirectional,                                                                                    \
                    batch_first}));                                                                                   \
  }                                                                                                                   \
  std::pair<Tensor, Tensor> function(const Tensor& data, const Tensor& batch_sizes, const Tensor& hx,                 \
                                     const Tensors& params, bool has_biases, std::int64_t num_layers, double dropout, \
                                     bool train, bool bidirectional) {                                                \
    return two(run({OpId::op,                                                                                         \
                    #function,                                                                                        \
                    nonlinearity,                                                                                     \
                    data,                                                                                             \
                    batch_sizes,                                                                                      \
                    hx,                                                                                               \
                    {},                                                                                               \
                    params,                                                                                           \
                    has_biases,                                                                                       \
                    num_layers,                                                                                       \
                    dropout,                                                                                          \
                    train,                                                                                            \
                    bidirectional,                                                                                    \
                    false}));                                                                                         \
  }
AMP_RECURRENT(gru, gru_layer, "")
AMP_RECURRENT(rnn_tanh, rnn_layer, "tanh")
AMP_RECURRENT(rnn_relu, rnn_layer, "relu")
#undef AMP_RECURRENT

}  // namespace amp
