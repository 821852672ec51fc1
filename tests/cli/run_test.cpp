// `ampprof run`: the target's streams, signals and exit code are its own, whatever it is and however it ends.
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>

#include "tests/capture/capture_support.h"
#include "tests/recorder/child_process.h"

using namespace ampprof;
using namespace ampprof::capture;
using namespace ampprof::test;
namespace fs = std::filesystem;

namespace {

/// ampprof run in a directory of its own, text report only, so that a case takes milliseconds.
struct Run {
  TempDir dir;
  ChildResult child;

  explicit Run(const std::vector<std::string>& command, ChildOptions options = {}) {
    std::vector<std::string> words{ampprof_program(), "run", "--format", "text"};
    words.insert(words.end(), command.begin(), command.end());
    options.directory = dir.path;
    child = run_child(words, options);
  }
  std::unique_ptr<Reader> capture(const std::string& name = "ampprof-out") const {
    std::string error;
    auto reader = Reader::open(dir / name, error);
    INFO(error << child.err);
    REQUIRE(reader);
    return reader;
  }
};

void wait_for(const std::string& path) {
  for (int i = 0; i < 500 && !fs::exists(path); ++i) usleep(10'000);
}

}  // namespace

TEST_CASE("run exits as its command does") {
  const struct {
    std::vector<std::string> command;
    int exit_code;
  } rows[] = {
      {{"true"}, 0},
      {{"false"}, 1},
      {{"--", "sh", "-c", "exit 77"}, 77},
      {{"sh", "-c", "kill -TERM $$"}, 128 + SIGTERM},
      {{"sh", "-c", "kill -9 $$"}, 128 + SIGKILL},
      {{nvtx_producer(), "steps:1", "end:abort"}, 128 + SIGABRT},
      {{nvtx_producer(), "steps:1", "end:_exit"}, 4},
      {{nvtx_producer(), "steps:1", "fork", "end:exit"}, 3},
      {{"no-such-command-anywhere"}, 127},
      {{"/etc/passwd"}, 126},
      {{"/"}, 126},
  };
  for (const auto& row : rows) {
    const Run run(row.command);
    INFO(row.command[0] << ": " << run.child.err);
    CHECK(run.child.exit_code == row.exit_code);
    const auto reader = run.capture();
    CHECK(reader->target().begun);
    CHECK(reader->target().ended);
    const int recorded = reader->target().signal != 0 ? 128 + reader->target().signal : reader->target().exit_code;
    CHECK(recorded == row.exit_code);
  }
}

TEST_CASE("A command that cannot be started is named with the reason") {
  CHECK(Run({"no-such-command"}).child.err.find("ampprof: no-such-command: command not found\n") != std::string::npos);
  CHECK(Run({"/etc/passwd"}).child.err.find("ampprof: /etc/passwd: cannot be executed: Permission denied\n") !=
        std::string::npos);
}

TEST_CASE("Mistakes in the options are told before anything runs") {
  const struct {
    std::vector<std::string> words;
    const char* says;
  } rows[] = {
      {{"--stats", "every=0", "true"}, "--stats"},
      {{"--stats", "often", "true"}, "--stats"},
      {{"--steps", "5", "true"}, "--steps"},
      {{"--steps", "5:5", "true"}, "--steps"},
      {{"--steps", "-1:5", "true"}, "--steps"},
      {{"--gpu-metrics", "perhaps", "true"}, "--gpu-metrics"},
      {{"--gpu-metrics", "on", "true"}, "--gpu-metrics"},
      {{"--format", "text,pdf", "true"}, "pdf"},
      {{"--no-such-option", "true"}, "--no-such-option"},
      {{}, "command"},
      {{"--"}, "command"},
  };
  for (const auto& row : rows) {
    const Run run(row.words);
    INFO(row.says << ": " << run.child.err << run.child.out);
    CHECK(run.child.exit_code == 2);
    CHECK((run.child.err + run.child.out).find(row.says) != std::string::npos);
    CHECK(fs::is_empty(run.dir.path));
  }
}

TEST_CASE("The command begins at the first word that is not ours, and its options are its own") {
  const Run run({"sh", "-c", "echo \"$@\"", "name", "--", "-o", "x", "--format", "", "run"});
  CHECK(run.child.out == "-- -o x --format  run\n");
  CHECK(Run({"--", "echo", "--", "-h"}).child.out == "-- -h\n");
  CHECK(Run({"-o", "there", "--steps=0:2", "printf", "%s", "--version"}).child.out == "--version");
}

TEST_CASE("Standard input and output pass through byte for byte") {
  std::string bytes;
  for (int i = 0; i < 300'000; ++i) bytes += static_cast<char>(i * 7 + i / 256);
  const TempDir dir;
  std::ofstream(dir / "in", std::ios::binary) << bytes;
  const Run run({"sh", "-c", "cat < '" + (dir / "in") + "'; echo complaint >&2"});
  CHECK(run.child.out == bytes);
  CHECK(run.child.err.find("complaint\n") != std::string::npos);
  // The pipe to us is the whole check of standard input: the shell of this test gives it to ampprof, it to cat.
  const auto piped = run_child(
      {"sh", "-c",
       "cat '" + (dir / "in") + "' | " + ampprof_program() + " run --format text -o '" + (dir / "out") + "' cat"});
  CHECK(piped.out == bytes);
}

TEST_CASE("Closed standard streams stay closed for the target, and no file takes their place") {
  const TempDir dir;
  const std::string see =
      "for fd in 0 1 2; do [ -e /proc/$$/fd/$fd ] && echo $fd >> '" + (dir / "open") + "'; done; true";
  const auto child = run_child(
      {"sh", "-c",
       ampprof_program() + " run --format text,json -o '" + (dir / "out") + "' sh -c \"" + "$SEE\" <&- >&- 2>&-"},
      {.environment = {{"SEE", see}}});
  CHECK(child.exit_code == 0);
  CHECK(!fs::exists(dir / "open"));
  CHECK(read_file(dir / "out/report.json").starts_with("{"));
  CHECK(read_file(dir / "out/report.txt").find("exit 0") != std::string::npos);
  std::string error;
  CHECK(Reader::open(dir / "out", error));
}

TEST_CASE("Where nobody hears ampprof the target still runs and its exit code stands") {
  for (const char* streams : {"2> /dev/full", "> /dev/full 2> /dev/full", "2>&1 | true", "2> >(exec 0<&-; true)"}) {
    const TempDir dir;
    const auto child = run_child({"bash", "-c",
                                  ampprof_program() + " run --format text -o '" + (dir / "out") +
                                      "' sh -c 'sleep 0.2; exit 5' " + streams + "; exit ${PIPESTATUS[0]}"});
    INFO(streams);
    CHECK(child.exit_code == 5);
    CHECK(fs::exists(dir / "out/report.txt"));
  }
}

TEST_CASE("The report stays out of a pipe that the output goes to") {
  const Run run({"echo", "result"});
  CHECK(run.child.out == "result\n");
  CHECK(run.child.err.find("exit 0") != std::string::npos);
  CHECK(fs::exists(run.dir / "ampprof-out/report.txt"));
}

TEST_CASE("An existing directory is never written into") {
  const TempDir dir;
  for (int i = 0; i < 3; ++i)
    CHECK(run_child({ampprof_program(), "run", "--format", "text", "true"}, {.directory = dir.path}).exit_code == 0);
  for (const char* name : {"ampprof-out", "ampprof-out-1", "ampprof-out-2"})
    CHECK(fs::exists(dir / (std::string(name) + "/capture.amptrace")));
  std::ofstream(dir / "file") << "mine";
  const auto beside =
      run_child({ampprof_program(), "run", "--format", "text", "-o", "file", "true"}, {.directory = dir.path});
  CHECK(beside.err.find("file-1") != std::string::npos);
  CHECK(read_file(dir / "file") == "mine");
}

TEST_CASE("All processes of a script share one capture") {
  const Run run(
      {"sh", "-c", nvtx_producer() + " steps:2 & " + nvtx_producer() + " plain steps:3 threads:2; wait; exit 9"});
  CHECK(run.child.exit_code == 9);
  const auto reader = run.capture();
  CHECK(count_of(*reader, RecordKind::OpEvent) == 2 + 3 + 6);
  CHECK(!reader->losses().any());
  CHECK(reader->losses().unended_processes == 0);
  CHECK(reader->processes().size() == 3);  // ampprof and two that speak NVTX; the shell does not
}

TEST_CASE("A command that never touches NVTX is recorded as a run and nothing else") {
  const Run run({"true"});
  const auto reader = run.capture();
  CHECK(reader->processes().size() == 1);
  CHECK(reader->target().command == std::vector<std::string>{"true"});
  CHECK(reader->losses().unended_processes == 0);
}

TEST_CASE("A signal sent to ampprof reaches the target, once") {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGQUIT}) {
    const TempDir ready;
    const std::string script = "n=0; trap 'n=$((n+1))' TERM INT HUP USR1 QUIT; : > '" + (ready / "up") +
                               "'; i=0; while [ $n -eq 0 ] && [ $i -lt 300 ]; do i=$((i+1)); sleep 0.01; done; sleep "
                               "0.05; echo got $n; exit 5";
    const Run run({"sh", "-c", script}, {.meanwhile = [&](int pid) {
                    wait_for(ready / "up");
                    kill(pid, signal);
                  }});
    INFO(signal);
    CHECK(run.child.out == "got 1\n");
    CHECK(run.child.exit_code == 5);
  }
}

