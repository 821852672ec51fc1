// The two models of the training example, and starting values that any framework can reproduce: no random numbers.
#pragma once
#include <cmath>
#include <string>
#include <string_view>

#include "libamp/amp.h"

namespace fashion {

inline amp::nn::Sequential make_mlp() {
  using namespace amp::nn;
  return Sequential(Flatten(), Linear(784, 256), ReLU(), Linear(256, 128), ReLU(), Linear(128, 10));
}

inline amp::nn::Sequential make_cnn() {
  using namespace amp::nn;
  return Sequential(Conv2d(1, 16, 3, {.padding = 1}), ReLU(), MaxPool2d(2), Conv2d(16, 32, 3, {.padding = 1}), ReLU(),
                    MaxPool2d(2), Flatten(), Linear(1568, 128), ReLU(), Linear(128, 10));
}

/// "mlp" or "cnn"
inline amp::nn::Sequential make_model(std::string_view name) {
  if (name == "mlp") return make_mlp();
  if (name == "cnn") return make_cnn();
  amp::fail(amp::ErrorCode::value, "model", "unknown model: got '" + std::string(name) + "', need mlp or cnn");
}

/// Starting values for comparing runs between frameworks: element i of the k-th parameter is (2u - 1) bound with
/// u = ((2654435761 i + 40503 k) mod 2^32) / 2^32 and bound = 1 / sqrt(fan in of the layer's weight).
inline void fill_reproducibly(const amp::nn::Module& model) {
  const amp::no_grad quiet;
  std::uint64_t k = 0;
  double bound = 0;
  for (const auto& [name, parameter] : model.named_parameters()) {
    if (parameter.dim() > 1) bound = 1 / std::sqrt(static_cast<double>(amp::nn::init::fans(parameter).in));
    auto* values = parameter.data<float>();
    for (std::int64_t i = 0; i < parameter.numel(); ++i) {
      const std::uint64_t hash = (static_cast<std::uint64_t>(i) * 2654435761u + k * 40503u) % (std::uint64_t{1} << 32);
      values[i] = static_cast<float>((2 * (static_cast<double>(hash) / 4294967296.0) - 1) * bound);
    }
    parameter.bump_version();
    ++k;
  }
}

/// Share of the first `count` images of a data set that the model classifies right.
inline double accuracy(amp::nn::Module& model, const amp::io::ImageDataset& data, std::int64_t count) {
  const amp::no_grad quiet;
  model.eval();
  constexpr std::int64_t kBatch =
      128;  // no larger than in training, so that evaluation does not set the peak of memory
  double right = 0;
  for (std::int64_t begin = 0; begin < count; begin += kBatch) {
    const std::int64_t n = std::min(kBatch, count - begin);
    right += model(data.images(begin, n)).argmax(1).eq(data.labels(begin, n)).sum().item();
  }
  model.train();
  return right / static_cast<double>(count);
}

}  // namespace fashion
