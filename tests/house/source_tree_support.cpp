// Reads the repository from disk, and takes source text apart as far as the rules need it.
#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <iterator>
#include <set>

#include "tests/house/house_support.h"

namespace house {
namespace {

bool is_skipped_folder(const std::string& name) {
  static const std::set<std::string> kSkipped = {".git", ".cache", "node_modules", "build"};
  return kSkipped.contains(name) || name.starts_with("build-") || name.starts_with("ampprof-out") ||
         name.starts_with(".ampprof");
}

bool is_text(const std::filesystem::path& path) {
  static const std::set<std::string> kText = {".h",   ".cpp", ".cu",   ".cuh", ".def",  ".cmake", ".md",
                                              ".txt", ".sh",  ".in",   ".ts",  ".json", ".jsonl", ".js",
                                              ".mjs", ".css", ".html", ".yml", ".py",   ""};
  return kText.contains(path.extension().string());
}

}  // namespace

Tree read_tree(const std::filesystem::path& root) {
  Tree tree;
  for (auto entry = std::filesystem::recursive_directory_iterator(root);
       entry != std::filesystem::recursive_directory_iterator(); ++entry) {
    const auto name = entry->path().filename().string();
    if (entry->is_directory() && is_skipped_folder(name)) {
      entry.disable_recursion_pending();
    } else if (entry->is_regular_file() && is_text(entry->path())) {
      std::ifstream stream(entry->path(), std::ios::binary);
      std::string text{std::istreambuf_iterator<char>(stream), {}};
      tree.push_back({std::filesystem::relative(entry->path(), root).generic_string(), std::move(text)});
    }
  }
  std::sort(tree.begin(), tree.end(), [](const File& a, const File& b) { return a.path < b.path; });
  return tree;
}

bool starts_with_any(std::string_view path, std::string_view prefixes) {
  while (true) {
    const auto bar = prefixes.find('|');
    if (path.starts_with(prefixes.substr(0, bar))) {
      return true;
    }
    if (bar == std::string_view::npos) {
      return false;
    }
    prefixes.remove_prefix(bar + 1);
  }
}

bool is_header(std::string_view path) { return path.ends_with(".h") || path.ends_with(".cuh"); }
bool is_cpp(std::string_view path) { return is_header(path) || path.ends_with(".cpp") || path.ends_with(".cu"); }

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const auto end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

std::string code_only(std::string_view text, bool keep_strings) {
  std::string code(text);
  const auto blank = [&code](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < std::min(to, code.size()); ++i) {
      if (code[i] != '\n') {
        code[i] = ' ';
      }
    }
  };
  std::size_t at = 0;
  while (at < text.size()) {
    const auto rest = text.substr(at);
    std::size_t end = at + 1;
    if (rest.starts_with("//")) {
      end = std::min(text.find('\n', at), text.size());
      blank(at, end);
    } else if (rest.starts_with("/*")) {
      const auto close = text.find("*/", at + 2);
      end = close == std::string_view::npos ? text.size() : close + 2;
      blank(at, end);
    } else if (rest.starts_with("R\"") && (at == 0 || std::isalnum(static_cast<unsigned char>(text[at - 1])) == 0)) {
      const auto open = std::min(text.find('(', at), text.size());
      std::string closing = ")";
      closing.append(text.substr(at + 2, open - at - 2)).append("\"");
      const auto close = text.find(closing, open);
      end = close == std::string_view::npos ? text.size() : close + closing.size();
      if (!keep_strings) {
        blank(open, end - 1);
      }
    } else if (rest[0] == '"' ||
               (rest[0] == '\'' && (at == 0 || std::isalnum(static_cast<unsigned char>(text[at - 1])) == 0))) {
      // A quote after a digit or letter is a digit separator, not a character.
      while (end < text.size() && text[end] != rest[0] && text[end] != '\n') {
        end += text[end] == '\\' ? 2 : 1;
      }
      if (!keep_strings) {
        blank(at + 1, end);
      }
      ++end;
    }
    at = end;
  }
  return code;
}

std::vector<Include> find_includes(const File& file) {
  std::vector<Include> includes;
  int number = 0;
  const std::string code = code_only(file.text, true);
  for (std::string_view line : split_lines(code)) {
    ++number;
    const auto hash = line.find_first_not_of(" \t");
    if (hash == std::string_view::npos || line[hash] != '#') {
      continue;
    }
    line.remove_prefix(hash + 1);
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    if (!line.starts_with("include")) {
      continue;
    }
    const auto open = line.find_first_of("\"<");
    if (open == std::string_view::npos) {
      continue;
    }
    const auto close = line.find(line[open] == '<' ? '>' : '"', open + 1);
    includes.push_back({number, line[open] == '"', std::string(line.substr(open + 1, close - open - 1))});
  }
  return includes;
}

}  // namespace house
