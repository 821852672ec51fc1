// See load_report.h.
#include "profiler/report/load_report.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "profiler/report/files.h"
#include "profiler/report/report.h"
#include "profiler/timeline/from_capture.h"

namespace ampprof::report {
namespace {

namespace fs = std::filesystem;
using timeline::UnreadableInput;

/// report.json in the directory, the path itself if it begins as JSON does, else "".
std::string find_json(const std::string& path) {
  std::error_code code;
  if (fs::is_directory(path, code)) {
    const fs::path inside = fs::path(path) / "report.json";
    return fs::is_regular_file(inside, code) ? inside.string() : std::string();
  }
  return timeline::describe_file(path).starts_with("a report of ampprof") ? path : std::string();
}

}  // namespace

std::string load_report_text(const std::string& path) {
  std::string text;
  if (const std::string json = find_json(path); !json.empty()) {
    if (const std::string error = read_file(json, text); !error.empty()) throw UnreadableInput(error);
    return text;
  }
  const timeline::Timeline timeline = timeline::read_timeline(path);
  write_json(make_report(timeline, path), text);
  return text;
}

nlohmann::json load_report(const std::string& path) {
  nlohmann::json report;
  try {
    report = nlohmann::json::parse(load_report_text(path));
  } catch (const nlohmann::json::parse_error& error) {
    throw UnreadableInput(fmt::format("{}: not valid JSON: byte {}", path, error.byte));
  }
  const bool known = report.is_object() && report.contains("schema") && report["schema"] == kSchema;
  if (!known) throw UnreadableInput(fmt::format("{}: not a report of the form {}", path, kSchema));
  return report;
}

}  // namespace ampprof::report
