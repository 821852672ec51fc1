// Splitting loops over threads: everything once, errors reach the caller, forks survive.
#include "libamp/core/thread_pool.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <stdexcept>
#include <vector>

using namespace amp;

namespace {
struct Threads {
  explicit Threads(int n) : before(num_threads()) { set_num_threads(n); }
  ~Threads() { set_num_threads(before); }
  int before;
};
}  // namespace

TEST_CASE("each index is visited exactly once for any size, grain and thread count") {
  for (const int threads : {1, 2, 5}) {
    const Threads use(threads);
    for (const std::int64_t n : {0, 1, 7, 1000, 4097})
      for (const std::int64_t grain : {1, 3, 5000}) {
        std::vector<std::atomic<int>> visits(static_cast<std::size_t>(n));
        parallel_for(n, grain, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) ++visits[static_cast<std::size_t>(i)];
        });
        for (const auto& v : visits) REQUIRE(v == 1);
      }
  }
}

TEST_CASE("an exception in a chunk is thrown in the caller and the pool goes on") {
  const Threads use(3);
  CHECK_THROWS_AS(parallel_for(100, 1,
                               [](std::int64_t begin, std::int64_t) {
                                 if (begin == 50 || begin == 49 || begin == 0) throw std::runtime_error("chunk");
                               }),
                  std::runtime_error);
  std::atomic<int> count{0};
  parallel_for(100, 1, [&](std::int64_t begin, std::int64_t end) { count += static_cast<int>(end - begin); });
  CHECK(count == 100);
}

TEST_CASE("nested loops run in the thread they are called from") {
  const Threads use(2);
  std::atomic<int> count{0};
  parallel_for(8, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      parallel_for(8, 1, [&](std::int64_t b, std::int64_t e) { count += static_cast<int>(e - b); });
  });
  CHECK(count == 64);
}

TEST_CASE("a forked child has a pool of its own") {
#if defined(__SANITIZE_THREAD__)
  SKIP("thread sanitizer ends a child that starts threads after a fork of a process with threads");
#endif
  const Threads use(2);
  parallel_for(100, 1, [](std::int64_t, std::int64_t) {});  // starts the parent's workers
  const pid_t child = fork();
  if (child == 0) {
    std::atomic<int> count{0};
    parallel_for(100, 1, [&](std::int64_t begin, std::int64_t end) { count += static_cast<int>(end - begin); });
    _exit(count == 100 ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
}
