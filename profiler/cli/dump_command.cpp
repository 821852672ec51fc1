// ampprof dump INPUT: a capture as text, one record a line. For developers and for snapshots; not in --help.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "profiler/capture/dump.h"
#include "profiler/cli/command.h"

namespace ampprof::cli {

void add_dump_command(CLI::App& app, int& exit_code) {
  struct Options {
    std::string input;
    capture::DumpOptions dump;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("dump", "Print a capture as text, one record a line");
  command->add_option("INPUT", options->input, "A capture, or a directory that holds one")->required();
  command->add_flag("--stable", options->dump.stable, "Leave out what differs from run to run");
  command->callback([options, &exit_code] {
    std::string error;
    const auto reader = capture::Reader::open(options->input, error);
    if (!reader) {
      fmt::print(stderr, "ampprof dump: {}\n", error);
      exit_code = kExitUnreadableInput;
      return;
    }
    capture::dump(*reader, options->dump, [](const std::string& line) { fmt::print("{}\n", line); });
  });
}

}  // namespace ampprof::cli
