// Renders what header_reader.h read. Public is what libamp/amp.h takes in, itself or through other headers, in the
// folders that are for users, and the few headers below that speak for the types these use.
#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "libamp/base/op.h"
#include "tests/house/api_pages.h"
#include "tests/house/header_reader.h"

namespace house {
namespace {

using Kind = Declaration::Kind;

constexpr std::string_view kBelow[] = {
    "libamp/base/error.h",     "libamp/core/device.h",      "libamp/core/shape.h",      "libamp/core/tensor.h",
    "libamp/core/grad_mode.h", "libamp/core/thread_pool.h", "libamp/core/step_clock.h", "libamp/core/allocator.h"};

/// Folders in which includes are followed.
constexpr std::string_view kFollowed =
    "libamp/autograd/|libamp/data/|libamp/io/|libamp/nn/|libamp/ops/|libamp/optim/|libamp/scaler/";
/// Tools of the headers that take them in.
constexpr std::string_view kInner[] = {"libamp/io/input_file.h", "libamp/io/safetensors_header.h"};

const File* find_file(const Tree& tree, std::string_view path) {
  const auto at = std::find_if(tree.begin(), tree.end(), [path](const File& file) { return file.path == path; });
  return at == tree.end() ? nullptr : &*at;
}

/// The header and those it takes in, however deep, as far as they lie in folders whose headers are all for users.
void add_includes(const Tree& tree, const std::string& path, std::set<std::string>& seen) {
  const File* file = find_file(tree, path);
  if (file == nullptr || !seen.insert(path).second) return;
  for (const Include& include : find_includes(*file)) {
    const bool is_inner = std::find(std::begin(kInner), std::end(kInner), include.target) != std::end(kInner);
    const bool is_named = path == "libamp/amp.h";
    if (!is_inner && (is_named || starts_with_any(include.target, kFollowed))) add_includes(tree, include.target, seen);
  }
}

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

/// Public headers, sorted by path, each once; without those that only take in others.
std::vector<const File*> public_headers(const Tree& tree) {
  std::set<std::string> seen;
  add_includes(tree, "libamp/amp.h", seen);
  for (const std::string_view path : kBelow) seen.emplace(path);
  std::vector<const File*> headers;
  for (const std::string& path : seen) {
    const File* file = find_file(tree, path);
    if (file != nullptr && !read_header(file->text).declarations.empty()) headers.push_back(file);
  }
  return headers;
}

/// "MaxPool2d" and "max_pool2d" as "maxpool2d".
std::string folded(std::string_view name) {
  std::string folded;
  for (const char c : name)
    if (c != '_') folded += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return folded;
}

/// The table's row for a function in ops/, or for a module in nn/ that is named after it; null where there is none.
const amp::OpInfo* row_of(const File& header, const Declaration& declaration) {
  if (header.path.starts_with("libamp/ops/") && declaration.kind == Kind::function) {
    const amp::OpId op = amp::find_op(declaration.name);
    return op == amp::OpId::none ? nullptr : &amp::op_info(op);
  }
  if (!header.path.starts_with("libamp/nn/") || declaration.kind != Kind::type) return nullptr;
  for (std::size_t i = 1; i < amp::kOpCount; ++i) {
    const amp::OpInfo& op = amp::op_info(static_cast<amp::OpId>(i));
    if (folded(op.name) == folded(declaration.name)) return &op;
  }
  return nullptr;
}

/// Plain arguments of what they are named after, whose members have the comments; and what tells std of a type.
bool needs_no_words(const Declaration& type) {
  return type.name.ends_with("Options") || type.name.ends_with("Arguments") ||
         type.text.find("struct std::") != std::string::npos;
}

/// Outside of `code`, what Markdown would take for its own.
std::string escape(std::string_view text) {
  std::string escaped;
  bool in_code = false;
  for (const char c : text) {
    if (c == '`') in_code = !in_code;
    if (!in_code && (c == '<' || c == '*' || c == '[' || c == ']')) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

/// Comment lines as a paragraph; lines indented by four or more are code.
std::string paragraph(const std::vector<std::string>& lines, const std::string& indent) {
  std::string text, joined;
  bool in_code = false;
  const auto flush = [&] {
    if (!joined.empty()) text += indent + escape(joined) + "\n";
    joined.clear();
  };
  for (const std::string& line : lines) {
    const bool is_code = line.starts_with("    ");
    if (is_code && !in_code) {
      flush();
      text += "\n" + indent + "```cpp\n";
    } else if (!is_code && in_code) {
      text += indent + "```\n\n";
    }
    in_code = is_code;
    if (line.empty()) {
      flush();
      text += "\n";
    } else if (is_code) {
      text += indent + line.substr(4) + "\n";
    } else {
      joined += (joined.empty() ? "" : " ") + line;
    }
  }
  flush();
  if (in_code) text += indent + "```\n";
  return text;
}

std::string rules_of(const amp::OpInfo& op) {
  if (op.cuda_rule == amp::CastRule::none && op.cpu_rule == amp::CastRule::none) return "";
  return " Autocast: `" + std::string(amp::name(op.cuda_rule)) + "` under CUDA's rules, `" +
         std::string(amp::name(op.cpu_rule)) + "` under the CPU's.";
}

void render_list(std::string& page, const File& header, const std::vector<Declaration>& declarations,
                 const std::string& indent) {
  for (const Declaration& declaration : declarations) {
    if (declaration.kind == Kind::remark) {
      std::vector<std::string> words = declaration.doc;
      if (!words.empty() && words[0].starts_with("-- ")) words[0] = words[0].substr(3);
      page += "\n" + paragraph(words, indent) + "\n";
      continue;
    }
    page += indent + "- `" + declaration.text + "`";
    std::string text = paragraph(declaration.doc, indent + "  ");
    if (const amp::OpInfo* row = row_of(header, declaration)) {
      std::string words = declaration.doc.empty() ? escape(row->text) + "." : "";
      words += rules_of(*row);
      if (text.ends_with("\n") && !words.empty()) text.pop_back();
      if (!words.empty()) text += (declaration.doc.empty() ? indent + "  " : "") + words + "\n";
    }
    page += (text.empty() ? "\n" : "\\\n") + text;  // a backslash: the line ends here
    if (!declaration.members.empty()) {
      page += "\n";
      render_list(page, header, declaration.members, indent + "  ");
      page += "\n";
    }
  }
}

std::string render_header(const File& header) {
  const HeaderApi api = read_header(header.text);
  std::string page = "\n## " + header.path.substr(header.path.rfind('/') + 1) + "\n\n" + paragraph(api.opening, "");
  page += "\n`#include \"" + header.path + "\"`\n\n";
  render_list(page, header, api.declarations, "");
  return page;
}

/// No blank lines beside blank lines, none at the end.
std::string tidy(const std::string& text) {
  std::string tidied;
  for (const char c : text)
    if (c != '\n' || !tidied.ends_with("\n\n")) tidied += c;
  while (tidied.ends_with("\n\n")) tidied.pop_back();
  return tidied;
}

void check(const File& header, const std::vector<Declaration>& declarations, Violations& found) {
  int run_with_words = -1;  // the words of a declaration speak for the functions right below it
  for (const Declaration& declaration : declarations) {
    const bool has_words =
        !declaration.doc.empty() || declaration.is_remarked || row_of(header, declaration) != nullptr;
    if (has_words) run_with_words = declaration.run;
    const bool is_bare_function = declaration.kind == Kind::function && !has_words && !declaration.is_member_special &&
                                  declaration.run != run_with_words;
    const bool is_bare_type = declaration.kind == Kind::type && !has_words && !needs_no_words(declaration);
    if (is_bare_function || is_bare_type)
      found.push_back({header.path, declaration.line, "has no comment: " + declaration.text});
    check(header, declaration.members, found);
  }
}

}  // namespace

std::vector<Page> make_api_pages(const Tree& tree) {
  const std::string origin = "Written by a test from the headers (see tests/house/api_pages.h); edit these.\n";
  std::map<std::string, std::string> folders;
  std::string index = "# The API of libamp\n\n" + origin +
                      "\n`#include \"libamp/amp.h\"` takes in all of it. Names are PyTorch's, in namespace `amp`.\n";
  for (const File* header : public_headers(tree)) {
    const std::string folder = folder_of(header->path).substr(std::string_view("libamp/").size());
    std::string& page = folders[folder];
    if (page.empty()) {
      page = "# libamp/" + folder + "\n\n" + origin;
      index += "\n## [" + folder + "](" + folder + ".md)\n\n";
    }
    page += render_header(*header);
    const std::vector<std::string> opening = read_header(header->text).opening;
    std::string first = paragraph(opening, "");
    first.resize(std::min(first.find('\n'), first.size() - 1) + 1);
    first = first.substr(0, std::min(first.find(". "), first.size() - 1));
    index += "- `" + header->path + "`: " + first + (first.ends_with(".") ? "\n" : ".\n");
  }
  std::vector<Page> pages = {{"docs/api/README.md", tidy(index)}};
  for (const auto& [folder, text] : folders) pages.push_back({"docs/api/" + folder + ".md", tidy(text)});
  return pages;
}

Violations find_undocumented(const Tree& tree) {
  Violations found;
  for (const File* header : public_headers(tree)) check(*header, read_header(header->text).declarations, found);
  return found;
}

}  // namespace house
