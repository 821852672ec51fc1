// fork, exec, and a loop over the signals that come in meanwhile. All of them are blocked and taken one at a time by
// sigwaitinfo, so that nothing here runs inside a signal handler.
#include "profiler/cli/target.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <system_error>

namespace ampprof::cli {
namespace {

std::uint64_t now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(t.tv_nsec);
}
std::uint64_t to_ns(const timeval& t) {
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(t.tv_usec) * 1000u;
}

/// What we wait for: our child, and the signals that are passed on. Faults of our own, SIGKILL and SIGSTOP are not.
sigset_t watched_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGCHLD, SIGCONT, SIGTSTP, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM,
                           SIGVTALRM, SIGPROF, SIGWINCH, SIGURG, SIGIO, SIGPWR})
    sigaddset(&set, signal);
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) sigaddset(&set, signal);
  return set;
}

std::atomic<int> code_on_signal{0};
struct sigaction pipe_action_before;
bool pipes_ignored = false;

struct SignalState {
  sigset_t mask;
  struct sigaction child_action;
};

[[noreturn]] void exec_target(const std::vector<std::string>& command,
                              const std::vector<std::pair<std::string, std::string>>& environment,
                              const SignalState& before, int report_fd) {
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  sigaction(SIGCHLD, &before.child_action, nullptr);
  if (pipes_ignored) sigaction(SIGPIPE, &pipe_action_before, nullptr);
  sigprocmask(SIG_SETMASK, &before.mask, nullptr);
  execvp(arguments[0], arguments.data());
  const int error = errno;
  [[maybe_unused]] const ssize_t ignored = write(report_fd, &error, sizeof error);
  _exit(127);
}

/// errno of the failed exec, or 0 once the pipe closes because the exec worked.
int read_start_error(int fd) {
  int error = 0;
  ssize_t got;
  do got = read(fd, &error, sizeof error);
  while (got < 0 && errno == EINTR);
  return got == static_cast<ssize_t>(sizeof error) ? error : 0;
}

/// The terminal sends Ctrl-C, Ctrl-\, Ctrl-Z and hang-up to its whole foreground group. Passing those on would deliver
/// them twice, unless the target left our group.
bool reached_target_already(const siginfo_t& info, pid_t target) {
  return info.si_code == SI_KERNEL && getpgid(target) == getpgrp();
}

class Watch {
 public:
  explicit Watch(pid_t target) : target_(target) {}

  /// Takes signals until the target has ended.
  int wait_for_end(rusage& usage) {
    const sigset_t watched = watched_signals();
    int status = 0;
    while (true) {
      siginfo_t info{};
      const int signal = sigwaitinfo(&watched, &info);
      if (signal < 0) continue;  // EINTR: we were stopped and continued
      if (signal == SIGCHLD) {
        if (reap(status, usage)) return status;
      } else if (signal == SIGCONT) {
        if (stopped_) kill(target_, SIGCONT);
      } else if (!reached_target_already(info, target_)) {
        pass_on(signal, info);
      }
    }
  }

 private:
  bool reap(int& status, rusage& usage) {
    pid_t pid;
    while ((pid = wait4(target_, &status, WNOHANG | WUNTRACED | WCONTINUED, &usage)) == target_) {
      if (WIFCONTINUED(status)) {
        stopped_ = false;
      } else if (WIFSTOPPED(status)) {
        stopped_ = true;
        // Stopped by job control: the shell waits for us, so we stop as well, and fg continues both.
        const int by = WSTOPSIG(status);
        if (by == SIGTSTP || by == SIGTTIN || by == SIGTTOU) kill(getpid(), SIGSTOP);
      } else {
        return true;
      }
    }
    return false;
  }

  void pass_on(int signal, const siginfo_t& info) const {
    if (info.si_code == SI_QUEUE)
      sigqueue(target_, signal, info.si_value);
    else
      kill(target_, signal);
  }

  pid_t target_;
  bool stopped_ = false;
};

}  // namespace

int TargetResult::code() const {
  if (start_errno != 0) return start_errno == ENOENT || start_errno == ENOTDIR ? 127 : 126;
  return signal != 0 ? 128 + signal : exit_code;
}

TargetResult run_target(const std::vector<std::string>& command,
                        const std::vector<std::pair<std::string, std::string>>& environment) {
  TargetResult result;
  SignalState before{};
  const sigset_t watched = watched_signals();
  sigprocmask(SIG_BLOCK, &watched, &before.mask);
  struct sigaction plain {};
  plain.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &plain, &before.child_action);  // an inherited SIG_IGN would reap the target behind our back

  int pipe_fds[2];
  if (pipe2(pipe_fds, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  result.start_ns = now_ns();
  const pid_t target = fork();
  if (target < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (target == 0) exec_target(command, environment, before, pipe_fds[1]);
  close(pipe_fds[1]);
  result.start_errno = read_start_error(pipe_fds[0]);
  close(pipe_fds[0]);

  rusage usage{};
  const int status = Watch(target).wait_for_end(usage);
  result.wall_ns = now_ns() - result.start_ns;
  result.user_ns = to_ns(usage.ru_utime);
  result.system_ns = to_ns(usage.ru_stime);
  if (WIFSIGNALED(status)) {
    result.signal = WTERMSIG(status);
    result.core_dumped = WCOREDUMP(status);
  } else {
    result.exit_code = WEXITSTATUS(status);
  }

  // The Ctrl-C that ended the target is pending for us too; it has done its work.
  sigset_t taken = watched;
  const timespec at_once{0, 0};
  while (sigtimedwait(&taken, nullptr, &at_once) > 0) {
  }
  sigaction(SIGCHLD, &before.child_action, nullptr);
  sigprocmask(SIG_SETMASK, &before.mask, nullptr);
  return result;
}

void ignore_broken_pipes() {
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  pipes_ignored = sigaction(SIGPIPE, &ignore, &pipe_action_before) == 0;
}

void exit_with_on_signals(int exit_code) {
  code_on_signal = exit_code;
  struct sigaction action {};
  action.sa_handler = [](int) {
    static constexpr char text[] =
        "ampprof: interrupted; `ampprof report` makes the rest of the report from the capture\n";
    [[maybe_unused]] const ssize_t ignored = write(STDERR_FILENO, text, sizeof text - 1);
    _exit(code_on_signal.load());
  };
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    sigaction(signal, nullptr, &before);
    if (before.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);  // nohup stays nohup
  }
}

}  // namespace ampprof::cli
