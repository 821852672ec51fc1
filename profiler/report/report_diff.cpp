// See report_diff.h. Works on report.json, so that reports of other machines and versions can be compared too.
#include "profiler/report/report_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <vector>

#include "profiler/report/text.h"
#include "profiler/report/utf8.h"

namespace ampprof::report {
namespace {

using nlohmann::json;
constexpr std::size_t kTopRows = 12;

std::optional<double> number(const json& report, const char* pointer) {
  const json::json_pointer at(pointer);
  if (!report.contains(at) || !report.at(at).is_number()) return std::nullopt;
  return report.at(at).get<double>();
}
std::string text(const json& report, const char* pointer) {
  const json::json_pointer at(pointer);
  return report.contains(at) && report.at(at).is_string() ? to_printable(report.at(at).get<std::string>())
                                                          : "not measured";
}
const json& rows(const json& report, const char* key) {
  static const json kNone = json::array();
  return report.contains(key) && report.at(key).is_array() ? report.at(key) : kNone;
}

using Show = std::string (*)(double);
std::string show_time(double v) { return time_text(static_cast<std::int64_t>(v)); }
std::string show_bytes(double v) { return bytes_text(v); }
std::string show_count(double v) { return fmt::format("{}", v); }
std::string show_share(double v) { return percent(v, 1); }

std::string change(std::optional<double> a, std::optional<double> b) {
  if (!a || !b) return "";
  if (*a == *b) return "same";
  if (*a == 0) return "new";
  return fmt::format("{:+.1f} %", 100 * (*b - *a) / std::abs(*a));
}

class Diff {
 public:
  Diff(const json& a, const json& b) : a_(a), b_(b) {}

  std::string run(const std::string& name_a, const std::string& name_b) {
    out_ +=
        fmt::format("A: {}  ({})\nB: {}  ({})\n", to_printable(name_a), command(a_), to_printable(name_b), command(b_));
    losses("A", a_);
    losses("B", b_);
    const std::optional<double> steps_a = number(a_, "/capture/steps_total"),
                                steps_b = number(b_, "/capture/steps_total");
    if (steps_a && steps_b && *steps_a > 0 && *steps_b > 0 && *steps_a != *steps_b) {
      per_a_ = *steps_a, per_b_ = *steps_b;
      out_ += fmt::format("A has {} steps, B has {}: times and counts below are per step.\n", *steps_a, *steps_b);
    }
    out_ += fmt::format("\n{:<28} {:>16} {:>16} {:>10}\n", "", "A", "B", "change");
    if (per_a_ == 1 && per_b_ == 1) line("wall time", "/target/wall_ns", show_time, false);
    line("time in steps", "/totals/step_ns", show_time, true);
    line("time of ops", "/totals/ops_ns", show_time, true);
    line("time of casts", "/totals/cast_ns", show_time, true);
    line("share of casts", "/totals/cast_share", show_share, false);
    line("casts", "/totals/casts", show_count, true);
    line("casts saved by the cache", "/totals/casts_cached", show_count, true);
    line("peak memory", "/memory/peak_bytes", show_bytes, false);
    line("peak if float32", "/memory/peak_bytes_if_fp32", show_bytes, false);
    line("memory saved", "/memory/saved_bytes", show_bytes, false);
    line("final loss scale", "/loss_scale/final_scale", show_count, false);
    line("skipped steps", "/loss_scale/skipped_steps", show_count, false);
    out_ += fmt::format("{:<28} {:>16} {:>16}\n", "loss scale verdict", text(a_, "/loss_scale/verdict"),
                        text(b_, "/loss_scale/verdict"));
    ops();
    casts();
    findings();
    return std::move(out_);
  }

 private:
  static std::string command(const json& report) {
    std::string all;
    const json target = report.value("target", json::object());
    for (const json& word : rows(target, "command"))
      if (word.is_string()) (all += all.empty() ? "" : " ") += word.get_ref<const std::string&>();
    return all.empty() ? "command not recorded" : cut_to(to_printable(all), 70);
  }

  void losses(const char* which, const json& report) {
    const json::json_pointer at("/capture/dropped");
    if (report.contains(at) && !report.at(at).empty())
      out_ += fmt::format("RECORDS WERE LOST in {}: read its counts as \"at least\".\n", which);
  }

  void line(const char* label, const char* pointer, Show show, bool per_step) {
    std::optional<double> a = number(a_, pointer), b = number(b_, pointer);
    if (per_step && a) *a /= per_a_;
    if (per_step && b) *b /= per_b_;
    const auto shown = [&](const std::optional<double>& v) { return v ? show(*v) : std::string("not measured"); };
    out_ += fmt::format("{:<28} {:>16} {:>16} {:>10}\n", label, shown(a), shown(b), change(a, b));
  }

  struct OpSide {
    double cpu_ns = 0, calls = 0;
    std::set<std::string> dtypes, reasons;
  };
  using OpKey = std::pair<std::string, std::string>;

  static std::string joined(const std::set<std::string>& words) {
    return words.empty() ? std::string("-") : fmt::format("{}", fmt::join(words, "+"));
  }
  static std::map<OpKey, OpSide> sum_ops(const json& report, double per) {
    std::map<OpKey, OpSide> sides;
    for (const json& op : rows(report, "ops")) {
      OpSide& side = sides[{op.value("name", ""), op.value("phase", "")}];
      side.cpu_ns += op.value("cpu_ns", 0.0) / per;
      side.calls += op.value("calls", 0.0) / per;
      side.dtypes.insert(op.value("compute_dtype", ""));
      side.reasons.insert(op.value("reason", ""));
    }
    return sides;
  }

