// Every finding: a run that has the fault, and a near miss that has not.
#include <catch2/catch_test_macros.hpp>
#include <functional>

#include "profiler/analysis/finding.h"
#include "tests/analysis/tiny_run.h"

using namespace ampprof;
using namespace ampprof::analysis;
using amp::DType;
using amp::TensorRole;
using test::OpSpec;
using test::TinyRun;

namespace {

const OpSpec kHalf{DType::float16, amp::Reason::listed_lower, amp::Policy::cuda};
const OpSpec kBf16{DType::bfloat16, amp::Reason::listed_lower, amp::Policy::cuda};
const OpSpec kFp32Listed{DType::float32, amp::Reason::listed_fp32, amp::Policy::cuda, amp::Phase::forward,
                         amp::CastRule::fp32};

/// A run in which nothing is wrong, to plant one fault in.
TinyRun healthy(const OpSpec& spec = kHalf, bool sampled = true, bool ended = true) {
  TinyRun run(ended);
  run.step(0, sampled).op("linear", 1000, spec).op("softmax", 100, kFp32Listed);
  if (sampled) run.tensor("fc.output", TensorRole::activation, spec.dtype, -4, {10, 10, 10});
  return run;
}

struct Case {
  FindingId id;
  const char* what;
  std::function<TinyRun()> fault, near_miss;
};

TinyRun fp16_gradients(std::int64_t to_zero, bool scaler) {
  TinyRun run = healthy();
  run.tensor("fc.weight", TensorRole::gradient, DType::float16, -24, {100, 100, 100, 100, 600}, 1, to_zero);
  if (scaler) run.scaler_step(0, 65536, 65536, false);
  return run;
}

/// A thousand gradients are left at `scale`, the largest 2^(first + 1), and `to_zero` have flushed.
TinyRun scaled_gradients(double scale, std::int64_t to_zero, int first, bool skipped = false, double final_scale = 0) {
  TinyRun run = healthy();
  run.tensor("fc.weight", TensorRole::gradient, DType::float16, first, {500, 500}, scale, to_zero);
  run.scaler_step(0, scale, skipped ? scale / 2 : scale, skipped);
  if (final_scale != 0) run.scaler_step(1, scale, final_scale, false);
  return run;
}

TinyRun bottom_heavy(std::uint64_t at_bottom, const OpSpec& spec) {
  TinyRun run = healthy(spec);
  run.tensor("fc.weight", TensorRole::gradient, DType::float32, -24, {at_bottom, at_bottom, at_bottom, 100, 100, 100});
  return run;
}

TinyRun scaler_run(std::uint32_t skips, double floor, const OpSpec& spec = kHalf, int gradient_exponent = -30) {
  TinyRun run = healthy(spec);
  run.tensor("fc.weight", TensorRole::unscaled_gradient, DType::float32, gradient_exponent, {50, 50, 50, 50});
  double scale = 16;
  for (std::uint32_t i = 0; i < 60; ++i) {
    const bool skip = i < skips;
    const double after = skip ? std::max(scale / 2, floor) : scale;
    run.scaler_step(i, scale, after, skip, skip ? "fc.weight" : "", floor);
    scale = after;
  }
  return run;
}

TinyRun casts(std::uint32_t count, std::int64_t each_ns) {
  TinyRun run = healthy();
  for (std::uint32_t i = 0; i < count; ++i) run.cast("linear", each_ns, DType::float32, DType::float16);
  return run;
}

TinyRun expanded(std::uint64_t elements, std::uint64_t source, amp::CastKind kind = amp::CastKind::autocast) {
  TinyRun run = healthy();
  run.cast("add", 1, DType::float32, DType::float16, elements, source, false, kind);
  return run;
}

TinyRun fp32_op(std::int64_t dur_ns, const OpSpec& spec) {
  TinyRun run = healthy();
  run.op("big", dur_ns, spec);
  return run;
}

OpSpec in_phase(OpSpec spec, amp::Phase phase) {
  spec.phase = phase;
  return spec;
}

void add_values(TinyRun& run, std::string_view name, TensorRole role, std::uint32_t step, bool infinite) {
  amp::TensorStatEvent e;
  e.role = static_cast<std::uint8_t>(role);
  e.step = step;
  e.count = 10;
  e.pos_inf = infinite ? 1 : 0;
  run.builder.tensor(run.lane, ++run.now, e, name, {});
}

/// Per step: is what the backward pass brought infinite, and is what the optimizer is given?
TinyRun summed_gradients(const std::vector<bool>& brought, const std::vector<bool>& sum) {
  TinyRun run = healthy();
  for (std::uint32_t step = 0; step < brought.size(); ++step) {
    add_values(run, "fc.weight", TensorRole::gradient, step, brought[step]);
    add_values(run, "fc.weight", TensorRole::unscaled_gradient, step, sum[step]);
    run.scaler_step(step, 16, sum[step] ? 8 : 16, sum[step], sum[step] ? "fc.weight" : "");
  }
  return run;
}

TinyRun buffers(TensorRole role, bool infinite) {
  TinyRun run = healthy();
  add_values(run, "bn1.running_mean", role, 3, infinite);
  run.scaler_step(3, 16, 8, true, "conv1.weight");
  return run;
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {FindingId::records_lost, "lost records",
       [] {
         TinyRun run = healthy();
         run.builder.lose("OpEvent (disk full)", 12);
         return run;
       },
       [] {
         TinyRun run = healthy();
         run.builder.lose("OpEvent (disk full)", 0);
         return run;
       }},
      {FindingId::ended_without_shutdown, "a process without an end", [] { return healthy(kHalf, true, false); },
       [] { return healthy(); }},
      {FindingId::no_libamp, "a program with ranges of its own only",
       [] {
         TinyRun run;
         const auto lane = run.builder.track(0, 77, "theirs");
         run.builder.begin_range(lane, run.now, "range");
         run.builder.end(lane, run.now + 5);
         return run;
       },
       [] { return healthy(); }},
      {FindingId::autocast_not_used, "no region at all",
       [] {
         TinyRun run;
         run.op("linear", 10);
         return run;
       },
       [] { return healthy(); }},
      {FindingId::stats_off, "steps without statistics", [] { return healthy(kHalf, false); },
       [] { return healthy(); }},
      {FindingId::fp16_underflow, "counted while rounding, no scaler", [] { return fp16_gradients(100, false); },
       [] { return fp16_gradients(100, true); }},
      {FindingId::fp16_underflow, "below one percent", [] { return fp16_gradients(11, false); },
       [] { return fp16_gradients(9, false); }},
      {FindingId::fp16_underflow, "not counted, but the distribution is cut off at the bottom",
       [] { return bottom_heavy(50, kHalf); }, [] { return bottom_heavy(5, kHalf); }},
      {FindingId::fp16_underflow, "the same gradients in bfloat16 lose nothing", [] { return bottom_heavy(50, kHalf); },
       [] { return bottom_heavy(50, kBf16); }},
      {FindingId::fp16_underflow, "lost in one small tensor beside a large one that lost nothing",
       [] {
         TinyRun run = fp16_gradients(0, false);
         run.tensor("head.output", TensorRole::activation_gradient, DType::float16, -24, {100}, 1, 70);
         return run.tensor("fc.weight", TensorRole::gradient, DType::float16, -10, {100000}, 1, 0), std::move(run);
       },
       [] {
         TinyRun run = fp16_gradients(0, false);
         run.tensor("head.output", TensorRole::activation_gradient, DType::float16, -24, {100}, 1, 30);
         return run.tensor("fc.weight", TensorRole::gradient, DType::float16, -10, {100000}, 1, 0), std::move(run);
       }},
      {FindingId::fp16_underflow, "at too small a scale", [] { return scaled_gradients(16, 1000, -20); },
       [] { return scaled_gradients(16, 5, -20); }},
      {FindingId::fp16_underflow, "a larger scale fits", [] { return scaled_gradients(16, 1000, -20); },
       [] { return scaled_gradients(16, 1000, 14); }},
      {FindingId::fp16_underflow, "the step was skipped anyway", [] { return scaled_gradients(16, 1000, -20); },
       [] { return scaled_gradients(16, 1000, -20, true); }},
      {FindingId::fp16_underflow, "the scale has grown since",
       [] { return scaled_gradients(16, 1000, -20, false, 32); },
       [] { return scaled_gradients(16, 1000, -20, false, 0x1p24); }},
      {FindingId::overflow_skip, "a skipped step", [] { return scaler_run(1, 0); }, [] { return scaler_run(0, 0); }},
      {FindingId::scale_pinned, "at its floor", [] { return scaler_run(5, 1); }, [] { return scaler_run(3, 1); }},
      {FindingId::scale_pinned, "below 1 without a floor", [] { return scaler_run(4, 0); },
       [] { return scaler_run(3, 0); }},
      {FindingId::scale_not_needed, "bfloat16 with a scaler", [] { return scaler_run(0, 0, kBf16); },
       [] { return scaler_run(0, 0, kHalf); }},
      {FindingId::scale_not_needed, "float16 whose gradients fit without a scale",
       [] { return scaler_run(0, 0, kHalf, -20); }, [] { return scaler_run(0, 0, kHalf, -26); }},
      {FindingId::casts_dominate, "a third of the time", [] { return casts(50, 11); }, [] { return casts(50, 5); }},
      {FindingId::casts_dominate, "few casts are a program's start", [] { return casts(20, 50); },
       [] { return casts(19, 50); }},
      {FindingId::cast_expanded, "1024 times", [] { return expanded(1 << 20, 1 << 10); },
       [] { return expanded(1 << 20, 1 << 18); }},
      {FindingId::cast_expanded, "the gradient of a sum is no mistake", [] { return expanded(1 << 20, 1); },
       [] { return expanded(1 << 20, 1, amp::CastKind::gradient); }},
      {FindingId::cast_expanded, "small tensors do not matter", [] { return expanded(1 << 16, 1); },
       [] { return expanded(1 << 15, 1); }},
      {FindingId::fp32_op_costs_most, "kept in float32 and largest", [] { return fp32_op(2000, kFp32Listed); },
       [] { return fp32_op(900, kFp32Listed); }},
      {FindingId::fp32_op_costs_most, "the optimizer must be in float32", [] { return fp32_op(2000, kFp32Listed); },
       [] { return fp32_op(2000, in_phase(kFp32Listed, amp::Phase::optimizer)); }},
      {FindingId::fp32_op_costs_most, "its gradient costs even more, and is not what to name",
       [] {
         TinyRun run = fp32_op(2000, kFp32Listed);
         OpSpec gradient{DType::float32, amp::Reason::gradient_formula, amp::Policy::none, amp::Phase::backward};
         run.op("big_backward", 5000, gradient);
         return run;
       },
       [] { return fp32_op(10, kFp32Listed); }},
      {FindingId::gradients_not_cleared, "a finite backward, an infinite sum",
       [] {
         return summed_gradients({false, true, false}, {false, true, true});
       },
       [] {
         return summed_gradients({false, true, true}, {false, true, true});
       }},
      {FindingId::gradients_not_cleared, "an overflow of one step is gone in the next",
       [] {
         return summed_gradients({true, false, false}, {true, true, false});
       },
       [] {
         return summed_gradients({true, false, true}, {true, false, true});
       }},
      {FindingId::buffer_nonfinite, "in a skipped step", [] { return buffers(TensorRole::buffer, true); },
       [] { return buffers(TensorRole::buffer, false); }},
      {FindingId::buffer_nonfinite, "a gradient is none", [] { return buffers(TensorRole::buffer, true); },
       [] { return buffers(TensorRole::gradient, true); }},
      {FindingId::nonfinite_forward, "NaN in an activation",
       [] {
         TinyRun run = healthy();
         amp::TensorStatEvent e;
         e.count = 10;
         e.nan = 1;
         run.builder.tensor(run.lane, run.now, e, "fc.output", {});
         return run;
       },
       [] {  // in a gradient it is the scaler's business
         TinyRun run = healthy();
         amp::TensorStatEvent e;
         e.role = static_cast<std::uint8_t>(TensorRole::gradient);
         e.count = 10;
         e.nan = 1;
         run.builder.tensor(run.lane, run.now, e, "fc.weight", {});
         return run;
       }},
  };
  return all;
}

