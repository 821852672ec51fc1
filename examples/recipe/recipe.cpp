// The parts of recipe.h that need the option parser.
#include "examples/recipe/recipe.h"

#include <algorithm>
#include <CLI/CLI.hpp>

namespace recipe {

std::optional<int> Recipe::parse(int argc, char** argv) {
  CLI::App app(lesson_);
  app.add_option("--precision", precision_, "fp32, fp16 or bf16")
      ->check(CLI::IsMember({"fp32", "fp16", "bf16"}))
      ->capture_default_str();
  app.add_option("--steps", steps_, "training steps")->check(CLI::PositiveNumber)->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  }
  return {};
}

amp::AutocastOptions Recipe::region() const {
  return {.dtype = precision_ == "bf16" ? amp::kBFloat16 : amp::kFloat16,
          .enabled = precision_ != "fp32",
          .policy = amp::Policy::cuda};
}

amp::GradScalerOptions Recipe::scaler() const { return {.init_scale = 1024, .enabled = precision_ == "fp16"}; }

double Recipe::tolerance() const {
  return precision_ == "fp32" ? 1e-5 : precision_ == "fp16" ? 16 * 0x1p-11 : 16 * 0x1p-8;
}

void Recipe::claim(bool holds, const std::string& what) {
  fmt::print("{}: {}\n", holds ? "holds" : "FAILS", what);
  all_hold_ &= holds;
}

void Recipe::claim_close(double a, double b, const std::string& what) {
  const bool is_close = std::abs(a - b) <= tolerance() * std::max(std::abs(a), std::abs(b));
  claim(is_close, fmt::format("{}: {:.6g} and {:.6g}", what, a, b));
}

}  // namespace recipe
