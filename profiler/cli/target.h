// Runs the program that is profiled as if ampprof were not there: its streams, signals, job control and exit code.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ampprof::cli {

struct TargetResult {
  int start_errno = 0;  ///< not 0: it could not be started, for this reason
  int exit_code = 0;    ///< when signal is 0
  int signal = 0;
  bool core_dumped = false;
  std::uint64_t start_ns = 0, wall_ns = 0;   ///< CLOCK_MONOTONIC
  std::uint64_t user_ns = 0, system_ns = 0;  ///< of the target and the children it waited for

  /// What ampprof exits with: the target's own code, 128 + n for signal n, 127 not found, 126 not executable.
  [[nodiscard]] int code() const;
};

/// Starts `command` (found as a shell finds it) with `environment` added to ours, and waits for its end. Signals sent
/// to ampprof meanwhile are passed on, but for those the terminal sent to the whole foreground group anyway; a target
/// that is stopped from the terminal stops ampprof too. Returns with the signals as they were before.
TargetResult run_target(const std::vector<std::string>& command,
                        const std::vector<std::pair<std::string, std::string>>& environment);

/// From here on a reader that left is no reason for ampprof to end. The target gets SIGPIPE as it was.
void ignore_broken_pipes();

/// From here on SIGINT, SIGTERM and SIGHUP end ampprof with this exit code: the target has ended, what is left is ours.
void exit_with_on_signals(int exit_code);

}  // namespace ampprof::cli
