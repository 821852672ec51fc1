// Lesson: when a gradient overflows, GradScaler leaves the optimizer alone for that step and halves the scale; the run
// goes on. One batch here holds values a thousand times too large. `ampprof run` names the step and the first parameter
// whose gradient was not finite. --near-miss: the batch is only a little large, and no step is skipped.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "examples/toy_problem.h"

int main(int argc, char** argv) {
  bool near_miss = false;
  int steps = 30;
  CLI::App app("A batch whose gradients overflow.");
  app.add_flag("--near-miss", near_miss, "make the batch only a little large");
  app.add_option("--steps", steps, "training steps")->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  constexpr int kBadStep = 22;
  toy::Data data;
  amp::nn::Sequential model = toy::make_model();
  amp::SGD optimizer(model.parameters(), {.lr = 0.02});
  amp::GradScaler scaler("cpu", {.init_scale = 1024});
  for (int step = 0; step < steps; ++step) {
    auto [input, target] = data.next();
    if (step == kBadStep) input.mul_(near_miss ? 2 : 1000);
    optimizer.zero_grad();
    amp::Tensor loss;
    {
      const amp::autocast region("cpu", {.dtype = amp::kFloat16, .policy = amp::Policy::cuda});
      loss = amp::cross_entropy(model(input), target);
    }
    scaler.scale(loss).backward();
    if (scaler.step(optimizer).skipped) fmt::print("step {} skipped at loss scale {:g}\n", step, scaler.get_scale());
    scaler.update();
  }
  fmt::print("loss scale at the end: {:g}\n", scaler.get_scale());
}
