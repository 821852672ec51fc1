// The writer without NVTX: what is recorded is read back, and what cannot be written is counted.
#include "profiler/capture/writer.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <thread>

#include "libamp/base/event.h"
#include "tests/capture/capture_support.h"

using namespace ampprof;
using namespace ampprof::capture;
using ampprof::test::TempDir;

namespace {

std::unique_ptr<Reader> open(const std::string& path) {
  std::string error;
  auto reader = Reader::open(path, error);
  INFO(error);
  REQUIRE(reader);
  return reader;
}

void record_op(Writer& writer, std::uint32_t step) {
  amp::OpEvent op;
  op.step = step;
  op.flops = 1;
  writer.record(record_kind(amp::EventId::OpEvent), monotonic_ns(), std::as_bytes(std::span(&op, 1)));
}

/// Runs the body in a child process and gives its wait status, so that limits and signals stay out of this one.
template <class Body>
int in_child(Body&& body) {
  const pid_t pid = fork();
  if (pid == 0) {
    body();
    _exit(0);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return status;
}

}  // namespace

TEST_CASE("What several threads record is read back, each thread in order") {
  const TempDir dir;
  constexpr std::uint32_t kThreads = 4, kRecords = 20'000;
  {
    Writer writer({.path = dir / "c"});
    REQUIRE(writer.start());
    std::vector<std::thread> threads;
    for (std::uint32_t t = 0; t < kThreads; ++t)
      threads.emplace_back([&writer] {
        for (std::uint32_t i = 0; i < kRecords; ++i) record_op(writer, i);
      });
    for (auto& thread : threads) thread.join();
    writer.end();
  }
  const auto reader = open(dir / "c");
  CHECK(!reader->losses().any());
  CHECK(reader->losses().unended_processes == 0);
  REQUIRE(reader->process(0).threads.size() == 1 + kThreads);
  std::vector<std::uint32_t> next(1 + kThreads);
  std::size_t out_of_order = 0;
  for (RecordView record; reader->next(record);)
    if (record.kind == RecordKind::OpEvent && read_event<amp::OpEvent>(record).step != next[record.thread]++)
      ++out_of_order;
  CHECK(out_of_order == 0);
  for (std::uint32_t t = 1; t <= kThreads; ++t) CHECK(next[t] == kRecords);
}

TEST_CASE("Threads one after the other reuse buffers but stay apart in the capture") {
  const TempDir dir;
  {
    Writer writer({.path = dir / "c", .background = false});
    REQUIRE(writer.start());
    for (std::uint32_t t = 0; t < 2 * Writer::kMaxLanes; ++t) std::thread([&] { record_op(writer, t); }).join();
    writer.end();
    CHECK(writer.lost(RecordKind::OpEvent, LossReason::too_many_threads) == 0);
  }
  const auto reader = open(dir / "c");
  CHECK(reader->process(0).threads.size() == 1 + 2 * Writer::kMaxLanes);
  CHECK(test::count_of(*reader, RecordKind::OpEvent) == 2 * Writer::kMaxLanes);
}

TEST_CASE("More threads at once than there are buffers lose records, which are counted") {
  const TempDir dir;
  {
    Writer writer({.path = dir / "c", .background = false});
    REQUIRE(writer.start());
    std::atomic<std::uint32_t> ready{0};
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < Writer::kMaxLanes + 3; ++t)
      threads.emplace_back([&] {
        record_op(writer, 1);
        ++ready;
        while (ready < Writer::kMaxLanes + 3) std::this_thread::yield();
      });
    for (auto& thread : threads) thread.join();
    writer.end();
    CHECK(writer.lost(RecordKind::OpEvent, LossReason::too_many_threads) == 3);
  }
  const auto reader = open(dir / "c");
  REQUIRE(reader->losses().recorded.size() == 1);
  CHECK(reader->losses().recorded[0].reason == LossReason::too_many_threads);
  CHECK(reader->losses().recorded[0].count == 3);
}

TEST_CASE("Equal strings have one handle, and long ones are cut") {
  const TempDir dir;
  std::uint64_t a = 0, b = 0;
  {
    Writer writer({.path = dir / "c", .background = false});
    REQUIRE(writer.start());
    CHECK(writer.add_string("amp") == kAmpDomain);
    a = writer.add_string("matmul");
    CHECK(writer.add_string("matmul") == a);
    b = writer.add_string(std::string(kMaxTextBytes + 100, 'y'));
    CHECK(a != b);
    writer.end();
  }
  const auto reader = open(dir / "c");
  CHECK(reader->string(0, a) == "matmul");
  CHECK(reader->string(0, b) == std::string(kMaxTextBytes, 'y'));
  REQUIRE(reader->losses().recorded.size() == 1);
  CHECK(reader->losses().recorded[0].kind == RecordKind::StringRecord);
  CHECK(reader->losses().recorded[0].reason == LossReason::oversized);
}