const Finding* find_in(const std::vector<Finding>& findings, FindingId id) {
  for (const Finding& finding : findings)
    if (finding.id == id) return &finding;
  return nullptr;
}

std::vector<Finding> findings_of(TinyRun run) {
  const timeline::Timeline timeline = run.finish();
  return find_findings(find_answers(timeline));
}

}  // namespace

TEST_CASE("each finding is raised by its fault and not by the near miss", "[analysis][findings]") {
  for (const Case& c : cases()) {
    INFO(finding_row(c.id).id << ": " << c.what);
    const auto faulty = findings_of(c.fault());
    const Finding* finding = find_in(faulty, c.id);
    REQUIRE(finding != nullptr);
    CHECK_FALSE(finding->advice.empty());
    CHECK_FALSE(finding->title.empty());
    CHECK_FALSE(finding->evidence.empty());
    CHECK(find_in(findings_of(c.near_miss()), c.id) == nullptr);
  }
}

TEST_CASE("no row of findings.def is without a planted fault", "[analysis][findings]") {
  for (int i = 0; i < static_cast<int>(FindingId::count_); ++i) {
    bool planted = false;
    for (const Case& c : cases()) planted |= static_cast<int>(c.id) == i;
    INFO(finding_row(static_cast<FindingId>(i)).id);
    CHECK(planted);
  }
}

