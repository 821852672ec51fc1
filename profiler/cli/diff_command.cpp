// ampprof diff A B: what changed from one run to another.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "profiler/cli/command.h"
#include "profiler/report/load_report.h"
#include "profiler/report/report_diff.h"

namespace ampprof::cli {

void add_diff_command(CLI::App& app, int& exit_code) {
  struct Options {
    std::string a, b;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("diff", "Compare two runs: ops, dtypes, casts, memory, loss scale, findings");
  command->add_option("A", options->a, "report.json, a directory that holds one, or a capture")->required();
  command->add_option("B", options->b, "The same, of the other run")->required();
  command->callback([options, &exit_code] {
    try {
      const nlohmann::json a = report::load_report(options->a), b = report::load_report(options->b);
      fmt::print("{}", report::diff_text(a, options->a, b, options->b));
    } catch (const std::exception& error) {  // a report whose values have other types than SCHEMA.md says, too
      fmt::print(stderr, "ampprof diff: {}\n", error.what());
      exit_code = kExitUnreadableInput;
    }
  });
}

}  // namespace ampprof::cli
