// What the recipes share: the options --precision and --steps, the region and the scaler that go with a precision, and
// claims: a recipe ends with exit code 1 if what it teaches does not hold.
#pragma once
#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <string>

#include "examples/toy_problem.h"

namespace recipe {

class Recipe {
 public:
  Recipe(std::string lesson, int steps) : lesson_(std::move(lesson)), steps_(steps) {}

  /// Reads --precision and --steps. The exit code if the program is to end here: after --help, and for wrong options.
  std::optional<int> parse(int argc, char** argv);
  [[nodiscard]] int steps() const { return steps_; }

  /// Options of the region: on unless the precision is fp32, with CUDA's rules, as on a GPU.
  [[nodiscard]] amp::AutocastOptions region() const;
  /// Options of the scaler: on for fp16 alone; bfloat16 has float32's range.
  [[nodiscard]] amp::GradScalerOptions scaler() const;
  /// What results in this precision may differ by from float32's, relative: some units of the type's precision.
  [[nodiscard]] double tolerance() const;

  void claim(bool holds, const std::string& what);
  /// `a` and `b` differ by at most tolerance() of the larger.
  void claim_close(double a, double b, const std::string& what);
  /// The program's exit code.
  [[nodiscard]] int end() const { return all_hold_ ? 0 : 1; }

 private:
  std::string lesson_, precision_ = "fp16";
  int steps_;
  bool all_hold_ = true;
};

}  // namespace recipe
