// Saving and resuming: the continuation must be the run that was never stopped, bit for bit.
#include "libamp/io/checkpoint.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>

#include "libamp/data/data_loader.h"
#include "libamp/nn/layers.h"
#include "libamp/nn/norms.h"
#include "libamp/optim/adagrad.h"
#include "libamp/optim/lr_sequence.h"
#include "libamp/optim/rmsprop.h"
#include "tests/support/folder.h"
#include "tests/support/toy_training.h"

using namespace amp;
using namespace amp::testing;

namespace {

constexpr std::int64_t kFeatures = 12, kClasses = 4, kExamples = 50, kBatch = 8;

class Net : public nn::Module {
 public:
  Net()
      : first(register_module("first", nn::Linear(kFeatures, 16))),
        norm(register_module("norm", nn::BatchNorm1d(16))),
        second(register_module("second", nn::Linear(16, kClasses))) {}
  Tensor forward(const Tensor& input) override {
    return (*second)(dropout(relu((*norm)((*first)(input))), 0.3, is_training()));
  }
  std::shared_ptr<nn::Linear> first;
  std::shared_ptr<nn::BatchNorm1d> norm;
  std::shared_ptr<nn::Linear> second;
};

data::TensorDataset make_data() {
  manual_seed(1);
  return data::TensorDataset({randn({kExamples, kFeatures}), randint(0, kClasses, {kExamples})});
}

struct Setup {
  const char* name;
  std::function<std::unique_ptr<Optimizer>(const Tensors&)> optimizer;
  int num_workers = 0;
  DType parameters = DType::float32, region = DType::float16;
};

/// Warm-up, then half a cosine.
std::unique_ptr<LRScheduler> make_scheduler(Optimizer& optimizer) {
  return std::make_unique<SequentialLR>(optimizer,
                                        LRSchedulers{std::make_shared<LinearLR>(optimizer, 0.25, 1, 5),
                                                     std::make_shared<CosineAnnealingLR>(optimizer, 15)},
                                        std::vector<std::int64_t>{5});
}

/// Everything a training run is made of.
struct Run {
  Run(const data::TensorDataset& dataset, const Setup& setup, std::uint64_t seed)
      : loader(dataset, {.batch_size = kBatch,
                         .shuffle = true,
                         .seed = seed,
                         .drop_last = true,
                         .num_workers = setup.num_workers}) {
    manual_seed(seed);
    net = std::make_unique<Net>();
    net->to(setup.parameters);
    optimizer = setup.optimizer(net->parameters());
    scheduler = make_scheduler(*optimizer);
    region = setup.region;
  }
  io::Parts parts() {
    return {{"model", *net},
            {"optimizer", *optimizer},
            {"scheduler", *scheduler},
            {"scaler", scaler},
            {"rng", io::rng},
            {"loader", loader},
            {"step", step},
            {"best", best}};
  }
  /// Trains until step `end`; calls `after` when a step is done, as a program would save.
  template <typename F>
  void train(std::int64_t end, F after) {
    while (step < end)
      for (const auto& [input, target] : loader) {
        optimizer->zero_grad();
        Tensor loss;
        {
          const autocast half("cpu", region);
          loss = cross_entropy((*net)(input), target);
        }
        scaler.scale(loss).backward();
        skipped.push_back(scaler.step(*optimizer).skipped);
        scaler.update();
        scheduler->step();
        losses.push_back(loss.item<float>());
        best = std::min(best, loss.item());
        if (++step, after(), step == end) break;
      }
  }
  void train(std::int64_t end) {
    train(end, [] {});
  }
  [[nodiscard]] std::string bits() {
    std::string all;
    const auto append = [&all](const io::NamedTensors& state) {
      for (const auto& [name, t] : state)
        all += name +
               std::string(static_cast<const char*>(t.raw()), static_cast<std::size_t>(t.numel()) * size_of(t.dtype()));
    };
    for (const io::Part& part : parts()) append(part.save());
    return all;
  }

