// Lesson: activation checkpointing inside a region. What a block keeps for backward is dropped after forward and
// computed again when backward needs it, under the autocast state it was first computed under: the same types, and the
// same numbers to the bit, for less memory.
#include "examples/recipe/recipe.h"
#include "libamp/core/allocator.h"

namespace {

constexpr int kBlocks = 8;
constexpr std::int64_t kWidth = 128;

struct Model : amp::nn::Module {
  Model() {
    for (int i = 0; i < kBlocks; ++i)
      blocks.push_back(register_module("block" + std::to_string(i),
                                       amp::nn::Sequential(amp::nn::Linear(kWidth, kWidth), amp::nn::GELU(),
                                                           amp::nn::Linear(kWidth, kWidth), amp::nn::GELU())));
  }
  amp::Tensor forward(const amp::Tensor& input) override {
    amp::Tensor x = input;
    for (const auto& block : blocks) {
      if (is_checkpointed) {  // x = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)
        x = amp::checkpoint([&block](const amp::Tensor& in) { return (*block)(in); }, x);
      } else {
        x = (*block)(x);
      }
    }
    return x;
  }
  std::vector<std::shared_ptr<amp::nn::Sequential>> blocks;
  bool is_checkpointed = false;
};

struct Results {
  double loss = 0;
  std::size_t kept_bytes = 0;  // between forward and backward
  std::vector<std::vector<double>> gradients;
};

Results run(const recipe::Recipe& recipe, bool is_checkpointed) {
  amp::manual_seed(1);
  Model model;
  model.is_checkpointed = is_checkpointed;
  amp::GradScaler scaler("cpu", recipe.scaler());
  const amp::Tensor input = amp::randn({toy::kBatch, kWidth}), target = amp::randn({toy::kBatch, kWidth});
  const std::size_t before = amp::cpu_allocator::statistics().used;
  amp::Tensor loss;
  {
    const amp::autocast region("cpu", recipe.region());
    loss = amp::mse_loss(model(input), target);
  }
  Results results;
  results.kept_bytes = amp::cpu_allocator::statistics().used - before;
  scaler.scale(loss).backward();
  results.loss = loss.item();
  for (const amp::Tensor& p : model.parameters()) results.gradients.push_back(p.grad().to_vector());
  return results;
}

}  // namespace

int main(int argc, char** argv) {
  recipe::Recipe recipe("Activation checkpointing.", 1);
  if (const auto code = recipe.parse(argc, argv)) return *code;
  const Results plain = run(recipe, false), checkpointed = run(recipe, true);
  fmt::print("kept for backward: {} bytes, {} with checkpointing\n", plain.kept_bytes, checkpointed.kept_bytes);
  recipe.claim(checkpointed.loss == plain.loss, fmt::format("the loss is the same: {:.9g}", plain.loss));
  recipe.claim(checkpointed.gradients == plain.gradients, "every gradient is the same to the bit");
  recipe.claim(checkpointed.kept_bytes * 2 < plain.kept_bytes, "less than half is kept for backward");
  return recipe.end();
}
