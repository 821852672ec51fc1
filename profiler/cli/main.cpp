// ampprof: one verb a file, each found in commands.def.
#include <fcntl.h>

#include <algorithm>
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "profiler/cli/command.h"
#include "profiler/cli/run_command.h"

namespace {

// Where a standard stream is closed, the next file opened would take its number and get what is printed. Closed again
// on exec: a target that is run sees its streams as they were.
void reserve_standard_streams() {
  for (int fd = 0; fd <= 2; ++fd)
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR | O_CLOEXEC) != fd) return;
}

// CLI11 would only say that a command is missing.
void check_command(const CLI::App& app, const std::vector<std::string>& words) {
  if (words.empty() || words[0].starts_with("-")) return;
  std::string known;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_name() == words[0]) return;
    known += (known.empty() ? "" : ", ") + command->get_name();
  }
  throw std::invalid_argument("unknown command: got '" + words[0] + "', need one of " + known);
}

}  // namespace

int main(int argc, char** argv) {
  reserve_standard_streams();
  CLI::App app("Profiles mixed precision training: what ran in which dtype and why, what it cost and what it saved.",
               "ampprof");
  app.require_subcommand(1);
  app.set_version_flag("--version", "ampprof " AMPPROF_VERSION);
  app.footer(
      "Exit codes: run ends as its command did; otherwise 0 fine, 1 a requirement failed, 2 usage, 3 unreadable "
      "input.");
  int exit_code = ampprof::cli::kExitFine;
  try {
#define AMPPROF_COMMAND(name) ampprof::cli::add_##name##_command(app, exit_code);
#include "profiler/cli/commands.def"
    std::vector<std::string> words(argv + 1, argv + argc);
    ampprof::cli::take_target_command(app, words);
    check_command(app, words);
    std::reverse(words.begin(), words.end());  // the order this overload of parse takes them in
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    // CLI11 numbers its errors as it likes; for us they are all usage, and --help is no error.
    return app.exit(error) == 0 ? ampprof::cli::kExitFine : ampprof::cli::kExitUsage;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ampprof: %s\n", error.what());  // fmt would throw where the stream is closed
    return ampprof::cli::kExitUsage;
  }
  return exit_code;
}
