// Lesson: a whole training run in mixed precision. Only three places differ from float32 training: the autocast region
// around forward and loss, the scaler around backward, and the scaler in the optimizer's step.
//
// Under `ampprof run` the report of this program shows what each of the three did.
#include <CLI/CLI.hpp>

#include "examples/fashion_models.h"
#include "examples/training.h"

namespace {

struct Options {
  std::string model = "cnn", precision = "fp16", data = "/usr/share/datasets/fashion-mnist", device = "cpu";
  std::string policy = "cuda", init = "curves", losses;
  std::int64_t steps = 300, batch = 128, growth_interval = 50, print_every = 25;
  double lr = 0.1, momentum = 0.9;
  std::uint64_t seed = 0;
};

void train(const Options& options) {
  const amp::Device device = amp::device(options.device);
  amp::require_available(device.type, "--device");
  // Unshuffled, as the curves of other frameworks that this program is compared with.
  amp::data::DataLoader loader(amp::data::IdxDataset(options.data, "train"),
                               {.batch_size = options.batch, .drop_last = true});
  if (loader.size() == 0)
    amp::fail(amp::ErrorCode::value, "--batch",
              fmt::format("got {}, need at most the {} images there are", options.batch, loader.dataset().size()));
  const amp::io::ImageDataset test(options.data, "t10k");
  amp::manual_seed(options.seed);
  amp::nn::Sequential model = fashion::make_model(options.model);
  if (options.init == "curves") fashion::fill_reproducibly(model);
  amp::SGD optimizer(model.parameters(), {.lr = options.lr, .momentum = options.momentum});
  // float32 has range enough, and bfloat16 has float32's: only float16 needs the loss scaled.
  amp::GradScaler scaler(options.device,
                         {.growth_interval = options.growth_interval, .enabled = options.precision == "fp16"});
  const amp::AutocastOptions region_options = training::region_options(options.precision, options.policy);
  std::FILE* losses = nullptr;
  if (!options.losses.empty() && (losses = std::fopen(options.losses.c_str(), "w")) == nullptr)
    amp::fail(amp::ErrorCode::runtime, "--losses", options.losses + " cannot be written");

  training::Progress progress(options.steps, options.print_every);
  std::int64_t step = 0;
  while (step < options.steps)
    for (const auto& [images, labels] : loader) {
      optimizer.zero_grad();
      amp::Tensor loss;
      {
        const amp::autocast region(device, region_options);
        loss = amp::cross_entropy(model(images), labels);
      }
      scaler.scale(loss).backward();
      const bool skipped = scaler.step(optimizer).skipped;
      scaler.update();
      const double value = loss.item();
      if (losses != nullptr) fmt::print(losses, "{:.9g}\n", value);
      progress.show(step, value, scaler, skipped);
      if (++step == options.steps) break;
    }
  if (losses != nullptr) std::fclose(losses);
  if (options.precision == "fp16") fmt::print("loss scale: {:g}\n", scaler.get_scale());
  // A trained model is used in the precision it was trained in.
  const amp::autocast region(device, region_options);
  fmt::print("test accuracy: {:.4f}\n", fashion::accuracy(model, test, test.size()));
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Trains a small model on Fashion-MNIST in mixed precision.");
  app.add_option("--model", options.model, "mlp or cnn")->check(CLI::IsMember({"mlp", "cnn"}))->capture_default_str();
  training::add_precision_options(app, options.precision, options.policy);
  app.add_option("--data", options.data, "folder with the four IDX files, plain or .gz")->capture_default_str();
  app.add_option("--steps", options.steps, "training steps")->check(CLI::NonNegativeNumber)->capture_default_str();
  app.add_option("--batch", options.batch, "images in a step")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--device", options.device, "cpu or cuda")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
  app.add_option("--lr", options.lr, "learning rate")->check(CLI::NonNegativeNumber)->capture_default_str();
  app.add_option("--momentum", options.momentum, "of SGD")->check(CLI::NonNegativeNumber)->capture_default_str();
  app.add_option("--init", options.init, "curves: the same in every framework; random: PyTorch's distribution")
      ->check(CLI::IsMember({"curves", "random"}))
      ->capture_default_str();
  app.add_option("--seed", options.seed, "of --init random")->capture_default_str();
  app.add_option("--growth-interval", options.growth_interval, "clean steps before the loss scale doubles (fp16)")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--print-every", options.print_every, "steps between progress lines that do not go to a terminal")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--losses", options.losses, "file for the loss of every step");
  try {
    app.parse(argc, argv);
    train(options);
    return 0;
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  } catch (const amp::Error& e) {
    fmt::print(stderr, "train_fashion_mnist: {}\n", e.what());
    if (e.code() == amp::ErrorCode::io)
      fmt::print(stderr, "Fashion-MNIST is Debian's package dataset-fashion-mnist; or name a folder by --data DIR.\n");
    return 1;
  }
}
