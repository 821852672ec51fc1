// See json_series.h. What is left out is counted beside what is there.
#include "profiler/report/json_series.h"

#include <algorithm>
#include <set>

namespace ampprof::report {
namespace {

using analysis::TensorRow;
using timeline::Slice;
using timeline::SliceKind;
using timeline::Timeline;

/// Of `n` items the evenly spaced ones to keep when there may be `most`: the first and the last are always among them.
bool keep(std::size_t i, std::size_t n, std::size_t most) {
  if (n <= most || i == 0 || i + 1 == n) return true;
  if (most <= 2) return false;
  // Item i is kept if it is the first that reaches its share of the places between first and last.
  return i * (most - 1) / (n - 1) != (i - 1) * (most - 1) / (n - 1);
}

void write_tensor(JsonWriter& json, const TensorRow& row) {
  const auto shares = [&](const char* key, const double* values) {
    json.key(key).begin_object();
    for (std::size_t t = 0; t < amp::kNarrowTypeCount; ++t) json.field(amp::name(amp::kNarrowTypes[t]), values[t]);
    json.end_object();
  };
  json.begin_object();
  json.field("name", row.name).field("role", amp::name(row.role)).field("dtype", amp::name(row.dtype));
  json.field("step", row.step == amp::kNoStep ? std::nullopt : std::optional<std::uint32_t>(row.step));
  json.field("process", row.pid).field("count", row.count).field("zero", row.zero).field("nan", row.nan);
  json.field("pos_inf", row.pos_inf).field("neg_inf", row.neg_inf);
  json.field("min_abs_nonzero", row.min_abs_nonzero).field("max_abs", row.max_abs).field("scale", row.scale);
  json.key("exponent").begin_object().field("first", row.exponent_first).field("counts", row.exponent_counts);
  json.end_object();
  shares("underflow", row.underflow);
  shares("overflow", row.overflow);
  json.key("rounding");
  if (row.rounding)
    json.begin_object().field("to_zero", row.rounding->to_zero).field("to_inf", row.rounding->to_inf).end_object();
  else
    json.null();
  json.end_object();
}

/// Which slices the page shows: from the start of the first slice on, in order of time, as many as fit.
struct Window {
  std::vector<std::uint32_t> slices;
  std::int64_t start_ns = 0, end_ns = 0;
  std::size_t left_out = 0;
};

Window choose_window(const Timeline& timeline) {
  Window window;
  std::vector<std::uint32_t> order(timeline.slices.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto earlier = [&](std::uint32_t a, std::uint32_t b) {
    const Slice &x = timeline.slices[a], &y = timeline.slices[b];
    return x.start_ns != y.start_ns ? x.start_ns < y.start_ns : a < b;
  };
  if (order.size() > kMaxPageSlices) {
    std::nth_element(order.begin(), order.begin() + kMaxPageSlices, order.end(), earlier);
    window.left_out = order.size() - kMaxPageSlices;
    order.resize(kMaxPageSlices);
  }
  std::sort(order.begin(), order.end(), earlier);
  window.start_ns = order.empty() ? timeline.start_ns : timeline.slices[order.front()].start_ns;
  window.end_ns = order.empty() ? timeline.end_ns : window.start_ns;
  for (const std::uint32_t i : order) window.end_ns = std::max(window.end_ns, timeline.slices[i].end_ns);
  window.slices = std::move(order);
  return window;
}

void write_slice(JsonWriter& json, const Timeline& timeline, const Slice& slice) {
  json.begin_object().field("track", slice.track);
  const auto times = [&] {
    json.field("start_ns", slice.start_ns - timeline.start_ns).field("dur_ns", slice.dur_ns());
    json.field("depth", slice.depth);
    json.field("step", slice.step == amp::kNoStep ? std::nullopt : std::optional<std::uint32_t>(slice.step));
  };
  const auto module = [&](timeline::StringId id) {
    json.field("module", id.value == 0 ? std::nullopt : std::optional(std::string(timeline.strings.text(id))));
  };
  if (slice.kind == SliceKind::op) {
    const timeline::OpKind& op = timeline.op_kinds[slice.detail];
    json.field("kind", "op").field("name", timeline.strings.text(op.name));
    times();
    json.field("dtype", amp::name(static_cast<amp::DType>(op.event.compute_dtype))).null_field("from");
    json.field("phase", amp::name(static_cast<amp::Phase>(op.event.phase)));
    json.field("reason", amp::name(static_cast<amp::Reason>(op.event.reason)));
    module(op.module);
  } else if (slice.kind == SliceKind::cast) {
    const timeline::CastKind& cast = timeline.cast_kinds[slice.detail];
    json.field("kind", "cast").field("name", timeline.strings.text(cast.cause));
    times();
    json.field("dtype", amp::name(static_cast<amp::DType>(cast.event.to)));
    json.field("from", amp::name(static_cast<amp::DType>(cast.event.from)));
    json.field("phase", amp::name(static_cast<amp::Phase>(cast.event.phase)));
    json.field("reason", cast.event.cached != 0 ? std::string_view("served from the cast cache")
                                                : amp::name(static_cast<amp::CastKind>(cast.event.kind)));
    module(cast.module);
  } else {
    json.field("kind", "range").field("name", timeline.strings.text(timeline.range_kinds[slice.detail].name));
    times();
    json.null_field("dtype").null_field("from").null_field("phase").null_field("reason").null_field("module");
  }
  json.end_object();
}

void write_counters(JsonWriter& json, const Report& report) {
  const auto& rows = report.answers.loss_scale.rows;
  json.key("counters").begin_array();
  if (!rows.empty()) {
    json.begin_object().field("name", "loss scale").field("unit", "");
    json.key("points").begin_array();
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (keep(i, rows.size(), kMaxCounterPoints))
        json.begin_object()
            .field("time_ns", rows[i].time_ns - report.timeline.start_ns)
            .field("value", rows[i].scale_after.value_or(rows[i].scale))
            .end_object();
    json.end_array().end_object();
  }
  json.end_array();
}

}  // namespace

void write_tensors(JsonWriter& json, const Report& report) {
  const std::vector<TensorRow>& rows = report.answers.tensors;
  std::set<std::uint32_t> all_steps;
  for (const TensorRow& row : rows) all_steps.insert(row.step);
  // Whole steps are kept, so that the tensors of a step can be compared; with one tensor more than fits, none is lost.
  const std::size_t per_step = all_steps.empty() ? 1 : (rows.size() + all_steps.size() - 1) / all_steps.size();
  const std::size_t most = std::max<std::size_t>(2, kMaxTensorRows / per_step);
  std::set<std::uint32_t> kept_steps;
  std::size_t i = 0;
  for (const std::uint32_t step : all_steps) {
    if (keep(i, all_steps.size(), most)) kept_steps.insert(step);
    ++i;
  }
  std::size_t left_out = 0;
  json.line();
  json.key("tensors").begin_array();
  for (const TensorRow& row : rows) {
    if (!kept_steps.contains(row.step)) {
      ++left_out;
      continue;
    }
    json.line();
    write_tensor(json, row);
  }
  json.end_array();
  json.line();
  json.field("tensors_left_out", left_out);
}

void write_steps(JsonWriter& json, const Report& report) {
  const auto& rows = report.answers.steps;
  std::size_t left_out = 0;
  json.line();
  json.key("steps").begin_array();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!keep(i, rows.size(), kMaxStepRows)) {
      ++left_out;
      continue;
    }
    const analysis::StepRow& row = rows[i];
    json.line();
    json.begin_object().field("step", row.step).field("process", row.pid);
    json.field("start_ns", row.start_ns - report.timeline.start_ns).field("dur_ns", row.dur_ns);
    json.field("sampled", row.sampled).field("ops_ns", row.ops_ns).field("cast_ns", row.cast_ns).end_object();
  }
  json.end_array();
  json.line();
  json.field("steps_left_out", left_out);
}

