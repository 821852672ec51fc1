// report.json: the answers. Keys and order as SCHEMA.md has them; the bounded series are in json_series.cpp.
#include <algorithm>

#include "profiler/report/json_series.h"
#include "profiler/report/json_writer.h"
#include "profiler/report/report.h"

namespace ampprof::report {
namespace {

using analysis::OpRow;

constexpr std::size_t kMaxModules = 16;

std::string_view dtype_name(amp::DType dtype) { return amp::name(dtype); }

void write_dtype(JsonWriter& json, amp::DType dtype) {
  if (dtype == amp::DType::count_)
    json.null();
  else
    json.value(dtype_name(dtype));
}

std::vector<std::string> sources_of(const timeline::Timeline& timeline) {
  std::vector<std::string> sources;
  if (timeline.has_libamp()) sources.emplace_back("libamp");
  if (!timeline.range_kinds.empty() || !timeline.overlap_ranges.empty() || !timeline.marks.empty())
    sources.emplace_back("nvtx");
  return sources;
}

void write_target(JsonWriter& json, const timeline::Timeline& timeline) {
  json.line();
  json.key("target").begin_object();
  json.field("command", timeline.command);
  const auto& end = timeline.target_end;
  json.field("exit_code", end ? std::optional<int>(end->exit_code) : std::nullopt);
  json.field("signal", end && end->signal != 0 ? std::optional<int>(end->signal) : std::nullopt);
  const auto host = timeline.facts.find("host");
  json.field("host", host == timeline.facts.end() ? std::nullopt : std::optional<std::string>(host->second));
  json.key("gpus").begin_array().end_array();
  json.field("wall_ns", end ? std::optional<std::uint64_t>(end->wall_ns) : std::nullopt);
  json.key("facts").begin_object();
  for (const auto& [key, value] : timeline.facts) json.field(key, value);
  json.end_object();
  json.key("processes").begin_array();
  for (const timeline::Process& process : timeline.processes) {
    json.line();
    json.begin_object();
    json.field("pid", process.pid).field("parent_pid", process.parent_pid).field("command", process.command);
    json.field("start_ns", std::max<std::int64_t>(0, process.start_ns - timeline.start_ns));
    json.field("end_ns", std::max<std::int64_t>(0, process.end_ns - timeline.start_ns));
    json.field("ended", process.ended ? "exit" : "unknown").field("has_libamp", process.has_libamp);
    json.end_object();
  }
  json.end_array().end_object();
}

void write_capture(JsonWriter& json, const Report& report) {
  const timeline::Timeline& timeline = report.timeline;
  std::vector<std::uint32_t> recorded, sampled;
  for (const analysis::StepRow& step : report.answers.steps) {
    if (step.recorded) recorded.push_back(step.step);
    if (step.sampled) sampled.push_back(step.step);
  }
  for (auto* steps : {&recorded, &sampled}) {
    std::sort(steps->begin(), steps->end());
    steps->erase(std::unique(steps->begin(), steps->end()), steps->end());
  }
  json.line();
  json.key("capture").begin_object();
  json.field("path", report.path).field("sources", sources_of(timeline));
  json.key("dropped").begin_object();
  for (const auto& [kind, count] : timeline.losses) json.field(kind, count);
  json.end_object();
  const std::size_t steps = report.answers.steps.size();
  json.field("steps_total", steps == 0 ? std::nullopt : std::optional<std::size_t>(steps));
  json.field("steps_recorded", recorded).field("steps_sampled", sampled);
  json.field("unclosed_ranges", timeline.unclosed_ranges).end_object();
}

void write_totals(JsonWriter& json, const Report& report) {
  const analysis::Totals& totals = report.answers.totals;
  const bool known = report.timeline.has_libamp();
  const auto figure = [&](auto value) { return known ? std::optional(value) : std::nullopt; };
  json.line();
  json.key("totals").begin_object();
  json.field("ops_ns", figure(totals.ops_ns)).field("cast_ns", figure(totals.cast_ns));
  json.field("cast_share", totals.cast_share()).field("step_ns", figure(totals.step_ns));
  json.field("op_calls", figure(totals.op_calls)).field("casts", figure(totals.casts));
  json.field("casts_cached", figure(totals.casts_cached));
  double flops = 0;
  for (const auto& [dtype, share] : totals.by_compute_dtype) flops += share.flops;
  json.key("by_compute_dtype").begin_object();
  for (const auto& [dtype, share] : totals.by_compute_dtype) {
    json.key(dtype_name(dtype)).begin_object();
    json.field("calls", share.calls).field("cpu_ns", share.cpu_ns).field("step_cpu_ns", share.step_ns);
    json.field("flops", share.flops);
    const auto part = [](double one, double all) { return all > 0 ? std::optional<double>(one / all) : std::nullopt; };
    json.field("time_share", part(static_cast<double>(share.cpu_ns), static_cast<double>(totals.ops_ns)));
    json.field("flops_share", part(share.flops, flops)).end_object();
  }
  json.end_object().end_object();
}

void write_op(JsonWriter& json, const OpRow& op, const std::string& tensor_core_note) {
  json.begin_object();
  json.field("name", op.name).field("phase", amp::name(op.phase)).field("rule", amp::name(op.rule));
  json.field("reason", amp::name(op.reason)).field("policy", amp::name(op.policy));
  json.field("device", amp::name(op.device));
  json.key("input_dtypes").begin_array();
  for (const amp::DType dtype : op.input_dtypes) json.value(dtype_name(dtype));
  json.end_array();
  json.field("compute_dtype", dtype_name(op.compute_dtype));
  json.key("output_dtype");
  write_dtype(json, op.output_dtype);
  json.field("composite", op.composite).field("calls", op.calls).field("cpu_ns", op.cpu_ns);
  json.field("step_calls", op.step_calls).field("step_cpu_ns", op.step_ns);
  json.field("total_ns", op.total_ns).field("cast_ns", op.cast_ns).null_field("gpu_ns");
  json.field("flops", op.flops).field("bytes", op.bytes);
  json.key("modules").begin_array();
  for (std::size_t i = 0; i < op.modules.size() && i < kMaxModules; ++i) {
    const analysis::ModuleShare& module = op.modules[i];
    json.begin_object().field("path", module.path).field("calls", module.calls).field("cpu_ns", module.cpu_ns);
    json.end_object();
  }
  json.end_array();
  json.field("modules_left_out", op.modules.size() > kMaxModules ? op.modules.size() - kMaxModules : 0);
  json.key("tensor_core").begin_object();
  json.null_field("eligible").null_field("used").null_field("known_by").null_field("pipe_utilization");
  json.field("note", tensor_core_note).end_object().end_object();
}

void write_cast(JsonWriter& json, const analysis::CastRow& cast) {
  json.begin_object();
  json.field("cause_op", cast.cause_op).field("from", dtype_name(cast.from)).field("to", dtype_name(cast.to));
  json.field("kind", amp::name(cast.kind)).field("phase", amp::name(cast.phase));
  json.field("count", cast.count).field("cached_count", cast.cached_count);
  json.field("elements", cast.elements).field("bytes", cast.bytes).field("cpu_ns", cast.cpu_ns).null_field("gpu_ns");
  json.field("max_expansion", cast.max_expansion).end_object();
}

void write_memory(JsonWriter& json, const Report& report) {
  const analysis::MemoryResult& memory = report.answers.memory;
  const std::int64_t zero = report.timeline.start_ns;
  const auto figure = [&](auto value) { return memory.measured ? std::optional(value) : std::nullopt; };
  const auto step = [](std::uint32_t s) { return s == amp::kNoStep ? std::nullopt : std::optional<std::uint32_t>(s); };
  json.line();
  json.key("memory").begin_object();
  json.field("peak_bytes", figure(memory.peak.bytes));
  json.field("peak_bytes_if_fp32", figure(memory.peak_if_fp32.bytes));
  json.field("saved_bytes", figure(memory.saved_bytes()));
  json.field("peak_time_ns", figure(memory.peak.time_ns - zero)).field("peak_step", step(memory.peak.step));
  json.field("peak_if_fp32_time_ns", figure(memory.peak_if_fp32.time_ns - zero));
  json.field("peak_if_fp32_step", step(memory.peak_if_fp32.step));
  const auto in_steps = [&](auto value) { return memory.in_steps ? std::optional(value) : std::nullopt; };
  json.line();
  json.key("in_steps").begin_object();
  json.field("peak_bytes", in_steps(memory.step_peak.bytes));
  json.field("peak_bytes_if_fp32", in_steps(memory.step_peak_if_fp32.bytes));
  json.field("saved_bytes", in_steps(memory.step_saved_bytes()));
  json.field("peak_step", step(memory.step_peak.step));
  json.field("peak_if_fp32_step", step(memory.step_peak_if_fp32.step)).end_object();
  json.line();
  json.key("by_cause").begin_object();
  for (std::size_t c = 0; c < analysis::kCauseCount; ++c) {
    json.line();
    json.key(amp::name(static_cast<amp::MemoryCause>(c))).begin_object();
    json.field("bytes", figure(memory.peak.by_cause[c]));
    json.field("bytes_if_fp32", figure(memory.peak_if_fp32.by_cause[c]));
    json.field("step_bytes", in_steps(memory.step_peak.by_cause[c]));
    json.field("step_bytes_if_fp32", in_steps(memory.step_peak_if_fp32.by_cause[c]));
    json.field("peak_bytes", figure(memory.cause_peak[c])).end_object();
  }
  json.end_object();
  json.field("allocations", memory.allocations).field("frees", memory.frees);
  json.field("end_bytes", figure(memory.end_bytes));
  json.key("timeline").begin_array();
  for (const analysis::MemoryPoint& point : memory.points)
    json.begin_object()
        .field("time_ns", point.time_ns - zero)
        .field("bytes", point.bytes)
        .field("bytes_if_fp32", point.bytes_if_fp32)
        .end_object();
  json.end_array().end_object();
}

void write_scale_row(JsonWriter& json, const analysis::ScaleRow& row, std::int64_t zero) {
  json.begin_object();
  json.field("step", row.step == amp::kNoStep ? std::nullopt : std::optional<std::uint32_t>(row.step));
  json.field("process", row.pid).field("time_ns", row.time_ns - zero).field("scale", row.scale);
  json.field("scale_after", row.scale_after).field("found_inf", row.found_inf).field("skipped", row.skipped);
  json.field("growth_tracker", row.growth_tracker);
  json.field("first_nonfinite",
             row.first_nonfinite.empty() ? std::nullopt : std::optional<std::string>(row.first_nonfinite));
  json.field("nonfinite_params", row.nonfinite_params).field("action", row.action).end_object();
}

void write_loss_scale(JsonWriter& json, const Report& report) {
  const analysis::LossScaleResult& scale = report.answers.loss_scale;
  const bool known = report.timeline.has_libamp();
  const auto figure = [&](auto value) { return known ? std::optional(value) : std::nullopt; };
  json.line();
  json.key("loss_scale").begin_object();
  write_rows(json, "events", scale.rows,
             [&](const analysis::ScaleRow& row) { write_scale_row(json, row, report.timeline.start_ns); });
  json.line();
  json.field("initial_scale", scale.initial_scale).field("final_scale", scale.final_scale);
  json.field("min_scale", scale.min_scale).field("growth_interval", scale.growth_interval);
  json.field("steps_attempted", figure(scale.steps_attempted)).field("steps_applied", figure(scale.steps_applied));
  json.field("skipped_steps", figure(scale.skipped_steps));
  json.field("growths", figure(scale.growths)).field("backoffs", figure(scale.backoffs));
  write_rows(json, "runs", scale.runs, [&](const analysis::SkipRun& run) {
    json.begin_object();
    json.field("first_step", run.first_step).field("last_step", run.last_step).field("skipped", run.skipped);
    json.field("first_nonfinite",
               run.first_nonfinite.empty() ? std::nullopt : std::optional<std::string>(run.first_nonfinite));
    json.field("scale_before", run.scale_before).field("scale_after", run.scale_after).field("process", run.pid);
    json.end_object();
  });
  json.line();
  json.field("verdict", known ? std::optional<std::string>(analysis::name(scale.verdict)) : std::nullopt);
  json.field("verdict_text", known ? std::optional<std::string>(scale.verdict_text) : std::nullopt);
  json.end_object();
}

void write_finding(JsonWriter& json, const analysis::Finding& finding) {
  json.begin_object();
  json.field("id", analysis::finding_row(finding.id).id).field("severity", analysis::name(finding.severity));
  json.field("title", finding.title);
  json.key("evidence").begin_object();
  for (const auto& [key, value] : finding.evidence) {
    json.key(key);
    std::visit([&](const auto& v) { json.value(v); }, value);
  }
  json.end_object();
  json.field("advice", finding.advice).end_object();
}

}  // namespace

void write_json(const Report& report, std::string& out) {
  const analysis::Answers& answers = report.answers;
  JsonWriter json(out);
  json.begin_object().field("schema", kSchema);
  json.key("generator").begin_object().field("name", "ampprof").field("version", AMPPROF_VERSION).end_object();
  json.line();
  json.key("not_measured").begin_object();
  for (const auto& [path, why] : report.not_measured) {
    json.line();
    json.field(path, why);
  }
  json.end_object();
  json.line();
  json.field("notes", report.notes);
  write_target(json, report.timeline);
  write_capture(json, report);
  write_totals(json, report);
  const std::string& note = report.not_measured.at("ops[].tensor_core");
  write_rows(json, "ops", answers.ops, [&](const OpRow& op) { write_op(json, op, note); });
  write_rows(json, "casts", answers.casts, [&](const analysis::CastRow& cast) { write_cast(json, cast); });
  json.line();
  json.key("kernels").begin_array().end_array();
  json.key("tensor_cores").begin_object().null_field("kernel_time_share").null_field("pipe_utilization");
  json.key("by_dtype").begin_object().end_object().end_object();
  write_memory(json, report);
  write_tensors(json, report);
  write_loss_scale(json, report);
  write_steps(json, report);
  write_timeline(json, report);
  write_rows(json, "findings", report.findings, [&](const analysis::Finding& f) { write_finding(json, f); });
  json.end_object();
  out += '\n';
}

}  // namespace ampprof::report
