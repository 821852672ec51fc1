// Recurrent layers and cells with PyTorch's arguments, parameter names and initial values (all parameters uniform in
// +-1/sqrt(hidden_size)). Shapes are those of the functions in ops/recurrent.h and ops/rnn.h.
//
// `auto [out, state] = lstm(x);` or `lstm(x, {h0, c0})`; states that are left out are zeros. An input without a batch
// ([steps, features]) gives results without one. A packed sequence gives a packed one.
// Inside a Sequential only the output goes on to the next module.
#pragma once
#include <string>
#include <utility>

#include "libamp/nn/module.h"
#include "libamp/nn/packed_sequence.h"
#include "libamp/ops/recurrent.h"

namespace amp::nn {

/// What RNN, LSTM and GRU have in common: the parameters weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0,
/// weight_hr_l0 (with a projection); the same with _reverse; then layer 1 ...
class RNNBase : public Module {
 public:
  /// All parameters in the order the functions of ops/recurrent.h take.
  [[nodiscard]] const Tensors& flat_weights() const { return flat_weights_; }
  /// Does nothing: weights need not lie together here. For scripts that call it.
  void flatten_parameters() const {}

 protected:
  struct Sizes {  ///< the arguments all of them have
    std::int64_t input_size, hidden_size, num_layers;
    bool bias, batch_first;
    double dropout;
    bool bidirectional;
    std::int64_t proj_size;
  };
  /// gates: rows of the weights per hidden element. Throws Error(value) for sizes that cannot be.
  RNNBase(const char* name, std::int64_t gates, const Sizes& sizes);

  /// The input as a function takes it: with a batch. Throws Error for a wrong shape, and Error(value) for a dtype that
  /// differs from the weights' outside of autocast.
  struct Input {
    Tensor data, batch_sizes;
    bool batched = true;
    std::int64_t batch = 0;
  };
  [[nodiscard]] Input prepare(const Tensor& input) const;
  [[nodiscard]] Input prepare(const PackedSequence& input) const;
  /// An initial state [layers * directions, batch, width]: the given one, or zeros. `sorted`: the order of the batch.
  [[nodiscard]] Tensor initial_state(const Tensor& given, const Input& input, std::int64_t width,
                                     const Tensor& sorted = {}) const;
  [[nodiscard]] Tensor final_state(const Tensor& state, const Input& input, const Tensor& unsorted = {}) const;
  [[nodiscard]] Tensor output(const Tensor& out, const Input& input) const;

  const char* name_;
  Sizes sizes_;
  Tensors flat_weights_;
};

struct RNNArguments {
  std::int64_t num_layers = 1;
  std::string nonlinearity = "tanh";  ///< or relu
  bool bias = true, batch_first = false;
  double dropout = 0;
  bool bidirectional = false;
};
/// h = tanh(x w_ih^T + b_ih + h w_hh^T + b_hh). `nn::RNN(10, 20, {.num_layers = 2, .batch_first = true})`
class RNN : public RNNBase {
 public:
  RNN(std::int64_t input_size, std::int64_t hidden_size, const RNNArguments& arguments = {});
  Tensor forward(const Tensor& input) override;
  std::pair<Tensor, Tensor> operator()(const Tensor& input, const Tensor& hx = {});
  std::pair<PackedSequence, Tensor> operator()(const PackedSequence& input, const Tensor& hx = {});

 private:
  bool relu_;
};

struct GRUArguments {
  std::int64_t num_layers = 1;
  bool bias = true, batch_first = false;
  double dropout = 0;
  bool bidirectional = false;
};
class GRU : public RNNBase {  ///< layers of gru_cell
 public:
  GRU(std::int64_t input_size, std::int64_t hidden_size, const GRUArguments& arguments = {});
  Tensor forward(const Tensor& input) override;
  std::pair<Tensor, Tensor> operator()(const Tensor& input, const Tensor& hx = {});
  std::pair<PackedSequence, Tensor> operator()(const PackedSequence& input, const Tensor& hx = {});
};

struct LSTMArguments {
  std::int64_t num_layers = 1;
  bool bias = true, batch_first = false;
  double dropout = 0;
  bool bidirectional = false;
  std::int64_t proj_size = 0;
};
class LSTM : public RNNBase {  ///< layers of lstm_cell
 public:
  LSTM(std::int64_t input_size, std::int64_t hidden_size, const LSTMArguments& arguments = {});
  Tensor forward(const Tensor& input) override;
  /// The states are hidden and cell state.
  std::pair<Tensor, LstmState> operator()(const Tensor& input, const LstmState& hx = {});
  std::pair<PackedSequence, LstmState> operator()(const PackedSequence& input, const LstmState& hx = {});
};

/// One step. Parameters weight_ih, weight_hh, bias_ih, bias_hh.
class RNNCellBase : public Module {
 public:
  Tensor weight_ih, weight_hh, bias_ih, bias_hh;

 protected:
  RNNCellBase(std::int64_t gates, std::int64_t input_size, std::int64_t hidden_size, bool bias);
  /// The operand with a batch, or zeros in its place.
  [[nodiscard]] Tensor state_for(const Tensor& given, const Tensor& input) const;
  std::int64_t hidden_size_;
};

/// input [batch, input_size] or [input_size], hx [batch, hidden_size] or [hidden_size].
class RNNCell : public RNNCellBase {
 public:
  RNNCell(std::int64_t input_size, std::int64_t hidden_size, bool bias = true, std::string nonlinearity = "tanh");
  Tensor forward(const Tensor& input) override { return (*this)(input); }
  Tensor operator()(const Tensor& input, const Tensor& hx = {});

 private:
  bool relu_;
};
class GRUCell : public RNNCellBase {
 public:
  GRUCell(std::int64_t input_size, std::int64_t hidden_size, bool bias = true);
  Tensor forward(const Tensor& input) override { return (*this)(input); }
  Tensor operator()(const Tensor& input, const Tensor& hx = {});
};
class LSTMCell : public RNNCellBase {
 public:
  LSTMCell(std::int64_t input_size, std::int64_t hidden_size, bool bias = true);
  Tensor forward(const Tensor& input) override { return (*this)(input).first; }
  LstmState operator()(const Tensor& input, const LstmState& hx = {});
};

}  // namespace amp::nn
