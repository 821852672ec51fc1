// Real child processes for tests: their output, how they ended, and the programs of this build.
#pragma once
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace ampprof::test {

struct ChildResult {
  std::string out, err;
  int exit_code = -1;
  int signal = 0;
};

struct ChildOptions {
  std::vector<std::pair<std::string, std::string>> environment{};  ///< added to this process's
  std::string directory{};                                         ///< to run in; "" for the current one
  /// Called with the child's pid while it runs; its output is read meanwhile.
  std::function<void(int pid)> meanwhile{};
};

ChildResult run_child(const std::vector<std::string>& command, const ChildOptions& options = {});

std::string ampprof_program();
std::string recorder_library();
std::string nvtx_producer();

}  // namespace ampprof::test
