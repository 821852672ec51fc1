// Lesson: a recurrent network in mixed precision. An LSTM runs over a whole sequence in one call; inside an autocast
// region its operands are cast once, its results are half precision, and its float32 weights get float32 gradients.
//
// The task is the adding problem: each step shows a number and a mark, and the answer is the sum of the two marked
// numbers. Whoever cannot remember can only say 1 each time, for a mean squared error of 1/6.
#include <CLI/CLI.hpp>

#include "examples/training.h"

namespace {

struct Options {
  std::string precision = "fp16", policy = "cuda";
  std::int64_t steps = 400, batch = 64, length = 12, hidden = 64, layers = 1, print_every = 25;
  double lr = 1e-2, clip = 1;
  std::uint64_t seed = 0;
};

class Model : public amp::nn::Module {
 public:
  Model(std::int64_t hidden, std::int64_t layers)
      : lstm_(register_module("lstm", amp::nn::LSTM(2, hidden, {.num_layers = layers}))),
        head_(register_module("head", amp::nn::Linear(hidden, 1))) {}
  /// [steps, batch, 2] -> [batch, 1]
  amp::Tensor forward(const amp::Tensor& input) override {
    const auto [out, state] = (*lstm_)(input);
    return (*head_)(amp::select(out, 0, -1));
  }

 private:
  std::shared_ptr<amp::nn::LSTM> lstm_;
  std::shared_ptr<amp::nn::Linear> head_;
};

struct Batch {
  amp::Tensor input, target;
};

// One mark in each half of the sequence.
Batch make_batch(const Options& o) {
  const amp::Tensor numbers = amp::rand({o.length, o.batch}), half = amp::rand({2, o.batch});
  std::vector<double> marks(static_cast<std::size_t>(o.length * o.batch), 0);
  const std::vector<double> where = half.to_vector();
  const std::int64_t first = o.length / 2;
  for (std::int64_t b = 0; b < o.batch; ++b) {
    const auto at = [&](std::int64_t i, std::int64_t from, std::int64_t n) {
      return from +
             static_cast<std::int64_t>(where[static_cast<std::size_t>(i * o.batch + b)] * static_cast<double>(n));
    };
    marks[static_cast<std::size_t>(at(0, 0, first) * o.batch + b)] = 1;
    marks[static_cast<std::size_t>(at(1, first, o.length - first) * o.batch + b)] = 1;
  }
  const amp::Tensor mark = amp::tensor(marks, {o.length, o.batch});
  return {amp::stack({numbers, mark}, 2), amp::unsqueeze(amp::sum(numbers * mark, amp::Shape{0}), 1)};
}

void train(const Options& options) {
  amp::manual_seed(options.seed);
  Model model(options.hidden, options.layers);
  amp::Adam optimizer(model.parameters(), {.lr = options.lr});
  amp::GradScaler scaler("cpu", {.growth_interval = 100, .enabled = options.precision == "fp16"});
  const amp::AutocastOptions region_options = training::region_options(options.precision, options.policy);
  training::Progress progress(options.steps, options.print_every);
  for (std::int64_t step = 0; step < options.steps; ++step) {
    const Batch batch = make_batch(options);
    optimizer.zero_grad();
    amp::Tensor loss;
    {
      const amp::autocast region("cpu", region_options);
      loss = amp::mse_loss(model(batch.input), batch.target);
    }
    scaler.scale(loss).backward();
    // Recurrent gradients explode now and then: they are clipped at their true size, so after unscaling.
    scaler.unscale_(optimizer);
    amp::nn::utils::clip_grad_norm_(model.parameters(), options.clip);
    const bool skipped = scaler.step(optimizer).skipped;
    scaler.update();
    progress.show(step, loss.item(), scaler, skipped);
  }
  const amp::no_grad quiet;
  double error = 0;
  constexpr int kBatches = 8;
  for (int i = 0; i < kBatches; ++i) {
    const Batch batch = make_batch(options);
    const amp::autocast region("cpu", region_options);
    error += amp::mse_loss(model(batch.input), batch.target).item() / kBatches;
  }
  fmt::print("mean squared error: {:.5f} (without memory: {:.5f})\n", error, 1.0 / 6);
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  CLI::App app("Trains an LSTM in mixed precision to add up two numbers of a long sequence.", "train_lstm");
  training::add_precision_options(app, o.precision, o.policy);
  app.add_option("--steps", o.steps, "training steps")->check(CLI::NonNegativeNumber)->capture_default_str();
  app.add_option("--batch", o.batch, "sequences in a step")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--length", o.length, "steps of a sequence")->check(CLI::Range(2, 100000))->capture_default_str();
  app.add_option("--hidden", o.hidden, "hidden size")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--layers", o.layers, "layers of the LSTM")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--lr", o.lr, "learning rate of Adam")->check(CLI::NonNegativeNumber)->capture_default_str();
  app.add_option("--clip", o.clip, "largest norm of the gradients")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--seed", o.seed, "of weights and data")->capture_default_str();
  app.add_option("--print-every", o.print_every, "steps between progress lines that do not go to a terminal")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  return training::run_program<CLI::ParseError>(app, argc, argv, [&] { train(o); });
}