TEST_CASE("Strings past the store's bound are still written") {
  const TempDir dir;
  constexpr int kStrings = 3000;  // of 2 KiB: more than the store keeps
  std::vector<std::uint64_t> handles;
  {
    Writer writer({.path = dir / "c", .background = false});
    REQUIRE(writer.start());
    for (int i = 0; i < kStrings; ++i) handles.push_back(writer.add_string(std::to_string(i) + std::string(2048, '-')));
    writer.end();
  }
  const auto reader = open(dir / "c");
  for (int i = 0; i < kStrings; i += 7)
    CHECK(reader->string(0, handles[static_cast<std::size_t>(i)]).starts_with(std::to_string(i) + "-"));
}

TEST_CASE("Names survive a damaged beginning of a long capture") {
  const TempDir dir;
  std::uint64_t name = 0;
  {
    Writer writer({.path = dir / "c", .background = false});
    REQUIRE(writer.start());
    name = writer.add_string("encoder.0");
    for (std::uint32_t i = 0; i < 20'000; ++i) record_op(writer, i);
    writer.end();
  }
  std::string bytes = test::read_file(dir / "c");
  bytes.replace(0, 2000, 2000, 'x');
  test::OwnedReader reader(bytes);
  REQUIRE(reader);
  CHECK(reader->string(0, name) == "encoder.0");
  CHECK(reader->process(0).has_process_record);
  CHECK(reader->losses().any());
}

TEST_CASE("A file size limit costs records, not the process") {
  const TempDir dir;
  const int status = in_child([&] {
    const rlimit limit{200'000, 200'000};
    setrlimit(RLIMIT_FSIZE, &limit);  // SIGXFSZ keeps its default action: to end the process
    Writer writer({.path = dir / "c"});
    if (!writer.start()) _exit(1);
    for (std::uint32_t i = 0; i < 50'000; ++i) record_op(writer, i);
    writer.end();
    if (writer.lost(RecordKind::OpEvent, LossReason::write_failed) == 0) _exit(2);
    sigset_t pending;
    sigpending(&pending);
    if (sigismember(&pending, SIGXFSZ) != 0) _exit(3);  // nothing of ours may be left to the program
  });
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  const auto reader = open(dir / "c");
  CHECK(test::count_of(*reader, RecordKind::OpEvent) > 100);
  CHECK(reader->file_bytes() <= 200'000);
  CHECK(reader->losses().unended_processes == 1);
}

TEST_CASE("When the disk has room again recording goes on, and the gap is counted") {
  const TempDir dir;
  const int status = in_child([&] {
    rlimit limit{};
    getrlimit(RLIMIT_FSIZE, &limit);
    Writer writer({.path = dir / "c", .background = false});
    if (!writer.start()) _exit(1);
    const rlimit full{100'000, limit.rlim_max};
    setrlimit(RLIMIT_FSIZE, &full);
    for (std::uint32_t i = 0; i < 20'000; ++i) record_op(writer, i);
    setrlimit(RLIMIT_FSIZE, &limit);
    usleep(2'200'000);  // longer than the longest wait between two attempts
    for (std::uint32_t i = 0; i < 1000; ++i) record_op(writer, 1'000'000);
    writer.end();
  });
  REQUIRE(WIFEXITED(status));
  REQUIRE(WEXITSTATUS(status) == 0);
  const auto reader = open(dir / "c");
  std::size_t late = 0, early = 0;
  for (RecordView record; reader->next(record);)
    if (record.kind == RecordKind::OpEvent) ++(read_event<amp::OpEvent>(record).step == 1'000'000 ? late : early);
  CHECK(late == 1000);
  CHECK(early < 20'000);
  CHECK(reader->losses().unended_processes == 0);
  std::uint64_t lost = 0;
  for (const auto& row : reader->losses().recorded)
    if (row.kind == RecordKind::OpEvent && row.reason == LossReason::write_failed) lost += row.count;
  CHECK(lost + early == 20'000);
  CHECK(reader->losses().missing_records == 0);
}

TEST_CASE("A removed capture is begun again, names included") {
  const TempDir dir;
  std::uint64_t name = 0;
  {
    Writer writer({.path = dir / "c", .background = false});
    REQUIRE(writer.start());
    name = writer.add_string("matmul");
    writer.flush();
    std::filesystem::remove(dir / "c");
    record_op(writer, 1);
    writer.flush();
    record_op(writer, 2);
    writer.end();
  }
  const auto reader = open(dir / "c");
  CHECK(reader->string(0, name) == "matmul");
  CHECK(reader->process(0).has_process_record);
  CHECK(test::count_of(*reader, RecordKind::OpEvent) == 2);
}

TEST_CASE("A directory that is gone is a counted loss") {
  const TempDir dir;
  std::filesystem::create_directory(dir / "sub");
  Writer writer({.path = dir / "sub/c", .background = false});
  REQUIRE(writer.start());
  std::filesystem::remove_all(dir / "sub");
  for (std::uint32_t i = 0; i < 20'000; ++i) record_op(writer, i);
  CHECK(writer.lost(RecordKind::OpEvent, LossReason::write_failed) > 0);
}

TEST_CASE("A descriptor number that became another file is not written to") {
  const TempDir dir;
  const int status = in_child([&] {
    Writer writer({.path = dir / "c", .background = false});
    if (!writer.start()) _exit(1);
    for (int fd = 3; fd < 1024; ++fd) close(fd);
    const int victim = ::open((dir / "victim").c_str(), O_RDWR | O_CREAT | O_APPEND, 0600);
    for (int fd = 3; fd < 1024; ++fd)
      if (fd != victim) dup2(victim, fd);  // whatever number the writer has, it is the victim now
    record_op(writer, 1);
    writer.end();
  });
  REQUIRE(WIFEXITED(status));
  REQUIRE(WEXITSTATUS(status) == 0);
  CHECK(std::filesystem::file_size(dir / "victim") == 0);
  const auto reader = open(dir / "c");
  CHECK(test::count_of(*reader, RecordKind::OpEvent) == 1);
}

TEST_CASE("A forked child is a process of its own and repeats nothing of its parent") {
  const TempDir dir;
  {
    Writer writer({.path = dir / "c", .background = false});
    REQUIRE(writer.start());
    const std::uint64_t name = writer.add_string("shared");
    record_op(writer, 1);  // still in the buffer when we fork
    const auto forked = [&](bool records) {
      writer.before_fork();
      const pid_t pid = fork();
      if (pid != 0) {
        writer.after_fork_in_parent();
        int status = 0;
        waitpid(pid, &status, 0);
        return;
      }
      writer.after_fork_in_child();
      if (records) record_op(writer, 2);
      writer.end();
      _exit(name == 0 ? 1 : 0);
    };
    forked(true);
    forked(false);
    record_op(writer, 3);
    writer.end();
  }
  const auto reader = open(dir / "c");
  CHECK(!reader->losses().any());
  REQUIRE(reader->processes().size() == 2);  // the child that recorded nothing left no trace
  std::vector<std::vector<std::uint32_t>> steps(2);
  for (RecordView record; reader->next(record);)
    if (record.kind == RecordKind::OpEvent) steps[record.process].push_back(read_event<amp::OpEvent>(record).step);
  for (std::uint32_t i = 0; i < 2; ++i) {
    const bool child = reader->process(i).forked;
    CHECK(steps[i] == (child ? std::vector<std::uint32_t>{2} : std::vector<std::uint32_t>{1, 3}));
    CHECK(reader->process(i).ended);
    CHECK(reader->string(i, 2) == "shared");
  }
}

TEST_CASE("What was flushed in time survives kill -9") {
  const TempDir dir;
  const int status = in_child([&] {
    Writer writer({.path = dir / "c"});
    if (!writer.start()) _exit(1);
    for (std::uint32_t i = 0; i < 1000; ++i) record_op(writer, i);
    usleep(500'000);  // ten flush intervals
    kill(getpid(), SIGKILL);
  });
  REQUIRE(WIFSIGNALED(status));
  const auto reader = open(dir / "c");
  CHECK(test::count_of(*reader, RecordKind::OpEvent) == 1000);
  CHECK(reader->losses().unended_processes == 1);
  CHECK(!reader->losses().any());
}

TEST_CASE("A record too large for a block is counted") {
  const TempDir dir;
  Writer writer({.path = dir / "c", .background = false});
  REQUIRE(writer.start());
  const std::string large(kMaxRecordPayloadBytes + 1, 'x');
  writer.record(RecordKind::TensorStatEvent, 1, {}, std::as_bytes(std::span(large)));
  CHECK(writer.lost(RecordKind::TensorStatEvent, LossReason::oversized) == 1);
  const std::string fits(kMaxRecordPayloadBytes, 'x');
  for (int i = 0; i < 50; ++i) writer.record(RecordKind::TensorStatEvent, 1, {}, std::as_bytes(std::span(fits)));
  writer.end();
  const auto reader = open(dir / "c");
  CHECK(test::count_of(*reader, RecordKind::TensorStatEvent) == 50);
}
