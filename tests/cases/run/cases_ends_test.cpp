// Cases from public reports about recording itself: names that are no text, numbers that JSON does not have, runs that
// end in every way there is, and floods of records. The number of a case is in its tags.
#include <signal.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/capture/capture_support.h"
#include "tests/recorder/child_process.h"

using namespace ampprof;
using namespace ampprof::capture;
using namespace ampprof::test;
using nlohmann::json;

namespace {

const std::string kTraining = AMP_TEST_PROGRAM_DIR "/case_training";

ChildResult run_into(const TempDir& dir, const char* formats, const std::vector<std::string>& command,
                     const ChildOptions& options = {}) {
  std::vector<std::string> words{ampprof_program(), "run",     "-o",       dir / "out",
                                 "--stats",         "every=1", "--format", formats};
  words.insert(words.end(), command.begin(), command.end());
  return run_child(words, options);
}

std::string gunzip(const std::string& path) {
  std::string text;
  gzFile file = gzopen(path.c_str(), "rb");
  REQUIRE(file != nullptr);
  char chunk[65536];
  for (int n = 0; (n = gzread(file, chunk, sizeof chunk)) > 0;) text.append(chunk, static_cast<std::size_t>(n));
  CHECK(gzclose(file) == Z_OK);
  return text;
}

/// The parser is strict: it refuses bytes that are no UTF-8, bare control characters, NaN and Infinity.
json report_in(const TempDir& dir, const std::string& name = "out") {
  return json::parse(read_file(dir / (name + "/report.json")));
}

/// The advice of a finding; empty where the report has no such finding.
std::string advice_of(const json& report, std::string_view id) {
  for (const json& finding : report.at("findings"))
    if (finding.at("id") == id) return finding.at("advice");
  return {};
}

int last_step_of(const std::string& output) {
  const std::size_t at = output.rfind("step ");
  return at == std::string::npos ? -1 : std::atoi(output.c_str() + at + 5);
}

}  // namespace

TEST_CASE("Names of any bytes leave every file strict JSON", "[cases][D01]") {
  const std::string bytes = "\xc0\x9f\x01\"\\";
  const TempDir plain;
  CHECK(run_into(plain, "text,json,trace", {nvtx_producer(), "hostile", "say:" + bytes}).exit_code == 0);
  CHECK(json::accept(read_file(plain / "out/report.json")));
  const json trace = json::parse(gunzip(plain / "out/trace.json.gz"));
  // Two bytes that are no UTF-8 are replaced, the control character, quote and backslash stay what they are.
  const std::string shown = "\xef\xbf\xbd\xef\xbf\xbd\x01\"\\";
  const auto& events = trace.at("traceEvents");
  CHECK(std::any_of(events.begin(), events.end(), [&](const json& e) { return e.value("name", "") == shown; }));

  const TempDir named;  // a module of that name, in libamp's events and in the command line
  CHECK(run_into(named, "text,json,trace,html", {kTraining, "steps=2", "name=" + bytes}).exit_code == 0);
  const json report = report_in(named);
  CHECK(json::accept(gunzip(named / "out/trace.json.gz")));
  const auto& tensors = report.at("tensors");
  CHECK(std::any_of(tensors.begin(), tensors.end(), [&](const json& t) { return t.at("name") == shown + ".weight"; }));
  CHECK(report.at("target").at("command").back() == "name=" + shown);
}

TEST_CASE("What has no value is null, whatever is divided by what", "[cases][D03]") {
  // No op, no byte, no time: every share has a baseline of 0.
  const TempDir nothing, overflowing;
  CHECK(run_into(nothing, "text,json,trace", {"true"}).exit_code == 0);
  const json empty = report_in(nothing);
  CHECK(empty.at("memory").at("peak_bytes").is_null());
  CHECK(empty.at("totals").at("cast_share").is_null());
  CHECK(json::accept(gunzip(nothing / "out/trace.json.gz")));
  // Values, scales and gradients that are infinite or NaN, until the inverse of the scale is infinite, too.
  CHECK(run_into(overflowing, "text,json,trace", {kTraining, "nan-data", "steps=170"}).exit_code == 0);
  CHECK(report_in(overflowing).at("loss_scale").at("final_scale") == 0);
  CHECK(json::accept(gunzip(overflowing / "out/trace.json.gz")));
  const auto diff = run_child({ampprof_program(), "diff", nothing / "out", overflowing / "out"});
  CHECK(diff.exit_code == 0);
  for (const std::string& text : {read_file(nothing / "out/report.txt"), diff.out})
    for (const char* word : {"nan%", "nan %", "inf%", "inf %", "-nan", "nan B", "inf B"}) {
      INFO(word << " in\n" << text);
      CHECK(text.find(word) == std::string::npos);
    }
}