void write_timeline(JsonWriter& json, const Report& report) {
  const Timeline& timeline = report.timeline;
  const Window window = choose_window(timeline);
  json.line();
  json.key("timeline").begin_object();
  json.field("start_ns", window.start_ns - timeline.start_ns).field("end_ns", window.end_ns - timeline.start_ns);
  json.key("tracks").begin_array();
  for (std::size_t t = 0; t < timeline.tracks.size(); ++t) {
    const timeline::Track& track = timeline.tracks[t];
    const std::string thread = track.thread_name.empty() ? "thread " + std::to_string(track.tid) : track.thread_name;
    json.begin_object().field("id", t).field("name",
                                             track.domain == amp::kNvtxDomain ? thread : thread + " / " + track.domain);
    json.field("pid", timeline.processes[track.process].pid).field("tid", track.tid).end_object();
  }
  json.end_array();
  json.line();
  json.key("slices").begin_array();
  for (const timeline::Step& step : timeline.steps) {
    if (step.start_ns > window.end_ns || step.end_ns < window.start_ns) continue;
    json.line();
    json.begin_object()
        .field("track", step.track)
        .field("kind", "step")
        .field("name", "step " + std::to_string(step.step));
    json.field("start_ns", step.start_ns - timeline.start_ns).field("dur_ns", step.end_ns - step.start_ns);
    json.field("depth", 0).field("step", step.step).null_field("dtype").null_field("from").null_field("phase");
    json.null_field("reason").null_field("module").end_object();
  }
  for (const std::uint32_t i : window.slices) {
    json.line();
    write_slice(json, timeline, timeline.slices[i]);
  }
  json.end_array();
  json.line();
  write_counters(json, report);
  json.field("slices_left_out", window.left_out).end_object();
}

}  // namespace ampprof::report
