// The verbs of ampprof. Each row of commands.def is one file <name>_command.cpp that defines add_<name>_command: it
// adds its subcommand and options to the app, and in the subcommand's callback does the work and sets exit_code.
#pragma once

namespace CLI {
class App;
}

namespace ampprof::cli {

// Exit codes of every verb but run, which exits as its target did.
inline constexpr int kExitFine = 0;
inline constexpr int kExitRequirementFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitUnreadableInput = 3;

#define AMPPROF_COMMAND(name) void add_##name##_command(CLI::App& app, int& exit_code);
#include "profiler/cli/commands.def"

}  // namespace ampprof::cli
