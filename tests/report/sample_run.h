// A small training run made by hand: an MLP in float16 with a GradScaler that skips its first three steps. The tests
// and the page's sample are made from it; every number in it is fixed.
#pragma once
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "profiler/timeline/builder.h"

namespace ampprof::test {

/// Statistics of a bell-shaped distribution: `count` elements around 2^center, one in `zero_every` zero.
inline amp::TensorStatEvent bell(std::uint32_t step, amp::TensorRole role, amp::DType dtype, std::uint64_t count,
                                 int center, double scale, std::vector<std::uint64_t>& counts) {
  constexpr std::array<int, 13> kWeights{1, 4, 12, 30, 60, 92, 108, 92, 60, 30, 12, 4, 1};
  amp::TensorStatEvent e;
  e.step = step;
  e.role = static_cast<std::uint8_t>(role);
  e.dtype = static_cast<std::uint8_t>(dtype);
  e.count = count;
  e.scale = scale;
  e.exponent_first = center - 6;
  counts.clear();
  std::uint64_t used = 0;
  for (const int weight : kWeights) {
    counts.push_back(count * static_cast<std::uint64_t>(weight) / 600);
    used += counts.back();
  }
  e.exponent_bins = static_cast<std::uint32_t>(counts.size());
  e.zero = count - used;
  e.min_abs_nonzero = std::ldexp(1.25, e.exponent_first);
  e.max_abs = std::ldexp(1.75, e.exponent_first + 12);
  constexpr int kFlush[] = {-25, -134, -10, -17};
  constexpr int kLargest[] = {15, 127, 8, 15};
  for (std::size_t t = 0; t < amp::kNarrowTypeCount; ++t)
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const int exponent = e.exponent_first + static_cast<int>(i);
      if (exponent < kFlush[t]) e.underflow[t] += counts[i];
      if (exponent > kLargest[t]) e.overflow[t] += counts[i];
    }
  return e;
}

class SampleRun {
 public:
  static constexpr std::uint32_t kSteps = 40;

  SampleRun() {
    timeline::Process process;
    process.pid = 4242;
    process.parent_pid = 4200;
    process.command = {"./train_fashion_mnist", "--model", "mlp", "--precision", "fp16", "--steps", "40"};
    process.start_ns = kStart;
    process.ended = true;
    process_ = builder_.add_process(process);
    lane_ = builder_.track(process_, 4242);
    builder_.fact(lane_, "blas", "OpenBLAS");
    builder_.timeline().command = process.command;
  }

  timeline::Timeline make() {
    now_ = kStart + 1000;
    allocate_weights();
    for (std::uint32_t step = 0; step < kSteps; ++step) run_step(step);
    builder_.timeline().target_end = timeline::TargetEnd{0, 0, static_cast<std::uint64_t>(now_ - kStart)};
    return builder_.finish();
  }

 private:
  static constexpr std::int64_t kStart = 1'000'000'000;
  static constexpr std::uint64_t kBatch = 64;
  static constexpr std::uint64_t kWidths[] = {784, 256, 64, 10};

  void allocate(std::uint64_t id, std::uint64_t elements, amp::DType dtype, amp::MemoryCause cause,
                std::uint64_t alias_of = 0) {
    amp::AllocEvent e;
    e.allocation = id;
    e.bytes = elements * amp::size_of(dtype);
    e.bytes_if_fp32 = elements * 4;
    e.alias_of = alias_of;
    e.step = step_;
    e.cause = static_cast<std::uint8_t>(cause);
    e.dtype = static_cast<std::uint8_t>(dtype);
    builder_.alloc(lane_, now_, e);
  }
  void release(std::uint64_t id) { builder_.free(lane_, now_, amp::FreeEvent{id}); }

  void allocate_weights() {
    for (std::uint64_t i = 0; i < 3; ++i)
      allocate(1 + i, kWidths[i] * kWidths[i + 1], amp::DType::float32, amp::MemoryCause::weights);
  }

  void op(const char* name, amp::Phase phase, amp::CastRule rule, amp::Reason reason, amp::DType in, amp::DType dtype,
          std::int64_t dur_ns, double flops, const std::string& module) {
    amp::OpEvent e;
    e.step = step_;
    e.phase = static_cast<std::uint8_t>(phase);
    e.rule = static_cast<std::uint8_t>(rule);
    e.reason = static_cast<std::uint8_t>(reason);
    e.compute_dtype = e.output_dtype = static_cast<std::uint8_t>(dtype);
    e.policy = static_cast<std::uint8_t>(phase == amp::Phase::forward ? amp::Policy::cuda : amp::Policy::none);
    e.input_count = 1;
    e.input_dtypes[0] = static_cast<std::uint8_t>(in);
    e.input_ndims[0] = 2;
    e.dims[0] = kBatch;
    e.dims[1] = 256;
    e.flops = flops;
    e.bytes = 4096;
    builder_.begin_op(lane_, now_, e, name, module);
    now_ += dur_ns;
    builder_.end(lane_, now_);
    now_ += 500;
  }

  void cast(const char* cause, amp::Phase phase, amp::DType from, amp::DType to, std::uint64_t elements,
            std::int64_t dur_ns, const std::string& module) {
    amp::CastEvent e;
    e.step = step_;
    e.from = static_cast<std::uint8_t>(from);
    e.to = static_cast<std::uint8_t>(to);
    e.kind = static_cast<std::uint8_t>(amp::CastKind::autocast);
    e.phase = static_cast<std::uint8_t>(phase);
    e.cached = dur_ns == 0;
    e.elements = e.source_elements = elements;
    e.bytes = e.cached != 0 ? 0 : elements * 6;
    builder_.begin_cast(lane_, now_, e, cause, module);
    if (e.cached != 0) return;
    now_ += dur_ns;
    builder_.end(lane_, now_);
    now_ += 200;
  }

