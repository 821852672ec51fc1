// The command that `ampprof run` runs is cut from the command line before options are parsed: whatever it looks like,
// it is not ours to read.
#pragma once
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace ampprof::cli {

/// Where `words` (without the program's name) begin with run: takes the command off their end, from the first word that
/// is neither an option of run nor an option's value, or after the first `--`, and keeps it for run.
void take_target_command(const CLI::App& app, std::vector<std::string>& words);

}  // namespace ampprof::cli
