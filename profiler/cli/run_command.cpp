// ampprof run: starts the command with the recorder injected by environment, waits, and writes the report. What the
// command does, prints and returns is what it would without us.
#include "profiler/cli/run_command.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <CLI/CLI.hpp>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>

#include "profiler/capture/run_record.h"
#include "profiler/cli/command.h"
#include "profiler/cli/target.h"
#include "profiler/report/write_reports.h"

namespace ampprof::cli {
namespace {

constexpr char kNvtxVariable[] = "NVTX_INJECTION64_PATH";
constexpr char kCudaVariable[] = "CUDA_INJECTION64_PATH";

/// Prints, or does not where the stream is closed or full: that is no reason to end a run, or to end it differently.
template <class... Args>
void say(std::FILE* to, fmt::format_string<Args...> format, Args&&... args) {
  const std::string text = fmt::format(format, std::forward<Args>(args)...);
  std::fwrite(text.data(), 1, text.size(), to);
}

struct RunOptions {
  std::string out_dir = "ampprof-out";
  std::string steps, stats = "every=100", gpu_metrics = "auto", format = "text,json,html,trace";
};

bool read_number(std::string_view text, std::uint32_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

// libamp reads the same texts from AMP_STATS and AMP_STEPS; a mistake is told here, before the run, not in it.
std::optional<std::string> read_sampling(const RunOptions& options, capture::RunBegin& begin) {
  if (!options.stats.empty() && options.stats != "off") {
    const std::string_view text = options.stats;
    if (!text.starts_with("every=") || !read_number(text.substr(6), begin.stats_every) || begin.stats_every == 0)
      return fmt::format("--stats: got '{}', need every=N with N from 1, or off", options.stats);
  }
  if (!options.steps.empty()) {
    const std::string_view text = options.steps;
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos || !read_number(text.substr(0, colon), begin.steps_first) ||
        !read_number(text.substr(colon + 1), begin.steps_end) || begin.steps_first >= begin.steps_end)
      return fmt::format("--steps: got '{}', need A:B with A below B", options.steps);
  }
  if (options.gpu_metrics != "auto" && options.gpu_metrics != "off" && options.gpu_metrics != "on")
    return fmt::format("--gpu-metrics: got '{}', need auto, on or off", options.gpu_metrics);
  if (options.gpu_metrics == "on") return "--gpu-metrics on: this version does not measure GPUs; use auto or off";
  return std::nullopt;
}

/// The recorder of the build tree or installation this executable belongs to.
std::string find_recorder() {
  std::error_code error;
  const auto here = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  for (const char* place : {"../lib", "../lib/ampprof", "../lib64", "../lib64/ampprof"}) {
    const auto path = here / place / "libampprof_recorder.so";
    if (std::filesystem::exists(path, error)) return std::filesystem::canonical(path, error).string();
  }
  return "";
}

using Environment = std::vector<std::pair<std::string, std::string>>;

/// Adds an injection variable, unless the user has given it to another tool: then says so and leaves it alone.
void inject(const char* variable, const std::string& recorder, capture::Source source, Environment& environment,
            capture::RunBegin& begin) {
  const char* present = std::getenv(variable);
  if (present == nullptr || *present == '\0' || recorder == present) {
    environment.emplace_back(variable, recorder);
    return;
  }
  const std::string reason = fmt::format("{} is already set to {} and was left alone", variable, present);
  say(stderr, "ampprof: {}: ampprof records nothing from there\n", reason);
  begin.sources.push_back({source, capture::SourceState::taken_by_other_tool, reason});
}

void print_start_error(const std::string& command, const TargetResult& result) {
  if (result.code() == 127)
    say(stderr, "ampprof: {}: command not found\n", command);
  else
    say(stderr, "ampprof: {}: cannot be executed: {}\n", command, std::strerror(result.start_errno));
}

/// The report is ours, the run is not: whatever goes wrong here is said on standard error and changes no exit code.
void write_report(const std::string& dir, const report::Formats& formats) {
  report::ReportRequest request;
  request.input = dir;
  request.out_dir = dir;
  request.formats = formats;
  const report::ReportOutcome outcome = report::write_reports(request);
  std::fflush(nullptr);
  // Not into a pipe that the target's output goes to.
  std::FILE* terminal = isatty(STDOUT_FILENO) == 1 ? stdout : stderr;
  if (!outcome.text.empty()) say(terminal, "{}", outcome.text);
  for (const std::string& message : outcome.messages) say(stderr, "ampprof: {}\n", message);
  if (outcome.status == report::ReportOutcome::Status::unreadable) say(stderr, "ampprof: no report was written\n");
  std::fflush(nullptr);
}

std::vector<std::string> target_command;  // by take_target_command

int run(const RunOptions& options, const std::vector<std::string>& command) {
  const auto usage = [](const std::string& what) {
    say(stderr, "ampprof run: {}\n", what);
    return kExitUsage;
  };
  if (command.empty()) return usage("need a command to run");
  ignore_broken_pipes();
  capture::RunBegin begin;
  begin.command = command;
  if (const auto mistake = read_sampling(options, begin)) return usage(*mistake);
  report::Formats formats;
  std::string error;
  if (!report::parse_formats(options.format, formats, error)) return usage("--format: " + error);
  const std::string recorder = find_recorder();
  if (recorder.empty()) return usage("libampprof_recorder.so is not in ../lib of the directory ampprof is in");
  const std::string wanted = report::make_output_dir(options.out_dir, error);
  if (wanted.empty()) return usage(error);
  const std::string dir = std::filesystem::canonical(wanted).string();
  say(stderr, "ampprof: writing to {}\n", wanted);

  Environment environment;
  inject(kNvtxVariable, recorder, capture::Source::nvtx, environment, begin);
  inject(kCudaVariable, recorder, capture::Source::cupti, environment, begin);
  environment.emplace_back("AMPPROF_CAPTURE", dir + "/" + capture::kCaptureFileName);
  if (!options.stats.empty()) environment.emplace_back("AMP_STATS", options.stats);
  if (!options.steps.empty()) environment.emplace_back("AMP_STEPS", options.steps);

  capture::RunRecord record(dir + "/" + capture::kCaptureFileName);
  if (!record.begin(begin))
    say(stderr, "ampprof: cannot write {}/{}: {}\n", wanted, capture::kCaptureFileName, std::strerror(errno));
  const TargetResult result = run_target(command, environment);
  exit_with_on_signals(result.code());
  if (result.start_errno != 0) print_start_error(command[0], result);
  capture::TargetEndRecord end;
  end.exit_code = result.start_errno != 0 ? result.code() : result.exit_code;
  end.signal = static_cast<std::uint32_t>(result.signal);
  end.core_dumped = result.core_dumped ? 1 : 0;
  end.wall_ns = result.wall_ns;
  end.user_ns = result.user_ns;
  end.system_ns = result.system_ns;
  if (!record.end(end)) say(stderr, "ampprof: the end of the run could not be added to the capture\n");
  if (result.start_errno == 0) write_report(dir, formats);
  return result.code();
}

}  // namespace

void add_run_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command = app.add_subcommand("run", "Run a command, record it and write a report");
  command->footer("Then the command: ampprof run [OPTIONS] [--] COMMAND [ARG...]");
  command->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  command->add_option("-o,--output", options->out_dir, "Directory to write to; a number is added if it exists")
      ->capture_default_str();
  command->add_option("--steps", options->steps, "A:B: record the training steps A to B-1 only");
  command->add_option("--stats", options->stats, "Tensor statistics: every=N steps, or off")->capture_default_str();
  command->add_option("--gpu-metrics", options->gpu_metrics, "auto, on or off")->capture_default_str();
  command->add_option("--format", options->format, "Reports to write")->capture_default_str();
  command->callback([options, &exit_code] { exit_code = run(*options, target_command); });
}

void take_target_command(const CLI::App& app, std::vector<std::string>& words) {
  if (words.empty() || words[0] != "run") return;
  const CLI::App* run = app.get_subcommand(words[0]);
  std::size_t at = 1;
  for (; at < words.size() && words[at].size() > 1 && words[at][0] == '-' && words[at] != "--"; ++at) {
    const CLI::Option* option = run->get_option_no_throw(words[at]);
    if (option != nullptr && option->get_items_expected_min() > 0) ++at;  // its value is the next word
  }
  at = std::min(at, words.size());
  const bool dashes = at < words.size() && words[at] == "--";
  target_command.assign(words.begin() + static_cast<std::ptrdiff_t>(at) + (dashes ? 1 : 0), words.end());
  words.resize(at);
}

}  // namespace ampprof::cli
