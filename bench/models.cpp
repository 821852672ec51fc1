// The models of the bench programs: the same as train_step_libtorch.cpp has them.
#include "bench/models.h"

#include <vector>

#include "bench/training_task.h"

namespace bench {
namespace {

using namespace amp;

class Block : public nn::Module {
 public:
  Block() {
    ln1_ = register_module("ln1", nn::LayerNorm({kWidth}));
    qkv_ = register_module("qkv", nn::Linear(kWidth, 3 * kWidth));
    proj_ = register_module("proj", nn::Linear(kWidth, kWidth));
    ln2_ = register_module("ln2", nn::LayerNorm({kWidth}));
    up_ = register_module("up", nn::Linear(kWidth, 4 * kWidth));
    down_ = register_module("down", nn::Linear(4 * kWidth, kWidth));
  }
  Tensor forward(const Tensor& input) override {
    const std::int64_t b = input.size(0), t = input.size(1);
    const Tensor heads = permute((*qkv_)((*ln1_)(input)).view({b, t, 3, kHeads, kWidth / kHeads}), {2, 0, 3, 1, 4});
    const Tensor y =
        scaled_dot_product_attention(select(heads, 0, 0), select(heads, 0, 1), select(heads, 0, 2), {}, 0, true);
    const Tensor x = input + (*proj_)(transpose(y, 1, 2).reshape({b, t, kWidth}));
    return x + (*down_)(gelu((*up_)((*ln2_)(x))));
  }

 private:
  std::shared_ptr<nn::LayerNorm> ln1_, ln2_;
  std::shared_ptr<nn::Linear> qkv_, proj_, up_, down_;
};

class CharGpt : public nn::Module {
 public:
  CharGpt() {
    tokens_ = register_module("tokens", nn::Embedding(kVocabulary, kWidth));
    positions_ = register_module("positions", nn::Embedding(kBlock, kWidth));
    for (int i = 0; i < kLayers; ++i) blocks_.push_back(register_module("block" + std::to_string(i), Block()));
    ln_ = register_module("ln", nn::LayerNorm({kWidth}));
    head_ = register_module("head", nn::Linear(kWidth, kVocabulary));
  }
  Tensor forward(const Tensor& input) override {
    Tensor x = (*tokens_)(input) + (*positions_)(arange(input.size(1)));
    for (const auto& block : blocks_) x = (*block)(x);
    return (*head_)((*ln_)(x));
  }

 private:
  std::shared_ptr<nn::Embedding> tokens_, positions_;
  std::vector<std::shared_ptr<Block>> blocks_;
  std::shared_ptr<nn::LayerNorm> ln_;
  std::shared_ptr<nn::Linear> head_;
};

class LstmModel : public nn::Module {
 public:
  LstmModel() {
    tokens_ = register_module("tokens", nn::Embedding(kVocabulary, kWidth));
    lstm_ = register_module("lstm", nn::LSTM(kWidth, kLstmHidden, {.num_layers = kLstmLayers, .batch_first = true}));
    head_ = register_module("head", nn::Linear(kLstmHidden, kVocabulary));
  }
  Tensor forward(const Tensor& input) override { return (*head_)((*lstm_)((*tokens_)(input)).first); }

 private:
  std::shared_ptr<nn::Embedding> tokens_;
  std::shared_ptr<nn::LSTM> lstm_;
  std::shared_ptr<nn::Linear> head_;
};

Task make_image_task(bool cnn) {
  std::shared_ptr<nn::Sequential> model;
  if (cnn)
    model = std::make_shared<nn::Sequential>(nn::Conv2d(1, 16, 3, {.padding = 1}), nn::ReLU(), nn::MaxPool2d(2),
                                             nn::Conv2d(16, 32, 3, {.padding = 1}), nn::ReLU(), nn::MaxPool2d(2),
                                             nn::Flatten(), nn::Linear(1568, 128), nn::ReLU(), nn::Linear(128, 10));
  else
    model = std::make_shared<nn::Sequential>(nn::Flatten(), nn::Linear(784, 256), nn::ReLU(), nn::Linear(256, 128),
                                             nn::ReLU(), nn::Linear(128, 10));
  const auto pixels = images();
  const auto classes = labels(kImageBatch, kClasses, 2);
  const Tensor x = from_memory(pixels.data(), {kImageBatch, 1, 28, 28}, kFloat32),
               y = from_memory(classes.data(), {kImageBatch}, kInt64);
  return {model, [=] { return cross_entropy((*model)(x), y); },
          std::make_unique<SGD>(model->parameters(), SGDOptions{.lr = 0.1, .momentum = 0.9})};
}

template <typename Model>
Task make_text_task(std::int64_t batch, std::int64_t steps) {
  const auto model = std::make_shared<Model>();
  const auto count = static_cast<std::size_t>(batch * steps);
  const auto inputs = labels(count, kVocabulary, 3), targets = labels(count, kVocabulary, 4);
  const Tensor x = from_memory(inputs.data(), {batch, steps}, kInt64),
               y = from_memory(targets.data(), {batch * steps}, kInt64);
  return {model,
          [=] {
            return cross_entropy((*model)(x).view({-1, kVocabulary}), y);
          },
          std::make_unique<AdamW>(model->parameters(), AdamOptions{.lr = 1e-3, .weight_decay = 0.01})};
}

}  // namespace

Task make_task(const std::string& name) {
  Task task = name == "gpt"    ? make_text_task<CharGpt>(kTextBatch, kBlock)
              : name == "lstm" ? make_text_task<LstmModel>(kLstmBatch, kLstmSteps)
                               : make_image_task(name == "cnn");
  std::uint64_t index = 0;
  for (const auto& [path, p] : task.model->named_parameters())
    fill_parameter(p.data<float>(), p.numel(), p.numel() / p.size(0), p.dim(), path, index++);
  return task;
}

}  // namespace bench