TEST_CASE("Ctrl-C at a terminal reaches the target once, and the report follows") {
  const TempDir dir;
  int terminal = -1;
  const pid_t pid = forkpty(&terminal, nullptr, nullptr, nullptr);
  if (pid == 0) {
    const std::string script =
        "n=0; trap 'n=$((n+1))' INT; : > '" + (dir / "up") +
        "'; i=0; while [ $n -eq 0 ] && [ $i -lt 300 ]; do i=$((i+1)); sleep 0.01; done; sleep 0.05; "
        "echo $n > '" +
        (dir / "count") + "'; exit 6";
    execl(ampprof_program().c_str(), "ampprof", "run", "--format", "text", "-o", (dir / "out").c_str(), "sh", "-c",
          script.c_str(), nullptr);
    _exit(124);
  }
  wait_for(dir / "up");
  REQUIRE(write(terminal, "\x03", 1) == 1);
  std::string shown;
  char buffer[4096];
  for (ssize_t got; (got = read(terminal, buffer, sizeof buffer)) > 0;)
    shown.append(buffer, static_cast<std::size_t>(got));
  int status = 0;
  waitpid(pid, &status, 0);
  close(terminal);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 6);
  CHECK(read_file(dir / "count") == "1\n");
  CHECK(shown.find("exit 6") != std::string::npos);
}

