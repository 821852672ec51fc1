// Attention of several heads, as torch.nn.MultiheadAttention.
#pragma once
#include <memory>
#include <optional>
#include <utility>

#include "libamp/nn/linear.h"
#include "libamp/nn/module.h"

namespace amp::nn {

/// In the order of PyTorch's arguments.
struct AttentionOptions {
  double dropout = 0;
  bool bias = true;
  bool add_bias_kv = false;                          ///< one more learnt key and value
  bool add_zero_attn = false;                        ///< one more key and value of zeros
  std::optional<std::int64_t> kdim = {}, vdim = {};  ///< widths of key and value; left out: embed_dim
  bool batch_first = false;
};

/// Options of one call.
struct AttentionCall {
  /// [batch, keys]; bool: true hides a key. Numbers are added to the scores.
  Tensor key_padding_mask = {};
  /// Without them the fused scaled_dot_product_attention is used.
  bool need_weights = true;
  /// [queries, keys] or [batch * heads, queries, keys]; bool: true hides. Numbers are added to the scores.
  Tensor attn_mask = {};
  bool average_attn_weights = true;
  /// The mask is the causal one; it has to be given all the same.
  bool is_causal = false;
};

/// query [queries, batch, embed_dim], key [keys, batch, kdim], value [keys, batch, vdim] (batch_first: batch in front;
/// the batch dim may be left out) -> output [queries, batch, embed_dim] and weights [batch, queries, keys] or, not
/// averaged, [batch, heads, queries, keys]. Parameters: in_proj_weight [3 embed_dim, embed_dim], or q_, k_ and
/// v_proj_weight if kdim or vdim differ; in_proj_bias; bias_k and bias_v; out_proj.weight and out_proj.bias.
/// Projections start uniform (Xavier), biases as zeros.
class MultiheadAttention : public Module {
 public:
  /// Throws Error(value) unless num_heads divides embed_dim.
  MultiheadAttention(std::int64_t embed_dim, std::int64_t num_heads, const AttentionOptions& options = {});

  using Module::forward;
  std::pair<Tensor, Tensor> forward(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const AttentionCall& call = {});
  std::pair<Tensor, Tensor> operator()(const Tensor& query, const Tensor& key, const Tensor& value,
                                       const AttentionCall& call = {});

  Tensor in_proj_weight, q_proj_weight, k_proj_weight, v_proj_weight, in_proj_bias, bias_k, bias_v;
  std::shared_ptr<Linear> out_proj;

 private:
  struct Projected {
    Tensor query, key, value;
  };
  [[nodiscard]] Projected project(const Tensor& query, const Tensor& key, const Tensor& value) const;
  [[nodiscard]] std::pair<Tensor, Tensor> attend(const Projected& in, Tensor mask, const AttentionCall& call) const;
  [[nodiscard]] Tensor merged_mask(const Tensor& query, const Tensor& key, const AttentionCall& call) const;
  /// [length, batch, embed_dim] -> [batch, heads, length, head width]
  [[nodiscard]] Tensor split_heads(const Tensor& x) const;

  std::int64_t embed_dim_, num_heads_;
  AttentionOptions options_;
};

}  // namespace amp::nn
