// report.html: the page's template with the report's JSON in its place.
#include "profiler/report/write_reports.h"

namespace ampprof::report {
namespace {

constexpr std::string_view kPlace = "/*REPORT_JSON*/null";

/// Inside <script> the parser looks for "</script" and "<!--" only; with every "<" written as an escape neither can
/// come up, whatever names hold. U+2028 and U+2029 are escaped for readers that take the text as JavaScript.
void append_escaped(std::string_view json, std::string& out) {
  for (std::size_t i = 0; i < json.size(); ++i) {
    const std::string_view rest = json.substr(i, 3);
    if (json[i] == '<') {
      out += "\\u003c";
    } else if (rest == "\xe2\x80\xa8" || rest == "\xe2\x80\xa9") {
      out += rest == "\xe2\x80\xa8" ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      out += json[i];
    }
  }
}

}  // namespace

std::string make_html(std::string_view page, std::string_view json, std::string& out) {
  const std::size_t at = page.find(kPlace);
  if (at == std::string_view::npos || page.find(kPlace, at + 1) != std::string_view::npos)
    return "the page's template does not hold \"/*REPORT_JSON*/null\" exactly once";
  out.reserve(out.size() + page.size() + json.size() + json.size() / 16);
  out += page.substr(0, at);
  append_escaped(json, out);
  out += page.substr(at + kPlace.size());
  return {};
}

}  // namespace ampprof::report
