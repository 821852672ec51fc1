// A fixed pool of workers that take chunks of one loop at a time.
#include "libamp/core/thread_pool.h"

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "libamp/core/context.h"
#include "libamp/core/cpu_check.h"

namespace amp {
namespace {

struct Loop {
  void (*run)(void*, std::int64_t, std::int64_t);
  void* context;
  std::int64_t n, chunk;
  std::int64_t chunks;
  Context caller;
  std::atomic<std::int64_t> next{0};
  std::mutex error_mutex;
  std::exception_ptr error;

  void work() {
    for (std::int64_t i; (i = next.fetch_add(1)) < chunks;) {
      try {
        run(context, i * chunk, std::min(n, (i + 1) * chunk));
      } catch (...) {
        const std::lock_guard lock(error_mutex);
        if (!error) error = std::current_exception();
      }
    }
  }
};

thread_local bool inside_loop = false;

// Ops of a training step follow each other within microseconds: whoever waits looks again for about that long before it
// lets the system put it to sleep, which costs more to undo.
constexpr int kLooks = 1000;
inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}
template <typename F>
bool looks_until(F ready) {
  for (int i = 0; i < kLooks; ++i) {
    if (ready()) return true;
    pause();
  }
  return ready();
}

class Pool {
 public:
  explicit Pool(int workers) {
    for (int i = 0; i < workers; ++i) threads_.emplace_back([this] { serve(); });
  }
  ~Pool() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      ++generation_;
    }
    wake_.notify_all();
    for (auto& t : threads_) t.join();
  }

  void run(Loop& loop) {
    loop_ = &loop;
    busy_ = static_cast<int>(threads_.size());
    bool sleepers;
    {
      const std::lock_guard lock(mutex_);
      ++generation_;  // publishes the loop
      sleepers = sleepers_ > 0;
    }
    if (sleepers) wake_.notify_all();
    inside_loop = true;
    loop.work();
    inside_loop = false;
    const auto done = [this] { return busy_.load(std::memory_order_acquire) == 0; };
    if (looks_until(done)) return;
    std::unique_lock lock(mutex_);
    done_.wait(lock, done);
  }

 private:
  void serve() {
    inside_loop = true;
    std::uint64_t seen = 0;
    const auto called = [&] { return generation_.load(std::memory_order_acquire) != seen; };
    while (true) {
      if (!looks_until(called)) {
        std::unique_lock lock(mutex_);
        ++sleepers_;
        wake_.wait(lock, called);
        --sleepers_;
      }
      if (stopping_) return;
      ++seen;
      Loop* loop = loop_;
      context() = loop->caller;
      loop->work();
      if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        const std::lock_guard lock(mutex_);  // so that the caller is either before its test or asleep
        done_.notify_one();
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::vector<std::thread> threads_;
  Loop* loop_ = nullptr;                      // written before a generation is published, while all workers wait
  std::atomic<int> busy_{0};                  // workers that have not finished the loop
  std::atomic<std::uint64_t> generation_{0};  // loops published; written under the mutex
  int sleepers_ = 0;                          // under the mutex
  std::atomic<bool> stopping_{false};
};

// Every program that uses libamp has this file, and through it the check.
[[maybe_unused]] __attribute__((used)) const auto keep_cpu_check = &compiled_for;

int default_threads() {
  for (const char* variable : {"AMP_NUM_THREADS", "OMP_NUM_THREADS"})
    if (const char* text = std::getenv(variable)) {
      const int n = std::atoi(text);
      if (n > 0) return n;
    }
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

struct Shared {
  std::mutex mutex;  // one loop at a time; a second calling thread runs its loop alone
  std::unique_ptr<Pool> pool;
  std::atomic<int> threads{default_threads()};
};
Shared& shared() {
  static auto* instance = new Shared;  // leaked, and with it the workers: they may outlive statics
  return *instance;
}

// A forked child has the pool's memory but not its threads: it starts anew, leaking the parent's objects.
[[maybe_unused]] const int at_fork = pthread_atfork(nullptr, nullptr, [] {
  auto& s = shared();
  new (&s.mutex) std::mutex;
  [[maybe_unused]] Pool* lost = s.pool.release();
  inside_loop = false;
});

}  // namespace

int num_threads() noexcept { return shared().threads.load(std::memory_order_relaxed); }

bool inside_parallel_loop() noexcept { return inside_loop; }

void set_num_threads(int threads) {
  auto& s = shared();
  const std::lock_guard lock(s.mutex);
  s.pool.reset();
  s.threads = std::max(1, threads);
}

void parallel_for_raw(std::int64_t n, std::int64_t grain, void (*run)(void*, std::int64_t, std::int64_t),
                      void* loop_context) {
  if (n <= 0) return;
  const int threads = num_threads();
  if (threads == 1 || inside_loop || n <= grain) return run(loop_context, 0, n);
  auto& s = shared();
  const std::unique_lock lock(s.mutex, std::try_to_lock);
  if (!lock.owns_lock()) return run(loop_context, 0, n);
  if (!s.pool) s.pool = std::make_unique<Pool>(threads - 1);
  Loop loop{run, loop_context, n, 0, 0, context(), {}, {}, {}};
  const std::int64_t wanted = std::min<std::int64_t>((n + grain - 1) / grain, static_cast<std::int64_t>(threads) * 4);
  loop.chunk = (n + wanted - 1) / wanted;
  loop.chunks = (n + loop.chunk - 1) / loop.chunk;
  s.pool->run(loop);
  if (loop.error) std::rethrow_exception(loop.error);
}

}  // namespace amp
