// Lesson: a language model in mixed precision. A small GPT learns a text file byte by byte: matrix products and
// attention run in half precision, norms and the loss in float32, as autocast's lists say; weights stay float32.
//
// `train_char_gpt /usr/share/common-licenses/GPL-3 --sample 300` writes legalese of its own after a few minutes.
#include <CLI/CLI.hpp>
#include <cmath>
#include <numbers>
#include <random>

#include "examples/char_gpt.h"
#include "examples/char_text.h"
#include "examples/training.h"

namespace {

struct Options {
  std::string text, precision = "fp16", policy = "cuda";
  std::int64_t steps = 300, batch = 16, sample = 0, print_every = 25;
  char_gpt::Sizes sizes;
  double lr = 2e-3, weight_decay = 0.1, clip = 1, temperature = 0.8;
  std::uint64_t seed = 0;
};

// Warm-up over the first tenth, at most 100 steps; then half a cosine down to a tenth.
double learning_rate(const Options& o, std::int64_t step) {
  const double warm = std::min<double>(100, static_cast<double>(o.steps) / 10), at = static_cast<double>(step);
  if (at < warm) return o.lr * (at + 1) / warm;
  const double way = (at - warm) / std::max(1.0, static_cast<double>(o.steps) - warm);
  return o.lr * (0.1 + 0.9 * 0.5 * (1 + std::cos(std::numbers::pi * way)));
}

amp::Tensor loss_of(char_gpt::Gpt& model, const char_text::Batch& batch) {
  const amp::Tensor logits = model(batch.input);
  return amp::cross_entropy(logits.reshape({-1, logits.size(-1)}), batch.target.reshape({-1}));
}

// Draws one token after the other, each from the distribution that the tokens before it give.
std::string sample(char_gpt::Gpt& model, const char_text::Text& text, const Options& o) {
  const amp::no_grad quiet;
  std::mt19937_64 random(o.seed);
  std::vector<std::int64_t> tokens = {0};
  std::string written;
  for (std::int64_t i = 0; i < o.sample; ++i) {
    const auto seen = std::min<std::int64_t>(std::ssize(tokens), model.block());
    const amp::Tensor input = amp::from_memory(tokens.data() + tokens.size() - seen, {1, seen}, amp::kInt64);
    const amp::Tensor last = model(input)[0][seen - 1].to_float();
    const std::vector<double> p = amp::softmax(last * (1 / o.temperature), -1).to_vector();
    tokens.push_back(std::discrete_distribution<std::int64_t>(p.begin(), p.end())(random));
    written += text.byte_of(tokens.back());
  }
  return written;
}

void train(const Options& options) {
  const char_text::Text text(options.text, options.sizes.block);
  amp::manual_seed(options.seed);
  char_gpt::Sizes sizes = options.sizes;
  sizes.vocabulary = text.vocabulary();
  char_gpt::Gpt model(sizes);
  // Weight decay is for matrices: norms and biases are not pulled towards 0.
  amp::Tensors matrices, others;
  for (const amp::Tensor& p : model.parameters()) (p.dim() > 1 ? matrices : others).push_back(p);
  const amp::AdamOptions base{.lr = options.lr, .beta2 = 0.95, .weight_decay = options.weight_decay};
  amp::AdamW optimizer(matrices, base);
  amp::AdamOptions plain = base;
  plain.weight_decay = 0;
  optimizer.add_param_group(others, plain);
  amp::GradScaler scaler("cpu", {.growth_interval = 100, .enabled = options.precision == "fp16"});
  const amp::AutocastOptions region_options = training::region_options(options.precision, options.policy);
  training::Progress progress(options.steps, options.print_every);
  for (std::int64_t step = 0; step < options.steps; ++step) {
    const char_text::Batch batch = text.training(options.batch);
    for (const std::size_t group : {0u, 1u}) optimizer.group(group).lr = learning_rate(options, step);
    optimizer.zero_grad();
    amp::Tensor loss;
    {
      const amp::autocast region("cpu", region_options);
      loss = loss_of(model, batch);
    }
    scaler.scale(loss).backward();
    scaler.unscale_(optimizer);
    amp::nn::utils::clip_grad_norm_(model.parameters(), options.clip);
    const bool skipped = scaler.step(optimizer).skipped;
    scaler.update();
    progress.show(step, loss.item(), scaler, skipped);
  }
  const amp::autocast region("cpu", region_options);
  const amp::no_grad quiet;
  const double loss = loss_of(model, text.validation(options.batch)).item();
  fmt::print("validation loss: {:.4f} (a guess: {:.4f})\n", loss, std::log(static_cast<double>(sizes.vocabulary)));
  if (options.sample > 0) fmt::print("{}\n", sample(model, text, options));
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  CLI::App app("Trains a small GPT on a text file in mixed precision.", "train_char_gpt");
  app.add_option("text", o.text, "text file, for example /usr/share/common-licenses/GPL-3")->required();
  training::add_precision_options(app, o.precision, o.policy);
  const auto positive = [&](const char* name, std::int64_t& value, const char* what) {
    app.add_option(name, value, what)->check(CLI::PositiveNumber)->capture_default_str();
  };
  app.add_option("--steps", o.steps, "training steps")->check(CLI::NonNegativeNumber)->capture_default_str();
  positive("--batch", o.batch, "blocks in a step");
  positive("--block", o.sizes.block, "bytes in a block: how far the model sees back");
  positive("--layers", o.sizes.layers, "transformer blocks");
  positive("--width", o.sizes.width, "width of the residual stream");
  positive("--heads", o.sizes.heads, "heads of attention; they divide the width");
  app.add_option("--lr", o.lr, "largest learning rate of AdamW")->check(CLI::NonNegativeNumber)->capture_default_str();
  app.add_option("--weight-decay", o.weight_decay, "of matrices")->check(CLI::NonNegativeNumber)->capture_default_str();
  app.add_option("--clip", o.clip, "largest norm of the gradients")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--sample", o.sample, "bytes to write at the end")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--temperature", o.temperature, "of sampling: lower is more certain")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--seed", o.seed, "of weights, data and sampling")->capture_default_str();
  positive("--print-every", o.print_every, "steps between progress lines that do not go to a terminal");
  return training::run_program<CLI::ParseError>(app, argc, argv, [&] { train(o); });
}
