// The way from an input to the files of a report: what `ampprof run` does after the command ended and `ampprof report`
// does later. Reads the input, asks the analyses, writes the formats asked for.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace ampprof::report {

struct Formats {
  bool text = true, json = true, html = true, trace = true;
};
/// Reads "text,json,html,trace" (any of them). Returns false, and says in `error` what is wrong, for another word.
bool parse_formats(std::string_view list, Formats& formats, std::string& error);

struct ReportRequest {
  std::string input;    ///< a capture file, or a directory that holds capture.amptrace
  std::string out_dir;  ///< must exist; files of the same name in it are replaced
  Formats formats;
  std::string page;  ///< the page's template; "" looks beside the executable: see find_page
};

struct ReportOutcome {
  enum class Status {
    ok,
    unreadable,   ///< the input could not be read: `messages` says why, nothing was written
    not_written,  ///< at least one file could not be written: `messages` names it and the reason
  };
  Status status = Status::ok;
  std::vector<std::string> files;     ///< paths of the files written
  std::vector<std::string> messages;  ///< what was skipped or failed and why, a sentence each
  std::string text;                   ///< the text report, also when no text file was asked for
};

/// Never throws: what goes wrong is in the outcome.
ReportOutcome write_reports(const ReportRequest& request) noexcept;

/// Can the input be read as a capture? If not, says why.
bool is_readable(const std::string& input, std::string& error);

/// Puts the report's JSON into the page's template. Returns "" or what is wrong with the template.
std::string make_html(std::string_view page, std::string_view json, std::string& out);

/// Creates `wanted`, or if that exists `wanted-1`, `wanted-2`, ...: an existing directory is never written into.
/// Returns the path, or "" and an error.
std::string make_output_dir(const std::string& wanted, std::string& error);

/// Path of the page's template (viewer.html): of the build tree or the installation this executable belongs to; "" if
/// there is none.
std::string find_page();

}  // namespace ampprof::report
