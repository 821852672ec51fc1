// The rules about words: what may not stand in any file.
#include "tests/house/house_support.h"

namespace house {
namespace {

struct Forbidden {
  std::string_view text;
  std::string_view why;
};
constexpr Forbidden kForbidden[] = {
#define HOUSE_FORBIDDEN(text, why) {text, why},
#include "tests/house/house.def"
};

}  // namespace

Violations find_forbidden_words(const Tree& tree) {
  Violations found;
  for (const File& file : tree) {
    int number = 0;
    for (std::string_view line : split_lines(file.text)) {
      ++number;
      for (const Forbidden& word : kForbidden) {
        if (line.find(word.text) != std::string_view::npos) {
          found.push_back({file.path, number, "holds '" + std::string(word.text) + "': " + std::string(word.why)});
        }
      }
    }
  }
  return found;
}

Violations find_unfinished_headings(const Tree& tree) {
  Violations found;
  for (const File& file : tree) {
    if (!file.path.ends_with(".md")) {
      continue;
    }
    int number = 0;
    bool in_code = false;
    for (std::string_view line : split_lines(file.text)) {
      ++number;
      if (line.starts_with("```")) {
        in_code = !in_code;
      }
      if (in_code || !line.starts_with("#")) {
        continue;
      }
      for (std::string_view mark : {"TODO", "TBD", "FIXME", "Coming soon"}) {
        if (line.find(mark) != std::string_view::npos) {
          found.push_back({file.path, number, "has the heading of a text that is not there"});
        }
      }
    }
  }
  return found;
}

Violations find_lockfile_addresses(const Tree& tree) {
  Violations found;
  for (const File& file : tree) {
    if (!file.path.ends_with("package-lock.json")) {
      continue;
    }
    int number = 0;
    for (std::string_view line : split_lines(file.text)) {
      ++number;
      if (line.find("\"resolved\"") != std::string_view::npos) {
        found.push_back({file.path, number, "names the address a package was downloaded from"});
      }
    }
  }
  return found;
}

}  // namespace house