TEST_CASE("After kill -9 of ampprof and the target all but the last moments are there", "[cases][D07]") {
  const TempDir dir;
  const ChildResult child = run_into(dir, "text,json", {kTraining, "steps=2000", "pause=5", "pid=" + (dir / "pid")},
                                     {.meanwhile = [&](int ampprof_pid) {
                                       // 120 steps of 5 ms and more: longer than half a second.
                                       const auto begun = [&] {
                                         std::string error;
                                         const auto reader = Reader::open(dir / "out", error);
                                         return reader && count_of(*reader, RecordKind::StepEvent) >= 240;
                                       };
                                       for (int i = 0; i < 400 && !begun(); ++i) usleep(25'000);
                                       const int target_pid = std::atoi(read_file(dir / "pid").c_str());
                                       kill(ampprof_pid, SIGKILL);
                                       if (target_pid > 1) kill(target_pid, SIGKILL);
                                     }});
  CHECK(child.signal == SIGKILL);
  CHECK(!std::filesystem::exists(dir / "out/report.json"));
  const ChildResult report = run_child({ampprof_program(), "report", dir / "out", "-o", dir / "later"});
  INFO(report.err);
  CHECK(report.exit_code == 0);
  const json later = report_in(dir, "later");
  CHECK(later.at("target").at("exit_code").is_null());
  CHECK(!advice_of(later, "ended_without_shutdown").empty());
  CHECK(report.out.find("ended without shutdown") != std::string::npos);
  const int missing = last_step_of(child.out) + 1 - later.at("capture").at("steps_total").get<int>();
  CHECK(missing <= 100);  // half a second of them
}

TEST_CASE("However the target ends there is a report, and its exit code is ampprof's", "[cases][D13]") {
  const struct {
    const char* how;
    int exit_code;
    bool in_order;
  } rows[] = {{"return", 0, true},
              {"exit", 3, true},
              {"_exit", 4, false},
              {"abort", 128 + SIGABRT, false},
              {"term", 128 + SIGTERM, false},
              {"exception", 128 + SIGABRT, false}};
  for (const auto& row : rows) {
    INFO(row.how);
    const TempDir dir;
    const ChildResult child =
        run_into(dir, "text,json", {kTraining, "steps=12", "pause=10", std::string("end=") + row.how});
    CHECK(child.exit_code == row.exit_code);
    const json report = report_in(dir);
    CHECK(report.at("target").at("exit_code") == row.exit_code);
    CHECK(report.at("capture").at("steps_total") >= (row.in_order ? 12 : 1));
    const std::string advice = advice_of(report, "ended_without_shutdown");
    CHECK(advice.empty() == row.in_order);
    // What such an end can have cost is told, also on the terminal.
    CHECK((advice.find("of its last 50 ms may be missing") != std::string::npos) != row.in_order);
    CHECK((read_file(dir / "out/report.txt").find("ended without shutdown") != std::string::npos) != row.in_order);
  }
}

TEST_CASE("A flood from eight threads costs bounded memory, and no record goes uncounted", "[cases][D17]") {
  constexpr std::uint64_t kThreads = 8, kRanges = 25'000;
  const TempDir dir;
  const ChildResult child =
      run_child({AMP_TEST_PROGRAM_DIR "/nvtx_flood", std::to_string(kThreads), std::to_string(kRanges)},
                {.environment = {{"NVTX_INJECTION64_PATH", recorder_library()}, {"AMPPROF_CAPTURE", dir / "c"}}});
  CHECK(child.exit_code == 0);
  CHECK(std::atol(child.out.c_str()) <= 64 * 1024 * 1024 * 11 / 10);
  std::string error;
  const auto reader = Reader::open(dir / "c", error);
  INFO(error);
  REQUIRE(reader);
  std::set<std::uint64_t> started, ended;
  std::uint64_t records = 0, timeless = 0, twice = 0, lost = 0;
  for (RecordView record; reader->next(record);) {
    if (record.kind != RecordKind::RangeStartRecord && record.kind != RecordKind::RangeEndRecord) continue;
    ++records;
    timeless += record.time_ns == 0 ? 1 : 0;
    const bool start = record.kind == RecordKind::RangeStartRecord;
    const std::uint64_t range =
        start ? read_event<RangeStartRecord>(record).range : read_event<RangeEndRecord>(record).range;
    twice += (start ? started : ended).insert(range).second ? 0 : 1;
  }
  for (const auto& loss : reader->losses().recorded) lost += loss.count;
  CHECK(records + lost == 2 * kThreads * kRanges);
  CHECK(timeless == 0);
  CHECK(twice == 0);
}
