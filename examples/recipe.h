// What the recipes share: the options --precision and --steps, the region and the scaler that go with a precision, and
// a promise that a recipe ends with: exit code 1 if what it claims does not hold.
#pragma once
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <string>
#include <utility>

#include "examples/toy_problem.h"

namespace recipe {

class Recipe {
 public:
  Recipe(const std::string& lesson, int steps) : app_(lesson), steps_(steps) {
    app_.add_option("--precision", precision_, "fp32, fp16 or bf16")
        ->check(CLI::IsMember({"fp32", "fp16", "bf16"}))
        ->capture_default_str();
    app_.add_option("--steps", steps_, "training steps")->check(CLI::PositiveNumber)->capture_default_str();
  }

  /// Call with CLI11_PARSE, which ends the program for --help and for wrong options.
  CLI::App& app() { return app_; }
  [[nodiscard]] int steps() const { return steps_; }

  /// Options of the region: on unless the precision is fp32, with CUDA's rules, as on a GPU.
  [[nodiscard]] amp::AutocastOptions region() const {
    return {.dtype = precision_ == "bf16" ? amp::kBFloat16 : amp::kFloat16,
            .enabled = precision_ != "fp32",
            .policy = amp::Policy::cuda};
  }
  /// Options of the scaler: on for fp16 alone; bfloat16 has float32's range.
  [[nodiscard]] amp::GradScalerOptions scaler() const { return {.init_scale = 1024, .enabled = precision_ == "fp16"}; }
  /// What results in this precision may differ by from float32's, relative: some units of the type's precision.
  [[nodiscard]] double tolerance() const {
    return precision_ == "fp32" ? 1e-5 : precision_ == "fp16" ? 16 * 0x1p-11 : 16 * 0x1p-8;
  }

  void claim(bool holds, const std::string& what) {
    fmt::print("{}: {}\n", holds ? "holds" : "FAILS", what);
    all_hold_ &= holds;
  }
  /// `a` and `b` differ by at most `tolerance` of the larger.
  void claim_close(double a, double b, double tolerance, const std::string& what) {
    claim(std::abs(a - b) <= tolerance * std::max(std::abs(a), std::abs(b)),
          fmt::format("{}: {:.6g} and {:.6g}", what, a, b));
  }
  /// The program's exit code.
  [[nodiscard]] int end() const { return all_hold_ ? 0 : 1; }

 private:
  CLI::App app_;
  std::string precision_ = "fp16";
  int steps_;
  bool all_hold_ = true;
};

}  // namespace recipe
