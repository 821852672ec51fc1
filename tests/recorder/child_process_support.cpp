// Runs a program as a child, with its streams captured, for the tests of recorder and command line.
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "tests/recorder/child_process.h"

namespace ampprof::test {
namespace {

struct Pipe {
  int fds[2];
  Pipe() {
    if (pipe2(fds, O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
  }
};

// Both at once: a child that fills the one while we wait for the other would never end.
void read_both(int out_fd, std::string& out, int err_fd, std::string& err) {
  pollfd polled[2] = {{out_fd, POLLIN, 0}, {err_fd, POLLIN, 0}};
  std::string* texts[2] = {&out, &err};
  char buffer[65536];
  while (polled[0].fd >= 0 || polled[1].fd >= 0) {
    poll(polled, 2, -1);
    for (int i = 0; i < 2; ++i) {
      if (polled[i].fd < 0 || polled[i].revents == 0) continue;
      const ssize_t got = read(polled[i].fd, buffer, sizeof buffer);
      if (got > 0)
        texts[i]->append(buffer, static_cast<std::size_t>(got));
      else
        polled[i].fd = -1;
    }
  }
}

}  // namespace

ChildResult run_child(const std::vector<std::string>& command, const ChildOptions& options) {
  const Pipe out, err;
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(out.fds[1], STDOUT_FILENO);
    dup2(err.fds[1], STDERR_FILENO);
    if (!options.directory.empty() && chdir(options.directory.c_str()) != 0) _exit(125);
    for (const auto& [name, value] : options.environment) setenv(name.c_str(), value.c_str(), 1);
    std::vector<char*> arguments;
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    execvp(arguments[0], arguments.data());
    _exit(124);
  }
  close(out.fds[1]);
  close(err.fds[1]);
  ChildResult result;
  std::thread reader([&] { read_both(out.fds[0], result.out, err.fds[0], result.err); });
  if (options.meanwhile) options.meanwhile(pid);
  int status = 0;
  waitpid(pid, &status, 0);
  reader.join();
  close(out.fds[0]);
  close(err.fds[0]);
  if (WIFSIGNALED(status))
    result.signal = WTERMSIG(status);
  else
    result.exit_code = WEXITSTATUS(status);
  return result;
}

std::string ampprof_program() { return AMP_BINARY_DIR "/bin/ampprof"; }
std::string recorder_library() { return AMP_BINARY_DIR "/lib/libampprof_recorder.so"; }
std::string nvtx_producer() { return AMP_TEST_PROGRAM_DIR "/nvtx_producer"; }

}  // namespace ampprof::test