TEST_CASE("gradients of 2^-26 without a scaler: all flushed, critical, and the advice names the scale",
          "[analysis][findings]") {
  TinyRun run = healthy();
  run.tensor("fc.weight", TensorRole::gradient, DType::float16, -24, {0}, 1, 1000);
  run.tensor("fc.bias", TensorRole::gradient, DType::float16, -10, {100}, 1, 0);
  const auto findings = findings_of(std::move(run));
  const Finding* finding = find_in(findings, FindingId::fp16_underflow);
  REQUIRE(finding != nullptr);
  CHECK(finding->severity == Severity::critical);
  CHECK(std::get<std::string>(*finding->find("worst_tensor")) == "fc.weight");
  CHECK(std::get<double>(*finding->find("worst_tensor_flushed_share")) == 1.0);
  // Largest gradient 2^-10: 2^25 would fit, one power is spared, and more than 2^24 is never advised.
  CHECK(std::get<double>(*finding->find("scale_that_fits")) == 16777216.0);
  CHECK(findings.front().id == FindingId::fp16_underflow);  // worst first
}

TEST_CASE("gradients that were never cleared are named with the step they come from, and no learning rate is blamed",
          "[analysis][findings]") {
  const auto findings = findings_of(summed_gradients({false, true, false}, {false, true, true}));
  const Finding* finding = find_in(findings, FindingId::gradients_not_cleared);
  REQUIRE(finding != nullptr);
  CHECK(finding->title ==
        "The same parameters are inf since step 1 although this backward is finite: gradients not cleared");
  CHECK(std::get<std::vector<std::string>>(*finding->find("parameters")) == std::vector<std::string>{"fc.weight"});
  CHECK(find_in(findings, FindingId::overflow_skip)->advice.find("zero_grad()") != std::string::npos);
  for (const Finding& each : findings) CHECK(each.advice.find("learning rate") == std::string::npos);
}

