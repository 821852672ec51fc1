// Times training steps of the example models on data made here, and prints the median step as one line of JSON.
// A bench program: what it prints is read by in_turns, which runs two commands in turns and compares them.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/models.h"
#include "bench/training_task.h"
#include "libamp/core/thread_pool.h"

using namespace amp;

int main(int argc, char** argv) {
  CLI::App app{"Times training steps"};
  std::string model_name = "mlp", precision = "fp32";
  int steps = 200, warm_up = 20, threads = 0;
  app.add_option("--model", model_name, "mlp, cnn, gpt or lstm")->check(CLI::IsMember({"mlp", "cnn", "gpt", "lstm"}));
  app.add_option("--precision", precision, "fp32, fp16 or bf16")->check(CLI::IsMember({"fp32", "fp16", "bf16"}));
  app.add_option("--steps", steps, "steps that are timed")->check(CLI::PositiveNumber);
  app.add_option("--warm-up", warm_up, "steps before them")->check(CLI::NonNegativeNumber);
  app.add_option("--threads", threads, "0: as many as there are processors")->check(CLI::NonNegativeNumber);
  CLI11_PARSE(app, argc, argv);

  if (threads > 0) amp::set_num_threads(threads);
  const double before = bench::resident_bytes("VmRSS:");
  const bench::Task task = bench::make_task(model_name);
  GradScaler scaler("cpu", {.enabled = precision == "fp16"});
  float first_loss = 0, last_loss = 0;
  std::vector<double> times_ns;
  for (int step = 0; step < warm_up + steps; ++step) {
    const auto start = std::chrono::steady_clock::now();
    task.optimizer->zero_grad();
    Tensor loss;
    {
      std::optional<autocast> region;
      if (precision != "fp32")
        region.emplace(DeviceType::cpu,
                       AutocastOptions{.dtype = precision == "fp16" ? kFloat16 : kBFloat16, .policy = Policy::cuda});
      loss = task.loss();
    }
    scaler.scale(loss).backward();
    scaler.step(*task.optimizer);
    scaler.update();
    const auto stop = std::chrono::steady_clock::now();
    if (step >= warm_up) times_ns.push_back(std::chrono::duration<double, std::nano>(stop - start).count());
    if (step == 0) first_loss = static_cast<float>(loss.item());
    if (step == 10) last_loss = static_cast<float>(loss.item());
  }
  std::sort(times_ns.begin(), times_ns.end());
  fmt::print(
      "{{\"model\": \"{}\", \"precision\": \"{}\", \"threads\": {}, \"median_step_ns\": {:.0f}, \"loss_0\": {:.6f}, "
      "\"loss_10\": {:.6f}, \"peak_growth_bytes\": {:.0f}, \"peak_bytes\": {:.0f}}}\n",
      model_name, precision, amp::num_threads(), times_ns[times_ns.size() / 2], first_loss, last_loss,
      bench::resident_bytes("VmHWM:") - before, bench::resident_bytes("VmHWM:"));
  return 0;
}
