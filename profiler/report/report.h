// The report: every answer about one run, ready for the sinks (text, report.json, trace.json.gz, the page).
#pragma once
#include <map>
#include <string>
#include <vector>

#include "profiler/analysis/finding.h"

namespace ampprof::report {

inline constexpr char kSchema[] = "ampprof-report/1";

struct Report {
  const timeline::Timeline& timeline;
  std::string path;  ///< the input it was made from
  analysis::Answers answers;
  std::vector<analysis::Finding> findings;
  std::map<std::string, std::string> not_measured;  ///< dotted path -> why
  std::vector<std::string> notes;                   ///< to be read before any number
};

/// The timeline must outlive the report.
Report make_report(const timeline::Timeline& timeline, std::string path);

// The sinks. Each appends to `out`, or writes the file and returns "" or what went wrong.
void write_json(const Report& report, std::string& out);
std::string text_of(const Report& report, const std::vector<std::string>& files);
std::string write_trace(const timeline::Timeline& timeline, const std::string& path);

}  // namespace ampprof::report
