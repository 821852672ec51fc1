// MultiheadAttention: against the formula written out, its two ways against each other, masks, layouts, dtypes under
// autocast, gradients; and the transformer layers made of it.
#include "libamp/nn/attention.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "libamp/nn/transformer.h"
#include "tests/support/gradcheck.h"
#include "tests/support/toy_training.h"

using namespace amp;
using namespace amp::testing;

namespace {

constexpr std::int64_t kWidth = 6, kHeads = 3, kQueries = 4, kKeys = 5, kBatch = 2;

double largest_difference(const Tensor& a, const Tensor& b) {
  const auto x = a.to_vector(), y = b.to_vector();
  double most = x.size() == y.size() ? 0 : kInf;
  for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i) most = std::max(most, std::abs(x[i] - y[i]));
  return most;
}

// The formula, loop by loop, for [length, batch, width] inputs in float64. allowed(b, h, q, k): not masked.
template <typename Allowed>
std::pair<std::vector<double>, std::vector<double>> written_out(const nn::MultiheadAttention& m, const Tensor& query,
                                                                const Tensor& key, const Tensor& value,
                                                                Allowed allowed) {
  const auto project = [&](const Tensor& x, std::int64_t part) {
    return linear(x, m.in_proj_weight.narrow(0, part * kWidth, kWidth),
                  m.in_proj_bias.narrow(0, part * kWidth, kWidth));
  };
  const Tensor q = project(query, 0), k = project(key, 1), v = project(value, 2);
  const auto at = [](const Tensor& t, std::int64_t l, std::int64_t b, std::int64_t c) {
    return t.data<double>()[(l * kBatch + b) * kWidth + c];
  };
  const std::int64_t w = kWidth / kHeads, queries = query.size(0), keys = key.size(0);
  std::vector<double> mixed(static_cast<std::size_t>(queries * kBatch * kWidth)), weights;
  for (std::int64_t b = 0; b < kBatch; ++b)
    for (std::int64_t h = 0; h < kHeads; ++h)
      for (std::int64_t i = 0; i < queries; ++i) {
        std::vector<double> p;
        double total = 0;
        for (std::int64_t j = 0; j < keys; ++j) {
          double score = 0;
          for (std::int64_t c = h * w; c < (h + 1) * w; ++c) score += at(q, i, b, c) * at(k, j, b, c);
          p.push_back(allowed(b, h, i, j) ? std::exp(score / std::sqrt(static_cast<double>(w))) : 0);
          total += p.back();
        }
        for (std::int64_t j = 0; j < keys; ++j) {
          p[static_cast<std::size_t>(j)] /= total;
          weights.push_back(p[static_cast<std::size_t>(j)]);
          for (std::int64_t c = h * w; c < (h + 1) * w; ++c)
            mixed[static_cast<std::size_t>((i * kBatch + b) * kWidth + c)] +=
                p[static_cast<std::size_t>(j)] * at(v, j, b, c);
        }
      }
  const Tensor out =
      linear(tensor(mixed, {queries, kBatch, kWidth}, {.dtype = DType::float64}), m.out_proj->weight, m.out_proj->bias);
  return {out.to_vector(), weights};
}

struct Bench {
  nn::MultiheadAttention module{kWidth, kHeads};
  Tensor query = test::values({kQueries, kBatch, kWidth}, 1), key = test::values({kKeys, kBatch, kWidth}, 2),
         value = test::values({kKeys, kBatch, kWidth}, 3);
  Bench() {
    manual_seed(2);
    module.to(DType::float64);
    const no_grad quiet;
    module.in_proj_bias.copy_(test::values({3 * kWidth}, 4));
    module.out_proj->bias.copy_(test::values({kWidth}, 5));
  }
};

Tensor causal_mask(std::int64_t size) { return triu(ones({size, size}), 1).to(DType::bool_); }

}  // namespace

