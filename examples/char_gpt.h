// A small GPT: pre-norm transformer blocks with causal attention, and a head that shares the embedding's weight.
// Module and parameter names follow GPT-2's.
#pragma once
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "libamp/amp.h"

namespace char_gpt {

struct Sizes {
  std::int64_t vocabulary = 0, block = 128, layers = 4, width = 128, heads = 4;
};

class Attention : public amp::nn::Module {
 public:
  Attention(std::int64_t width, std::int64_t heads)
      : heads_(heads),
        qkv_(register_module("c_attn", amp::nn::Linear(width, 3 * width))),
        out_(register_module("c_proj", amp::nn::Linear(width, width))) {}
  /// [batch, block, width] -> the same
  amp::Tensor forward(const amp::Tensor& x) override {
    const std::int64_t batch = x.size(0), block = x.size(1), width = x.size(2);
    const amp::Tensor qkv = (*qkv_)(x).view({batch, block, 3, heads_, width / heads_}).permute({2, 0, 3, 1, 4});
    const amp::Tensor y = amp::scaled_dot_product_attention(qkv[0], qkv[1], qkv[2], {}, 0, true);
    return (*out_)(y.transpose(1, 2).reshape({batch, block, width}));
  }

 private:
  std::int64_t heads_;
  std::shared_ptr<amp::nn::Linear> qkv_, out_;
};

class Block : public amp::nn::Module {
 public:
  Block(std::int64_t width, std::int64_t heads)
      : ln_1_(register_module("ln_1", amp::nn::LayerNorm(amp::Shape{width}))),
        attn_(register_module("attn", Attention(width, heads))),
        ln_2_(register_module("ln_2", amp::nn::LayerNorm(amp::Shape{width}))),
        fc_(register_module("c_fc", amp::nn::Linear(width, 4 * width))),
        proj_(register_module("c_proj", amp::nn::Linear(4 * width, width))) {}
  amp::Tensor forward(const amp::Tensor& input) override {
    const amp::Tensor x = input + (*attn_)((*ln_1_)(input));
    return x + (*proj_)(amp::gelu((*fc_)((*ln_2_)(x)), "tanh"));
  }

 private:
  std::shared_ptr<amp::nn::LayerNorm> ln_1_;
  std::shared_ptr<Attention> attn_;
  std::shared_ptr<amp::nn::LayerNorm> ln_2_;
  std::shared_ptr<amp::nn::Linear> fc_, proj_;
};

class Gpt : public amp::nn::Module {
 public:
  explicit Gpt(const Sizes& s) : block_(s.block) {
    if (s.heads < 1 || s.width % s.heads != 0)
      amp::fail(amp::ErrorCode::value, "Gpt",
                "the width must be divisible by the heads: got " + std::to_string(s.width) + " and " +
                    std::to_string(s.heads));
    wte_ = register_module("wte", amp::nn::Embedding(s.vocabulary, s.width));
    wpe_ = register_module("wpe", amp::nn::Embedding(s.block, s.width));
    for (std::int64_t i = 0; i < s.layers; ++i)
      blocks_.push_back(register_module("h" + std::to_string(i), Block(s.width, s.heads)));
    ln_f_ = register_module("ln_f", amp::nn::LayerNorm(amp::Shape{s.width}));
    start(s.layers);
  }
  [[nodiscard]] std::int64_t block() const { return block_; }

  /// int64 [batch, up to block] -> logits [batch, the same, vocabulary]
  amp::Tensor forward(const amp::Tensor& tokens) override {
    amp::Tensor x = (*wte_)(tokens) + (*wpe_)(amp::arange(tokens.size(1)));
    for (const auto& block : blocks_) x = (*block)(x);
    return amp::linear((*ln_f_)(x), wte_->weight);
  }

 private:
  // GPT-2's starting values: normal, and smaller where a result is added to the residual stream, of which there are
  // two a layer. A residual stream that starts large drowns what the layers say.
  void start(std::int64_t layers) const {
    for (const auto& [name, parameter] : named_parameters()) {
      if (parameter.dim() < 2) {
        if (name.ends_with("bias")) amp::nn::init::constant_(parameter, 0);
        continue;
      }
      const bool residual = name.ends_with("c_proj.weight");
      amp::nn::init::normal_(parameter, 0, residual ? 0.02 / std::sqrt(2.0 * static_cast<double>(layers)) : 0.02);
    }
  }

  std::int64_t block_;
  std::shared_ptr<amp::nn::Embedding> wte_, wpe_;
  std::vector<std::shared_ptr<Block>> blocks_;
  std::shared_ptr<amp::nn::LayerNorm> ln_f_;
};

}  // namespace char_gpt