  data::DataLoader loader;
  std::unique_ptr<Net> net;
  std::unique_ptr<Optimizer> optimizer;
  std::unique_ptr<LRScheduler> scheduler;
  DType region = DType::float16;
  // A scale that grows every third step soon is too large again: steps are skipped all along.
  GradScaler scaler{"cpu", {.init_scale = 1 << 20, .growth_interval = 3}};
  std::int64_t step = 0;
  double best = std::numeric_limits<double>::infinity();
  std::vector<float> losses;
  std::vector<bool> skipped;
};

std::vector<Setup> setups() {
  const auto adam = [](const Tensors& p) {
    return std::make_unique<Adam>(p, AdamOptions{.lr = 0.01, .amsgrad = true});
  };
  const auto adamw = [](const Tensors& p) {
    return std::make_unique<AdamW>(p, AdamOptions{.lr = 0.01, .fused = true});
  };
  const auto sgd = [](const Tensors& p) { return std::make_unique<SGD>(p, SGDOptions{.lr = 0.1, .momentum = 0.9}); };
  const auto fused = [](const Tensors& p) {
    return std::make_unique<SGD>(p, SGDOptions{.lr = 0.1, .momentum = 0.9, .nesterov = true, .fused = true});
  };
  const auto rmsprop = [](const Tensors& p) {
    return std::make_unique<RMSprop>(p, RMSpropOptions{.lr = 0.01, .momentum = 0.9, .centered = true});
  };
  const auto adagrad = [](const Tensors& p) {
    return std::make_unique<Adagrad>(p, AdagradOptions{.lr = 0.1, .lr_decay = 0.01});
  };
  const DType bf16 = DType::bfloat16;
  return {{"adam", adam},
          {"adamw, fused, workers", adamw, 2},
          {"sgd", sgd},
          {"sgd, fused", fused, 3},
          {"rmsprop", rmsprop},
          {"adagrad", adagrad},
          {"adam, master weights", adam, 0, bf16, bf16},
          {"sgd, master weights", sgd, 0, bf16, bf16}};
}

bool any(const std::vector<bool>& flags, std::size_t begin, std::size_t end) {
  return std::find(flags.begin() + static_cast<std::ptrdiff_t>(begin), flags.begin() + static_cast<std::ptrdiff_t>(end),
                   true) != flags.begin() + static_cast<std::ptrdiff_t>(end);
}

}  // namespace

TEST_CASE("a resumed run is the run that was never stopped, bit for bit", "[io][checkpoint]") {
  const data::TensorDataset dataset = make_data();
  const Folder folder;
  for (const Setup& setup : setups()) {
    Run whole(dataset, setup, 5);
    // Six steps an epoch: saved at the end of one, inside the next ones, and once more after a resumption.
    whole.train(20, [&] {
      if (whole.step % 2 == 0) io::save_checkpoint(folder / std::to_string(whole.step), whole.parts());
    });
    CHECK(any(whole.skipped, 0, 10) == (setup.region == DType::float16));
    CHECK(any(whole.skipped, 10, 20) == (setup.region == DType::float16));
    for (const std::int64_t at : {2, 6, 8, 10, 12, 18}) {
      CAPTURE(setup.name, at);
      Run resumed(dataset, setup, 999);
      CHECK(io::load_checkpoint(folder / std::to_string(at), resumed.parts()).empty());
      CHECK(resumed.step == at);
      resumed.train(20);
      CHECK(resumed.losses == std::vector<float>(whole.losses.begin() + at, whole.losses.end()));
      CHECK(resumed.bits() == whole.bits());
    }
  }
}

TEST_CASE("without one of its parts a resumed run is another one", "[io][checkpoint]") {
  const data::TensorDataset dataset = make_data();
  const Folder folder;
  const Setup setup = setups().front();
  Run whole(dataset, setup, 5);
  whole.train(20, [&] {
    if (whole.step == 10) io::save_checkpoint(folder / "file", whole.parts());
  });
  for (const std::string left_out : {"model", "optimizer", "scheduler", "scaler", "rng", "loader"}) {
    Run resumed(dataset, setup, 999);
    io::Parts parts;
    for (const io::Part& part : resumed.parts())
      if (part.name() != left_out) parts.push_back(part);
    CHECK(io::load_checkpoint(folder / "file", parts) == std::vector{left_out});
    resumed.train(20);
    CAPTURE(left_out);
    CHECK(resumed.losses != std::vector<float>(whole.losses.begin() + 10, whole.losses.end()));
  }
}

