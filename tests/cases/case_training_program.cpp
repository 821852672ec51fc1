// Small trainings in which one thing goes wrong, as in the public reports behind tests/cases. Every weight of the one
// layer has the same true gradient, which the words choose; `case_training WORD...`:
//   steps=N init=S floor=S interval=N     length, and the options of the scaler; scaler=off trains without one
//   gradient=G      true gradient of every weight             bad=FIRST:COUNT:G  another one in these steps
//   nan-data        the input of every step holds a NaN       keep-gradients     never calls zero_grad()
//   batch-norm      convolution and batch norm; in step 1 the convolution leaves float16's range
//   root-of-zero    the square root of zeros: finite, and without a finite gradient
//   width=N layers=N batch=N precision=fp32|fp16              model of the memory cases
//   expand=N        an input that is one row, expanded N times
//   name=TEXT       name of the layer's module                pause=MS  in every step    pid=FILE  writes its pid
//   end=HOW         return exit _exit abort term exception
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <stdexcept>

#include "libamp/amp.h"

namespace {

using amp::Tensor;

std::map<std::string, std::string> words;
bool has(const char* word) { return words.contains(word); }
double number(const char* word, double otherwise) {
  return has(word) ? std::strtod(words.at(word).c_str(), nullptr) : otherwise;
}
int integer(const char* word, int otherwise) { return static_cast<int>(number(word, otherwise)); }
std::string text(const char* word, const char* otherwise) { return has(word) ? words.at(word) : otherwise; }

/// One layer without bias, under a name of the caller's choice.
class OneLayer : public amp::nn::Module {
 public:
  OneLayer(const std::string& name, std::int64_t features)
      : layer_(register_module(name, amp::nn::Linear(features, features, false))) {}
  Tensor forward(const Tensor& input) override { return (*layer_)(input); }

 private:
  std::shared_ptr<amp::nn::Linear> layer_;
};

class ConvNorm : public amp::nn::Module {
 public:
  ConvNorm()
      : conv_(register_module("conv1", amp::nn::Conv2d(1, 4, 3, {.bias = false}))),
        norm_(register_module("bn1", amp::nn::BatchNorm2d(4))) {
    const amp::no_grad quiet;
    conv_->weight.fill_(1);
  }
  Tensor forward(const Tensor& input) override { return (*norm_)((*conv_)(input)); }

 private:
  std::shared_ptr<amp::nn::Conv2d> conv_;
  std::shared_ptr<amp::nn::BatchNorm2d> norm_;
};

void say(const std::string& line) {
  const std::string whole = line + "\n";
  if (write(STDOUT_FILENO, whole.data(), whole.size()) < 0) std::abort();
}

double gradient_of(int step) {
  int first = 0, count = 0;
  double bad = 0;
  if (has("bad") && std::sscanf(words.at("bad").c_str(), "%d:%d:%lf", &first, &count, &bad) == 3 && step >= first &&
      step < first + count)
    return bad;
  return number("gradient", 1);
}

Tensor input_of(int step) {
  if (has("batch-norm")) return amp::full({2, 1, 8, 8}, step == 1 ? 60000 : 1) * amp::rand({2, 1, 8, 8});
  const std::int64_t features = integer("width", 16);
  if (has("expand")) return amp::ones({1, features}).expand({integer("expand", 1), features});
  Tensor input = amp::ones({integer("batch", 1), features});
  if (has("nan-data")) input.select(0, 0).select(0, 3).fill_(std::numeric_limits<double>::quiet_NaN());
  return input;
}

std::unique_ptr<amp::nn::Module> make_model() {
  if (has("batch-norm")) return std::make_unique<ConvNorm>();
  if (!has("layers")) return std::make_unique<OneLayer>(text("name", "fc"), integer("width", 16));
  auto model = std::make_unique<amp::nn::Sequential>();
  for (int i = 0; i < integer("layers", 1); ++i) {
    model->append(amp::nn::Linear(integer("width", 16), integer("width", 16), false));
    model->append(amp::nn::ReLU());
  }
  return model;
}

void train() {
  amp::manual_seed(3);
  const auto model = make_model();
  amp::SGD optimizer(model->parameters(), {.lr = 1e-30});
  amp::GradScaler scaler("cpu", {.init_scale = number("init", 65536),
                                 .growth_interval = integer("interval", 2000),
                                 .enabled = text("scaler", "on") == "on",
                                 .min_scale = number("floor", 0)});
  int skipped = 0;
  for (int step = 0; step < integer("steps", 10); ++step) {
    const Tensor input = input_of(step);
    if (!has("keep-gradients")) optimizer.zero_grad();
    Tensor loss;
    {
      const amp::autocast region(
          "cpu", {.dtype = amp::kFloat16, .enabled = text("precision", "fp16") == "fp16", .policy = amp::Policy::cuda});
      Tensor output = (*model)(input).to(amp::kFloat32);
      if (has("root-of-zero")) output = amp::sqrt(output * 0);
      loss = output.sum() * gradient_of(step);
    }
    scaler.scale(loss).backward();
    skipped += scaler.step(optimizer).skipped ? 1 : 0;
    scaler.update();
    if (has("pause")) {
      say(fmt::format("step {}", step));
      usleep(static_cast<unsigned>(integer("pause", 0)) * 1000);
    }
  }
  say(fmt::format("skipped {} scale {}", skipped, scaler.get_scale()));
  if (has("batch-norm")) {
    model->eval();
    (void)(*model)(input_of(0));
  }
}

void end(const std::string& how) {
  if (how == "exit") std::exit(3);
  if (how == "_exit") _exit(4);
  if (how == "abort") std::abort();
  if (how == "term") kill(getpid(), SIGTERM);
  if (how == "exception") throw std::runtime_error("on purpose");
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const std::size_t equals = word.find('=');
    words[word.substr(0, equals)] = equals == std::string::npos ? "" : word.substr(equals + 1);
  }
  if (has("pid")) {
    std::FILE* file = std::fopen(words.at("pid").c_str(), "w");
    if (file == nullptr) return 1;
    std::fprintf(file, "%d\n", static_cast<int>(getpid()));
    std::fclose(file);
  }
  train();
  end(text("end", "return"));
  return 0;
}
