// Lesson: in float16 a gradient of 2^-25 or less is zero, and nothing says so. The loss here is small, as one term of
// many is: its gradients flush on their way through the half precision ops, the loss stays finite, and the model does
// not learn. `ampprof run` names the tensors and the scale that would keep them. --near-miss: the same with a
// GradScaler, which loses nothing.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "examples/toy_problem.h"

int main(int argc, char** argv) {
  bool near_miss = false;
  int steps = 20;
  CLI::App app("Gradients that flush to zero in float16.");
  app.add_flag("--near-miss", near_miss, "scale the loss");
  app.add_option("--steps", steps, "training steps")->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  constexpr double kLossWeight = 0x1p-17;
  toy::Data data;
  amp::nn::Sequential model = toy::make_model();
  amp::SGD optimizer(model.parameters(), {.lr = 0.05 / kLossWeight});
  amp::GradScaler scaler("cpu", {.enabled = near_miss});
  double first = 0, last = 0;
  for (int step = 0; step < steps; ++step) {
    const auto [input, target] = data.next();
    optimizer.zero_grad();
    amp::Tensor loss;
    {
      const amp::autocast region("cpu", {.dtype = amp::kFloat16, .policy = amp::Policy::cuda});
      loss = amp::cross_entropy(model(input), target) * kLossWeight;
    }
    scaler.scale(loss).backward();
    scaler.step(optimizer);
    scaler.update();
    last = loss.item() / kLossWeight;
    if (step == 0) first = last;
  }
  fmt::print("loss before weighting: {:.4f} at the first step, {:.4f} at the last\n", first, last);
}