TEST_CASE("a checkpoint's tensors have the names of PyTorch's state dicts", "[io][checkpoint]") {
  const Folder folder;
  Run run(make_data(), setups().front(), 5);
  run.train(8);
  io::save_checkpoint(folder / "file", run.parts(), {{"note", "by hand"}});
  const io::safe_open file(folder / "file");
  for (const char* name :
       {"model.first.weight", "model.norm.running_mean", "model.norm.num_batches_tracked", "optimizer.state.0.exp_avg",
        "optimizer.state.5.max_exp_avg_sq", "optimizer.state.0.step", "optimizer.param_groups.0.lr", "scaler.scale",
        "scheduler.last_epoch", "scheduler._schedulers.1.base_lrs", "scaler._growth_tracker", "rng.state",
        "loader.epoch", "step", "best"}) {
    CAPTURE(name);
    CHECK(file.contains(name));
  }
  CHECK(file.metadata() == io::Metadata{{"format", "amp-checkpoint/1"},
                                        {"note", "by hand"},
                                        {"parts", "model,optimizer,scheduler,scaler,rng,loader,step,best"}});
  CHECK(file.get_tensor("step").dtype() == DType::int64);
  CHECK(file.get_tensor("scaler.scale").dtype() == DType::float64);
  CHECK(file.get_tensor("optimizer.param_groups.0.lr").item() == run.scheduler->get_last_lr()[0]);
}

TEST_CASE("an error tells all that does not fit, and leaves every part as it was", "[io][checkpoint]") {
  const data::TensorDataset dataset = make_data();
  const Folder folder;
  Run run(dataset, setups().front(), 5);
  run.train(8);
  io::save_checkpoint(folder / "file", run.parts());

  Run other(dataset, {"sgd", setups()[2].optimizer}, 6);
  other.train(3);
  other.loader = data::DataLoader(dataset, {.batch_size = 5});
  nn::Linear another(kFeatures, 3);
  std::int64_t missing = 7;
  io::Parts parts = other.parts();
  parts.emplace_back("missing", missing);
  parts.front() = io::Part("model", another);
  const std::string before = other.bits();
  const std::string message = error_message([&] { io::load_checkpoint(folder / "file", parts); });
  CAPTURE(message);
  for (const char* says : {"part 'missing' is missing", "'weight' is missing", "first.weight", "norm.running_var",
                           "part 'optimizer'", "part 'loader'", "batch_size: the state has 8, this loader 5"})
    CHECK(message.find(says) != std::string::npos);
  CHECK(other.bits() == before);
  CHECK(other.step == 3);
  CHECK(missing == 7);

  // Parts that fit, weights among them, get their values back when a later one does not.
  Run fitting(dataset, setups().front(), 8);
  fitting.loader = data::DataLoader(dataset, {.batch_size = 5});
  const std::string values = fitting.bits();
  CHECK(error_code([&] { io::load_checkpoint(folder / "file", fitting.parts()); }) == ErrorCode::value);
  CHECK(fitting.bits() == values);
}

TEST_CASE("what is no checkpoint is refused, and names of parts are checked", "[io][checkpoint]") {
  const Folder folder;
  std::int64_t number = 1;
  double real = 2;
  const auto load = [&](const std::string& path) {
    return error_message([&] { io::load_checkpoint(path, {{"number", number}}); });
  };
  io::save_file({{"number", tensor({1})}}, folder / "weights", {{"format", "pt"}});
  CHECK(load(folder / "weights").find("is no checkpoint") != std::string::npos);
  CHECK(load(folder / "none").find("cannot be opened") != std::string::npos);
  io::save_file({{"a.b", tensor({1})}}, folder / "stray", {{"format", "amp-checkpoint/1"}, {"parts", "number"}});
  CHECK(load(folder / "stray").find("'a.b' belongs to none of the parts") != std::string::npos);

  io::save_checkpoint(folder / "real", {{"number", real}});
  CHECK(load(folder / "real").find("need one number of type int64, got float64[]") != std::string::npos);
  CHECK(number == 1);
  for (const char* name : {"", "a.b", "a,b"})
    CHECK(error_code([&] { io::save_checkpoint(folder / "x", {{name, number}}); }) == ErrorCode::value);
  CHECK(error_code([&] { io::save_checkpoint(folder / "x", {{"a", number}, {"a", real}}); }) == ErrorCode::value);
  CHECK(error_code([&] { io::save_checkpoint(folder / "x", {{"a", number}}, {{"parts", ""}}); }) == ErrorCode::value);
}

