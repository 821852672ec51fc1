// ampprof view INPUT: serves the report's page to a browser on this machine, until Ctrl-C.
#include <fmt/format.h>

#include <atomic>
#include <CLI/CLI.hpp>
#include <csignal>
#include <filesystem>
#include <memory>

#include "profiler/cli/command.h"
#include "profiler/cli/page_server.h"
#include "profiler/report/files.h"
#include "profiler/report/load_report.h"
#include "profiler/report/write_reports.h"
#include "profiler/timeline/from_capture.h"

namespace ampprof::cli {
namespace {

namespace fs = std::filesystem;

std::atomic<bool> stop_serving{false};
extern "C" void on_stop_signal(int) { stop_serving = true; }

struct Options {
  std::string input, page;
  int port = 0;
};

/// The page as it was written, or made now from a report.json or a capture. Returns "" or what went wrong.
std::string make_page(const Options& options, std::string& html, std::string& json) {
  std::error_code code;
  json = report::load_report_text(options.input);
  const fs::path ready = fs::path(options.input) / "report.html";
  if (fs::is_directory(options.input, code) && fs::is_regular_file(ready, code))
    return report::read_file(ready.string(), html);
  const std::string template_path = options.page.empty() ? report::find_page() : options.page;
  if (template_path.empty())
    return "page not built: this ampprof was built without one (configure with -DAMP_VIEWER=ON, or use --page)";
  std::string page;
  std::string error = report::read_file(template_path, page);
  return error.empty() ? report::make_html(page, json, html) : error;
}

int view(const Options& options) {
  std::string html, json;
  try {
    if (const std::string error = make_page(options, html, json); !error.empty()) {
      fmt::print(stderr, "ampprof view: {}\n", error);
      return kExitUsage;
    }
  } catch (const timeline::UnreadableInput& error) {
    fmt::print(stderr, "ampprof view: {}\n", error.what());
    return kExitUnreadableInput;
  }
  PageServer server({{"/", {"text/html; charset=utf-8", html}},
                     {"/report.html", {"text/html; charset=utf-8", html}},
                     {"/report.json", {"application/json", json}}});
  if (const std::string error = server.listen(options.port); !error.empty()) {
    fmt::print(stderr, "ampprof view: {}\n", error);
    return kExitUsage;
  }
  struct sigaction action {};
  action.sa_handler = on_stop_signal;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  fmt::print("http://127.0.0.1:{}/   (Ctrl-C ends)\n", server.port());
  std::fflush(stdout);
  server.serve(stop_serving);
  return kExitFine;
}

}  // namespace

void add_view_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("view", "Serve the page of a report on 127.0.0.1");
  command->add_option("INPUT", options->input, "A directory of reports, report.json, or a capture")->required();
  command->add_option("--port", options->port, "Port; 0: one that is free")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  command->add_option("--page", options->page, "Template of the page, where ampprof was built without one");
  command->callback([options, &exit_code] { exit_code = view(*options); });
}

}  // namespace ampprof::cli
