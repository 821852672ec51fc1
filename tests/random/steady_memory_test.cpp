// A training loop's memory is that of its first steps: nothing of a step outlives it.
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <fstream>

#include "libamp/amp.h"
#include "libamp/core/allocator.h"
#include "libamp/core/observer.h"

using namespace amp;

namespace {

/// Listens, counts and keeps nothing, so that what grows is the library's own.
class Counter final : public Observer {
 public:
  Counter() { observe::attach(observe::Slot::in_process, this); }
  ~Counter() override { observe::attach(observe::Slot::in_process, nullptr); }
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;

  std::atomic<long> ops = 0, allocs = 0, frees = 0;  // workspaces come and go in worker threads
  void begin_op(const OpEvent&) noexcept override { ++ops; }
  void end_op(const OpEvent&) noexcept override {}
  void begin_cast(const CastEvent&) noexcept override {}
  void end_cast(const CastEvent&) noexcept override {}
  void mark(const CastEvent&) noexcept override {}
  void mark(const ScalerEvent&) noexcept override {}
  void mark(const TensorStatEvent&, std::span<const std::uint64_t>) noexcept override {}
  void mark(const AllocEvent&) noexcept override { ++allocs; }
  void mark(const FreeEvent&) noexcept override { ++frees; }
  void mark(const CauseEvent&) noexcept override {}
  void mark(const StepEvent&) noexcept override {}
  void mark(const FactEvent&) noexcept override {}
};

nn::Sequential make_mlp() { return nn::Sequential(nn::Flatten(), nn::Linear(64, 16), nn::ReLU(), nn::Linear(16, 4)); }
nn::Sequential make_cnn() {
  return nn::Sequential(nn::Conv2d(1, 4, 3, {.padding = 1}), nn::BatchNorm2d(4), nn::ReLU(), nn::MaxPool2d(2),
                        nn::Flatten(), nn::Linear(64, 4));
}

/// Bytes of this process's pages in memory.
std::size_t resident() {
  std::size_t total = 0, pages = 0;
  std::ifstream("/proc/self/statm") >> total >> pages;
  return pages * 4096;
}

class Training {
 public:
  Training(nn::Sequential model, Policy policy) : model_(std::move(model)), policy_(policy) {}

  void run(int steps) {
    for (int i = 0; i < steps; ++i) step();
  }

 private:
  void step() {
    optimizer_.zero_grad();
    const Tensor input = randn({4, 1, 8, 8}), target = randint(0, 4, {4});
    // Now and then a batch that overflows, so that skipped steps are among them.
    if (++steps_ % 50 == 0) input.mul_(1e6);
    Tensor loss;
    {
      const autocast region("cpu", {.dtype = kFloat16, .policy = policy_});
      loss = cross_entropy(model_(input), target);
    }
    scaler_.scale(loss).backward();
    scaler_.unscale_(optimizer_);
    nn::utils::clip_grad_norm_(model_.parameters(), 1);
    scaler_.step(optimizer_);
    scaler_.update();
  }

  nn::Sequential model_;
  Policy policy_;
  Adam optimizer_{model_.parameters(), {.lr = 1e-3}};
  GradScaler scaler_{"cpu"};
  int steps_ = 0;
};

void check_steady(nn::Sequential model, Policy policy) {
  Training training(std::move(model), policy);
  training.run(10);
  const auto early = cpu_allocator::statistics();
  training.run(90);
  const std::size_t resident_early = resident();
  training.run(900);
  const auto late = cpu_allocator::statistics();
  CHECK(late.used == early.used);
  // Blocks are kept by size class, so one that first fits at a later step may add to them, once.
  CHECK(late.cached <= early.cached + (std::size_t{64} << 10));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  // 900 steps of some 50 ops: 12 bytes an op would be seen.
  CHECK(resident() <= resident_early + (std::size_t{512} << 10));
#endif
}

}  // namespace

TEST_CASE("memory after 1000 training steps is memory after 10") {
  manual_seed(3);
  for (const Policy policy : {Policy::cuda, Policy::cpu}) {
    CAPTURE(name(policy));
    check_steady(make_mlp(), policy);
    check_steady(make_cnn(), policy);
  }
}

TEST_CASE("memory after 1000 training steps is memory after 10 with an observer attached") {
  manual_seed(3);
  Counter counter;
  check_steady(make_mlp(), Policy::cuda);
  check_steady(make_cnn(), Policy::cpu);
#if AMP_OBSERVE
  CHECK(counter.ops > 10000);
  CHECK(counter.allocs - counter.frees < 1000);
#endif
}
