// Cases from public reports, each from a training through `ampprof run` to its report: what people saw go wrong with
// loss scales, gradients and memory must be named, and named as what it is. The number of a case is in its tags.
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "tests/capture/capture_support.h"
#include "tests/recorder/child_process.h"

using namespace ampprof;
using namespace ampprof::test;
using nlohmann::json;

namespace {

/// A training under `ampprof run`, and its report.
struct Case {
  TempDir dir;
  ChildResult child;
  json report;
  std::string text;

  explicit Case(const std::vector<std::string>& words, const char* stats = "every=1") {
    std::vector<std::string> command{ampprof_program(), "run",       "-o",
                                     dir / "out",       "--stats",   stats,
                                     "--format",        "text,json", AMP_TEST_PROGRAM_DIR "/case_training"};
    command.insert(command.end(), words.begin(), words.end());
    child = run_child(command);
    INFO(child.err << child.out);
    REQUIRE(child.exit_code == 0);
    report = json::parse(read_file(dir / "out/report.json"));
    text = read_file(dir / "out/report.txt");
  }
  [[nodiscard]] const json& scale() const { return report.at("loss_scale"); }
  [[nodiscard]] std::vector<json> findings(std::string_view id) const {
    std::vector<json> found;
    for (const json& finding : report.at("findings"))
      if (finding.at("id") == id) found.push_back(finding);
    return found;
  }
  [[nodiscard]] json finding(std::string_view id) const {
    INFO("findings: " << report.at("findings").dump(1));
    const auto found = findings(id);
    REQUIRE(found.size() == 1);
    return found[0];
  }
  /// Non-zero gradients that rounding to float16 made zero, and that it left, over all steps.
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> flushed_and_kept() const {
    std::uint64_t flushed = 0, kept = 0;
    for (const json& row : report.at("tensors")) {
      if (!row.at("role").get<std::string>().ends_with("gradient") || row.at("dtype") != "float16") continue;
      if (row.at("rounding").is_null()) continue;
      flushed += row.at("rounding").at("to_zero").get<std::uint64_t>();
      kept += row.at("count").get<std::uint64_t>() - row.at("zero").get<std::uint64_t>();
    }
    return {flushed, kept};
  }
};

}  // namespace

TEST_CASE("91 skips in a row are 91 changes of the scale and one finding", "[cases][A01]") {
  // 131072 is 2^17, 2^-74 is 5.29e-23: the loss scale that "jumped" between two lines of a log.
  const Case run({"init=131072", "gradient=0x1p-6", "steps=94", "bad=3:91:0x1p100"});
  const json& events = run.scale().at("events");
  REQUIRE(events.size() == 94);
  double expected = 131072;
  for (std::size_t i = 3; i < 94; ++i) {
    CHECK(events[i].at("found_inf") == true);
    CHECK(events[i].at("scale") == expected);
    CHECK(events[i].at("scale_after") == expected / 2);
    expected /= 2;
  }
  CHECK(run.scale().at("final_scale") == 0x1p-74);
  CHECK(run.scale().at("backoffs") == 91);
  CHECK(run.finding("overflow_skip").at("title") ==
        "91 consecutive skipped steps from step 3, first non-finite parameter fc.weight");
}

TEST_CASE("NaN in every step ends at the floor, and is called no scaling problem", "[cases][A03]") {
  const Case run({"init=65536", "floor=1", "steps=400", "nan-data"});
  CHECK(run.scale().at("final_scale") == 1);
  CHECK(run.scale().at("skipped_steps") == 400);
  CHECK(run.scale().at("verdict") == "collapse");
  const json finding = run.finding("nonfinite_forward");
  CHECK(finding.at("severity") == "critical");
  CHECK(finding.at("evidence").at("first_tensor") == "fc.linear");
  CHECK(finding.at("evidence").at("step") == 0);
  CHECK(finding.at("advice").get<std::string>().find("Not a scaling problem: NaN already in fc.linear at step 0") == 0);
  CHECK(run.text.find("Not a scaling problem") != std::string::npos);
}

TEST_CASE("NaN that the backward pass makes is traced to where it begins", "[cases][A03]") {
  const Case run({"init=65536", "floor=1", "steps=60", "root-of-zero"});
  CHECK(run.scale().at("skipped_steps") == 60);
  CHECK(run.scale().at("verdict") == "collapse");
  CHECK(run.findings("nonfinite_forward").empty());
  const json finding = run.finding("overflow_skip");
  CHECK(finding.at("advice").get<std::string>().find("this is no scaling problem") != std::string::npos);
  CHECK(finding.at("evidence").at("first_nonfinite") == "fc.weight");
  CHECK(finding.at("evidence").at("first_nonfinite_gradient") == "mul");  // what sqrt's gradient gave
}

TEST_CASE("Without a floor the scale falls to 0, and the report stays a report", "[cases][A03]") {
  const Case run({"init=65536", "steps=400", "nan-data"});
  CHECK(run.scale().at("final_scale") == 0);
  CHECK(run.scale().at("verdict") == "collapse");
  CHECK(run.scale().at("steps_applied") == 0);
}

TEST_CASE("The report keeps skipped steps apart from applied ones", "[cases][A11]") {
  const Case run({"init=16777216", "gradient=0x1p-6", "steps=10"});
  CHECK(run.child.out == "skipped 3 scale 2097152\n");
  CHECK(run.scale().at("steps_attempted") == 10);
  CHECK(run.scale().at("steps_applied") == 7);
  CHECK(run.scale().at("skipped_steps") == 3);
}