TEST_CASE("A signal that ends the target ends ampprof with 128 + n, after the report") {
  const TempDir ready;
  const Run run({"sh", "-c", ": > '" + (ready / "up") + "'; exec sleep 20"}, {.meanwhile = [&](int pid) {
                  wait_for(ready / "up");
                  kill(pid, SIGTERM);
                }});
  CHECK(run.child.exit_code == 128 + SIGTERM);
  CHECK(fs::exists(run.dir / "ampprof-out/report.txt"));
}

TEST_CASE("When ampprof itself is killed the target goes on, and the capture is complete") {
  const TempDir dir;
  const std::string command = nvtx_producer() + " steps:2 pause:300 steps:3 && : > '" + (dir / "done") + "'";
  run_child({ampprof_program(), "run", "-o", dir / "out", "sh", "-c", ": > '" + (dir / "up") + "'; " + command},
            {.meanwhile = [&](int pid) {
              wait_for(dir / "up");
              kill(pid, SIGKILL);
            }});
  wait_for(dir / "done");
  std::string error;
  const auto reader = Reader::open(dir / "out", error);
  REQUIRE(reader);
  CHECK(count_of(*reader, RecordKind::OpEvent) == 5);
  CHECK(reader->target().begun);
  CHECK(!reader->target().ended);
}

TEST_CASE("Another tool's injection is left alone and named") {
  const Run run({"sh", "-c", "echo $NVTX_INJECTION64_PATH"},
                {.environment = {{"NVTX_INJECTION64_PATH", "/opt/other/tool.so"}}});
  CHECK(run.child.out == "/opt/other/tool.so\n");
  CHECK(run.child.err.find("NVTX_INJECTION64_PATH is already set to /opt/other/tool.so") != std::string::npos);
  const auto reader = run.capture();
  REQUIRE(reader->sources().size() == 1);
  CHECK(reader->sources()[0].state == SourceState::taken_by_other_tool);
}

TEST_CASE("A target that its reader leaves ends by SIGPIPE, as without ampprof") {
  const TempDir dir;
  const auto piped = run_child(
      {"bash", "-c",
       ampprof_program() + " run --format text -o '" + (dir / "out") + "' yes | head -n 1; echo ${PIPESTATUS[0]}"});
  CHECK(piped.out == "y\n" + std::to_string(128 + SIGPIPE) + "\n");
}

TEST_CASE("The options reach the target's environment") {
  const Run run({"--stats", "every=7", "--steps", "3:9", "sh", "-c", "echo $AMP_STATS $AMP_STEPS"});
  CHECK(run.child.out == "every=7 3:9\n");
  const auto reader = run.capture();
  CHECK(reader->target().stats_every == 7);
  CHECK(reader->target().steps_first == 3);
  CHECK(reader->target().steps_end == 9);
}

TEST_CASE("dump prints a capture and refuses what is none") {
  const Run run({nvtx_producer(), "steps:1"});
  const auto dumped = run_child({ampprof_program(), "dump", run.dir / "ampprof-out"});
  CHECK(dumped.exit_code == 0);
  CHECK(dumped.out.find("OpEvent op=7") != std::string::npos);
  const auto refused = run_child({ampprof_program(), "dump", "/etc/passwd"});
  CHECK(refused.exit_code == 3);
  CHECK(refused.err.find("/etc/passwd is not an ampprof capture") != std::string::npos);
}
