// Makes numbered things on threads ahead of whoever takes them, in order and no further ahead than a window.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "libamp/core/tensor.h"

namespace amp::data {

/// Calls make(i) for i in [begin, end) on `workers` threads and hands out the results in order of i, whatever order
/// they are ready in. At most `window` of them are made or being made and not taken.
class Prefetch {
 public:
  using Make = std::function<Tensors(std::int64_t)>;
  /// workers and window at least 1. Throws Error(runtime) if the system gives no thread.
  Prefetch(std::int64_t begin, std::int64_t end, int workers, std::int64_t window, Make make);
  /// Waits for the calls of make that run; those not begun are left out.
  ~Prefetch();
  Prefetch(const Prefetch&) = delete;
  Prefetch& operator=(const Prefetch&) = delete;

  /// The next result, or the exception its make threw. Not beyond the end. [one thread]
  Tensors next();

 private:
  struct Slot {
    bool ready = false;
    Tensors result;
    std::exception_ptr error;
  };
  void work();
  void stop();

  const std::int64_t end_, window_;
  const Make make_;
  std::mutex mutex_;
  std::condition_variable room_, ready_;
  std::int64_t started_, taken_;  // next to be made, next to be taken
  bool stopping_ = false;
  std::vector<Slot> slots_;  // result i waits in slot i % window
  std::vector<std::thread> threads_;
};

}  // namespace amp::data
