// The peer of train_step: the same models, sizes, data and optimizers with PyTorch's C++ library, in float32. Prints
// the same line of JSON. A bench program: bench/peer.sh runs both in turns.
#include <torch/torch.h>
#include <torch/version.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/training_task.h"

namespace {

namespace nn = torch::nn;
using torch::Tensor;

struct BlockImpl : nn::Module {
  nn::LayerNorm ln1{nullptr}, ln2{nullptr};
  nn::Linear qkv{nullptr}, proj{nullptr}, up{nullptr}, down{nullptr};
  BlockImpl() {
    const int w = bench::kWidth;
    ln1 = register_module("ln1", nn::LayerNorm(nn::LayerNormOptions({w})));
    qkv = register_module("qkv", nn::Linear(w, 3 * w));
    proj = register_module("proj", nn::Linear(w, w));
    ln2 = register_module("ln2", nn::LayerNorm(nn::LayerNormOptions({w})));
    up = register_module("up", nn::Linear(w, 4 * w));
    down = register_module("down", nn::Linear(4 * w, w));
  }
  Tensor forward(Tensor x) {
    const auto b = x.size(0), t = x.size(1);
    const auto heads =
        qkv(ln1(x)).view({b, t, 3, bench::kHeads, bench::kWidth / bench::kHeads}).permute({2, 0, 3, 1, 4});
    // The library's own attention, under the name its version has.
#if TORCH_VERSION_MAJOR >= 2
    const Tensor y = at::scaled_dot_product_attention(heads[0], heads[1], heads[2], {}, 0.0, true);
#else
    const Tensor y = std::get<0>(at::_scaled_dot_product_attention(heads[0], heads[1], heads[2], {}, 0.0, false, true));
#endif
    x = x + proj(y.transpose(1, 2).reshape({b, t, bench::kWidth}));
    return x + down(torch::gelu(up(ln2(x))));
  }
};
TORCH_MODULE(Block);

struct CharGptImpl : nn::Module {
  nn::Embedding tokens{nullptr}, positions{nullptr};
  std::vector<Block> blocks;
  nn::LayerNorm ln{nullptr};
  nn::Linear head{nullptr};
  CharGptImpl() {
    tokens = register_module("tokens", nn::Embedding(bench::kVocabulary, bench::kWidth));
    positions = register_module("positions", nn::Embedding(bench::kBlock, bench::kWidth));
    for (int i = 0; i < bench::kLayers; ++i) blocks.push_back(register_module("block" + std::to_string(i), Block()));
    ln = register_module("ln", nn::LayerNorm(nn::LayerNormOptions({bench::kWidth})));
    head = register_module("head", nn::Linear(bench::kWidth, bench::kVocabulary));
  }
  Tensor forward(const Tensor& input) {
    Tensor x = tokens(input) + positions(torch::arange(input.size(1)));
    for (auto& block : blocks) x = block(x);
    return head(ln(x));
  }
};
TORCH_MODULE(CharGpt);

struct LstmModelImpl : nn::Module {
  nn::Embedding tokens{nullptr};
  nn::LSTM lstm{nullptr};
  nn::Linear head{nullptr};
  LstmModelImpl() {
    tokens = register_module("tokens", nn::Embedding(bench::kVocabulary, bench::kWidth));
    lstm = register_module(
        "lstm",
        nn::LSTM(nn::LSTMOptions(bench::kWidth, bench::kLstmHidden).num_layers(bench::kLstmLayers).batch_first(true)));
    head = register_module("head", nn::Linear(bench::kLstmHidden, bench::kVocabulary));
  }
  Tensor forward(const Tensor& input) { return head(std::get<0>(lstm(tokens(input)))); }
};
TORCH_MODULE(LstmModel);

struct Task {
  std::shared_ptr<nn::Module> model;
  std::function<Tensor()> loss;
  std::unique_ptr<torch::optim::Optimizer> optimizer;
};

Task make_image_task(bool cnn) {
  nn::Sequential model;
  if (cnn)
    model = nn::Sequential(nn::Conv2d(nn::Conv2dOptions(1, 16, 3).padding(1)), nn::ReLU(), nn::MaxPool2d(2),
                           nn::Conv2d(nn::Conv2dOptions(16, 32, 3).padding(1)), nn::ReLU(), nn::MaxPool2d(2),
                           nn::Flatten(), nn::Linear(1568, 128), nn::ReLU(), nn::Linear(128, 10));
  else
    model = nn::Sequential(nn::Flatten(), nn::Linear(784, 256), nn::ReLU(), nn::Linear(256, 128), nn::ReLU(),
                           nn::Linear(128, 10));
  const auto pixels = bench::images();
  const auto classes = bench::labels(bench::kImageBatch, bench::kClasses, 2);
  const Tensor x = torch::tensor(pixels).view({bench::kImageBatch, 1, 28, 28}), y = torch::tensor(classes);
  auto optimizer =
      std::make_unique<torch::optim::SGD>(model->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  return {model.ptr(), [=]() mutable { return nn::functional::cross_entropy(model->forward(x), y); },
          std::move(optimizer)};
}

template <typename Model>
Task make_text_task(int batch, int steps) {
  Model model;
  const auto count = static_cast<std::size_t>(batch * steps);
  const Tensor x = torch::tensor(bench::labels(count, bench::kVocabulary, 3)).view({batch, steps});
  const Tensor y = torch::tensor(bench::labels(count, bench::kVocabulary, 4));
  auto optimizer =
      std::make_unique<torch::optim::AdamW>(model->parameters(), torch::optim::AdamWOptions(1e-3).weight_decay(0.01));
  return {model.ptr(),
          [=]() mutable {
            return nn::functional::cross_entropy(model->forward(x).view({-1, bench::kVocabulary}), y);
          },
          std::move(optimizer)};
}

const char* option(int argc, char** argv, const char* name, const char* otherwise) {
  for (int i = 1; i + 1 < argc; ++i)
    if (std::string(argv[i]) == name) return argv[i + 1];
  return otherwise;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string name = option(argc, argv, "--model", "mlp");
  const int steps = std::atoi(option(argc, argv, "--steps", "200"));
  const int warm_up = std::atoi(option(argc, argv, "--warm-up", "20"));
  const int threads = std::atoi(option(argc, argv, "--threads", "0"));
  if (threads > 0) at::set_num_threads(threads);
  const double before = bench::resident_bytes("VmRSS:");
  Task task = name == "gpt"    ? make_text_task<CharGpt>(bench::kTextBatch, bench::kBlock)
              : name == "lstm" ? make_text_task<LstmModel>(bench::kLstmBatch, bench::kLstmSteps)
                               : make_image_task(name == "cnn");
  {
    const torch::NoGradGuard no_grad;
    std::uint64_t index = 0;
    for (const auto& item : task.model->named_parameters()) {
      const Tensor& p = item.value();
      bench::fill_parameter(p.data_ptr<float>(), p.numel(), p.numel() / p.size(0), static_cast<int>(p.dim()),
                            item.key(), index++);
    }
  }
  std::vector<double> times_ns;
  float first_loss = 0, last_loss = 0;
  for (int step = 0; step < warm_up + steps; ++step) {
    const auto start = std::chrono::steady_clock::now();
    task.optimizer->zero_grad();
    const Tensor loss = task.loss();
    loss.backward();
    task.optimizer->step();
    const auto stop = std::chrono::steady_clock::now();
    if (step >= warm_up) times_ns.push_back(std::chrono::duration<double, std::nano>(stop - start).count());
    if (step == 0) first_loss = loss.item<float>();
    if (step == 10) last_loss = loss.item<float>();
  }
  std::sort(times_ns.begin(), times_ns.end());
  std::printf(
      "{\"model\": \"%s\", \"precision\": \"fp32\", \"threads\": %d, \"median_step_ns\": %.0f, \"loss_0\": %.6f, "
      "\"loss_10\": %.6f, \"peak_growth_bytes\": %.0f, \"peak_bytes\": %.0f}\n",
      name.c_str(), at::get_num_threads(), times_ns[times_ns.size() / 2], first_loss, last_loss,
      bench::resident_bytes("VmHWM:") - before, bench::resident_bytes("VmHWM:"));
  return 0;
}
