// MultiheadAttention, in the steps of torch.nn.functional.multi_head_attention_forward: with the weights wanted, a
// scaled product, softmax and a second product; else scaled_dot_product_attention. Autocast sees these ops.
#include "libamp/nn/attention.h"

#include <cmath>
#include <limits>

#include "libamp/nn/new_parameter.h"
#include "libamp/ops/attention.h"
#include "libamp/ops/join.h"
#include "libamp/ops/math.h"
#include "libamp/ops/pointwise.h"
#include "libamp/ops/product.h"
#include "libamp/ops/reduce.h"
#include "libamp/ops/softmax.h"
#include "libamp/ops/view.h"

namespace amp::nn {
namespace {

Tensor new_projection(std::int64_t out, std::int64_t in) {
  return as_weights([&] { return init::xavier_uniform_(empty({out, in})); });
}

// What is added to the scores: of a bool mask -inf where it holds.
Tensor additive(const Tensor& mask, DType dtype, const char* what) {
  if (mask.dtype() == DType::bool_)
    return masked_fill(zeros(mask.sizes(), {.dtype = dtype, .device = mask.device()}), mask,
                       -std::numeric_limits<double>::infinity());
  if (!mask.is_floating_point())
    fail(ErrorCode::runtime, "MultiheadAttention",
         std::string(what) + " must be bool or floating: got " + describe(mask));
  return mask;
}

Tensor part(const Tensor& t, std::int64_t i, std::int64_t size) {
  return t.defined() ? narrow(t, 0, i * size, size) : Tensor();
}

// One more row at the end of the first dim.
Tensor with_row(const Tensor& x, const Tensor& row) { return cat({x, row}, 0); }

// A last column that hides nothing.
Tensor with_column(const Tensor& mask) {
  Shape sizes = mask.sizes();
  sizes[sizes.size() - 1] = 1;
  return cat({mask, zeros(sizes, {.dtype = mask.dtype(), .device = mask.device()})}, -1);
}

}  // namespace

MultiheadAttention::MultiheadAttention(std::int64_t embed_dim, std::int64_t num_heads, const AttentionOptions& options)
    : embed_dim_(embed_dim), num_heads_(num_heads), options_(options) {
  if (embed_dim < 1 || num_heads < 1 || embed_dim % num_heads != 0)
    fail(ErrorCode::value, "MultiheadAttention",
         "embed_dim must be divisible by num_heads: got " + std::to_string(embed_dim) + " and " +
             std::to_string(num_heads));
  const std::int64_t kdim = options.kdim.value_or(embed_dim), vdim = options.vdim.value_or(embed_dim);
  if (kdim == embed_dim && vdim == embed_dim) {
    in_proj_weight = register_parameter("in_proj_weight", new_projection(3 * embed_dim, embed_dim));
  } else {
    q_proj_weight = register_parameter("q_proj_weight", new_projection(embed_dim, embed_dim));
    k_proj_weight = register_parameter("k_proj_weight", new_projection(embed_dim, kdim));
    v_proj_weight = register_parameter("v_proj_weight", new_projection(embed_dim, vdim));
  }
  if (options.bias) in_proj_bias = register_parameter("in_proj_bias", new_zeros({3 * embed_dim}));
  out_proj = register_module("out_proj", Linear(embed_dim, embed_dim, options.bias));
  if (options.bias) init::zeros_(out_proj->bias);
  if (!options.add_bias_kv) return;
  const auto new_row = [&] { return init::xavier_normal_(empty({1, 1, embed_dim})); };
  bias_k = register_parameter("bias_k", as_weights(new_row));
  bias_v = register_parameter("bias_v", as_weights(new_row));
}

MultiheadAttention::Projected MultiheadAttention::project(const Tensor& query, const Tensor& key,
                                                          const Tensor& value) const {
  const std::int64_t e = embed_dim_;
  const auto bias = [&](std::int64_t i) { return part(in_proj_bias, i, e); };
  if (!in_proj_weight.defined())
    return {linear(query, q_proj_weight, bias(0)), linear(key, k_proj_weight, bias(1)),
            linear(value, v_proj_weight, bias(2))};
  // As few products as there are different inputs.
  if (query.is_same(key) && key.is_same(value)) {
    const Tensors all = chunk(linear(query, in_proj_weight, in_proj_bias), 3, -1);
    return {all[0], all[1], all[2]};
  }
  const Tensor q = linear(query, part(in_proj_weight, 0, e), bias(0));
  if (key.is_same(value)) {
    const Tensor bias_kv = in_proj_bias.defined() ? narrow(in_proj_bias, 0, e, 2 * e) : Tensor();
    const Tensors both = chunk(linear(key, narrow(in_proj_weight, 0, e, 2 * e), bias_kv), 2, -1);
    return {q, both[0], both[1]};
  }
  return {q, linear(key, part(in_proj_weight, 1, e), bias(1)), linear(value, part(in_proj_weight, 2, e), bias(2))};
}

Tensor MultiheadAttention::split_heads(const Tensor& x) const {
  return permute(reshape(x, {x.size(0), x.size(1), num_heads_, embed_dim_ / num_heads_}), {1, 2, 0, 3});
}

// [batch, heads or 1, queries or 1, keys]; undefined if nothing is masked.
Tensor MultiheadAttention::merged_mask(const Tensor& query, const Tensor& key, const AttentionCall& call) const {
  const std::int64_t queries = query.size(0), batch = query.size(1), keys = key.size(0);
  Tensor merged;
  if (call.attn_mask.defined()) {
    merged = additive(call.attn_mask, query.dtype(), "attn_mask");
    if (merged.sizes() == Shape{queries, keys})
      merged = reshape(merged, {1, 1, queries, keys});
    else if (merged.sizes() == Shape{batch * num_heads_, queries, keys})
      merged = reshape(merged, {batch, num_heads_, queries, keys});
    else
      fail(ErrorCode::runtime, "MultiheadAttention",
           "attn_mask has the wrong shape: got " + describe(call.attn_mask) + ", need " + to_string({queries, keys}) +
               " or " + to_string({batch * num_heads_, queries, keys}));
  }
  if (call.key_padding_mask.defined()) {
    if (!(call.key_padding_mask.sizes() == Shape{batch, keys}))
      fail(ErrorCode::runtime, "MultiheadAttention",
           "key_padding_mask has the wrong shape: got " + describe(call.key_padding_mask) + ", need " +
               to_string({batch, keys}));
    const Tensor padding =
        reshape(additive(call.key_padding_mask, query.dtype(), "key_padding_mask"), {batch, 1, 1, keys});
    merged = merged.defined() ? merged + padding : padding;
  }
  return merged;
}

// q, k and v [length, batch, embed_dim] -> [queries, batch, embed_dim] before out_proj, and the weights of all heads.
std::pair<Tensor, Tensor> MultiheadAttention::attend(const Projected& in, Tensor mask,
                                                     const AttentionCall& call) const {
  const std::int64_t queries = in.query.size(0), batch = in.query.size(1), width = embed_dim_ / num_heads_;
  Tensor key = in.key, value = in.value;
  if (bias_k.defined()) {
    key = with_row(key, expand(bias_k, {1, batch, embed_dim_}));
    value = with_row(value, expand(bias_v, {1, batch, embed_dim_}));
    if (mask.defined()) mask = with_column(mask);
  }
  if (options_.add_zero_attn) {
    const Tensor row = zeros({1, batch, embed_dim_}, {.dtype = key.dtype(), .device = key.device()});
    key = with_row(key, row);
    value = with_row(value, row);
    if (mask.defined()) mask = with_column(mask);
  }
  const std::int64_t keys = key.size(0);
  const Tensor q = split_heads(in.query), k = split_heads(key), v = split_heads(value);
  const double p = is_training() ? options_.dropout : 0;
  Tensor output, weights;
  if (call.need_weights) {
    const auto flat = [&](const Tensor& x) { return reshape(x, {batch * num_heads_, x.size(2), width}); };
    const Tensor scaled = flat(q) * std::sqrt(1 / static_cast<double>(width)), turned = transpose(flat(k), -2, -1);
    if (mask.defined()) {
      mask = reshape(expand(mask, {batch, num_heads_, queries, keys}), {batch * num_heads_, queries, keys});
      weights = softmax(baddbmm(mask, scaled, turned), -1);
    } else {
      weights = softmax(bmm(scaled, turned), -1);
    }
    weights = dropout(weights, p, is_training());
    output = reshape(bmm(weights, flat(v)), {batch, num_heads_, queries, width});
    weights = reshape(weights, {batch, num_heads_, queries, keys});
  } else {
    // The causal mask needs no tensor where nothing else is masked.
    const bool causal =
        call.is_causal && !call.key_padding_mask.defined() && !bias_k.defined() && !options_.add_zero_attn;
    output = scaled_dot_product_attention(q, k, v, causal ? Tensor() : mask, p, causal);
  }
  return {reshape(permute(output, {2, 0, 1, 3}), {queries, batch, embed_dim_}), weights};
}

std::pair<Tensor, Tensor> MultiheadAttention::forward(const Tensor& query, const Tensor& key, const Tensor& value,
                                                      const AttentionCall& call) {
  if ((query.dim() != 2 && query.dim() != 3) || key.dim() != query.dim() || value.dim() != query.dim())
    fail(ErrorCode::runtime, "MultiheadAttention",
         "query, key and value need 3 dims, or 2 without a batch: got " + describe(query) + ", " + describe(key) +
             " and " + describe(value));
  if (query.size(-1) != embed_dim_)
    fail(ErrorCode::runtime, "MultiheadAttention",
         "wrong width of the query: got " + describe(query) + ", need " + std::to_string(embed_dim_));
  if (call.is_causal && !call.attn_mask.defined())
    fail(ErrorCode::runtime, "MultiheadAttention", "is_causal needs attn_mask as well: got none");
  const bool batched = query.dim() == 3;
  // To [length, batch, width]; inputs that are one tensor stay one tensor.
  const auto arrange = [&](const Tensor& x) {
    return !batched ? unsqueeze(x, 1) : options_.batch_first ? transpose(x, 0, 1) : x;
  };
  const Tensor q = arrange(query), k = key.is_same(query) ? q : arrange(key),
               v = value.is_same(key)     ? k
                   : value.is_same(query) ? q
                                          : arrange(value);
  if (k.size(0) != v.size(0) || k.size(1) != q.size(1) || v.size(1) != q.size(1))
    fail(ErrorCode::runtime, "MultiheadAttention",
         "lengths of key and value, or batches, differ: got " + describe(query) + ", " + describe(key) + " and " +
             describe(value));
  AttentionCall used = call;
  if (!batched && used.key_padding_mask.defined()) used.key_padding_mask = unsqueeze(used.key_padding_mask, 0);
  auto [output, weights] = attend(project(q, k, v), merged_mask(q, k, used), used);
  output = (*out_proj)(output);
  if (!batched)
    output = squeeze(output, 1);
  else if (options_.batch_first)
    output = transpose(output, 0, 1);
  if (weights.defined()) {
    if (call.average_attn_weights) weights = mean(weights, Shape{1});
    if (!batched) weights = squeeze(weights, 0);
  }
  return {output, weights};
}

std::pair<Tensor, Tensor> MultiheadAttention::operator()(const Tensor& query, const Tensor& key, const Tensor& value,
                                                         const AttentionCall& call) {
  const Scope scope(*this);
  return forward(query, key, value, call);
}

}  // namespace amp::nn
