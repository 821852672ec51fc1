// Times training steps of the example models on data made here, and prints the median step as one line of JSON.
// A bench program: what it prints is read by in_turns, which runs two commands in turns and compares them.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libamp/amp.h"
#include "libamp/core/thread_pool.h"

namespace {

using namespace amp;

std::unique_ptr<nn::Sequential> make_model(const std::string& name) {
  if (name == "mlp")
    return std::make_unique<nn::Sequential>(nn::Flatten(), nn::Linear(784, 256), nn::ReLU(), nn::Linear(256, 128),
                                            nn::ReLU(), nn::Linear(128, 10));
  return std::make_unique<nn::Sequential>(nn::Conv2d(1, 16, 3, {.padding = 1}), nn::ReLU(), nn::MaxPool2d(2),
                                          nn::Conv2d(16, 32, 3, {.padding = 1}), nn::ReLU(), nn::MaxPool2d(2),
                                          nn::Flatten(), nn::Linear(1568, 128), nn::ReLU(), nn::Linear(128, 10));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Times training steps"};
  std::string model_name = "mlp", precision = "fp32";
  int steps = 200, warm_up = 20, batch = 128;
  app.add_option("--model", model_name, "mlp or cnn")->check(CLI::IsMember({"mlp", "cnn"}));
  app.add_option("--precision", precision, "fp32, fp16 or bf16")->check(CLI::IsMember({"fp32", "fp16", "bf16"}));
  app.add_option("--steps", steps, "steps that are timed")->check(CLI::PositiveNumber);
  app.add_option("--warm-up", warm_up, "steps before them")->check(CLI::NonNegativeNumber);
  app.add_option("--batch", batch, "images per step")->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);

  manual_seed(1);
  const auto model = make_model(model_name);
  SGD optimizer(model->parameters(), {.lr = 0.1, .momentum = 0.9});
  GradScaler scaler("cpu", {.enabled = precision == "fp16"});
  const Tensor images = rand({batch, 1, 28, 28}), labels = randint(0, 10, {batch});
  std::vector<double> times_ns;
  for (int step = 0; step < warm_up + steps; ++step) {
    const auto start = std::chrono::steady_clock::now();
    optimizer.zero_grad();
    Tensor loss;
    {
      std::optional<autocast> region;
      if (precision != "fp32")
        region.emplace(DeviceType::cpu,
                       AutocastOptions{.dtype = precision == "fp16" ? kFloat16 : kBFloat16, .policy = Policy::cuda});
      loss = cross_entropy((*model)(images), labels);
    }
    scaler.scale(loss).backward();
    scaler.step(optimizer);
    scaler.update();
    const auto stop = std::chrono::steady_clock::now();
    if (step >= warm_up) times_ns.push_back(std::chrono::duration<double, std::nano>(stop - start).count());
  }
  std::sort(times_ns.begin(), times_ns.end());
  fmt::print("{{\"model\": \"{}\", \"precision\": \"{}\", \"threads\": {}, \"median_step_ns\": {:.0f}}}\n", model_name,
             precision, amp::num_threads(), times_ns[times_ns.size() / 2]);
  return 0;
}
