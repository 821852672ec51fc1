// A small classification problem that every lesson can use: points around ten centres, and a model that learns them in
// a few dozen steps. Seeded, so that each run is the same.
#pragma once
#include "libamp/amp.h"

namespace toy {

inline constexpr std::int64_t kFeatures = 64, kClasses = 10, kBatch = 64;

struct Batch {
  amp::Tensor input, target;  // [batch, features] float32, [batch] int64
};

/// Random batches of the problem; the same for the same seed.
class Data {
 public:
  explicit Data(std::uint64_t seed = 1) {
    amp::manual_seed(seed);
    centres_ = amp::randn({kClasses, kFeatures});
  }
  Batch next(std::int64_t size = kBatch) {
    const amp::no_grad quiet;
    Batch batch;
    batch.target = amp::randint(0, kClasses, {size});
    batch.input = amp::randn({size, kFeatures});
    for (std::int64_t i = 0; i < size; ++i)
      batch.input.select(0, i).add_(centres_.select(0, batch.target.select(0, i).item<std::int64_t>()));
    return batch;
  }

 private:
  amp::Tensor centres_;
};

inline amp::nn::Sequential make_model(std::int64_t hidden = 128) {
  using namespace amp::nn;
  return Sequential(Linear(kFeatures, hidden), ReLU(), Linear(hidden, hidden), ReLU(), Linear(hidden, kClasses));
}

}  // namespace toy
