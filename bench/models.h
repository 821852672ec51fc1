// The models of bench/training_task.h with libamp, as train_step trains them.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "libamp/amp.h"

namespace bench {

struct Task {
  std::shared_ptr<amp::nn::Module> model;
  std::function<amp::Tensor()> loss;
  std::unique_ptr<amp::Optimizer> optimizer;
};

/// name: mlp, cnn, gpt or lstm
Task make_task(const std::string& name);

}  // namespace bench