  void layers(amp::Phase phase) {
    using amp::DType;
    const bool forward = phase == amp::Phase::forward;
    for (std::uint64_t k = 0; k < 3; ++k) {
      const std::uint64_t i = forward ? k : 2 - k;
      const std::string module = std::to_string(2 * i + 1);
      const double flops = 2.0 * kBatch * static_cast<double>(kWidths[i] * kWidths[i + 1]) * (forward ? 1 : 2);
      if (forward) {
        cast("linear", phase, DType::float32, DType::float16, kWidths[i] * kWidths[i + 1],
             9000 / (1 + static_cast<std::int64_t>(i)), module);
        allocate(100 + i, kWidths[i] * kWidths[i + 1], DType::float16, amp::MemoryCause::cast_cache, 1 + i);
        allocate(200 + i, kBatch * kWidths[i + 1], DType::float16, amp::MemoryCause::activations);
      } else {
        if (i != 0) cast("linear", phase, DType::float32, DType::float16, kWidths[i] * kWidths[i + 1], 0, module);
        allocate(300 + i, kWidths[i] * kWidths[i + 1], DType::float32, amp::MemoryCause::gradients);
      }
      op("linear", phase, amp::CastRule::lower_precision,
         forward ? amp::Reason::listed_lower : amp::Reason::gradient_formula,
         i == 0 && forward ? DType::float32 : DType::float16, DType::float16,
         90000 / (1 + 2 * static_cast<std::int64_t>(i)), flops, module);
      if (i != 2)
        op("relu", phase, amp::CastRule::none, forward ? amp::Reason::not_listed : amp::Reason::gradient_formula,
           DType::float16, DType::float16, 3000, kBatch * 256.0, std::to_string(2 * i + 2));
    }
  }

  void run_step(std::uint32_t step) {
    using amp::DType;
    step_ = step;
    const bool sampled = step % 10 == 0;
    const double scale = step < 3 ? std::ldexp(65536.0, -static_cast<int>(step)) : 8192.0;
    builder_.step(lane_, now_, {step, 0, sampled});
    layers(amp::Phase::forward);
    cast("cross_entropy", amp::Phase::forward, DType::float16, DType::float32, kBatch * 10, 900, "");
    op("cross_entropy", amp::Phase::forward, amp::CastRule::fp32, amp::Reason::listed_fp32, DType::float16,
       DType::float32, 14000, kBatch * 60.0, "");
    layers(amp::Phase::backward);
    for (std::uint64_t i = 0; i < 3; ++i) release(100 + i), release(200 + i);
    if (sampled) statistics(step, scale);
    scaler(step, scale);
    if (step >= 3)
      op("sgd", amp::Phase::optimizer, amp::CastRule::none, amp::Reason::autocast_off, DType::float32, DType::float32,
         22000, 5e5, "");
    for (std::uint64_t i = 0; i < 3; ++i) release(300 + i);
    builder_.step(lane_, now_, {step, 1, sampled});
    now_ += 4000;
  }

  void statistics(std::uint32_t step, double scale) {
    using amp::DType;
    std::vector<std::uint64_t> counts;
    const int shift = std::ilogb(scale);
    for (std::uint64_t i = 0; i < 3; ++i) {
      const std::string name = std::to_string(2 * i + 1) + ".weight";
      const std::uint64_t n = kWidths[i] * kWidths[i + 1];
      const int center = -21 + 4 * static_cast<int>(i);
      auto stat = [&](amp::TensorRole role, amp::DType dtype, std::uint64_t elements, int at, double s,
                      const std::string& as) {
        amp::TensorStatEvent e = bell(step, role, dtype, elements, at, s, counts);
        if (role == amp::TensorRole::activation) e.rounding_measured = 1, e.rounded_to_zero = i;
        builder_.tensor(lane_, now_, e, as, counts);
      };
      stat(amp::TensorRole::weight, DType::float32, n, -5, 1, name);
      stat(amp::TensorRole::activation, DType::float16, kBatch * kWidths[i + 1], -2, 1,
           std::to_string(2 * i + 1) + ".output");
      stat(amp::TensorRole::gradient, DType::float32, n, center + shift, scale, name);
      stat(amp::TensorRole::unscaled_gradient, DType::float32, n, center, 1, name);
    }
  }

  void scaler(std::uint32_t step, double scale) {
    const bool overflow = step < 3;
    amp::ScalerEvent e;
    e.step = step;
    e.growth_interval = 2000;
    if (step == 0) {
      e.action = static_cast<std::uint8_t>(amp::ScalerAction::init);
      e.scale_after = scale;
      builder_.scaler(lane_, now_, e, "");
    }
    e.scale_before = e.scale_after = scale;
    e.found_inf = overflow;
    e.params = 6;
    e.nonfinite_params = overflow ? 2 : 0;
    e.action = static_cast<std::uint8_t>(amp::ScalerAction::unscale);
    builder_.scaler(lane_, now_ += 700, e, overflow ? "5.weight" : "");
    e.action = static_cast<std::uint8_t>(amp::ScalerAction::step);
    e.skipped = overflow;
    builder_.scaler(lane_, now_ += 300, e, "");
    e.action = static_cast<std::uint8_t>(amp::ScalerAction::update);
    e.scale_after = overflow ? scale / 2 : scale;
    e.growth_tracker = overflow ? 0 : step - 2;
    e.found_inf = overflow;
    builder_.scaler(lane_, now_ += 100, e, "");
  }

  timeline::TimelineBuilder builder_;
  std::uint32_t process_ = 0, lane_ = 0, step_ = amp::kNoStep;
  std::int64_t now_ = kStart;
};

}  // namespace ampprof::test
