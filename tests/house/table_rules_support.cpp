// The rules about the .def tables: every row has its documentation and its test data, every table is read.
#include <algorithm>
#include <cctype>
#include <iterator>
#include <set>

#include "tests/house/house_support.h"

namespace house {
namespace {

struct Table {
  std::string_view def;
  std::string_view macro;
  std::size_t name_argument;
  std::string_view documentation;
  std::string_view test_data;
};
constexpr Table kTables[] = {
#define HOUSE_TABLE(def, macro, name_argument, documentation, test_data) \
  {def, macro, name_argument, documentation, test_data},
#include "tests/house/house.def"
};

struct Row {
  int line;
  std::string name;
};

/// The arguments between the parentheses at the start of `text`, without blanks and quotes around them.
std::vector<std::string> split_arguments(std::string_view text) {
  std::vector<std::string> arguments(1);
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' && (i == 0 || text[i - 1] != '\\')) {
      quoted = !quoted;
    } else if (!quoted && c == ')' && --depth == 0) {
      break;
    } else if (!quoted && c == ',' && depth == 1) {
      arguments.emplace_back();
    } else if (quoted || (c != ' ' && c != '\n' && !(c == '(' && depth == 0))) {
      arguments.back() += c;
    }
    if (!quoted && c == '(') {
      ++depth;
    }
  }
  return arguments;
}

std::vector<Row> find_rows(const File& file, const Table& table) {
  std::vector<Row> rows;
  const std::string code = code_only(file.text, true);
  const std::string opening = std::string(table.macro) + "(";
  int number = 0;
  for (std::string_view line : split_lines(code)) {
    ++number;
    const auto start = std::min(line.find_first_not_of(' '), line.size());
    if (!line.substr(start).starts_with(opening)) {
      continue;
    }
    // From here to the end of the text: a row may go over several lines.
    const std::string_view rest(line.data() + start + table.macro.size(), code.data() + code.size());
    const auto arguments = split_arguments(rest);
    rows.push_back({number, table.name_argument < arguments.size() ? arguments[table.name_argument] : std::string()});
  }
  return rows;
}

bool names(std::string_view text, std::string_view word) {
  const auto is_part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  for (auto at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const auto end = at + word.size();
    if ((at == 0 || !is_part(text[at - 1])) && (end == text.size() || !is_part(text[end]))) {
      return true;
    }
  }
  return false;
}

bool is_named_under(const Tree& tree, std::string_view prefixes, std::string_view word) {
  return std::any_of(tree.begin(), tree.end(), [&](const File& file) {
    return starts_with_any(file.path, prefixes) && !file.path.starts_with("tests/house/") && names(file.text, word);
  });
}

const File* find_file(const Tree& tree, std::string_view path) {
  const auto at = std::find_if(tree.begin(), tree.end(), [path](const File& file) { return file.path == path; });
  return at == tree.end() ? nullptr : &*at;
}

}  // namespace

Violations find_bare_rows(const Tree& tree) {
  Violations found;
  for (const Table& table : kTables) {
    const File* file = find_file(tree, table.def);
    if (file == nullptr) {
      continue;
    }
    const auto rows = find_rows(*file, table);
    if (rows.empty()) {
      found.push_back({file->path, 0, "has no row " + std::string(table.macro)});
    }
    for (const Row& row : rows) {
      const std::string row_text = std::string(table.macro) + " row '" + row.name + "'";
      if (row.name.empty()) {
        found.push_back({file->path, row.line, row_text + " has no name where one is expected"});
        continue;
      }
      if (!is_named_under(tree, table.documentation, row.name)) {
        found.push_back(
            {file->path, row.line, row_text + " has no documentation in " + std::string(table.documentation)});
      }
      if (!is_named_under(tree, table.test_data, row.name)) {
        found.push_back({file->path, row.line, row_text + " has no test data in " + std::string(table.test_data)});
      }
    }
  }
  return found;
}

Violations find_unlisted_tables(const Tree& tree) {
  Violations found;
  for (const File& file : tree) {
    const auto listed = [&file](const Table& table) { return table.def == file.path; };
    if (file.path.ends_with(".def") && !file.path.starts_with("tests/") &&
        std::none_of(std::begin(kTables), std::end(kTables), listed)) {
      found.push_back({file.path, 0, "is in no HOUSE_TABLE row of tests/house/house.def"});
    }
  }
  return found;
}

Violations find_unread_tables(const Tree& tree) {
  std::set<std::string, std::less<>> read;
  for (const File& file : tree) {
    if (is_cpp(file.path)) {
      for (const Include& include : find_includes(file)) {
        read.insert(include.target);
      }
    }
  }
  Violations found;
  for (const File& file : tree) {
    if (file.path.ends_with(".def") && !read.contains(file.path)) {
      found.push_back({file.path, 0, "is a table that nobody includes"});
    }
  }
  return found;
}

}  // namespace house