TEST_CASE("a buffer that a skipped step spoiled is named with that step", "[analysis][findings]") {
  const auto findings = findings_of(buffers(TensorRole::buffer, true));
  const Finding* finding = find_in(findings, FindingId::buffer_nonfinite);
  REQUIRE(finding != nullptr);
  CHECK(finding->title == "buffer bn1.running_mean became non-finite in a skipped step");
  CHECK(std::get<std::int64_t>(*finding->find("step")) == 3);
}

TEST_CASE("skips at the start, later on, and without end are told apart", "[analysis][findings]") {
  const auto severity = [](std::uint32_t clean_first, std::uint32_t skips) {
    TinyRun run = healthy();
    double scale = 65536;
    for (std::uint32_t i = 0; i < 100 + skips; ++i) {
      const bool skip = i >= clean_first && i < clean_first + skips;
      run.scaler_step(i, scale, skip ? scale / 2 : scale, skip, skip ? "fc.weight" : "");
      if (skip) scale /= 2;
    }
    const auto findings = findings_of(std::move(run));
    return *find_in(findings, FindingId::overflow_skip);
  };
  CHECK(severity(0, 3).severity == Severity::info);
  CHECK(severity(50, 1).severity == Severity::warning);
  CHECK(severity(50, 1).advice.ends_with("whether it was an overflow or NaN was not measured."));
  const Finding collapse = severity(5, 91);
  CHECK(collapse.severity == Severity::critical);
  CHECK(collapse.title == "91 consecutive skipped steps from step 5, first non-finite parameter fc.weight");
}

