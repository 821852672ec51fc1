// See write_reports.h.
#include "profiler/report/write_reports.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "profiler/report/files.h"
#include "profiler/report/report.h"
#include "profiler/timeline/from_capture.h"

namespace ampprof::report {
namespace {

namespace fs = std::filesystem;
using Status = ReportOutcome::Status;

void keep_file(ReportOutcome& outcome, const std::string& path, const std::string& error) {
  if (error.empty()) {
    outcome.files.push_back(path);
  } else {
    outcome.status = Status::not_written;
    outcome.messages.push_back("could not write " + error);
  }
}

void add_html(ReportOutcome& outcome, const ReportRequest& request, const std::string& path, const std::string& json) {
  const std::string page_path = request.page.empty() ? find_page() : request.page;
  if (page_path.empty()) {
    outcome.messages.emplace_back(
        "report.html was not written: page not built (configure with -DAMP_VIEWER=ON, or give it by path)");
    return;
  }
  std::string page, html;
  std::string error = read_file(page_path, page);
  if (error.empty() && !(error = make_html(page, json, html)).empty()) error = page_path + ": " + error;
  if (error.empty()) error = write_file(path, html);
  keep_file(outcome, path, error);
}

void write_all(ReportOutcome& outcome, const ReportRequest& request) {
  const timeline::Timeline timeline = timeline::read_timeline(request.input);
  const Report report = make_report(timeline, request.input);
  const auto in_dir = [&](const char* name) { return (fs::path(request.out_dir) / name).string(); };
  std::string json;
  if (request.formats.json || request.formats.html) write_json(report, json);
  if (request.formats.json) keep_file(outcome, in_dir("report.json"), write_file(in_dir("report.json"), json));
  if (request.formats.html) add_html(outcome, request, in_dir("report.html"), json);
  if (request.formats.trace)
    keep_file(outcome, in_dir("trace.json.gz"), write_trace(timeline, in_dir("trace.json.gz")));
  // Last, since it names the other files.
  std::vector<std::string> files = outcome.files;
  const std::string text_path = in_dir("report.txt");
  if (request.formats.text) files.push_back(text_path);
  outcome.text = text_of(report, files);
  if (!request.formats.text) return;
  const std::string error = write_file(text_path, outcome.text);
  keep_file(outcome, text_path, error);
  if (!error.empty()) outcome.text = text_of(report, outcome.files);
}

}  // namespace

bool parse_formats(std::string_view list, Formats& formats, std::string& error) {
  formats = {false, false, false, false};
  while (true) {
    const std::size_t comma = list.find(',');
    const std::string_view word = list.substr(0, comma);
    if (word == "text")
      formats.text = true;
    else if (word == "json")
      formats.json = true;
    else if (word == "html")
      formats.html = true;
    else if (word == "trace")
      formats.trace = true;
    else {
      error = fmt::format("unknown format '{}': formats are text, json, html, trace, separated by commas", word);
      return false;
    }
    if (comma == std::string_view::npos) return true;
    list.remove_prefix(comma + 1);
  }
}

bool is_readable(const std::string& input, std::string& error) { return timeline::check_readable(input, error); }

ReportOutcome write_reports(const ReportRequest& request) noexcept {
  ReportOutcome outcome;
  try {
    write_all(outcome, request);
  } catch (const timeline::UnreadableInput& error) {
    outcome.status = Status::unreadable;
    outcome.messages.emplace_back(error.what());
  } catch (const std::bad_alloc&) {
    outcome.status = Status::not_written;
    outcome.messages.emplace_back("not enough memory to make the report of " + request.input);
  } catch (const std::exception& error) {
    outcome.status = Status::not_written;
    outcome.messages.emplace_back(fmt::format("the report of {} failed: {}", request.input, error.what()));
  }
  return outcome;
}

std::string make_output_dir(const std::string& wanted, std::string& error) {
  constexpr int kMaxTries = 100000;
  std::string base = wanted;
  while (base.size() > 1 && base.back() == '/') base.pop_back();
  std::error_code code;
  const fs::path parent = fs::path(base).parent_path();
  if (!parent.empty()) fs::create_directories(parent, code);
  for (int n = 0; n < kMaxTries && !code; ++n) {
    const std::string path = n == 0 ? base : fmt::format("{}-{}", base, n);
    // create_directory says false, without an error, where something is already there: made by us or not at all.
    if (fs::create_directory(path, code)) return path;
    if (code == std::errc::file_exists || code == std::errc::not_a_directory) code.clear();
  }
  error =
      fmt::format("cannot create the directory {}: {}", base, code ? code.message() : "all numbered names are taken");
  return {};
}

std::string find_page() {
  std::error_code code;
  const fs::path executable = fs::read_symlink("/proc/self/exe", code);
  if (code) return {};
  const fs::path root = executable.parent_path().parent_path();
  for (const char* place : {"viewer/viewer.html", "share/ampprof/viewer.html"}) {
    const fs::path path = root / place;
    if (fs::is_regular_file(path, code)) return path.string();
  }
  return {};
}

}  // namespace ampprof::report
