// ampprof check REPORT --require 'EXPR'...: for CI. The expressions are described in report/requirement.h.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "profiler/cli/command.h"
#include "profiler/report/load_report.h"
#include "profiler/report/requirement.h"

namespace ampprof::cli {
namespace {

struct Options {
  std::string input;
  std::vector<std::string> requirements;
};

int check(const Options& options) {
  nlohmann::json report;
  try {
    report = report::load_report(options.input);
  } catch (const std::exception& error) {
    fmt::print(stderr, "ampprof check: {}\n", error.what());
    return kExitUnreadableInput;
  }
  int exit_code = kExitFine;
  for (const std::string& expression : options.requirements) {
    try {
      const report::RequirementResult result = report::check_requirement(report, expression);
      fmt::print("{}  {}{}\n", result.satisfied ? "ok    " : "FAILED", expression,
                 result.why.empty() ? "" : "   (" + result.why + ")");
      if (!result.satisfied && exit_code == kExitFine) exit_code = kExitRequirementFailed;
    } catch (const report::BadExpression& error) {
      fmt::print(stderr, "ampprof check: {}\n", error.what());
      exit_code = kExitUsage;
    } catch (const nlohmann::json::exception& error) {
      fmt::print(stderr, "ampprof check: {}: {}\n", options.input, error.what());
      return kExitUnreadableInput;
    }
  }
  return exit_code;
}

constexpr char kHelp[] =
    "EXPR compares figures of report.json, by the paths of SCHEMA.md:\n"
    "  memory.saved_bytes > 0                 loss_scale.skipped_steps <= 3\n"
    "  totals.cast_share < 5%                 memory.peak_bytes < 1.5GiB\n"
    "  !findings[id=fp16_underflow]           findings[id=overflow_skip].severity != 'critical'\n"
    "  count(ops[compute_dtype=float16]) > 0  sum(casts[cause_op=linear].cpu_ns) < 2ms\n"
    "with && || ! + - * / and count, sum, min, max, measured. A figure that was not measured satisfies no comparison.";

}  // namespace

void add_check_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("check", "Check a report against requirements; exit 1 if one fails");
  command->add_option("REPORT", options->input, "report.json, a directory that holds one, or a capture")->required();
  command->add_option("--require", options->requirements, "A requirement; may be given several times")
      ->required()
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->footer(kHelp);
  command->callback([options, &exit_code] { exit_code = check(*options); });
}

}  // namespace ampprof::cli
