// Lesson: what each finding of a report looks like from inside. `planted_fault --kind KIND` runs a short training with
// that one mistake; with --near-miss the same without it, and the finding must not be raised.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <limits>
#include <map>

#include "examples/toy_problem.h"

namespace {

using amp::Tensor;

/// What differs between the kinds; the rest of a training run is the same for all.
struct Recipe {
  int steps = 20;
  amp::DType dtype = amp::kFloat16;
  bool autocast = true, same_batch = false;
  amp::GradScalerOptions scaler = {};
  double lr = 0.02;
  std::int64_t batch = toy::kBatch;
  std::function<Tensor(const Tensor&)> prepare = [](const Tensor& input) { return input; };
  std::function<Tensor(const Tensor&)> weight_loss = [](const Tensor& loss) { return loss; };
  amp::nn::Sequential model = toy::make_model();
};

void train(Recipe& recipe) {
  toy::Data data;
  amp::SGD optimizer(recipe.model.parameters(), {.lr = recipe.lr});
  amp::GradScaler scaler("cpu", recipe.scaler);
  int skipped = 0;
  toy::Batch batch;
  for (int step = 0; step < recipe.steps; ++step) {
    if (step == 0 || !recipe.same_batch) batch = data.next(recipe.batch);
    const auto& [input, target] = batch;
    const Tensor prepared = recipe.prepare(input);
    optimizer.zero_grad();
    Tensor loss;
    {
      const amp::autocast region("cpu",
                                 {.dtype = recipe.dtype, .enabled = recipe.autocast, .policy = amp::Policy::cuda});
      loss = recipe.weight_loss(amp::cross_entropy(recipe.model(prepared), target));
    }
    scaler.scale(loss).backward();
    skipped += scaler.step(optimizer).skipped ? 1 : 0;
    scaler.update();
  }
  fmt::print("{} steps, {} skipped, loss scale {:g}\n", recipe.steps, skipped, scaler.get_scale());
}

/// An activation on CUDA's float32 list, or one that runs in the dtype it is given.
class Costly : public amp::nn::Module {
 public:
  explicit Costly(bool in_float32) : in_float32_(in_float32) {}
  Tensor forward(const Tensor& input) override {
    Tensor x = input;
    for (int i = 0; i < 8; ++i) x = in_float32_ ? amp::softplus(x) : amp::relu(x);
    return x;
  }

 private:
  bool in_float32_;
};

/// Code that was written before autocast was: it brings every tensor to half by hand, and back. Or leaves it alone.
class BackAndForth : public amp::nn::Module {
 public:
  explicit BackAndForth(bool by_hand) : by_hand_(by_hand) {}
  Tensor forward(const Tensor& input) override {
    Tensor x = input;
    for (int i = 0; i < 8 && by_hand_; ++i) x = x.half().to_float();
    return x;
  }

 private:
  bool by_hand_;
};

/// A row expanded to a matrix before it meets a half precision op, or after.
class Expanding : public amp::nn::Module {
 public:
  explicit Expanding(bool before_cast) : before_cast_(before_cast) {}
  Tensor forward(const Tensor& input) override {
    // The mean of the batch stands for some shared context that every row gets.
    const Tensor context = input.to(amp::DType::float32).mean({0}, true);
    const Tensor fitted = before_cast_ ? context : context.to(amp::kFloat16);
    const Tensor wide = fitted.expand({2048, toy::kFeatures});
    return input + amp::matmul(wide, amp::ones({toy::kFeatures, toy::kFeatures})).narrow(0, 0, input.size(0)) * 0.001;
  }

