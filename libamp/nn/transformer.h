// Transformer encoders and decoders, as torch.nn.TransformerEncoderLayer and its relatives.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "libamp/nn/attention.h"
#include "libamp/nn/containers.h"
#include "libamp/nn/dropout.h"
#include "libamp/nn/norms.h"

namespace amp::nn {

/// In the order of PyTorch's arguments.
struct TransformerOptions {
  std::int64_t dim_feedforward = 2048;
  double dropout = 0.1;
  /// "relu", "gelu", or any function in its place.
  std::string activation = "relu";
  std::function<Tensor(const Tensor&)> activation_function = {};
  double layer_norm_eps = 1e-5;
  bool batch_first = false;
  bool norm_first = false;  ///< norms before attention and feed-forward instead of after
  bool bias = true;
};

/// Self-attention and a feed-forward network, each with dropout, a residual sum and a norm. Parameters: self_attn.*,
/// linear1.*, linear2.*, norm1.*, norm2.*.
class TransformerEncoderLayer : public Module {
 public:
  /// Throws Error(value) for an unknown activation.
  TransformerEncoderLayer(std::int64_t d_model, std::int64_t nhead, const TransformerOptions& options = {});
  Tensor forward(const Tensor& src) override { return forward(src, {}); }
  /// Masks as in AttentionCall.
  Tensor forward(const Tensor& src, const Tensor& src_mask, const Tensor& src_key_padding_mask = {},
                 bool is_causal = false);
  using Module::operator();
  Tensor operator()(const Tensor& src, const Tensor& src_mask, const Tensor& src_key_padding_mask = {},
                    bool is_causal = false);
  /// Another layer with the same options and values.
  [[nodiscard]] std::shared_ptr<TransformerEncoderLayer> clone() const;

  std::shared_ptr<MultiheadAttention> self_attn;
  std::shared_ptr<Linear> linear1, linear2;
  std::shared_ptr<LayerNorm> norm1, norm2;
  std::shared_ptr<Dropout> dropout, dropout1, dropout2;

 private:
  Tensor attend(const Tensor& x, const Tensor& mask, const Tensor& padding, bool is_causal);
  Tensor feed_forward(const Tensor& x);

  std::int64_t d_model_, nhead_;
  TransformerOptions options_;
};

/// num_layers copies of a layer (all start with its values, as in PyTorch), named layers.0, layers.1, ..., and a norm.
class TransformerEncoder : public Module {
 public:
  TransformerEncoder(const TransformerEncoderLayer& encoder_layer, std::int64_t num_layers,
                     std::shared_ptr<Module> norm = {});
  Tensor forward(const Tensor& src) override { return forward(src, {}); }
  Tensor forward(const Tensor& src, const Tensor& mask, const Tensor& src_key_padding_mask = {},
                 bool is_causal = false);
  using Module::operator();
  Tensor operator()(const Tensor& src, const Tensor& mask, const Tensor& src_key_padding_mask = {},
                    bool is_causal = false);

  std::shared_ptr<ModuleList> layers;
  std::shared_ptr<Module> norm;
};

/// Masks of a decoder: tgt_* for its own sequence, memory_* for what it reads of the encoder's.
struct DecoderMasks {
  Tensor tgt_mask = {}, memory_mask = {}, tgt_key_padding_mask = {}, memory_key_padding_mask = {};
  bool tgt_is_causal = false, memory_is_causal = false;
};

/// Self-attention, attention to the encoder's output, and a feed-forward network. Parameters: self_attn.*,
/// multihead_attn.*, linear1.*, linear2.*, norm1.* to norm3.*.
class TransformerDecoderLayer : public Module {
 public:
  /// Throws Error(value) for an unknown activation.
  TransformerDecoderLayer(std::int64_t d_model, std::int64_t nhead, const TransformerOptions& options = {});
  using Module::forward;
  Tensor forward(const Tensor& tgt, const Tensor& memory, const DecoderMasks& masks = {});
  Tensor operator()(const Tensor& tgt, const Tensor& memory, const DecoderMasks& masks = {});
  [[nodiscard]] std::shared_ptr<TransformerDecoderLayer> clone() const;

  std::shared_ptr<MultiheadAttention> self_attn, multihead_attn;
  std::shared_ptr<Linear> linear1, linear2;
  std::shared_ptr<LayerNorm> norm1, norm2, norm3;
  std::shared_ptr<Dropout> dropout, dropout1, dropout2, dropout3;

 private:
  std::int64_t d_model_, nhead_;
  TransformerOptions options_;
};

/// num_layers copies of a layer, and a norm.
class TransformerDecoder : public Module {
 public:
  TransformerDecoder(const TransformerDecoderLayer& decoder_layer, std::int64_t num_layers,
                     std::shared_ptr<Module> norm = {});
  using Module::forward;
  Tensor forward(const Tensor& tgt, const Tensor& memory, const DecoderMasks& masks = {});
  Tensor operator()(const Tensor& tgt, const Tensor& memory, const DecoderMasks& masks = {});

  std::shared_ptr<ModuleList> layers;
  std::shared_ptr<Module> norm;
};

/// [size, size] of zeros with -inf above the diagonal: the causal attn_mask.
Tensor generate_square_subsequent_mask(std::int64_t size, const TensorOptions& options = {});

}  // namespace amp::nn
