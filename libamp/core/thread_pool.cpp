// A fixed pool of workers that take chunks of one loop at a time. Each thread first takes chunks of its own share, the
// same part of [0, n) in every loop, so that what one op left in a processor's cache is there for the next; who is done
// helps the others.
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

// The chunks [next, end) that one thread has not begun.
struct alignas(64) Share {
  std::atomic<std::int64_t> next{0};
  std::int64_t end = 0;
};

struct Loop {
  void (*run)(void*, std::int64_t, std::int64_t);
  void* context;
  std::int64_t n, chunk;
  Share* shares;  // one a thread
  int threads;
  Context caller;
  std::mutex error_mutex;
  std::exception_ptr error;

  void work(int thread) {
    for (int k = 0; k < threads; ++k) {
      Share& share = shares[(thread + k) % threads];
      for (std::int64_t i; (i = share.next.fetch_add(1, std::memory_order_relaxed)) < share.end;) {
        try {
          run(context, i * chunk, std::min(n, (i + 1) * chunk));
        } catch (...) {
          const std::lock_guard lock(error_mutex);
          if (!error) error = std::current_exception();
        }
      }
    }
  }
};

thread_local bool inside_loop = false;

// Ops of a training step follow each other within microseconds, and a sleeping thread takes longer than a small op to
// wake: whoever waits looks again for 100 to 300 microseconds before it sleeps. Where there are more threads than
// processors to run them, it soon leaves its processor to the others.
constexpr int kLooks = 6000, kLooksWhenCrowded = 50;
inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}
template <typename F>
bool looks_until(int looks, F ready) {
  for (int i = 0; i < looks; ++i) {
    if (ready()) return true;
    pause();
  }
  return ready();
}

// That this process may run on.
int processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

class Pool {
 public:
  explicit Pool(int workers)
      : looks_(workers < processors() ? kLooks : kLooksWhenCrowded), shares_(static_cast<std::size_t>(workers) + 1) {
    for (int i = 0; i < workers; ++i) threads_.emplace_back([this, i] { serve(i + 1); });
  }
  ~Pool() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    for (auto& t : threads_) t.join();
  }

  void run(Loop& loop, std::int64_t chunks) {
    const auto threads = static_cast<std::int64_t>(shares_.size());
    for (std::int64_t i = 0; i < threads; ++i) {
      shares_[static_cast<std::size_t>(i)].next.store(chunks * i / threads, std::memory_order_relaxed);
      shares_[static_cast<std::size_t>(i)].end = chunks * (i + 1) / threads;
    }
    loop.shares = shares_.data();
    loop.threads = static_cast<int>(threads);
    loop_ = &loop;
    bool sleepers;
    {
      const std::lock_guard lock(mutex_);
      state_.store((state_.load() / kNext + 1) * kNext + kOpen);  // publishes the loop
      sleepers = sleepers_ > 0;
    }
    if (sleepers) wake_.notify_all();
    inside_loop = true;
    loop.work(0);
    inside_loop = false;
    // Nothing is left to begin. Who has not come yet is not waited for.
    state_.fetch_sub(kOpen);
    const auto done = [this] { return state_.load() % kOpen == 0; };
    if (looks_until(looks_, done)) return;
    std::unique_lock lock(mutex_);
    done_.wait(lock, done);
  }

 private:
  // state_: the number of the loop, whether it may be joined, how many workers are in it.
  static constexpr std::uint64_t kOpen = 1 << 16, kNext = 1 << 17;
  static bool can_join(std::uint64_t state, std::uint64_t last) { return state / kNext != last && state & kOpen; }

  void serve(int thread) {
    inside_loop = true;
    std::uint64_t last = 0;  // the loop this worker was in
    const auto called = [&] { return can_join(state_.load(), last) || stopping_.load(); };
    while (true) {
      if (!looks_until(looks_, called)) {
        std::unique_lock lock(mutex_);
        ++sleepers_;
        wake_.wait(lock, called);
        --sleepers_;
      }
      if (stopping_) return;
      std::uint64_t state = state_.load();
      if (!can_join(state, last) || !state_.compare_exchange_strong(state, state + 1)) continue;
      last = state / kNext;
      context() = loop_->caller;
      loop_->work(thread);
      if ((state_.fetch_sub(1) - 1) % kNext == 0) {  // the last one out of a closed loop
        const std::lock_guard lock(mutex_);          // so that the caller is either before its test or asleep
        done_.notify_one();
      }
    }
  }

  const int looks_;
  std::vector<Share> shares_;  // of the loop that runs
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::vector<std::thread> threads_;
  Loop* loop_ = nullptr;  // read by who has joined
  std::atomic<std::uint64_t> state_{0};
  int sleepers_ = 0;  // under the mutex
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
  return processors();
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
  Loop loop{run, loop_context, n, 0, nullptr, 0, context(), {}, {}};
  const std::int64_t wanted = std::min<std::int64_t>((n + grain - 1) / grain, static_cast<std::int64_t>(threads) * 4);
  loop.chunk = (n + wanted - 1) / wanted;
  s.pool->run(loop, (n + loop.chunk - 1) / loop.chunk);
  if (loop.error) std::rethrow_exception(loop.error);
}

}  // namespace amp
