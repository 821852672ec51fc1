// Names what a file that is no capture looks like, from its first bytes.
#include <fstream>
#include <string_view>

#include "profiler/timeline/from_capture.h"

namespace ampprof::timeline {

std::string describe_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string head(4096, '\0');
  if (!file.read(head.data(), static_cast<std::streamsize>(head.size())) && file.gcount() == 0) return {};
  head.resize(static_cast<std::size_t>(file.gcount()));
  const auto starts = [&](std::string_view what) { return std::string_view(head).substr(0, what.size()) == what; };
  const auto has = [&](std::string_view what) { return head.find(what) != std::string::npos; };

  if (starts("\x1f\x8b")) return "a gzip file, such as a compressed Chrome or Kineto trace";
  if (starts("SQLite format 3")) return "an SQLite file, such as an export of Nsight Systems";
  if (starts("\x7f"
             "ELF"))
    return "a program or library (ELF)";
  if (starts("PK\x03\x04")) return "a zip file";
  if (starts("\xff\xfe") || starts("\xfe\xff")) return "text in UTF-16";
  if (starts("\xef\xbb\xbf")) head.erase(0, 3);
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return "an empty file";
  if (head[first] != '{' && head[first] != '[') return {};
  if (has("ampprof-report/")) return "a report of ampprof (report.json); see ampprof check, diff and view";
  if (has("traceEvents") || has("\"ph\"")) return "a Chrome or Kineto trace (JSON)";
  return "a JSON file";
}

}  // namespace ampprof::timeline
