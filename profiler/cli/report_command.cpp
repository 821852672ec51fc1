// ampprof report INPUT: the reports of a capture that is already there, for example after `ampprof run` was killed.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "profiler/cli/command.h"
#include "profiler/report/write_reports.h"

namespace ampprof::cli {
namespace {

struct Options {
  std::string input, out_dir = "ampprof-out", format = "text,json,html,trace", page;
};

int make_report(const Options& options) {
  report::ReportRequest request;
  std::string error;
  if (!report::parse_formats(options.format, request.formats, error)) {
    fmt::print(stderr, "ampprof report: --format: {}\n", error);
    return kExitUsage;
  }
  // The input is looked at first, so that a mistyped path leaves no empty directory behind.
  if (!report::is_readable(options.input, error)) {
    fmt::print(stderr, "ampprof report: {}\n", error);
    return kExitUnreadableInput;
  }
  request.input = options.input;
  request.page = options.page;
  request.out_dir = report::make_output_dir(options.out_dir, error);
  if (request.out_dir.empty()) {
    fmt::print(stderr, "ampprof report: {}\n", error);
    return kExitUsage;
  }
  fmt::print(stderr, "ampprof: writing to {}\n", request.out_dir);
  const report::ReportOutcome outcome = report::write_reports(request);
  fmt::print("{}", outcome.text);
  for (const std::string& message : outcome.messages) fmt::print(stderr, "ampprof report: {}\n", message);
  if (outcome.status == report::ReportOutcome::Status::unreadable) return kExitUnreadableInput;
  return outcome.status == report::ReportOutcome::Status::ok ? kExitFine : kExitRequirementFailed;
}

}  // namespace

void add_report_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("report", "Write the reports of a capture");
  command->add_option("INPUT", options->input, "A capture, or a directory that holds one")->required();
  command->add_option("-o", options->out_dir, "Directory to create; a number is added where it exists")
      ->capture_default_str();
  command->add_option("--format", options->format, "Any of text,json,html,trace")->capture_default_str();
  command->add_option("--page", options->page, "Template of the page, where ampprof was built without one");
  command->callback([options, &exit_code] { exit_code = make_report(*options); });
}

}  // namespace ampprof::cli
