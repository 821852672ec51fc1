// The rules of the house: each takes the files of a tree and gives back where they break it. The files are plain
// values, so that a test can plant a violation without touching the disk.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace house {

struct File {
  std::string path;  ///< from the repository root, with '/'
  std::string text;
};
using Tree = std::vector<File>;

struct Violation {
  std::string path;
  int line;  ///< from 1; 0: the file as a whole
  std::string what;
};
using Violations = std::vector<Violation>;

/// The files of the repository below `root`, without build folders, node_modules and whatever git keeps.
Tree read_tree(const std::filesystem::path& root);

// include_rules_support.cpp
Violations find_upward_includes(const Tree& tree);
Violations find_misplaced_vendor_headers(const Tree& tree);
Violations find_unrooted_includes(const Tree& tree);
Violations find_json_in_headers(const Tree& tree);

// code_rules_support.cpp
Violations find_cuda_conditions(const Tree& tree);
Violations find_throws_in_recorder(const Tree& tree);
Violations find_long_files(const Tree& tree);
Violations find_unopened_files(const Tree& tree);
Violations find_unguarded_headers(const Tree& tree);

// table_rules_support.cpp
Violations find_bare_rows(const Tree& tree);
Violations find_unlisted_tables(const Tree& tree);
Violations find_unread_tables(const Tree& tree);

// text_rules_support.cpp
Violations find_forbidden_words(const Tree& tree);
Violations find_unfinished_headings(const Tree& tree);
Violations find_lockfile_addresses(const Tree& tree);

// Shared by the rules.
bool starts_with_any(std::string_view path, std::string_view prefixes);  ///< prefixes: a|b|c
bool is_cpp(std::string_view path);
bool is_header(std::string_view path);
std::vector<std::string_view> split_lines(std::string_view text);
/// The text with comments blanked, and the insides of string literals too unless they are kept. Lines stay lines.
std::string code_only(std::string_view text, bool keep_strings);

struct Include {
  int line;
  bool quoted;
  std::string target;
};
std::vector<Include> find_includes(const File& file);

}  // namespace house