TEST_CASE("too small a loss scale: the advice names one that fits, or the default", "[analysis][findings]") {
  // 2^-6 is the largest at 16: 2^21 times that scale would fit, one power is spared, more than 2^24 is never advised.
  const auto some = findings_of(scaled_gradients(16, 1000, -7));
  const Finding* finding = find_in(some, FindingId::fp16_underflow);
  REQUIRE(finding != nullptr);
  CHECK(finding->severity == Severity::critical);
  CHECK(finding->title == "Gradients flush to zero at a loss scale of 16");
  CHECK(std::get<double>(*finding->find("scale_that_fits")) == 16777216.0);

  TinyRun limited = scaled_gradients(16, 1000, -7);  // 32768 has overflowed
  limited.scaler_step(1, 32768, 16384, true).scaler_step(2, 16, 16, false);
  const auto below = findings_of(std::move(limited));
  REQUIRE(find_in(below, FindingId::fp16_underflow) != nullptr);
  CHECK(std::get<double>(*find_in(below, FindingId::fp16_underflow)->find("scale_that_fits")) == 16384.0);

  TinyRun none = healthy();
  amp::TensorStatEvent zeros;
  zeros.role = static_cast<std::uint8_t>(TensorRole::activation_gradient);
  zeros.dtype = static_cast<std::uint8_t>(DType::float16);
  zeros.scale = 0x1p-16;
  zeros.count = zeros.zero = zeros.rounded_to_zero = 320;
  zeros.rounding_measured = 1;
  none.builder.tensor(none.lane, ++none.now, zeros, "fc.output", {});
  none.scaler_step(0, 0x1p-16, 0x1p-16, false);
  const auto all = findings_of(std::move(none));
  const Finding* of_zeros = find_in(all, FindingId::fp16_underflow);
  REQUIRE(of_zeros != nullptr);
  CHECK(of_zeros->find("scale_that_fits") == nullptr);
  CHECK(of_zeros->advice.find("default GradScaler()") != std::string::npos);
}

TEST_CASE("calibration with pauses advises the scale after its last skip", "[analysis][findings]") {
  TinyRun run = healthy();
  double scale = 65536;
  for (std::uint32_t i = 0; i < 20; ++i) {
    const bool skip = i == 0 || i == 3 || i == 6;
    run.scaler_step(i, scale, skip ? scale / 2 : scale, skip, skip ? "fc.weight" : "");
    if (skip) scale /= 2;
  }
  const auto findings = findings_of(std::move(run));
  const Finding* finding = find_in(findings, FindingId::overflow_skip);
  REQUIRE(finding != nullptr);
  CHECK(finding->severity == Severity::info);
  CHECK(finding->advice.find("init_scale = 8192)") != std::string::npos);
}

TEST_CASE("a step with NaN in the forward pass is not called an overflow of the scale", "[analysis][findings]") {
  TinyRun run = healthy();
  for (std::uint32_t i = 0; i < 20; ++i) {
    if (i == 10) {
      amp::TensorStatEvent e;
      e.step = i;
      e.count = 10;
      e.nan = 1;
      run.builder.tensor(run.lane, ++run.now, e, "fc.output", {});
    }
    run.scaler_step(i, i <= 10 ? 65536 : 32768, i < 10 ? 65536 : 32768, i == 10, i == 10 ? "fc.weight" : "");
  }
  const auto findings = findings_of(std::move(run));
  const Finding* finding = find_in(findings, FindingId::overflow_skip);
  REQUIRE(finding != nullptr);
  CHECK(finding->severity == Severity::warning);
  CHECK(finding->title == "Skipped at step 10: not an overflow of the loss scale");
  for (const Finding& each : findings) {
    CHECK(each.advice.find("Normal") == std::string::npos);
    CHECK(each.advice.find("init_scale") == std::string::npos);
  }
}

TEST_CASE("no share is not \"at most 0\"", "[analysis][findings]") {
  const auto findings = findings_of(scaler_run(0, 0, kHalf, -20));
  const Finding* finding = find_in(findings, FindingId::scale_not_needed);
  REQUIRE(finding != nullptr);
  CHECK(finding->advice.starts_with("None of the values"));
}

TEST_CASE("where records may be missing, no libamp seen is not said", "[analysis][findings]") {
  const auto title = [](bool ended, int signal, std::uint64_t wall_ns) {
    TinyRun run(ended);
    timeline::Timeline timeline = run.finish();
    timeline.target_end = timeline::TargetEnd{signal == 0 ? 0 : 128 + signal, signal, wall_ns};
    const auto findings = find_findings(find_answers(timeline));
    const Finding* finding = find_in(findings, FindingId::no_libamp);
    REQUIRE(finding != nullptr);
    CHECK((finding->advice.find("AMP_OBSERVE") != std::string::npos) == (finding->title.starts_with("No libamp")));
    return finding->title;
  };
  CHECK(title(true, 0, 10'000'000) == "No libamp was seen in this run");
  CHECK(title(true, 6, 500'000'000) == "No libamp was seen in this run");
  CHECK(title(true, 6, 10'000'000) == "No op had been recorded when the program ended");
  CHECK(title(false, 9, 500'000'000) == "No op had been recorded when the program ended");
}
