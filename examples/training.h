// What the training examples share: the name of a precision, and the line that shows how far training is.
#pragma once
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "libamp/amp.h"

namespace training {

/// The dtype of the autocast region for fp16 or bf16; none for fp32.
inline std::optional<amp::DType> low_precision(const std::string& precision) {
  if (precision == "fp16") return amp::kFloat16;
  if (precision == "bf16") return amp::kBFloat16;
  return {};
}

/// The options of a region on `device` for a precision, under the rules named "cuda" or "cpu".
inline amp::AutocastOptions region_options(const std::string& precision, const std::string& policy) {
  const std::optional<amp::DType> low = low_precision(precision);
  return {.dtype = low, .enabled = low.has_value(), .policy = policy == "cuda" ? amp::Policy::cuda : amp::Policy::cpu};
}

/// App: CLI::App, which takes too long to compile for a header to bring it in.
template <typename App>
void add_precision_options(App& app, std::string& precision, std::string& policy) {
  const auto one_of = [](std::vector<std::string> words) {
    return [words](const std::string& word) {
      return std::find(words.begin(), words.end(), word) != words.end() ? "" : word + " is not one of them";
    };
  };
  app.add_option("--precision", precision, "fp32, fp16 or bf16")
      ->check(one_of({"fp32", "fp16", "bf16"}))
      ->capture_default_str();
  app.add_option("--policy", policy, "whose autocast lists: cuda (on a CPU a preview of a GPU run) or cpu")
      ->check(one_of({"cuda", "cpu"}))
      ->capture_default_str();
}

/// Rewritten in place on a terminal, else printed every few steps.
class Progress {
 public:
  Progress(std::int64_t steps, std::int64_t print_every)
      : steps_(steps), print_every_(print_every), terminal_(isatty(STDERR_FILENO) != 0), begin_(Clock::now()) {}

  /// `scaler`: shown while it is enabled.
  void show(std::int64_t step, double loss, const amp::GradScaler& scaler, bool skipped) {
    const std::int64_t done = step + 1;
    const bool last = done == steps_;
    const double seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
    if (terminal_ ? !last && seconds - shown_ < 0.1 : !last && done % print_every_ != 0) return;
    shown_ = seconds;
    const double rate = static_cast<double>(done) / seconds;
    std::string line = fmt::format("step {}/{}  loss {:.4f}  {:.1f} steps/s  {:.0f} s left", done, steps_, loss, rate,
                                   static_cast<double>(steps_ - done) / rate);
    if (scaler.is_enabled())
      line += fmt::format("  loss scale {:g}{}", scaler.get_scale(), skipped ? " (skipped)" : "");
    if (terminal_)
      fmt::print(stderr, "\r{:<96}{}", line, last ? "\n" : "");
    else
      fmt::print(stderr, "{}\n", line);
    std::fflush(stderr);
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::int64_t steps_, print_every_;
  bool terminal_;
  Clock::time_point begin_;
  double shown_ = 0;
};

/// Parses the command line and runs `body`; the exit code of the program: 2 for wrong usage, 1 for a failure.
/// `run_program<CLI::ParseError>(app, argc, argv, [&] { train(options); });`
template <typename ParseError, typename App, typename F>
int run_program(App& app, int argc, char** argv, F body) {
  try {
    app.parse(argc, argv);
    body();
    return 0;
  } catch (const ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  } catch (const amp::Error& e) {
    fmt::print(stderr, "{}: {}\n", app.get_name(), e.what());
    return 1;
  }
}

}  // namespace training
