// Asks every question and says of every figure that is missing why it is.
#include <fmt/format.h>

#include "profiler/report/report.h"

namespace ampprof::report {
namespace {

constexpr char kNoLibamp[] =
    "no libamp was seen in this run: nothing announced ops, casts, allocations or a loss scale";

bool used_gpu(const analysis::Answers& answers) {
  for (const analysis::OpRow& op : answers.ops)
    if (op.device == amp::DeviceType::cuda) return true;
  return false;
}

void explain_gpu(const analysis::Answers& answers, std::map<std::string, std::string>& not_measured) {
  const std::string why = used_gpu(answers) ? "GPU activity is not recorded in this version of ampprof"
                                            : "the run used no GPU: ops ran on the CPU, which has no Tensor Cores";
  for (const char* path : {"ops[].gpu_ns", "ops[].tensor_core", "casts[].gpu_ns", "kernels", "tensor_cores"})
    not_measured[path] = why;
}

void explain_run(const Report& report, std::map<std::string, std::string>& not_measured) {
  const timeline::Timeline& timeline = report.timeline;
  if (!timeline.target_end) {
    for (const char* path : {"target.exit_code", "target.wall_ns", "target.signal"})
      not_measured[path] = "the end of the command was not recorded";
  }
  if (!timeline.facts.contains("host")) not_measured["target.host"] = "the capture does not name the machine";
}

void explain_libamp(const Report& report, std::map<std::string, std::string>& not_measured) {
  const analysis::Answers& answers = report.answers;
  const bool libamp = report.timeline.has_libamp();
  if (!libamp) {
    for (const char* path : {"ops", "casts", "totals", "tensors", "loss_scale"}) not_measured[path] = kNoLibamp;
  }
  if (answers.steps.empty())
    not_measured["capture.steps_total"] = libamp ? "the program marked no training step" : kNoLibamp;
  if (!answers.memory.measured) not_measured["memory"] = libamp ? "no allocation was announced" : kNoLibamp;
  if (answers.memory.measured && !answers.memory.in_steps) {
    for (const char* path : {"memory.in_steps", "memory.by_cause"})
      not_measured[path] = "nothing was allocated inside a training step";
  }
  if (libamp && answers.tensors.empty())
    not_measured["tensors"] = "tensor statistics were off (--stats off) or no step was sampled";
  if (libamp && answers.ops.empty()) not_measured["ops"] = "no op was announced";
  if (libamp && answers.totals.ops_ns + answers.totals.cast_ns == 0)
    not_measured["totals.cast_share"] = "neither ops nor casts took any time";
  if (libamp && answers.loss_scale.rows.empty()) {
    for (const char* path :
         {"loss_scale.initial_scale", "loss_scale.final_scale", "loss_scale.min_scale", "loss_scale.growth_interval"})
      not_measured[path] = "no GradScaler was used";
  }
  for (const analysis::OpRow& op : answers.ops) {
    if (!op.flops) not_measured["ops[].flops"] = "null where the op's row has no formula for it";
    if (!op.bytes) not_measured["ops[].bytes"] = "null where the op's row has no formula for it";
  }
}

}  // namespace

Report make_report(const timeline::Timeline& timeline, std::string path) {
  Report report{timeline, std::move(path), analysis::find_answers(timeline), {}, {}, {}};
  report.findings = analysis::find_findings(report.answers);
  explain_gpu(report.answers, report.not_measured);
  explain_run(report, report.not_measured);
  explain_libamp(report, report.not_measured);
  for (const auto& [kind, count] : timeline.losses) report.notes.push_back(fmt::format("Lost: {} {}.", count, kind));
  if (timeline.unclosed_ranges != 0)
    report.notes.push_back(fmt::format("{} ranges had no end; they are closed at the last time their process was seen.",
                                       timeline.unclosed_ranges));
  for (const std::string& note : timeline.notes) report.notes.push_back(note);
  return report;
}

}  // namespace ampprof::report