 private:
  bool before_cast_;
};

Recipe casts_dominate(bool near_miss) {
  Recipe recipe;
  recipe.steps = 6;
  recipe.batch = 512;
  recipe.model = amp::nn::Sequential(amp::nn::Linear(toy::kFeatures, 1024), amp::nn::ReLU(), BackAndForth(!near_miss),
                                     amp::nn::Linear(1024, near_miss ? 512 : toy::kClasses), amp::nn::ReLU(),
                                     amp::nn::Linear(near_miss ? 512 : toy::kClasses, toy::kClasses));
  return recipe;
}

Recipe cast_expanded(bool near_miss) {
  Recipe recipe;
  recipe.steps = 5;
  recipe.model = amp::nn::Sequential(Expanding(!near_miss), amp::nn::Linear(toy::kFeatures, toy::kClasses));
  return recipe;
}

Recipe fp32_op_costs_most(bool near_miss) {
  Recipe recipe;
  recipe.steps = 8;
  recipe.batch = 256;
  recipe.model = amp::nn::Sequential(amp::nn::Linear(toy::kFeatures, 1024), Costly(!near_miss),
                                     amp::nn::Linear(1024, toy::kClasses));
  recipe.scaler.init_scale = 256;
  return recipe;
}

Recipe scale_grows_without_need(bool near_miss) {
  // bfloat16 has float32's range. In float16, with a small loss, the scale earns its keep.
  Recipe recipe;
  recipe.steps = 30;
  recipe.scaler.growth_interval = 5;
  recipe.scaler.init_scale = near_miss ? 65536 : 2;
  recipe.dtype = near_miss ? amp::kFloat16 : amp::kBFloat16;
  if (near_miss) {
    recipe.weight_loss = [](const Tensor& loss) { return loss * 0x1p-17; };
    recipe.scaler.growth_interval = 2000;
  }
  return recipe;
}

Recipe scale_at_floor(bool near_miss) {
  // The loss is weighted so heavily that its gradients leave float16 at any scale from 1 up; or only at large scales.
  Recipe recipe;
  recipe.steps = 40;
  recipe.scaler.min_scale = 1;
  recipe.scaler.init_scale = 1024;
  recipe.lr = 1e-6;
  const double weight = near_miss ? 0x1p10 : 0x1p28;
  recipe.weight_loss = [weight](const Tensor& loss) { return loss * weight; };
  return recipe;
}

Recipe collapse(bool near_miss) {
  // NaN in the data: no scale can help. Or the first guess is too high, and the search for it ends by itself.
  Recipe recipe;
  recipe.steps = 60;
  if (near_miss) {
    recipe.scaler.init_scale = 0x1p24;
    recipe.same_batch = true;  // the gradient stays what it is, so the scale that fits once fits for good
    recipe.lr = 0;
    return recipe;
  }
  recipe.prepare = [](const Tensor& input) {
    input.select(0, 3).select(0, 5).fill_(std::numeric_limits<double>::quiet_NaN());
    return input;
  };
  return recipe;
}

Recipe nonfinite_forward(bool near_miss) {
  // Activations leave float16's range; the loss scale has no part in that.
  Recipe recipe;
  recipe.steps = 5;
  const double factor = near_miss ? 2 : 60000;
  recipe.prepare = [factor](const Tensor& input) { return input * factor; };
  recipe.scaler.init_scale = 16;
  return recipe;
}

Recipe autocast_not_used(bool near_miss) {
  Recipe recipe;
  recipe.autocast = near_miss;
  recipe.scaler.enabled = near_miss;
  return recipe;
}

const std::map<std::string, Recipe (*)(bool)> kKinds = {
    {"casts_dominate", casts_dominate},         {"cast_expanded", cast_expanded},
    {"fp32_op_costs_most", fp32_op_costs_most}, {"scale_grows_without_need", scale_grows_without_need},
    {"scale_at_floor", scale_at_floor},         {"collapse", collapse},
    {"nonfinite_forward", nonfinite_forward},   {"autocast_not_used", autocast_not_used},
};

}  // namespace

int main(int argc, char** argv) {
  std::string kind;
  bool near_miss = false;
  CLI::App app("A short training run with one planted mistake.");
  app.add_option("--kind", kind, "the mistake")->required()->check(CLI::IsMember(kKinds));
  app.add_flag("--near-miss", near_miss, "the same run without the mistake");
  CLI11_PARSE(app, argc, argv);
  amp::manual_seed(7);
  Recipe recipe = kKinds.at(kind)(near_miss);
  train(recipe);
}
