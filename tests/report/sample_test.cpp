// The page's sample (viewer/sample/report.json) is what this code writes for the run made by hand. After a wanted
// change: AMPPROF_UPDATE_SAMPLES=1 profiler_tests "[sample]", and read the difference.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>

#include "profiler/report/files.h"
#include "profiler/report/report.h"
#include "tests/report/sample_run.h"

using namespace ampprof;

TEST_CASE("the page's sample is what the report writes for the run made by hand", "[report][sample]") {
  const timeline::Timeline timeline = test::SampleRun().make();
  std::string json;
  report::write_json(report::make_report(timeline, "capture.amptrace"), json);
  const std::string path = AMP_SOURCE_DIR "/viewer/sample/report.json";
  if (std::getenv("AMPPROF_UPDATE_SAMPLES") != nullptr) REQUIRE(report::write_file(path, json).empty());
  std::string sample;
  REQUIRE(report::read_file(path, sample).empty());
  REQUIRE(sample == json);
}

TEST_CASE("the text report of the run made by hand fits one screen", "[report][sample]") {
  const timeline::Timeline timeline = test::SampleRun().make();
  const std::string text = report::text_of(report::make_report(timeline, "capture.amptrace"), {"out/report.json"});
  INFO(text);
  CHECK(std::count(text.begin(), text.end(), '\n') <= 40);
  if (std::getenv("AMPPROF_SHOW") != nullptr) WARN(text);
}