TEST_CASE("Gradients of 2^-26 are all lost without a scaler, and none with one", "[cases][C05]") {
  const Case lost({"gradient=0x1p-26", "steps=3", "scaler=off"});
  CHECK(lost.flushed_and_kept().first > 0);
  CHECK(lost.flushed_and_kept().second == 0);
  for (const json& row : lost.report.at("tensors"))
    if (row.at("role") == "unscaled_gradient") CHECK(row.at("zero") == row.at("count"));
  const json finding = lost.finding("fp16_underflow");
  CHECK(finding.at("severity") == "critical");
  CHECK(finding.at("evidence").at("flushed_share") == 1.0);
  const Case kept({"gradient=0x1p-26", "steps=3"});
  CHECK(kept.flushed_and_kept().first == 0);
  CHECK(kept.flushed_and_kept().second > 0);
  for (const json& row : kept.report.at("tensors"))
    if (row.at("role") == "unscaled_gradient") CHECK(row.at("zero") == 0);
  CHECK(kept.findings("fp16_underflow").empty());
}

TEST_CASE("A first guess that is too high is calibration, skips without end are not", "[cases][C09]") {
  const Case calibration({"gradient=4", "init=65536", "steps=20"});
  std::vector<double> scales;
  for (const json& event : calibration.scale().at("events"))
    if (event.at("skipped") == true) scales.push_back(event.at("scale"));
  CHECK(scales == std::vector<double>{65536, 32768, 16384});
  CHECK(calibration.scale().at("final_scale") == 8192);
  CHECK(calibration.scale().at("verdict") == "calibration");
  CHECK(calibration.finding("overflow_skip").at("title").get<std::string>().starts_with("Calibration"));
  // Grows after every clean step, and overflows in the next: half of the steps are lost.
  const Case unstable({"gradient=4", "init=8192", "interval=1", "steps=100"});
  CHECK(unstable.scale().at("skipped_steps") == 50);
  CHECK(unstable.scale().at("verdict") == "unstable");
}

TEST_CASE("Memory: at batch 1 mixed precision costs, at a large batch it saves, as a float32 run confirms",
          "[cases][B09]") {
  struct Row {
    const char *width, *layers, *batch;
    bool saves;
  };
  for (const Row& row : {Row{"4096", "1", "1", false}, Row{"64", "12", "1", false}, Row{"64", "12", "4096", true}}) {
    const std::vector<std::string> model = {std::string("width=") + row.width, std::string("layers=") + row.layers,
                                            std::string("batch=") + row.batch, "steps=1"};
    INFO(model[0] << ' ' << model[2]);
    auto in_fp32 = model;
    in_fp32.emplace_back("precision=fp32");
    const json half = Case(model, "off").report.at("memory"), full = Case(in_fp32, "off").report.at("memory");
    const auto predicted = half.at("saved_bytes").get<double>();
    const double measured = full.at("peak_bytes").get<double>() - half.at("peak_bytes").get<double>();
    CAPTURE(predicted, measured);
    CHECK((predicted > 0) == row.saves);
    CHECK(std::abs(predicted - measured) <= 0.05 * std::abs(measured));
  }
}

TEST_CASE("A cast that writes out an expanded input is named with its factor", "[cases][B09]") {
  const Case run({"expand=1024", "width=256", "steps=2"});
  const json finding = run.finding("cast_expanded");
  CHECK(finding.at("title") == "A cast materialised a 1024x larger tensor");
  CHECK(finding.at("evidence").at("expansion") == 1024);
}

TEST_CASE("The cast cache's peak is in the report", "[cases][A07]") {
  const Case run({"width=128", "layers=4", "steps=2"});
  CHECK(run.report.at("memory").at("by_cause").at("cast_cache").at("peak_bytes") == 4 * 128 * 128 * 2);
}

TEST_CASE("Running statistics spoiled by a skipped step are named", "[cases][C01]") {
  const Case run({"batch-norm", "steps=3", "init=256"});
  CHECK(run.scale().at("events").at(1).at("skipped") == true);
  const json finding = run.finding("buffer_nonfinite");
  CHECK(finding.at("title") == "buffer bn1.running_mean became non-finite in a skipped step");
  CHECK(finding.at("evidence").at("step") == 1);
}

TEST_CASE("Gradients that nobody cleared are told from a learning rate that is too high", "[cases][C11]") {
  const std::vector<std::string> words = {"gradient=0x1p-6", "bad=1:1:0x1p100", "steps=4"};
  auto uncleared = words;
  uncleared.emplace_back("keep-gradients");
  const Case run(uncleared);
  CHECK(run.scale().at("skipped_steps") == 3);
  const json finding = run.finding("gradients_not_cleared");
  CHECK(finding.at("title") ==
        "The same parameters are inf since step 1 although this backward is finite: gradients not cleared");
  CHECK(finding.at("evidence").at("seen_in_step") == 2);
  CHECK(finding.at("evidence").at("parameters") == json{"fc.weight"});
  for (const json& each : run.report.at("findings"))
    CHECK(each.at("advice").get<std::string>().find("learning rate") == std::string::npos);
  const Case cleared(words);
  CHECK(cleared.scale().at("skipped_steps") == 1);
  CHECK(cleared.findings("gradients_not_cleared").empty());
}