  void ops() {
    struct Row {
      OpKey key;
      OpSide a, b;
    };
    std::map<OpKey, OpSide> sides_a = sum_ops(a_, per_a_), sides_b = sum_ops(b_, per_b_);
    std::vector<Row> all;
    for (auto& [key, side] : sides_a) all.push_back({key, side, sides_b[key]});
    for (auto& [key, side] : sides_b)
      if (!sides_a.contains(key)) all.push_back({key, {}, side});
    std::stable_sort(all.begin(), all.end(), [](const Row& x, const Row& y) {
      return std::abs(x.a.cpu_ns - x.b.cpu_ns) > std::abs(y.a.cpu_ns - y.b.cpu_ns);
    });
    std::size_t dtype_changes = 0;
    for (const Row& row : all) dtype_changes += row.a.dtypes != row.b.dtypes ? 1 : 0;
    out_ += fmt::format("\n{} of {} ops (name and phase) changed their dtype. Largest changes in time first:\n",
                        dtype_changes, all.size());
    for (std::size_t i = 0; i < all.size() && i < kTopRows; ++i) {
      const Row& row = all[i];
      const auto time = [](const OpSide& side) {
        return side.calls > 0 ? show_time(side.cpu_ns) : std::string("absent");
      };
      const std::string dtypes =
          row.a.dtypes == row.b.dtypes ? joined(row.a.dtypes) : joined(row.a.dtypes) + " -> " + joined(row.b.dtypes);
      std::string why;
      if (row.a.reasons != row.b.reasons && !row.b.reasons.empty()) why = "  (" + joined(row.b.reasons) + ")";
      out_ += fmt::format("  {:<28} {:<9} {:>9} {:>9} {:>9}  {}{}\n", cut_to(to_printable(row.key.first), 28),
                          to_printable(row.key.second), time(row.a), time(row.b),
                          row.a.calls > 0 && row.b.calls > 0 ? change(row.a.cpu_ns, row.b.cpu_ns) : "",
                          to_printable(dtypes), to_printable(why));
    }
    if (all.size() > kTopRows) out_ += fmt::format("  ... and {} more\n", all.size() - kTopRows);
  }

  static std::map<std::string, std::pair<double, double>> sum_casts(const json& report, double per) {
    std::map<std::string, std::pair<double, double>> sums;
    for (const json& cast : rows(report, "casts")) {
      const std::string cause = cast.value("cause_op", "");
      auto& sum = sums[fmt::format("{} {}->{}", cause.empty() ? "(explicit)" : cause, cast.value("from", ""),
                                   cast.value("to", ""))];
      sum.first += cast.value("count", 0.0) / per;
      sum.second += cast.value("cpu_ns", 0.0) / per;
    }
    return sums;
  }

  void casts() {
    const auto a = sum_casts(a_, per_a_), b = sum_casts(b_, per_b_);
    std::vector<std::string> lines;
    const auto at = [](const auto& sums, const std::string& key) {
      const auto it = sums.find(key);
      return it == sums.end() ? std::pair<double, double>() : it->second;
    };
    std::set<std::string> keys;
    for (const auto& [key, sum] : a) keys.insert(key);
    for (const auto& [key, sum] : b) keys.insert(key);
    for (const std::string& key : keys) {
      const auto x = at(a, key), y = at(b, key);
      if (x.first == y.first) continue;
      lines.push_back(fmt::format("  {:<44} {:>8.4g} -> {:<8.4g} {:>9} -> {}\n", cut_to(to_printable(key), 44), x.first,
                                  y.first, show_time(x.second), show_time(y.second)));
    }
    out_ += fmt::format("\nCasts whose number changed: {}\n", lines.empty() ? "none" : "");
    for (std::size_t i = 0; i < lines.size() && i < kTopRows; ++i) out_ += lines[i];
    if (lines.size() > kTopRows) out_ += fmt::format("  ... and {} more\n", lines.size() - kTopRows);
  }

  void findings() {
    const auto titles = [](const json& report) {
      std::map<std::string, std::string> map;
      for (const json& f : rows(report, "findings"))
        map[f.value("id", "")] = f.value("severity", "") + ": " + f.value("title", "");
      return map;
    };
    const auto a = titles(a_), b = titles(b_);
    out_ += "\n";
    bool any = false;
    const auto say = [&](const char* what, const std::string& id, const std::string& title) {
      out_ += fmt::format("{} finding {}: {}\n", what, to_printable(id), to_printable(title));
      any = true;
    };
    for (const auto& [id, title] : b)
      if (!a.contains(id)) say("New", id, title);
    for (const auto& [id, title] : a)
      if (!b.contains(id)) say("Gone", id, title);
    for (const auto& [id, title] : b)
      if (a.contains(id) && a.at(id) != title) say("Changed", id, a.at(id) + "  ->  " + title);
    if (!any) out_ += "Findings: the same in both.\n";
  }

  const json &a_, &b_;
  double per_a_ = 1, per_b_ = 1;
  std::string out_;
};

}  // namespace

std::string diff_text(const json& a, const std::string& name_a, const json& b, const std::string& name_b) {
  return Diff(a, b).run(name_a, name_b);
}

}  // namespace ampprof::report
