// A report as data, from whatever the user names: report.json, a directory that holds one, or a capture.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace ampprof::report {

/// Throws timeline::UnreadableInput with a message that names the path and what is wrong.
nlohmann::json load_report(const std::string& path);

/// The same as text: report.json as it is, or the JSON of a capture's report.
std::string load_report_text(const std::string& path);

}  // namespace ampprof::report
