// report.json and trace.json.gz: strict JSON, every key, nothing unmeasured without a reason, whatever names hold.
#include <sys/resource.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <filesystem>
#include <map>
#include <set>

#include "profiler/report/files.h"
#include "profiler/report/report.h"
#include "profiler/report/write_reports.h"
#include "tests/analysis/tiny_run.h"
#include "tests/report/sample_run.h"
#include "tests/report/schema_check.h"

using namespace ampprof;
using nlohmann::json;
using test::TinyRun;

namespace {

/// Parses strictly (UTF-8 is checked by the parser) and refuses a key that comes twice in one object.
json parse_strict(const std::string& text) {
  std::vector<std::set<std::string>> keys;
  return json::parse(text, [&](int, json::parse_event_t event, json& value) {
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::object_end) keys.pop_back();
    if (event == json::parse_event_t::key && !keys.back().insert(value.get<std::string>()).second)
      throw std::runtime_error("key twice: " + value.get<std::string>());
    return true;
  });
}

json report_of(const timeline::Timeline& timeline, const std::string& path = "capture.amptrace") {
  std::string text;
  report::write_json(report::make_report(timeline, path), text);
  return parse_strict(text);
}

json read_json(const std::string& path) {
  std::string text;
  const std::string error = report::read_file(path, text);
  if (!error.empty()) throw std::runtime_error(error);
  return parse_strict(text);
}

std::string gunzip(const std::string& path) {
  std::string text;
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) throw std::runtime_error("no " + path);
  char chunk[65536];
  for (int n = 0; (n = gzread(file, chunk, sizeof chunk)) > 0;) text.append(chunk, static_cast<std::size_t>(n));
  int code = Z_OK;
  gzerror(file, &code);
  gzclose(file);
  if (code != Z_OK) throw std::runtime_error("gzip damaged");
  return text;
}

json trace_of(const timeline::Timeline& timeline) {
  const auto path =
      std::filesystem::temp_directory_path() / ("ampprof_json_test_" + std::to_string(getpid()) + ".json.gz");
  REQUIRE(report::write_trace(timeline, path.string()).empty());
  json trace = parse_strict(gunzip(path.string()));
  std::filesystem::remove(path);
  return trace;
}

const std::string kHostileNames[] = {"</script><script>alert(1)</script>",
                                     "quote\" and \\backslash\\",
                                     "emoji \xf0\x9f\x98\x80",
                                     std::string("nul\0inside", 10),
                                     "\xc0\x9f\x01\"\\",
                                     "cut \xf0\x9f\x98",
                                     "surrogate \xed\xa0\x80",
                                     "lines\n\r\t",
                                     "<!-- \xe2\x80\xa8 \xe2\x80\xa9 \xe2\x80\xae"};

timeline::Timeline hostile_run() {
  TinyRun run;
  run.step(0, true);
  for (const std::string& name : kHostileNames) {
    test::OpSpec spec;
    spec.module = name;
    run.op(name, 5, spec).cast(name, 2, amp::DType::float32, amp::DType::float16);
    run.tensor(name, amp::TensorRole::gradient, amp::DType::float16, -24, {1, 2, 3});
    run.builder.fact(run.lane, name, name);
    run.builder.lose(name);
    run.builder.note(name);
    const auto lane = run.builder.track(0, 77, name);
    run.builder.begin_range(lane, run.now, name);
    run.builder.end(lane, run.now + 3);
    run.builder.start_overlap_range(0, 5, run.now, name, name);
    run.builder.mark(0, 77, run.now, name, name);
    run.builder.name_thread(0, 77, name);
    run.builder.timeline().command.push_back(name);
    run.scaler_step(0, 4, 2, true, name);
  }
  return run.finish();
}

void check_schema(const json& report) {
  static const json schema = read_json(AMP_SOURCE_DIR "/profiler/report/report.schema.json");
  for (const std::string& error : test::SchemaCheck(schema).errors(report)) FAIL_CHECK(error);
}

