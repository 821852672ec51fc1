// Replaying allocations: the peak of the run, and of the same run in float32.
#include "profiler/analysis/memory.h"

#include <catch2/catch_test_macros.hpp>

#include "tests/analysis/tiny_run.h"

using namespace ampprof;
using amp::MemoryCause;
using analysis::replay_memory;
using test::TinyRun;

namespace {
std::uint64_t at(const analysis::CauseBytes& bytes, MemoryCause cause) {
  return bytes[static_cast<std::size_t>(cause)];
}
}  // namespace

TEST_CASE("a cast and its source are one allocation in a float32 run, and live until the last of them is freed",
          "[analysis][memory]") {
  TinyRun run;
  run.alloc(1, 400, 400, MemoryCause::weights);
  run.alloc(2, 200, 400, MemoryCause::cast_cache, 1);     // float16 copy of the weights: free in float32
  run.alloc(3, 1000, 2000, MemoryCause::activations);     // float16 activations
  run.alloc(4, 2000, 2000, MemoryCause::activations, 3);  // and their float32 cast
  run.free(3).free(4).free(2);
  const auto memory = replay_memory(run.finish());
  CHECK(memory.peak.bytes == 3600);
  CHECK(memory.peak_if_fp32.bytes == 2400);
  CHECK(memory.saved_bytes() == -1200);
  CHECK(at(memory.peak.by_cause, MemoryCause::cast_cache) == 200);
  CHECK(at(memory.peak_if_fp32.by_cause, MemoryCause::cast_cache) == 0);
  CHECK(at(memory.peak_if_fp32.by_cause, MemoryCause::activations) == 2000);
  CHECK(memory.end_bytes == 400);
  CHECK(memory.points.back().bytes_if_fp32 == 400);
}

TEST_CASE("the source may be freed first: in float32 the bytes stay as long as the cast lives", "[analysis][memory]") {
  TinyRun run;
  run.alloc(1, 100, 200, MemoryCause::activations).alloc(2, 200, 200, MemoryCause::activations, 1).free(1);
  run.alloc(3, 300, 600, MemoryCause::activations).free(2).free(3);
  const auto memory = replay_memory(run.finish());
  CHECK(memory.peak.bytes == 500);
  CHECK(memory.peak_if_fp32.bytes == 800);
  CHECK(memory.end_bytes == 0);
  CHECK(memory.points.back().bytes_if_fp32 == 0);
}

TEST_CASE("a cast of a cast joins the same group, also when the first source is gone", "[analysis][memory]") {
  TinyRun run;
  run.alloc(1, 400, 400, MemoryCause::weights).alloc(2, 200, 400, MemoryCause::activations, 1).free(1);
  run.alloc(3, 400, 400, MemoryCause::activations, 2);
  const auto memory = replay_memory(run.finish());
  CHECK(memory.peak_if_fp32.bytes == 400);
  CHECK(at(memory.peak_if_fp32.by_cause, MemoryCause::weights) == 400);
}

TEST_CASE("a cast that writes out an expanded tensor has no bytes in a float32 run, where it stays expanded",
          "[analysis][memory]") {
  TinyRun run;
  run.alloc(1, 4, 4, MemoryCause::gradients).alloc(2, 2048, 4096, MemoryCause::gradients, 1).free(1).free(2);
  const auto memory = replay_memory(run.finish());
  CHECK(memory.peak.bytes == 2052);
  CHECK(memory.peak_if_fp32.bytes == 4);
  CHECK(memory.points.back().bytes_if_fp32 == 0);
}

TEST_CASE("the two peaks are each taken at their own moment", "[analysis][memory]") {
  TinyRun run;
  run.step(4).alloc(1, 1000, 1000, MemoryCause::workspace).free(1);
  run.step(5).alloc(2, 600, 1200, MemoryCause::activations).free(2);
  const auto memory = replay_memory(run.finish());
  CHECK(memory.peak.bytes == 1000);
  CHECK(memory.peak.step == 4);
  CHECK(memory.peak_if_fp32.bytes == 1200);
  CHECK(memory.peak_if_fp32.step == 5);
  CHECK(at(memory.peak_if_fp32.by_cause, MemoryCause::workspace) == 0);
}

TEST_CASE("what an allocation is for counts from its begin, also when it became known later", "[analysis][memory]") {
  TinyRun run;
  run.alloc(1, 64, 64, MemoryCause::other).cause(1, MemoryCause::weights);
  const auto memory = replay_memory(run.finish());
  CHECK(at(memory.peak.by_cause, MemoryCause::weights) == 64);
  CHECK(at(memory.peak.by_cause, MemoryCause::other) == 0);
}

TEST_CASE("an allocation that a float32 run would not have counts for nothing there", "[analysis][memory]") {
  TinyRun run;
  run.alloc(1, 64, 0, MemoryCause::workspace).free(1).free(1);
  const auto memory = replay_memory(run.finish());
  CHECK(memory.peak.bytes == 64);
  CHECK(memory.peak_if_fp32.bytes == 0);
  CHECK(memory.unknown_frees == 1);
}

TEST_CASE("weights of 16 M elements at batch 1 cost memory, at a large batch they save it", "[analysis][memory]") {
  // Weights stay in float32 and get a float16 copy; only activations are halved.
  const auto saved = [](std::uint64_t batch) {
    TinyRun run;
    constexpr std::uint64_t kWeights = 16u << 20, kWidth = 4096;
    run.alloc(1, kWeights * 4, kWeights * 4, MemoryCause::weights);
    run.alloc(2, kWeights * 2, kWeights * 4, MemoryCause::cast_cache, 1);
    run.alloc(3, batch * kWidth * 2, batch * kWidth * 4, MemoryCause::activations);
    return replay_memory(run.finish()).saved_bytes();
  };
  CHECK(saved(1) == -33546240);
  CHECK(saved(8192) == 33554432);
}

TEST_CASE("thinning the points of a long run keeps its peak", "[analysis][memory]") {
  TinyRun run;
  for (std::uint64_t i = 1; i <= 5000; ++i) run.alloc(i, i == 2500 ? 9999 : 1, 1, MemoryCause::other).free(i);
  const auto memory = replay_memory(run.finish());
  CHECK(memory.points.size() <= analysis::kMaxMemoryPoints);
  std::uint64_t most = 0;
  for (const auto& point : memory.points) most = std::max(most, point.bytes);
  CHECK(most == 9999);
}

TEST_CASE("the peak inside training steps is told apart from that of an evaluation", "[analysis][memory]") {
  TinyRun run;
  run.alloc(1, 100, 100, MemoryCause::weights);
  run.step(0).alloc(2, 50, 100, MemoryCause::activations).free(2).end_step();
  run.alloc(3, 500, 500, MemoryCause::activations).free(3);
  const auto memory = replay_memory(run.finish());
  CHECK(memory.saved_bytes() == 0);
  CHECK(memory.peak.step == amp::kNoStep);
  CHECK(memory.in_steps);
  CHECK(memory.step_peak.bytes == 150);
  CHECK(memory.step_saved_bytes() == 50);
}

TEST_CASE("a run that announced no allocation was not measured", "[analysis][memory]") {
  TinyRun run;
  run.op("op", 1);
  CHECK_FALSE(replay_memory(run.finish()).measured);
}
