// Transformer layers, composed of modules in the order of torch/nn/modules/transformer.py.
#include "libamp/nn/transformer.h"

#include <limits>

#include "libamp/ops/create.h"
#include "libamp/ops/index.h"
#include "libamp/ops/math.h"
#include "libamp/ops/pointwise.h"

namespace amp::nn {
namespace {

void complete(TransformerOptions& options, const char* where) {
  if (options.activation_function) return;
  if (options.activation == "relu")
    options.activation_function = [](const Tensor& x) { return relu(x); };
  else if (options.activation == "gelu")
    options.activation_function = [](const Tensor& x) { return gelu(x); };
  else
    fail(ErrorCode::value, where, "activation: got '" + options.activation + "', need 'relu' or 'gelu'");
}

AttentionOptions attention_options(const TransformerOptions& o) {
  return {.dropout = o.dropout, .bias = o.bias, .batch_first = o.batch_first};
}

LayerNorm norm_of(std::int64_t d_model, const TransformerOptions& o) {
  return LayerNorm({d_model}, o.layer_norm_eps, true, o.bias);
}

// Copies `layer` (and its mode) into `count` modules of a list.
template <typename Layer>
std::shared_ptr<ModuleList> clones(const Layer& layer, std::int64_t count, const char* where) {
  if (count < 1) fail(ErrorCode::value, where, "num_layers must be at least 1: got " + std::to_string(count));
  auto list = std::make_shared<ModuleList>();
  for (std::int64_t i = 0; i < count; ++i) list->append(layer.clone());
  return list;
}

template <typename Layer>
std::shared_ptr<Layer> copy_of(const Layer& layer, std::int64_t d_model, std::int64_t nhead,
                               const TransformerOptions& options) {
  auto copy = std::make_shared<Layer>(d_model, nhead, options);
  const Tensors own = layer.parameters(), made = copy->parameters();
  if (!own.empty()) copy->to(own[0].dtype());
  copy->load_state_dict(layer.state_dict());
  for (std::size_t i = 0; i < own.size(); ++i) made[i].requires_grad_(own[i].requires_grad());
  copy->train(layer.is_training());
  return copy;
}

}  // namespace

TransformerEncoderLayer::TransformerEncoderLayer(std::int64_t d_model, std::int64_t nhead,
                                                 const TransformerOptions& options)
    : d_model_(d_model), nhead_(nhead), options_(options) {
  complete(options_, "TransformerEncoderLayer");
  const TransformerOptions& o = options_;
  self_attn = register_module("self_attn", MultiheadAttention(d_model, nhead, attention_options(o)));
  linear1 = register_module("linear1", Linear(d_model, o.dim_feedforward, o.bias));
  dropout = register_module("dropout", Dropout(o.dropout));
  linear2 = register_module("linear2", Linear(o.dim_feedforward, d_model, o.bias));
  norm1 = register_module("norm1", norm_of(d_model, o));
  norm2 = register_module("norm2", norm_of(d_model, o));
  dropout1 = register_module("dropout1", Dropout(o.dropout));
  dropout2 = register_module("dropout2", Dropout(o.dropout));
}

Tensor TransformerEncoderLayer::attend(const Tensor& x, const Tensor& mask, const Tensor& padding, bool is_causal) {
  const AttentionCall call{
      .key_padding_mask = padding, .need_weights = false, .attn_mask = mask, .is_causal = is_causal};
  return (*dropout1)((*self_attn)(x, x, x, call).first);
}

Tensor TransformerEncoderLayer::feed_forward(const Tensor& x) {
  return (*dropout2)((*linear2)((*dropout)(options_.activation_function((*linear1)(x)))));
}

Tensor TransformerEncoderLayer::forward(const Tensor& src, const Tensor& src_mask, const Tensor& src_key_padding_mask,
                                        bool is_causal) {
  if (options_.norm_first) {
    const Tensor x = src + attend((*norm1)(src), src_mask, src_key_padding_mask, is_causal);
    return x + feed_forward((*norm2)(x));
  }
  const Tensor x = (*norm1)(src + attend(src, src_mask, src_key_padding_mask, is_causal));
  return (*norm2)(x + feed_forward(x));
}

Tensor TransformerEncoderLayer::operator()(const Tensor& src, const Tensor& src_mask,
                                           const Tensor& src_key_padding_mask, bool is_causal) {
  const Scope scope(*this);
  return forward(src, src_mask, src_key_padding_mask, is_causal);
}

std::shared_ptr<TransformerEncoderLayer> TransformerEncoderLayer::clone() const {
  return copy_of(*this, d_model_, nhead_, options_);
}

TransformerEncoder::TransformerEncoder(const TransformerEncoderLayer& encoder_layer, std::int64_t num_layers,
                                       std::shared_ptr<Module> final_norm) {
  layers = register_module("layers", clones(encoder_layer, num_layers, "TransformerEncoder"));
  if (final_norm) norm = register_module("norm", std::move(final_norm));
}

Tensor TransformerEncoder::forward(const Tensor& src, const Tensor& mask, const Tensor& src_key_padding_mask,
                                   bool is_causal) {
  Tensor x = src;
  for (std::size_t i = 0; i < layers->size(); ++i)
    x = layers->at<TransformerEncoderLayer>(i)(x, mask, src_key_padding_mask, is_causal);
  return norm ? (*norm)(x) : x;
}

Tensor TransformerEncoder::operator()(const Tensor& src, const Tensor& mask, const Tensor& src_key_padding_mask,
                                      bool is_causal) {
  const Scope scope(*this);
  return forward(src, mask, src_key_padding_mask, is_causal);
}

TransformerDecoderLayer::TransformerDecoderLayer(std::int64_t d_model, std::int64_t nhead,
                                                 const TransformerOptions& options)
    : d_model_(d_model), nhead_(nhead), options_(options) {
  complete(options_, "TransformerDecoderLayer");
  const TransformerOptions& o = options_;
  self_attn = register_module("self_attn", MultiheadAttention(d_model, nhead, attention_options(o)));
  multihead_attn = register_module("multihead_attn", MultiheadAttention(d_model, nhead, attention_options(o)));
  linear1 = register_module("linear1", Linear(d_model, o.dim_feedforward, o.bias));
  dropout = register_module("dropout", Dropout(o.dropout));
  linear2 = register_module("linear2", Linear(o.dim_feedforward, d_model, o.bias));
  norm1 = register_module("norm1", norm_of(d_model, o));
  norm2 = register_module("norm2", norm_of(d_model, o));
  norm3 = register_module("norm3", norm_of(d_model, o));
  dropout1 = register_module("dropout1", Dropout(o.dropout));
  dropout2 = register_module("dropout2", Dropout(o.dropout));
  dropout3 = register_module("dropout3", Dropout(o.dropout));
}

Tensor TransformerDecoderLayer::forward(const Tensor& tgt, const Tensor& memory, const DecoderMasks& masks) {
  const auto own = [&](const Tensor& x) {
    const AttentionCall call{.key_padding_mask = masks.tgt_key_padding_mask,
                             .need_weights = false,
                             .attn_mask = masks.tgt_mask,
                             .is_causal = masks.tgt_is_causal};
    return (*dropout1)((*self_attn)(x, x, x, call).first);
  };
  const auto read = [&](const Tensor& x) {
    const AttentionCall call{.key_padding_mask = masks.memory_key_padding_mask,
                             .need_weights = false,
                             .attn_mask = masks.memory_mask,
                             .is_causal = masks.memory_is_causal};
    return (*dropout2)((*multihead_attn)(x, memory, memory, call).first);
  };
  const auto feed_forward = [&](const Tensor& x) {
    return (*dropout3)((*linear2)((*dropout)(options_.activation_function((*linear1)(x)))));
  };
  Tensor x = tgt;
  if (options_.norm_first) {
    x = x + own((*norm1)(x));
    x = x + read((*norm2)(x));
    return x + feed_forward((*norm3)(x));
  }
  x = (*norm1)(x + own(x));
  x = (*norm2)(x + read(x));
  return (*norm3)(x + feed_forward(x));
}

Tensor TransformerDecoderLayer::operator()(const Tensor& tgt, const Tensor& memory, const DecoderMasks& masks) {
  const Scope scope(*this);
  return forward(tgt, memory, masks);
}

std::shared_ptr<TransformerDecoderLayer> TransformerDecoderLayer::clone() const {
  return copy_of(*this, d_model_, nhead_, options_);
}

TransformerDecoder::TransformerDecoder(const TransformerDecoderLayer& decoder_layer, std::int64_t num_layers,
                                       std::shared_ptr<Module> final_norm) {
  layers = register_module("layers", clones(decoder_layer, num_layers, "TransformerDecoder"));
  if (final_norm) norm = register_module("norm", std::move(final_norm));
}

Tensor TransformerDecoder::forward(const Tensor& tgt, const Tensor& memory, const DecoderMasks& masks) {
  Tensor x = tgt;
  for (std::size_t i = 0; i < layers->size(); ++i) x = layers->at<TransformerDecoderLayer>(i)(x, memory, masks);
  return norm ? (*norm)(x) : x;
}

Tensor TransformerDecoder::operator()(const Tensor& tgt, const Tensor& memory, const DecoderMasks& masks) {
  const Scope scope(*this);
  return forward(tgt, memory, masks);
}

Tensor generate_square_subsequent_mask(std::int64_t size, const TensorOptions& options) {
  return triu(full({size, size}, -std::numeric_limits<double>::infinity(), options), 1);
}

}  // namespace amp::nn