/// Figures for which null means "there is none", as SCHEMA.md says, and not "not measured".
const std::set<std::string> kNoneIsFine = {"target.signal",
                                           "ops[].output_dtype",
                                           "memory.peak_step",
                                           "memory.in_steps.peak_step",
                                           "memory.in_steps.peak_if_fp32_step",
                                           "memory.peak_if_fp32_step",
                                           "tensors[].step",
                                           "tensors[].min_abs_nonzero",
                                           "tensors[].max_abs",
                                           "tensors[].rounding",
                                           "loss_scale.events[].step",
                                           "loss_scale.events[].scale_after",
                                           "loss_scale.events[].first_nonfinite",
                                           "loss_scale.events[].nonfinite_params",
                                           "loss_scale.min_scale",
                                           "loss_scale.runs[].first_nonfinite",
                                           "steps[].dur_ns",
                                           "timeline.slices[].step",
                                           "timeline.slices[].dtype",
                                           "timeline.slices[].from",
                                           "timeline.slices[].phase",
                                           "timeline.slices[].reason",
                                           "timeline.slices[].module",
                                           "totals.cast_share",
                                           "totals.by_compute_dtype.float32.time_share",
                                           "totals.by_compute_dtype.float32.flops_share",
                                           "totals.by_compute_dtype.float16.flops_share"};

void check_nulls(const json& value, const std::string& path, const json& reasons) {
  if (value.is_object())
    for (const auto& [key, item] : value.items()) check_nulls(item, path.empty() ? key : path + "." + key, reasons);
  if (value.is_array())
    for (const json& item : value) check_nulls(item, path + "[]", reasons);
  if (!value.is_null() || kNoneIsFine.contains(path)) return;
  bool said = false;
  for (const auto& [reason_path, sentence] : reasons.items())
    said |= path == reason_path || path.rfind(reason_path + ".", 0) == 0 || path.rfind(reason_path + "[", 0) == 0;
  INFO("null without a reason: " << path);
  CHECK(said);
}

void check_report(const timeline::Timeline& timeline) {
  const json report = report_of(timeline);
  check_schema(report);
  check_nulls(report, "", report["not_measured"]);
}

timeline::Timeline foreign_run() {
  TinyRun run(false);
  const auto lane = run.builder.track(0, 77, "default");
  run.builder.begin_range(lane, run.now, "frame");
  return run.finish();
}

/// The event grammar that Perfetto and chrome://tracing rely on.
void check_trace(const json& trace) {
  REQUIRE(trace["traceEvents"].is_array());
  std::map<std::pair<json, json>, std::vector<std::pair<double, double>>>
      open;  // by lane: start and end of what is open
  std::map<std::uint64_t, std::string> flows;
  std::map<std::string, int> overlapping;
  constexpr double kHalfNs = 0.0005;
  for (const json& e : trace["traceEvents"]) {
    const std::string ph = e["ph"];
    const double ts = e["ts"];
    CHECK(ts >= 0);
    REQUIRE(e["name"].is_string());
    REQUIRE(e["pid"].is_number_integer());
    REQUIRE(e["tid"].is_number_integer());
    if (ph == "X") {
      const double dur = e["dur"];
      CHECK(dur >= 0);
      auto& stack = open[{e["pid"], e["tid"]}];
      while (!stack.empty() && stack.back().second <= ts + kHalfNs) stack.pop_back();
      if (!stack.empty()) {
        CHECK(ts >= stack.back().first - kHalfNs);
        CHECK(ts + dur <= stack.back().second + kHalfNs);
      }
      stack.emplace_back(ts, ts + dur);
    } else if (ph == "s") {
      CHECK(flows.emplace(e["id"].get<std::uint64_t>(), "s").second);
    } else if (ph == "f") {
      REQUIRE(flows.contains(e["id"].get<std::uint64_t>()));
      CHECK(std::exchange(flows[e["id"].get<std::uint64_t>()], "f") == "s");
    } else if (ph == "C") {
      for (const auto& [key, value] : e["args"].items()) CHECK(value.is_number());
    } else if (ph == "b" || ph == "e") {
      overlapping[e["id"].get<std::string>()] += ph == "b" ? 1 : -1;
    } else {
      CHECK((ph == "M" || ph == "i"));
    }
  }
  for (const auto& [id, state] : flows) CHECK(state == "f");
  for (const auto& [id, balance] : overlapping) CHECK(balance == 0);
}

}  // namespace

