// report.txt, and what the terminal shows at the end: one screen, the answers first, in sentences.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "profiler/analysis/narrow_type.h"
#include "profiler/report/report.h"
#include "profiler/report/text.h"
#include "profiler/report/utf8.h"

namespace ampprof::report {
namespace {

constexpr std::size_t kWidth = 100;
constexpr std::size_t kScreen = 40;  // lines
constexpr std::size_t kTopOps = 6, kTopCasts = 2;
constexpr std::size_t kFilesLines = 3;  // a blank one and the paths

class Text {
 public:
  void line(std::string_view text) { out_ += cut_to(text, kWidth) + "\n"; }
  /// "Label     sentence that may
  ///            run over lines"
  void answer(std::string_view label, std::string_view sentence) { wrap(fmt::format("{:<11} ", label), 12, sentence); }
  void wrap(std::string first, std::size_t indent, std::string_view sentence, std::size_t most_lines = 2) {
    std::string line = std::move(first);
    std::size_t lines = 1;
    bool fresh = true;
    while (!sentence.empty()) {
      const std::size_t space = sentence.find(' ');
      const std::string_view word = sentence.substr(0, space);
      sentence.remove_prefix(space == std::string_view::npos ? sentence.size() : space + 1);
      if (!fresh && width_of(line) + 1 + width_of(word) > kWidth) {
        if (lines == most_lines) {
          out_ += cut_to(line + " …", kWidth) + "\n";
          return;
        }
        out_ += line + "\n";
        line = std::string(indent, ' ');
        fresh = true;
        ++lines;
      }
      line += fresh ? "" : " ";
      line += cut_to(word, kWidth - indent);
      fresh = false;
    }
    out_ += cut_to(line, kWidth) + "\n";
  }
  void blank() { out_ += "\n"; }
  [[nodiscard]] std::size_t lines() const {
    return static_cast<std::size_t>(std::count(out_.begin(), out_.end(), '\n'));
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

std::string why_not(const Report& report, const char* path) {
  const auto it = report.not_measured.find(path);
  return "not measured: " + (it == report.not_measured.end() ? std::string("no reason known") : it->second) + ".";
}

void write_header(Text& text, const Report& report) {
  const timeline::Timeline& timeline = report.timeline;
  // Losses come before any number.
  if (!timeline.losses.empty()) {
    std::string lost;
    for (const auto& [kind, count] : timeline.losses)
      lost += fmt::format("{}{} {}", lost.empty() ? "" : ", ", count, kind);
    text.wrap("RECORDS WERE LOST: ", 4, to_printable(lost) + ". Read every count below as \"at least\".");
  }
  std::string ended = "end not recorded";
  if (timeline.target_end) {
    const auto& end = *timeline.target_end;
    ended = end.signal != 0 ? fmt::format("signal {} (exit {})", end.signal, end.exit_code)
                            : fmt::format("exit {}", end.exit_code);
    ended += ", " + time_text(static_cast<std::int64_t>(end.wall_ns));
  }
  const auto& steps = report.answers.steps;
  if (!steps.empty()) {
    const auto sampled = std::count_if(steps.begin(), steps.end(), [](const auto& s) { return s.sampled; });
    ended +=
        fmt::format(", {} step{} ({} with tensor statistics)", steps.size(), steps.size() == 1 ? "" : "s", sampled);
  }
  const std::string command = timeline.command.empty()
                                  ? std::string("(command not recorded)")
                                  : to_printable(fmt::format("{}", fmt::join(timeline.command, " ")));
  text.line("ampprof: " + command);
  text.line("         " + ended);
  text.blank();
}

std::string precision_answer(const Report& report) {
  const analysis::Totals& totals = report.answers.totals;
  if (report.answers.ops.empty()) return why_not(report, "ops");
  const bool in_steps = totals.ops_in_steps_ns > 0;  // evaluation and loading are not what the question is about
  const std::int64_t all_ns = in_steps ? totals.ops_in_steps_ns : totals.ops_ns;
  const auto time_of = [&](const analysis::DTypeShare& share) { return in_steps ? share.step_ns : share.cpu_ns; };
  std::vector<std::pair<amp::DType, analysis::DTypeShare>> shares(totals.by_compute_dtype.begin(),
                                                                  totals.by_compute_dtype.end());
  std::stable_sort(shares.begin(), shares.end(),
                   [&](const auto& a, const auto& b) { return time_of(a.second) > time_of(b.second); });
  std::string text;
  for (std::size_t i = 0; i < shares.size() && i < 4 && (i == 0 || time_of(shares[i].second) > 0); ++i)
    text += fmt::format("{}{} in {}", i == 0 ? "" : ", ",
                        percent(static_cast<double>(time_of(shares[i].second)), static_cast<double>(all_ns)),
                        amp::name(shares[i].first));
  text += in_steps ? " of the op time in training steps" : " of the op time";
  return text.append(totals.autocast_used ? "." : ". No op ran under autocast.");
}

std::string casts_answer(const Report& report) {
  const analysis::Totals& totals = report.answers.totals;
  if (!report.timeline.has_libamp()) return why_not(report, "casts");
  if (totals.casts + totals.casts_cached == 0) return "no conversion between dtypes took place.";
  std::string text = fmt::format("{} conversions took {}", totals.casts, time_text(totals.cast_ns));
  if (const auto share = totals.cast_share()) text += fmt::format(", {} of op and cast time", percent(*share, 1));
  text += fmt::format("; the cast cache saved {}", totals.casts_cached);
  if (!report.answers.casts.empty() && !report.answers.casts.front().cause_op.empty())
    text += fmt::format(". Most for {}", to_printable(report.answers.casts.front().cause_op));
  return text + ".";
}

std::string memory_sentence(std::string_view of, std::uint64_t peak, std::uint64_t peak_if_fp32) {
  const double saved = static_cast<double>(peak_if_fp32) - static_cast<double>(peak);
  const std::string text =
      fmt::format("peak {} {}, in float32 it would be {}: ", of, bytes_text(static_cast<double>(peak)),
                  bytes_text(static_cast<double>(peak_if_fp32)));
  if (saved == 0) return text + "no difference.";
  return text + fmt::format("mixed precision {} {} ({}).", saved > 0 ? "saved" : "COST", bytes_text(std::abs(saved)),
                            percent(std::abs(saved), static_cast<double>(peak_if_fp32)));
}

std::string memory_answer(const Report& report) {
  const analysis::MemoryResult& memory = report.answers.memory;
  if (!memory.measured) return why_not(report, "memory");
  std::string text;
  if (memory.in_steps)
    text = memory_sentence("in training steps", memory.step_peak.bytes, memory.step_peak_if_fp32.bytes);
  const bool elsewhere = memory.peak.step == amp::kNoStep || memory.peak_if_fp32.step == amp::kNoStep;
  if (!memory.in_steps || elsewhere) {
    if (!text.empty()) text += ' ';
    text += memory_sentence("of the whole run", memory.peak.bytes, memory.peak_if_fp32.bytes);
  }
  return text;
}

/// The gradient tensor of which the largest share would flush in float16: with the scale it carries, or without one.
const analysis::TensorRow* worst_gradient(const Report& report, bool unscaled) {
  const analysis::TensorRow* worst = nullptr;
  for (const analysis::TensorRow& row : report.answers.tensors) {
    if (!analysis::is_gradient(row.role) || unscaled != (row.role == amp::TensorRole::unscaled_gradient)) continue;
    if (worst == nullptr || row.underflow[0] > worst->underflow[0]) worst = &row;
  }
  return worst;
}

/// What rounding took from the float16 gradients as it happened, where that was counted.
std::string flushed_answer(const Report& report) {
  double kept = 0, flushed = 0;
  for (const analysis::TensorRow& row : report.answers.tensors) {
    if (!analysis::is_gradient(row.role) || row.dtype != amp::DType::float16 || !row.rounding) continue;
    kept += static_cast<double>(row.finite_nonzero());
    flushed += static_cast<double>(row.rounding->to_zero);
  }
  if (kept + flushed == 0) return {};
  return fmt::format("{} of the non-zero values became zero when rounded to float16. ",
                     percent(flushed, kept + flushed));
}

std::string gradients_answer(const Report& report) {
  if (report.answers.tensors.empty()) return why_not(report, "tensors");
  std::string text = flushed_answer(report);
  const auto describe = [](const analysis::TensorRow& row) {
    return fmt::format("{} (step {}), of which {} flush in float16, {} in bfloat16", to_printable(row.name), row.step,
                       percent(row.underflow[0], 1), percent(row.underflow[1], 1));
  };
  const analysis::TensorRow* scaled = worst_gradient(report, false);
  const analysis::TensorRow* unscaled = worst_gradient(report, true);
  if (scaled != nullptr && scaled->scale != 1 && scaled->underflow[0] > 0)
    text += fmt::format("Worst at scale {}: {}. ", scaled->scale, describe(*scaled));
  if (unscaled != nullptr && unscaled->underflow[0] > 0)
    text += fmt::format("Worst without scale: {}.", describe(*unscaled));
  if (!text.empty()) return text;
  return scaled == nullptr && unscaled == nullptr ? "no gradient was sampled."
                                                  : "none of the sampled values would flush to zero in float16.";
}

/// "fp32,fp16->fp16": what the op was given, each dtype once, and what it computed in.
std::string dtypes_of(const analysis::OpRow& op) {
  std::string text;
  std::vector<amp::DType> seen;
  for (const amp::DType dtype : op.input_dtypes) {
    if (std::find(seen.begin(), seen.end(), dtype) != seen.end()) continue;
    seen.push_back(dtype);
    if (!text.empty()) text += ',';
    text += amp::short_name(dtype);
  }
  if (!text.empty()) text += "->";
  return text += amp::short_name(op.compute_dtype);
}

void write_answers(Text& text, const Report& report) {
  text.answer("Precision", precision_answer(report));
  text.answer("TensorCores", why_not(report, "tensor_cores"));
  text.answer("Casts", casts_answer(report));
  text.answer("Memory", memory_answer(report));
  text.answer("Loss scale", report.timeline.has_libamp() ? to_printable(report.answers.loss_scale.verdict_text)
                                                         : why_not(report, "loss_scale"));
  text.answer("Gradients", gradients_answer(report));
}

void write_ops(Text& text, const Report& report) {
  const analysis::Totals& totals = report.answers.totals;
  const bool in_steps = totals.ops_in_steps_ns > 0;
  std::vector<const analysis::OpRow*> ops;
  for (const analysis::OpRow& op : report.answers.ops)
    if (!in_steps || op.step_calls != 0) ops.push_back(&op);
  if (ops.empty()) return;
  const auto time_of = [&](const analysis::OpRow& op) { return in_steps ? op.step_ns : op.cpu_ns; };
  std::stable_sort(ops.begin(), ops.end(), [&](const auto* a, const auto* b) { return time_of(*a) > time_of(*b); });
  const auto all = static_cast<double>(in_steps ? totals.ops_in_steps_ns : totals.ops_ns);
  text.blank();
  text.line(fmt::format("{:<22} {:<9} {:<15} {:>8} {:>9} {:>7}  {}", in_steps ? "op in training steps" : "op", "phase",
                        "given->run in", "calls", "self time", "share", "why"));
  for (std::size_t i = 0; i < ops.size() && i < kTopOps; ++i) {
    const analysis::OpRow& op = *ops[i];
    text.line(fmt::format("{:<22} {:<9} {:<15} {:>8} {:>9} {:>7}  {}", cut_to(to_printable(op.name), 22),
                          amp::name(op.phase), cut_to(dtypes_of(op), 15), in_steps ? op.step_calls : op.calls,
                          time_text(time_of(op)), percent(static_cast<double>(time_of(op)), all),
                          amp::name(op.reason)));
  }
  if (ops.size() > kTopOps) text.line(fmt::format("... and {} more rows in report.json", ops.size() - kTopOps));
}

void write_casts(Text& text, const Report& report) {
  const auto& casts = report.answers.casts;
  for (std::size_t i = 0; i < casts.size() && i < kTopCasts; ++i) {
    const analysis::CastRow& cast = casts[i];
    const std::string name =
        "cast for " + (cast.cause_op.empty() ? std::string("(explicit)") : to_printable(cast.cause_op));
    text.line(fmt::format("{:<22} {:<9} {:<15} {:>8} {:>9} {:>7}  {} saved by the cache", cut_to(name, 22),
                          amp::name(cast.phase),
                          fmt::format("{}->{}", amp::short_name(cast.from), amp::short_name(cast.to)), cast.count,
                          time_text(cast.cpu_ns), "", cast.cached_count));
  }
}

void write_findings(Text& text, const Report& report) {
  const auto& findings = report.findings;
  text.blank();
  text.line(findings.empty() ? "No findings." : fmt::format("Findings ({}), worst first", findings.size()));
  // As many as the screen holds: a title and up to four lines of advice each, and a line that says what is left. The
  // advice of the worst goes before the titles of the others only as far as each of those gets two lines.
  std::size_t shown = 0;
  for (const analysis::Finding& finding : findings) {
    const std::size_t left = kScreen - std::min(kScreen, text.lines() + kFilesLines + 1);
    if (left < 2) break;
    text.line(fmt::format("  {:<8} {}", analysis::name(finding.severity), to_printable(finding.title)));
    text.wrap("           ", 11, to_printable(finding.advice),
              std::clamp<std::size_t>(left - 1 - std::min(left - 2, 2 * (findings.size() - shown - 1)), 1, 4));
    ++shown;
  }
  if (findings.size() > shown) text.line(fmt::format("  ... and {} more in report.json", findings.size() - shown));
}

}  // namespace

std::string text_of(const Report& report, const std::vector<std::string>& files) {
  Text text;
  write_header(text, report);
  write_answers(text, report);
  write_ops(text, report);
  write_casts(text, report);
  write_findings(text, report);
  if (!files.empty()) {
    text.blank();
    std::string list;
    for (const std::string& file : files) list += (list.empty() ? "" : "  ") + to_printable(file);
    text.wrap("Files: ", 7, list);
  }
  return text.take();
}

}  // namespace ampprof::report
