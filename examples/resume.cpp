// Lesson: stopping and going on. PyTorch's recipe saves the state dicts of model, optimizer and scaler; a run that
// shall go on with the same bits also needs the random number generator, the loader's place in its epoch, and its
// counters.
//
//     ./resume --steps 20                                     a run that is never stopped
//     ./resume --steps 10 --save half.safetensors             the same, stopped half way ...
//     ./resume --steps 20 --load half.safetensors             ... prints the last ten lines of the first
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "examples/toy_problem.h"

namespace {

struct Options {
  std::string load, save;
  std::int64_t steps = 20;
  std::uint64_t seed = 0;
  int workers = 2;
};

// A model with dropout: each step draws random numbers.
class Net : public amp::nn::Module {
 public:
  Net()
      : hidden(register_module("hidden", amp::nn::Linear(toy::kFeatures, 128))),
        out(register_module("out", amp::nn::Linear(128, toy::kClasses))) {}
  amp::Tensor forward(const amp::Tensor& input) override {
    return (*out)(amp::dropout(amp::relu((*hidden)(input)), 0.2, is_training()));
  }
  std::shared_ptr<amp::nn::Linear> hidden, out;
};

void train(const Options& options) {
  const toy::Batch all = toy::Data().next(500);
  amp::manual_seed(options.seed);
  Net net;                                                                // net = Net()
  amp::Adam optimizer(net.parameters(), {.lr = 1e-3});                    // opt = torch.optim.Adam(net.parameters())
  amp::GradScaler scaler({.init_scale = 1 << 20, .growth_interval = 5});  // scaler = torch.amp.GradScaler()
  amp::data::DataLoader loader(amp::data::TensorDataset({all.input, all.target}), {.batch_size = toy::kBatch,
                                                                                   .shuffle = true,
                                                                                   .seed = options.seed,
                                                                                   .drop_last = true,
                                                                                   .num_workers = options.workers});
  std::int64_t step = 0;

  // checkpoint = {"model": net.state_dict(), "optimizer": opt.state_dict(), "scaler": scaler.state_dict(), ...}
  const amp::io::Parts checkpoint = {{"model", net},        {"optimizer", optimizer}, {"scaler", scaler},
                                     {"rng", amp::io::rng}, {"loader", loader},       {"step", step}};
  // net.load_state_dict(torch.load(file)["model"]), ...
  if (!options.load.empty()) amp::io::load_checkpoint(options.load, checkpoint);

  while (step < options.steps)
    for (const auto& [input, target] : loader) {
      optimizer.zero_grad();
      amp::Tensor loss;
      {
        const amp::autocast region("cpu", amp::kFloat16);
        loss = amp::cross_entropy(net(input), target);
      }
      scaler.scale(loss).backward();
      const bool skipped = scaler.step(optimizer).skipped;
      scaler.update();
      ++step;
      fmt::print("step {} of epoch {}: loss {:.9g}, loss scale {:g}{}\n", step, loader.epoch(), loss.item(),
                 scaler.get_scale(), skipped ? " (skipped)" : "");
      if (step == options.steps) break;
    }
  // After update(), when no optimizer is between unscale_ and step: torch.save(checkpoint, file)
  if (!options.save.empty()) amp::io::save_checkpoint(options.save, checkpoint);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Trains a small model in float16, and saves and resumes the run.");
  app.add_option("--steps", options.steps, "train up to this step")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--save", options.save, "file to write the checkpoint to at the end");
  app.add_option("--load", options.load, "checkpoint to go on from");
  app.add_option("--seed", options.seed, "of weights, dropout and order; a checkpoint brings its own")
      ->capture_default_str();
  app.add_option("--workers", options.workers, "threads that make batches ahead")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  try {
    app.parse(argc, argv);
    train(options);
    return 0;
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  } catch (const amp::Error& e) {
    fmt::print(stderr, "resume: {}\n", e.what());
    return 1;
  }
}
