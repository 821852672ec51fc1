// The rules about what stands in a source file.
#include <algorithm>
#include <cctype>

#include "tests/house/house_support.h"

namespace house {
namespace {

constexpr std::string_view kCudaPlaces[] = {
#define HOUSE_CUDA_CONDITION(path) path,
#include "tests/house/house.def"
};
constexpr std::string_view kLongFiles[] = {
#define HOUSE_LONG_FILE(path, why) path,
#include "tests/house/house.def"
};
constexpr std::size_t kMaxLines = 500;

bool is_word_at(std::string_view text, std::size_t at, std::string_view word) {
  const auto is_part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  return (at == 0 || !is_part(text[at - 1])) && (at + word.size() >= text.size() || !is_part(text[at + word.size()]));
}

}  // namespace

Violations find_cuda_conditions(const Tree& tree) {
  Violations found;
  for (const File& file : tree) {
    const auto allowed = [&file](std::string_view place) { return file.path.starts_with(place); };
    if (!is_cpp(file.path) || std::any_of(std::begin(kCudaPlaces), std::end(kCudaPlaces), allowed)) {
      continue;
    }
    const std::string code = code_only(file.text, false);
    int number = 0;
    for (std::string_view line : split_lines(code)) {
      ++number;
      const auto hash = line.find_first_not_of(" \t");
      if (hash == std::string_view::npos || line[hash] != '#') {
        continue;
      }
      const auto directive = line.find_first_not_of(" \t", hash + 1);
      if (directive == std::string_view::npos || !starts_with_any(line.substr(directive), "if|elif")) {
        continue;
      }
      if (line.find("CUDA") != std::string_view::npos || line.find("NVCC") != std::string_view::npos) {
        found.push_back({file.path, number, "an #if for CUDA: hardware is a folder here"});
      }
    }
  }
  return found;
}

Violations find_throws_in_recorder(const Tree& tree) {
  Violations found;
  for (const File& file : tree) {
    if (!is_cpp(file.path) || !file.path.starts_with("profiler/recorder/")) {
      continue;
    }
    const std::string code = code_only(file.text, false);
    int number = 0;
    for (std::string_view line : split_lines(code)) {
      ++number;
      for (auto at = line.find("throw"); at != std::string_view::npos; at = line.find("throw", at + 1)) {
        if (is_word_at(line, at, "throw")) {
          found.push_back({file.path, number, "throws: the recorder must never hurt the program it watches"});
        }
      }
    }
  }
  return found;
}

Violations find_long_files(const Tree& tree) {
  Violations found;
  for (const File& file : tree) {
    const auto lines = split_lines(file.text).size();
    const bool is_code = is_cpp(file.path) || file.path.ends_with(".ts") || file.path.ends_with(".def") ||
                         file.path.ends_with(".sh") || file.path.ends_with(".cmake");
    const bool excepted = std::find(std::begin(kLongFiles), std::end(kLongFiles), file.path) != std::end(kLongFiles);
    if (is_code && lines > kMaxLines && !excepted) {
      found.push_back(
          {file.path, 0, "has " + std::to_string(lines) + " lines, more than " + std::to_string(kMaxLines)});
    }
  }
  return found;
}

Violations find_unopened_files(const Tree& tree) {
  Violations found;
  for (const File& file : tree) {
    if ((is_cpp(file.path) || file.path.ends_with(".def")) && !file.text.starts_with("//")) {
      found.push_back({file.path, 1, "does not open with a comment that says what the file is for"});
    }
  }
  return found;
}

Violations find_unguarded_headers(const Tree& tree) {
  Violations found;
  for (const File& file : tree) {
    if (is_header(file.path) && code_only(file.text, false).find("#pragma once") == std::string::npos) {
      found.push_back({file.path, 0, "has no #pragma once"});
    }
  }
  return found;
}

}  // namespace house
