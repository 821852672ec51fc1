// The text report: one screen, whatever bytes names hold.
#include "profiler/report/text.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "profiler/report/report.h"
#include "profiler/report/utf8.h"
#include "tests/analysis/tiny_run.h"

using namespace ampprof;
using namespace ampprof::report;
using test::TinyRun;

TEST_CASE("bytes become valid UTF-8, each maximal invalid piece one replacement", "[report][utf8]") {
  const std::string r = "\xef\xbf\xbd";
  const std::pair<std::string, std::string> cases[] = {
      {"plain", "plain"},
      {"\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80", "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80"},
      {"\x80", r},
      {"\xc0\xaf", r + r},                  // overlong
      {"\xe0\x80\xaf", r + r + r},          // overlong
      {"\xed\xa0\x80", r + r + r},          // surrogate
      {"\xf4\x90\x80\x80", r + r + r + r},  // beyond U+10FFFF
      {"\xf0\x9f\x98", r},                  // cut: one piece
      {"a\xf0\x9f\x98z", "a" + r + "z"},
      {"\xff\xfe", r + r},
      {std::string("a\0b", 3), std::string("a\0b", 3)},
  };
  for (const auto& [bytes, expected] : cases) CHECK(to_utf8(bytes) == expected);
}

TEST_CASE("printable text cannot move the cursor or turn its direction", "[report][utf8]") {
  CHECK(to_printable("\x1b[2Jred\x07") == "?[2Jred?");
  CHECK(to_printable("a\nb\tc") == "a?b?c");
  CHECK(to_printable("x\xe2\x80\xaey") == "x?y");
  CHECK(to_printable("\xc2\x9b") == "?");  // the one-byte form of ESC [
  CHECK(to_printable("\xc3\xa4") == "\xc3\xa4");
  CHECK(cut_to("abcdef", 4) == "abc…");
  CHECK(cut_to("\xc3\xa4\xc3\xa4", 2) == "\xc3\xa4\xc3\xa4");
}

TEST_CASE("numbers as people read them", "[report][text]") {
  CHECK(time_text(812) == "812 ns");
  CHECK(time_text(3420000) == "3.42 ms");
  CHECK(time_text(999600000) == "1.00 s");
  CHECK(time_text(245000000000) == "4 min 05 s");
  CHECK(bytes_text(512) == "512 B");
  CHECK(bytes_text(1536) == "1.50 KiB");
  CHECK(bytes_text(1048570) == "1.00 MiB");
  CHECK(percent(1, 8) == "12.5 %");
  CHECK(percent(1, 1e9) == "<0.1 %");
  CHECK(percent(0, 0) == "-");
}

TEST_CASE("a report with losses says so before any number", "[report][text]") {
  TinyRun run;
  run.op("op", 10);
  run.builder.lose("OpEvent (disk full)", 12);
  const auto timeline = run.finish();
  const std::string text = text_of(make_report(timeline, "x"), {});
  CHECK(text.rfind("RECORDS WERE LOST: 12 OpEvent (disk full).", 0) == 0);
}

TEST_CASE("losses of different kinds are named and not added up", "[report][text]") {
  TinyRun run;
  run.op("op", 10);
  run.builder.lose("OpEvent (disk full)", 12);
  run.builder.lose("bytes of a torn block", 30);
  const auto timeline = run.finish();
  const std::string text = text_of(make_report(timeline, "x"), {});
  CHECK(text.find("42") == std::string::npos);
  CHECK(text.find("Missing: 12 OpEvent") != std::string::npos);
}

TEST_CASE("names and sentences never break the screen: at most 40 lines of 100 columns", "[report][text]") {
  TinyRun run;
  run.builder.timeline().command = {std::string(500, 'c'), "\x1b[2J\n\n"};
  run.step(0, true);
  for (int i = 0; i < 50; ++i) {
    const std::string name =
        std::string(200, static_cast<char>('a' + i % 26)) + std::to_string(i) + "\n\x1b]0;title\x07";
    run.op(name, 1000 + i).cast(name, 900, amp::DType::float32, amp::DType::float16, 1 << 20, 1);
    run.tensor(name, amp::TensorRole::gradient, amp::DType::float16, -40, {5, 5});
    run.scaler_step(0, 65536, 32768, true, name);
    run.builder.lose(name);
  }
  const auto timeline = run.finish();
  const std::string text = text_of(make_report(timeline, "x"), {"some/report.json"});
  CHECK(std::count(text.begin(), text.end(), '\n') <= 40);
  std::size_t start = 0;
  while (start < text.size()) {
    const std::size_t end = text.find('\n', start);
    const std::string_view line(text.data() + start, end - start);
    CHECK(width_of(line) <= 100);
    CHECK(line.find('\x1b') == std::string_view::npos);
    start = end + 1;
  }
}

TEST_CASE("what was not measured is said with its reason", "[report][text]") {
  TinyRun run;
  run.builder.begin_range(run.builder.track(0, 77, "default"), run.now, "frame");
  const auto timeline = run.finish();
  const std::string text = text_of(make_report(timeline, "x"), {});
  CHECK(text.find("Memory      not measured: no libamp was seen in this run") != std::string::npos);
  CHECK(text.find("TensorCores not measured: ") != std::string::npos);
  CHECK(text.find(" 0 B") == std::string::npos);
}
