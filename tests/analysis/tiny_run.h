// Makes small timelines by hand, event by event, for the tests of analyses and reports.
#pragma once
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/timeline/builder.h"

namespace ampprof::test {

struct OpSpec {
  amp::DType dtype = amp::DType::float32;
  amp::Reason reason = amp::Reason::not_listed;
  amp::Policy policy = amp::Policy::none;
  amp::Phase phase = amp::Phase::forward;
  amp::CastRule rule = amp::CastRule::none;
  double flops = 0, bytes = 0;
  std::string_view module{};
};

/// One process, one thread, a clock that only moves when told to.
class TinyRun {
 public:
  explicit TinyRun(bool ended = true) {
    timeline::Process process;
    process.pid = 77;
    process.command = {"./program"};
    process.ended = ended;
    process_ = builder.add_process(process);
    lane = builder.track(process_, 77);
  }

  TinyRun& step(std::uint32_t number, bool sampled = false) {
    builder.step(lane, now, {number, 0, sampled});
    step_ = number;
    return *this;
  }
  TinyRun& end_step() {
    builder.step(lane, now, {step_, 1, 0});
    step_ = amp::kNoStep;
    return *this;
  }
  TinyRun& begin_op(std::string_view name, const OpSpec& spec = {}) {
    amp::OpEvent e;
    e.step = step_;
    e.compute_dtype = e.output_dtype = static_cast<std::uint8_t>(spec.dtype);
    e.reason = static_cast<std::uint8_t>(spec.reason);
    e.policy = static_cast<std::uint8_t>(spec.policy);
    e.phase = static_cast<std::uint8_t>(spec.phase);
    e.rule = static_cast<std::uint8_t>(spec.rule);
    e.flops = spec.flops;
    e.bytes = spec.bytes;
    builder.begin_op(lane, now, e, name, spec.module);
    return *this;
  }
  TinyRun& op(std::string_view name, std::int64_t dur_ns, const OpSpec& spec = {}) {
    return begin_op(name, spec).wait(dur_ns).end();
  }
  TinyRun& cast(std::string_view cause, std::int64_t dur_ns, amp::DType from, amp::DType to,
                std::uint64_t elements = 100, std::uint64_t source_elements = 0, bool cached = false,
                amp::CastKind kind = amp::CastKind::autocast) {
    amp::CastEvent e;
    e.step = step_;
    e.from = static_cast<std::uint8_t>(from);
    e.to = static_cast<std::uint8_t>(to);
    e.kind = static_cast<std::uint8_t>(kind);
    e.cached = cached;
    e.elements = elements;
    e.source_elements = source_elements == 0 ? elements : source_elements;
    e.bytes = cached ? 0 : elements * 6;
    builder.begin_cast(lane, now, e, cause, "");
    return cached ? *this : wait(dur_ns).end();
  }
  TinyRun& end() {
    builder.end(lane, now);
    return *this;
  }
  TinyRun& wait(std::int64_t ns) {
    now += ns;
    return *this;
  }

  TinyRun& alloc(std::uint64_t id, std::uint64_t bytes, std::uint64_t if_fp32, amp::MemoryCause cause,
                 std::uint64_t alias_of = 0) {
    amp::AllocEvent e;
    e.allocation = id;
    e.bytes = bytes;
    e.bytes_if_fp32 = if_fp32;
    e.alias_of = alias_of;
    e.step = step_;
    e.cause = static_cast<std::uint8_t>(cause);
    builder.alloc(lane, ++now, e);
    return *this;
  }
  TinyRun& free(std::uint64_t id) {
    builder.free(lane, ++now, {id});
    return *this;
  }
  TinyRun& cause(std::uint64_t id, amp::MemoryCause cause) {
    builder.cause(lane, ++now, {id, static_cast<std::uint8_t>(cause)});
    return *this;
  }

  /// unscale, step and update of one training step, as a GradScaler announces them.
  TinyRun& scaler_step(std::uint32_t number, double scale, double after, bool found_inf, std::string_view culprit = "",
                       double min_scale = 0) {
    amp::ScalerEvent e;
    e.step = number;
    e.min_scale = min_scale;
    e.growth_interval = 2000;
    e.scale_before = e.scale_after = scale;
    e.found_inf = found_inf;
    e.nonfinite_params = found_inf;
    e.action = static_cast<std::uint8_t>(amp::ScalerAction::unscale);
    builder.scaler(lane, ++now, e, culprit);
    e.action = static_cast<std::uint8_t>(amp::ScalerAction::step);
    e.skipped = found_inf;
    builder.scaler(lane, ++now, e, "");
    e.action = static_cast<std::uint8_t>(amp::ScalerAction::update);
    e.skipped = 0;
    e.scale_after = after;
    builder.scaler(lane, ++now, e, "");
    return *this;
  }

  /// A gradient-like tensor: counts[i] elements of exponent first + i.
  TinyRun& tensor(std::string_view name, amp::TensorRole role, amp::DType dtype, int first,
                  std::vector<std::uint64_t> counts, double scale = 1, std::int64_t to_zero = -1) {
    amp::TensorStatEvent e;
    e.step = step_ == amp::kNoStep ? 0 : step_;
    e.role = static_cast<std::uint8_t>(role);
    e.dtype = static_cast<std::uint8_t>(dtype);
    e.scale = scale;
    e.exponent_first = first;
    e.exponent_bins = static_cast<std::uint32_t>(counts.size());
    for (std::size_t i = 0; i < counts.size(); ++i) {
      e.count += counts[i];
      if (first + static_cast<int>(i) < -25) e.underflow[0] += counts[i];
    }
    e.min_abs_nonzero = std::ldexp(1.0, first);
    e.max_abs = std::ldexp(1.0, first + static_cast<int>(counts.size()) - 1);
    if (to_zero >= 0) {
      e.rounding_measured = 1;
      e.rounded_to_zero = static_cast<std::uint64_t>(to_zero);
      e.zero += e.rounded_to_zero;
      e.count += e.rounded_to_zero;
    }
    builder.tensor(lane, ++now, e, name, counts);
    return *this;
  }

  timeline::Timeline finish() { return builder.finish(); }

  timeline::TimelineBuilder builder;
  std::uint32_t lane = 0;
  std::int64_t now = 1'000'000;

 private:
  std::uint32_t process_ = 0, step_ = amp::kNoStep;
};

}  // namespace ampprof::test