TEST_CASE("attention follows its formula, with the weights wanted or not", "[nn]") {
  Bench bench;
  const no_grad quiet;
  const Tensor padding = tensor({0, 0, 0, 1, 1, 0, 1, 0, 0, 0}).view({kBatch, kKeys}).to(DType::bool_);
  const Tensor mask2 =
      tensor({0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1}).view({kQueries, kKeys}).to(DType::bool_);
  const auto hidden = [](const Tensor& t, std::int64_t i) { return static_cast<const bool*>(t.raw())[i]; };
  for (const bool masked : {false, true})
    for (const bool padded : {false, true}) {
      const auto [output, weights] =
          written_out(bench.module, bench.query, bench.key, bench.value,
                      [&](std::int64_t b, std::int64_t, std::int64_t i, std::int64_t j) {
                        return !(masked && hidden(mask2, i * kKeys + j)) && !(padded && hidden(padding, b * kKeys + j));
                      });
      nn::AttentionCall call{.key_padding_mask = padded ? padding : Tensor(),
                             .attn_mask = masked ? mask2 : Tensor(),
                             .average_attn_weights = false};
      const auto [with, got_weights] = bench.module(bench.query, bench.key, bench.value, call);
      call.need_weights = false;
      const auto [without, none] = bench.module(bench.query, bench.key, bench.value, call);
      CAPTURE(masked, padded);
      CHECK(with.sizes() == Shape{kQueries, kBatch, kWidth});
      CHECK(largest_difference(with, tensor(output)) < 1e-6);
      CHECK(largest_difference(without, with) < 1e-12);
      CHECK(got_weights.sizes() == Shape{kBatch, kHeads, kQueries, kKeys});
      CHECK(largest_difference(got_weights, tensor(weights, {.dtype = DType::float64})) < 1e-12);
      CHECK_FALSE(none.defined());
    }
}

TEST_CASE("attention masks may be numbers, per head, and causal", "[nn]") {
  Bench bench;
  const no_grad quiet;
  const Tensor x = bench.query, mask = causal_mask(kQueries);
  const auto run = [&](const nn::AttentionCall& call) { return bench.module(x, x, x, call).first; };
  const Tensor plain = run({.need_weights = false, .attn_mask = mask});
  CHECK(largest_difference(plain, run({.need_weights = false})) > 1e-3);
  CHECK(largest_difference(run({.need_weights = false, .attn_mask = mask, .is_causal = true}), plain) < 1e-12);
  CHECK(largest_difference(run({.attn_mask = mask, .is_causal = true}), plain) < 1e-12);
  CHECK(largest_difference(run({.attn_mask = nn::generate_square_subsequent_mask(kQueries, {.dtype = DType::float64})}),
                           plain) < 1e-12);
  const Tensor each = expand(unsqueeze(mask, 0), {kBatch * kHeads, kQueries, kQueries}).contiguous();
  CHECK(largest_difference(run({.attn_mask = each}), plain) < 1e-12);
  CHECK(error_code([&] { run({.is_causal = true}); }) == ErrorCode::runtime);
  CHECK(error_code([&] { run({.attn_mask = causal_mask(3)}); }) == ErrorCode::runtime);
  CHECK(error_code([&] { run({.key_padding_mask = causal_mask(kQueries)}); }) == ErrorCode::runtime);
  CHECK(error_code([&] {
          run({.attn_mask = ones({kQueries, kQueries}, {.dtype = DType::int64})});
        }) == ErrorCode::runtime);
}

TEST_CASE("attention takes the batch first, or none", "[nn]") {
  manual_seed(2);
  nn::MultiheadAttention first(kWidth, kHeads, {.batch_first = true});
  nn::MultiheadAttention second(kWidth, kHeads);
  second.load_state_dict(first.state_dict());
  const Tensor x = randn({kBatch, kQueries, kWidth});
  const auto [a, weights] = first(x, x, x);
  const auto [b, weights_b] = second(x.transpose(0, 1), x.transpose(0, 1), x.transpose(0, 1));
  CHECK(a.sizes() == x.sizes());
  CHECK(largest_difference(a, b.transpose(0, 1)) < 1e-6);
  CHECK(weights.sizes() == Shape{kBatch, kQueries, kQueries});
  CHECK(largest_difference(weights, weights_b) < 1e-6);
  const auto [c, weights_c] = first(x[0], x[0], x[0]);
  CHECK(c.sizes() == Shape{kQueries, kWidth});
  CHECK(largest_difference(c, a[0]) < 1e-6);
  CHECK(weights_c.sizes() == Shape{kQueries, kQueries});
  CHECK(error_code([&] { first(x, x[0], x); }) == ErrorCode::runtime);
  CHECK(error_code([&] { first(x, x, x.narrow(1, 0, 2)); }) == ErrorCode::runtime);
  CHECK(error_code([] { nn::MultiheadAttention(6, 4); }) == ErrorCode::value);
}

