// What libamp announces about itself, as an in-process observer hears it.
#include <catch2/catch_test_macros.hpp>
#include <numeric>
#include <string>

#include "libamp/autocast/scope.h"
#include "libamp/autograd/autograd.h"
#include "libamp/core/step_clock.h"
#include "libamp/observe/in_process.h"
#include "libamp/ops/ops.h"

using namespace amp;

namespace {

struct Watch {
  Watch() {
    step_clock::reset();
    step_clock::set_sampling("every=1");
  }
  ~Watch() {
    step_clock::set_sampling("off");
    step_clock::reset();
  }
  observe::Recording heard;
};

const OpEvent* find(const observe::Recording& heard, const char* op, Phase phase) {
  for (const auto& e : heard.ops)
    if (std::string(observe::text(e.op_name)) == op && e.phase == static_cast<std::uint8_t>(phase)) return &e;
  return nullptr;
}

}  // namespace

TEST_CASE("an op announces dtypes as given and as computed, shapes, reason and cost") {
  const Watch watch;
  const autocast region(DeviceType::cpu, {.dtype = kFloat16, .policy = Policy::cuda});
  (void)linear(ones({4, 3}), ones({2, 3}));
  REQUIRE(watch.heard.ops.size() == 1);
  const OpEvent& e = watch.heard.ops[0];
  CHECK(static_cast<DType>(e.input_dtypes[0]) == kFloat32);
  CHECK(static_cast<DType>(e.compute_dtype) == kFloat16);
  CHECK(static_cast<Reason>(e.reason) == Reason::listed_lower);
  CHECK(static_cast<CastRule>(e.rule) == CastRule::lower_precision);
  CHECK(static_cast<Policy>(e.policy) == Policy::cuda);
  CHECK(e.input_count == 2);
  CHECK(e.dims[0] == 4);
  CHECK(e.dims[3] == 3);
  CHECK(e.flops == 2 * 4 * 3 * 2);
  REQUIRE(watch.heard.casts.size() == 2);
  CHECK(watch.heard.casts[0].bytes == 12 * (4 + 2));
  CHECK(std::string(observe::text(watch.heard.casts[0].cause_name)) == "linear");
}

TEST_CASE("the cast cache's hits are announced as cached, with no bytes") {
  const Watch watch;
  Tensor w = ones({2, 3});
  w.requires_grad_();
  const autocast region(DeviceType::cpu, {.dtype = kFloat16, .policy = Policy::cuda});
  for (int i = 0; i < 3; ++i) (void)linear(ones({4, 3}), w);
  int made = 0, cached = 0;
  for (const auto& c : watch.heard.casts) (c.cached ? cached : made)++;
  CHECK(made == 4);  // the weight once, the input each time
  CHECK(cached == 2);
}

TEST_CASE("backward ops are told apart, and gradient casts name the op that forced them") {
  const Watch watch;
  Tensor w = ones({2, 3});
  w.requires_grad_();
  {
    const autocast region(DeviceType::cpu, {.dtype = kFloat16, .policy = Policy::cuda});
    linear(ones({4, 3}), w).sum().backward();
  }
  CHECK(find(watch.heard, "linear", Phase::forward) != nullptr);
  CHECK(find(watch.heard, "matmul", Phase::backward) != nullptr);
  bool widened = false;
  for (const auto& c : watch.heard.casts)
    widened = widened || (static_cast<CastKind>(c.kind) == CastKind::gradient &&
                          std::string(observe::text(c.cause_name)) == "linear");
  CHECK(widened);
}

TEST_CASE("every allocation is freed, and casts are aliases of what they were cast from") {
  const Watch watch;
  {
    const autocast region(DeviceType::cpu, {.dtype = kFloat16, .policy = Policy::cuda});
    (void)linear(ones({4, 3}), ones({2, 3}));
  }
  CHECK(watch.heard.allocs.size() == watch.heard.frees.size());
  int aliases = 0;
  for (const auto& a : watch.heard.allocs) {
    if (a.alias_of == 0) continue;
    ++aliases;
    CHECK(a.bytes_if_fp32 == 2 * a.bytes);
  }
  CHECK(aliases == 2);
}

TEST_CASE("statistics count what is there: zeros, subnormals, extremes, and what each narrow type would lose") {
  const Watch watch;
  Tensor x = tensor({0, -0.0, 0x1p-25, 0x1.8p-25, -65520, 65519, 1, 3, 0x1p-140}, {.requires_grad = true});
  (void)(x * 1.0);
  REQUIRE(watch.heard.stats.size() == 1);
  const auto& [e, counts] = watch.heard.stats[0];
  CHECK(e.count == 9);
  CHECK(e.zero == 2);
  CHECK(e.min_abs_nonzero == 0x1p-140);
  CHECK(e.max_abs == 65520);
  CHECK(e.underflow[0] == 2);  // 2^-25 ties to zero, 2^-140; 1.5 x 2^-25 rounds up
  CHECK(e.underflow[1] == 1);  // 2^-140 is below bfloat16's half subnormal
  CHECK(e.overflow[0] == 1);   // 65520 rounds to infinity, 65519 does not
  CHECK(e.overflow[1] == 0);
  CHECK(e.overflow[2] == 2);
  CHECK(e.overflow[3] == 2);
  CHECK(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}) == 7);
  CHECK(e.exponent_first == -140);
  CHECK(counts.front() == 1);
}

TEST_CASE("what rounding to half lost is counted where it happens") {
  const Watch watch;
  Tensor x = full({4}, 0x1p-20, {.requires_grad = true});
  (void)(x.half() * full({4}, 0x1p-10, {.dtype = kFloat16}));  // 2^-30 in float32, 0 in float16
  bool seen = false;
  for (const auto& stat : watch.heard.stats)
    if (stat.event.rounding_measured && stat.event.rounded_to_zero == 4 && stat.event.zero == 4) seen = true;
  CHECK(seen);
}

TEST_CASE("observing changes no result") {
  const auto run = [] {
    Tensor w = rand({8, 8}, {.requires_grad = true});
    const autocast region(DeviceType::cpu, {.dtype = kFloat16, .policy = Policy::cuda});
    linear(rand({4, 8}), w).sum().backward();
    return w.grad().to_vector();
  };
  manual_seed(3);
  const auto plain = run();
  const Watch watch;
  manual_seed(3);
  CHECK(run() == plain);
}