TEST_CASE("report.json fits its schema and explains every null", "[report][json]") {
  check_report(test::SampleRun().make());
  check_report(hostile_run());
  check_report(foreign_run());
  check_report(timeline::TimelineBuilder().finish());
  check_report(TinyRun().op("op", 0).finish());
}

TEST_CASE("the schema check itself finds what is wrong", "[report][json]") {
  const json schema = read_json(AMP_SOURCE_DIR "/profiler/report/report.schema.json");
  test::SchemaCheck check(schema);
  const json good = report_of(test::SampleRun().make());
  const auto broken = [&](const std::string& pointer, const json& value) {
    json bad = good;
    bad[json::json_pointer(pointer)] = value;
    return check.errors(bad).size();
  };
  CHECK(check.errors(good).empty());
  CHECK(broken("/ops/0/calls", -1) == 1);
  CHECK(broken("/ops/0/compute_dtype", "float17") == 1);
  CHECK(broken("/ops/0/surprise", 1) == 1);
  CHECK(broken("/memory/saved_bytes", "much") == 1);
  CHECK(broken("/totals/cast_share", 1.5) == 1);
  CHECK(broken("/tensors/0/underflow/float16", nullptr) == 1);
  json lacking = good;
  lacking.erase("findings");
  CHECK(check.errors(lacking).size() == 1);
}

TEST_CASE("SCHEMA.md names every key of the schema", "[report][json]") {
  std::string page;
  REQUIRE(report::read_file(AMP_SOURCE_DIR "/profiler/report/SCHEMA.md", page).empty());
  const json schema = read_json(AMP_SOURCE_DIR "/profiler/report/report.schema.json");
  const std::function<void(const json&)> walk = [&](const json& node) {
    if (!node.is_object()) return;
    if (node.contains("properties"))
      for (const auto& [key, child] : node["properties"].items()) {
        INFO(key);
        CHECK(page.find(key) != std::string::npos);
        walk(child);
      }
    if (node.contains("items")) walk(node["items"]);
    if (node.contains("additionalProperties")) walk(node["additionalProperties"]);
  };
  walk(schema);
}

TEST_CASE("names come through as valid text", "[report][json]") {
  const json report = report_of(hostile_run());
  std::set<std::string> names;
  for (const json& op : report["ops"]) names.insert(op["name"].get<std::string>());
  CHECK(names.contains("</script><script>alert(1)</script>"));
  CHECK(names.contains("quote\" and \\backslash\\"));
  CHECK(names.contains("emoji \xf0\x9f\x98\x80"));
  CHECK(names.contains(std::string("nul\0inside", 10)));
  CHECK(names.contains("\xef\xbf\xbd\xef\xbf\xbd\x01\"\\"));
  CHECK(names.contains("cut \xef\xbf\xbd"));
}

TEST_CASE("figures of a run without libamp are null, never zero", "[report][json]") {
  const json report = report_of(foreign_run());
  CHECK(report["memory"]["peak_bytes"].is_null());
  CHECK(report["totals"]["cast_ns"].is_null());
  CHECK(report["loss_scale"]["skipped_steps"].is_null());
  CHECK(report["loss_scale"]["verdict"].is_null());
  CHECK(report["capture"]["steps_total"].is_null());
  CHECK(report["target"]["exit_code"].is_null());
  CHECK(report["findings"][0]["id"] == "ended_without_shutdown");
  CHECK(report["findings"][1]["id"] == "no_libamp");
}

TEST_CASE("the answers of the run made by hand", "[report][json]") {
  const json report = report_of(test::SampleRun().make());
  CHECK(report["capture"]["steps_total"] == 40);
  CHECK(report["capture"]["steps_sampled"] == json::array({0, 10, 20, 30}));
  CHECK(report["loss_scale"]["verdict"] == "calibration");
  CHECK(report["loss_scale"]["events"].size() == 40);
  CHECK(report["loss_scale"]["events"][1]["scale"] == 32768.0);
  CHECK(report["loss_scale"]["events"][1]["first_nonfinite"] == "5.weight");
  CHECK(report["memory"]["saved_bytes"] == report["memory"]["peak_bytes_if_fp32"].get<std::int64_t>() -
                                               report["memory"]["peak_bytes"].get<std::int64_t>());
  CHECK(report["ops"][0]["tensor_core"]["used"].is_null());
  for (const json& tensor : report["tensors"]) {
    std::uint64_t sum = tensor["zero"];
    for (const json& n : tensor["exponent"]["counts"]) sum += n.get<std::uint64_t>();
    CHECK(sum == tensor["count"]);
  }
}