TEST_CASE("attention has PyTorch's parameters in each of its forms", "[nn]") {
  const auto names = [](const nn::Module& module) {
    std::string all;
    for (const auto& [name, tensor] : module.named_parameters()) all += name + " ";
    return all;
  };
  CHECK(names(nn::MultiheadAttention(6, 3)) == "in_proj_weight in_proj_bias out_proj.weight out_proj.bias ");
  CHECK(names(nn::MultiheadAttention(6, 3, {.bias = false})) == "in_proj_weight out_proj.weight ");
  nn::MultiheadAttention other(6, 3, {.add_bias_kv = true, .add_zero_attn = true, .kdim = 4, .vdim = 5});
  CHECK(names(other) ==
        "q_proj_weight k_proj_weight v_proj_weight in_proj_bias bias_k bias_v out_proj.weight out_proj.bias ");
  const auto [output, weights] = other(randn({2, 1, 6}), randn({3, 1, 4}), randn({3, 1, 5}));
  CHECK(output.sizes() == Shape{2, 1, 6});
  CHECK(weights.sizes() == Shape{1, 2, 5});  // two keys more
  const auto sums = weights.sum({-1}).to_vector();
  for (const double sum : sums) CHECK(std::abs(sum - 1) < 1e-6);
  // The fused way sees the same two keys.
  const Tensor q = randn({2, 1, 6}), k = randn({3, 1, 4}), v = randn({3, 1, 5});
  const Tensor mask = tensor({0, 1, 0, 0, 0, 1}).view({2, 3}).to(DType::bool_);
  const Tensor with = other(q, k, v, {.attn_mask = mask}).first;
  CHECK(largest_difference(with, other(q, k, v, {.need_weights = false, .attn_mask = mask}).first) < 1e-5);
}

TEST_CASE("attention differentiates, with both ways", "[nn]") {
  Bench bench;
  for (const bool need_weights : {true, false}) {
    Tensors inputs{bench.query, bench.key, bench.value};
    for (const Tensor& t : inputs) t.requires_grad_();
    for (const Tensor& p : bench.module.parameters()) inputs.push_back(p);
    const auto f = [&](const Tensors& in) {
      return bench.module(in[0], in[1], in[2], {.need_weights = need_weights}).first;
    };
    CHECK(test::gradcheck(f, inputs) == "");
  }
}

TEST_CASE("attention runs in low precision under autocast, with float32 gradients", "[nn]") {
  nn::MultiheadAttention module(kWidth, kHeads);
  const Tensor x = randn({kQueries, kBatch, kWidth});
  for (const bool need_weights : {true, false}) {
    Tensor output, weights;
    {
      const autocast region(DeviceType::cpu, {.dtype = DType::float16, .policy = Policy::cuda});
      std::tie(output, weights) = module(x, x, x, {.need_weights = need_weights, .attn_mask = causal_mask(kQueries)});
    }
    CHECK(output.dtype() == DType::float16);
    if (need_weights) CHECK(weights.dtype() == DType::float32);  // softmax is
    output.to_float().sum().backward();
    CHECK(module.in_proj_weight.grad().dtype() == DType::float32);
    const Tensor exact = module(x, x, x, {.need_weights = need_weights, .attn_mask = causal_mask(kQueries)}).first;
    // Three products of up to 8 terms of size about 1, each rounded to 11 bits.
    CHECK(largest_difference(output, exact) < 3 * 8 * 0x1p-11);
  }
}

