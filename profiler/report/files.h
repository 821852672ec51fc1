// Whole files, in and out, with errors as sentences.
#pragma once
#include <string>
#include <string_view>

namespace ampprof::report {

/// Reads a file whole. Returns "" or "path: reason".
std::string read_file(const std::string& path, std::string& out);

/// Writes a file so that a reader sees the old one or the whole new one: beside it first, then renamed.
/// Returns "" or "path: reason".
std::string write_file(const std::string& path, std::string_view bytes);

}  // namespace ampprof::report
