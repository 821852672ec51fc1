// Trains a few steps with autocast and a GradScaler, listens to itself, and prints a digest of what it announced, a
// line for each kind of event. tests/recorder compares that with what a capture of the run holds.
#include <cstdio>
#include <utility>

#include "libamp/amp.h"
#include "libamp/observe/in_process.h"
#include "tests/observe/event_digest.h"

namespace {

template <class Event>
void print(const std::vector<Event>& events) {
  amp::test::EventDigest digest;
  for (Event event : events) {
    if constexpr (Event::kId == amp::EventId::ScalerEvent) event.optimizer = 0;  // an address: differs from run to run
    add_event(digest, event, [](amp::StringId id) { return amp::observe::text(id); });
  }
  std::printf("%s %llu %016llx\n", Event::kName, static_cast<unsigned long long>(digest.events),
              static_cast<unsigned long long>(digest.hash));
}

void print(const std::vector<amp::observe::Recording::Stat>& stats) {
  amp::test::EventDigest digest;
  for (const auto& stat : stats) {
    amp::TensorStatEvent event = stat.event;
    event.exponent_bins = static_cast<std::uint32_t>(stat.counts.size());
    add_event(digest, event, [](amp::StringId id) { return amp::observe::text(id); });
    digest.add(stat.counts.data(), stat.counts.size() * sizeof(std::uint64_t));
  }
  std::printf("TensorStatEvent %llu %016llx\n", static_cast<unsigned long long>(digest.events),
              static_cast<unsigned long long>(digest.hash));
}

void train() {
  amp::manual_seed(1);
  amp::nn::Sequential model(amp::nn::Linear(8, 16), amp::nn::ReLU(), amp::nn::Linear(16, 4));
  amp::SGD optimizer(model.parameters(), {.lr = 0.05});
  amp::GradScaler scaler;
  for (int step = 0; step < 3; ++step) {
    const amp::Tensor input = amp::randn({4, 8}), target = amp::randint(0, 4, {4});
    optimizer.zero_grad();
    amp::Tensor loss;
    {
      amp::autocast region("cpu", amp::kFloat16);
      loss = amp::cross_entropy(model(input), target);
    }
    scaler.scale(loss).backward();
    scaler.step(optimizer);
    scaler.update();
  }
}

}  // namespace

int main() {
  amp::observe::Recording recording;
  train();  // all it made is freed when it returns, so that the recording misses no FreeEvent
  print(recording.ops);
  print(recording.casts);
  print(recording.scaler);
  print(recording.stats);
  print(recording.allocs);
  print(recording.frees);
  print(recording.causes);
  print(recording.steps);
}