TEST_CASE("a transformer encoder is its layers one after the other", "[nn]") {
  manual_seed(5);
  for (const bool norm_first : {false, true}) {
    nn::TransformerEncoderLayer layer(
        kWidth, kHeads, {.dim_feedforward = 12, .activation = "gelu", .batch_first = true, .norm_first = norm_first});
    nn::TransformerEncoder encoder(layer, 2, std::make_shared<nn::LayerNorm>(Shape{kWidth}));
    std::vector<std::string> names;
    for (const auto& [name, tensor] : encoder.named_parameters()) names.push_back(name);
    CHECK(names.size() == 26);
    CHECK(names[0] == "layers.0.self_attn.in_proj_weight");
    CHECK(names[3] == "layers.0.self_attn.out_proj.bias");
    CHECK(names[12] == "layers.1.self_attn.in_proj_weight");
    CHECK(names.back() == "norm.bias");
    CHECK_FALSE(encoder.get_parameter("layers.0.linear1.weight").is_same(layer.linear1->weight));
    CHECK(encoder.get_parameter("layers.1.linear1.weight").to_vector() == layer.linear1->weight.to_vector());
    encoder.eval();
    layer.eval();
    const Tensor x = randn({kBatch, kQueries, kWidth}), mask = nn::generate_square_subsequent_mask(kQueries);
    const Tensor twice = layer(layer(x, mask), mask);
    CHECK(largest_difference(encoder(x, mask), (*encoder.norm)(twice)) == 0);
    // By hand, from the parts.
    const auto attend = [&](const Tensor& in) {
      return (*layer.self_attn)(in, in, in, {.need_weights = false, .attn_mask = mask}).first;
    };
    const auto feed = [&](const Tensor& in) { return (*layer.linear2)(gelu((*layer.linear1)(in))); };
    Tensor y;
    if (norm_first) {
      y = x + attend((*layer.norm1)(x));
      y = y + feed((*layer.norm2)(y));
    } else {
      y = (*layer.norm1)(x + attend(x));
      y = (*layer.norm2)(y + feed(y));
    }
    CHECK(largest_difference(layer(x, mask), y) == 0);
    // The first position sees itself alone.
    const Tensor changed = x.clone();
    changed.narrow(1, 1, kQueries - 1).fill_(3);
    CHECK(largest_difference(encoder(changed, mask).select(1, 0), encoder(x, mask).select(1, 0)) < 1e-6);
    const Tensor padding = tensor({0, 0, 0, 1, 0, 0, 0, 1}).view({kBatch, kQueries}).to(DType::bool_);
    changed.copy_(x);
    changed.select(1, 3).fill_(3);
    CHECK(largest_difference(encoder(changed, {}, padding).select(1, 0), encoder(x, {}, padding).select(1, 0)) < 1e-6);
  }
  CHECK(error_code([] { nn::TransformerEncoderLayer(6, 3, {.activation = "sine"}); }) == ErrorCode::value);
}

TEST_CASE("a transformer decoder reads its memory", "[nn]") {
  manual_seed(6);
  for (const bool norm_first : {false, true}) {
    nn::TransformerDecoderLayer layer(kWidth, kHeads, {.dim_feedforward = 8, .dropout = 0, .norm_first = norm_first});
    nn::TransformerDecoder decoder(layer, 2);
    CHECK(decoder.named_parameters().size() == 36);
    const Tensor tgt = randn({kQueries, kBatch, kWidth}),
                 memory = randn({kKeys, kBatch, kWidth}, {.requires_grad = true});
    const Tensor mask = causal_mask(kQueries);
    const Tensor out = decoder(tgt, memory, {.tgt_mask = mask, .tgt_is_causal = true});
    CHECK(out.sizes() == tgt.sizes());
    CHECK(largest_difference(out, layer(layer(tgt, memory, {.tgt_mask = mask}), memory, {.tgt_mask = mask})) < 1e-5);
    (out * randn(out.sizes())).sum().backward();
    CHECK(memory.grad().defined());
    CHECK(decoder.get_parameter("layers.1.multihead_attn.in_proj_weight").grad().defined());
  }
}
