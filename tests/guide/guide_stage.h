// What the code on the pages takes for granted: a model, an optimizer, a scaler, batches. Each piece of code becomes a
// member function of its own Stage (see extract_snippets.cpp).
#pragma once
#include <stdexcept>
#include <vector>

#include "libamp/amp.h"

namespace guide {

struct Batch {
  amp::Tensor input, target;
};

inline void require(bool holds) {
  if (!holds) throw std::logic_error("a requirement on the page does not hold");
}

struct Stage {
  amp::nn::Sequential model{amp::nn::Linear(16, 32), amp::nn::ReLU(), amp::nn::Linear(32, 4)};
  amp::nn::Sequential model0{amp::nn::Linear(16, 4)}, model1{amp::nn::Linear(16, 4)};
  amp::SGD optimizer{model.parameters(), {.lr = 0.05}}, optimizer0{model0.parameters(), {.lr = 0.05}},
      optimizer1{model1.parameters(), {.lr = 0.05}};
  amp::nn::CrossEntropyLoss loss_fn;
  amp::GradScaler scaler{"cpu"};
  std::vector<Batch> batches{{amp::randn({8, 16}), amp::randint(0, 4, {8})},
                             {amp::randn({8, 16}), amp::randint(0, 4, {8})}};
};

}  // namespace guide