TEST_CASE("a number that its variable cannot hold is refused", "[io][checkpoint]") {
  const Folder folder;
  std::int64_t large = 3'000'000'000;
  double huge = 1e300;
  io::save_checkpoint(folder / "file", {{"count", large}, {"real", huge}});
  int count = 7;
  std::uint8_t byte = 7;
  bool flag = true;
  float real = 7;
  const auto load = [&](const io::Parts& parts) {
    return error_message([&] { io::load_checkpoint(folder / "file", parts); });
  };
  for (const std::string& message : {load({{"count", count}}), load({{"count", byte}}), load({{"count", flag}})})
    CHECK(message.find("part 'count': [load_state_dict] the variable's type cannot hold the number: got 3000000000") !=
          std::string::npos);
  CHECK(load({{"real", real}}).find("part 'real'") != std::string::npos);
  CHECK((count == 7 && byte == 7 && flag && real == 7));
}

TEST_CASE("numbers of every kind come back exactly", "[io][checkpoint]") {
  const Folder folder;
  std::int64_t large = std::numeric_limits<std::int64_t>::min() + 1;
  std::uint64_t unsigned_large = std::numeric_limits<std::uint64_t>::max();
  int small = -3;
  bool flag = true;
  float narrow = 0.1f;
  double real = 0.1, nan = kNaN;
  io::NamedTensors tensors{{"a", tensor({1, 2})}};
  const io::Parts parts{{"large", large}, {"unsigned", unsigned_large}, {"small", small},
                        {"flag", flag},   {"narrow", narrow},           {"real", real},
                        {"nan", nan},     {"tensors", tensors}};
  io::save_checkpoint(folder / "file", parts);
  large = 0, unsigned_large = 0, small = 0, flag = false, narrow = 0, real = 0, nan = 0, tensors = {};
  io::load_checkpoint(folder / "file", parts);
  CHECK(large == std::numeric_limits<std::int64_t>::min() + 1);
  CHECK(unsigned_large == std::numeric_limits<std::uint64_t>::max());
  CHECK(small == -3);
  CHECK(flag);
  CHECK(narrow == 0.1f);
  CHECK(real == 0.1);
  CHECK(std::isnan(nan));
  CHECK(tensors.at("a").to_vector() == std::vector<double>{1, 2});
}

TEST_CASE("a disabled scaler's empty state is told from a missing one", "[io][checkpoint]") {
  const Folder folder;
  GradScaler off("cpu", {.enabled = false}), on("cpu");
  io::save_checkpoint(folder / "off", {{"scaler", off}});
  io::load_checkpoint(folder / "off", {{"scaler", off}});
  CHECK(error_message([&] {
          io::load_checkpoint(folder / "off", {{"scaler", on}});
        }).find("the state is empty") != std::string::npos);
  io::save_checkpoint(folder / "none", {});
  CHECK(error_message([&] {
          io::load_checkpoint(folder / "none", {{"scaler", on}});
        }).find("part 'scaler' is missing") != std::string::npos);
}

TEST_CASE("the generator goes on where it was", "[io][checkpoint]") {
  manual_seed(3);
  (void)randn({5});
  const Tensor state = get_rng_state();
  const auto expected = rand({7}).to_vector();
  manual_seed(4);
  set_rng_state(state);
  CHECK(rand({7}).to_vector() == expected);
  CHECK(error_code([] { set_rng_state(zeros({16})); }) == ErrorCode::value);
  CHECK(error_code([] { io::rng.load_state_dict({}); }) == ErrorCode::value);
}
