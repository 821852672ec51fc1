// One lock, held only to take a number and to put a result down.
#include "libamp/data/prefetch.h"

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>

#include "libamp/core/grad_mode.h"

namespace amp::data {

Prefetch::Prefetch(std::int64_t begin, std::int64_t end, int workers, std::int64_t window, Make make)
    : end_(end),
      window_(window),
      make_(std::move(make)),
      started_(begin),
      taken_(begin),
      slots_(static_cast<std::size_t>(window)) {
  const auto wanted = static_cast<int>(std::min<std::int64_t>(workers, end - begin));
  try {
    for (int i = 0; i < wanted; ++i) threads_.emplace_back([this] { work(); });
  } catch (const std::system_error& e) {
    stop();
    fail(ErrorCode::runtime, "DataLoader",
         "cannot start " + std::to_string(wanted) + " workers, got " + std::to_string(threads_.size()) + ": " +
             e.what());
  }
}

Prefetch::~Prefetch() { stop(); }

void Prefetch::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  room_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Prefetch::work() {
  const no_grad quiet;
  std::unique_lock lock(mutex_);
  while (true) {
    room_.wait(lock, [this] { return stopping_ || started_ == end_ || started_ < taken_ + window_; });
    if (stopping_ || started_ == end_) return;
    const std::int64_t number = started_++;
    lock.unlock();
    Slot made;
    try {
      made.result = make_(number);
    } catch (...) {
      made.error = std::current_exception();
    }
    made.ready = true;
    lock.lock();
    slots_[static_cast<std::size_t>(number % window_)] = std::move(made);
    ready_.notify_one();
  }
}

Tensors Prefetch::next() {
  std::unique_lock lock(mutex_);
  Slot& slot = slots_[static_cast<std::size_t>(taken_ % window_)];
  ready_.wait(lock, [&] { return slot.ready; });
  const Slot taken = std::exchange(slot, Slot{});
  ++taken_;
  lock.unlock();
  room_.notify_one();
  if (taken.error) std::rethrow_exception(taken.error);
  return taken.result;
}

}  // namespace amp::data