TEST_CASE("long series are thinned evenly, keep both ends, and say what is left out", "[report][json]") {
  TinyRun run;
  for (std::uint32_t step = 0; step < 12000; ++step) {
    run.step(step, true).op("op", 1).op("op", 1);
    run.tensor("w", amp::TensorRole::weight, amp::DType::float32, 0, {1});
    run.end_step();
  }
  const json report = report_of(run.finish());
  check_schema(report);
  CHECK(report["steps"].size() == 5000);
  CHECK(report["steps_left_out"] == 7000);
  CHECK(report["steps"].front()["step"] == 0);
  CHECK(report["steps"].back()["step"] == 11999);
  CHECK(report["tensors"].size() == 10000);
  CHECK(report["tensors_left_out"] == 2000);
  CHECK(report["tensors"].back()["step"] == 11999);
  CHECK(report["capture"]["steps_recorded"].size() == 12000);
  CHECK(report["timeline"]["slices_left_out"] == 4000);
}

TEST_CASE("the trace keeps the event grammar", "[report][trace]") {
  check_trace(trace_of(test::SampleRun().make()));
  check_trace(trace_of(hostile_run()));
  check_trace(trace_of(foreign_run()));
  check_trace(trace_of(timeline::TimelineBuilder().finish()));
}

TEST_CASE("the trace holds every slice, the counters and an arrow for each cast", "[report][trace]") {
  const timeline::Timeline timeline = test::SampleRun().make();
  const json trace = trace_of(timeline);
  std::map<std::string, std::size_t> by_phase, counters;
  for (const json& e : trace["traceEvents"]) {
    ++by_phase[e["ph"].get<std::string>()];
    if (e["ph"] == "C") ++counters[e["name"].get<std::string>()];
  }
  std::size_t cached = 0;
  for (const auto& slice : timeline.slices)
    cached += slice.kind == timeline::SliceKind::cast && timeline.cast_kinds[slice.detail].event.cached != 0;
  CHECK(by_phase["X"] == timeline.slices.size() - cached + timeline.steps.size());
  CHECK(by_phase["s"] == timeline.links.size());
  CHECK(timeline.links.size() == 160);
  CHECK(by_phase["i"] == cached + 3);  // three skipped steps
  CHECK(counters["loss scale"] == 41);
  CHECK(counters["allocated bytes"] > 100);
}

TEST_CASE("a trace that cannot be written says why", "[report][trace]") {
  const std::string error = report::write_trace(test::SampleRun().make(), "/no/such/folder/trace.json.gz");
  CHECK(error.find("/no/such/folder/trace.json.gz: No such file") == 0);
  if (std::filesystem::exists("/dev/full"))
    CHECK_FALSE(report::write_trace(test::SampleRun().make(), "/dev/full").empty());
}

TEST_CASE("nothing is left of a trace that could not be written to its end", "[report][trace]") {
  const auto path = std::filesystem::temp_directory_path() / ("ampprof-cut-" + std::to_string(getpid()) + ".json.gz");
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 64;
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  const std::string error = report::write_trace(test::SampleRun().make(), path.string());
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  CHECK(error.find("File too large") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("the page holds the report as text that no name can leave", "[report][html]") {
  std::string text, html;
  report::write_json(report::make_report(hostile_run(), "x"), text);
  const std::string page =
      "<html><script id=\"report-data\" type=\"application/json\">/*REPORT_JSON*/null</script></html>";
  REQUIRE(report::make_html(page, text, html).empty());
  const std::size_t begin = html.find("json\">") + 6, end = html.find("</script>");
  CHECK(html.substr(end) == "</script></html>");  // the first end tag is the page's own
  const std::string embedded = html.substr(begin, end - begin);
  CHECK(embedded.find('<') == std::string::npos);
  CHECK(embedded.find("\xe2\x80\xa8") == std::string::npos);
  CHECK(parse_strict(embedded) == parse_strict(text));
  CHECK_FALSE(report::make_html("<html></html>", text, html).empty());
}
