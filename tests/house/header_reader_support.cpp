// Takes a header apart for the API pages: comments, then statements up to their ';' or the end of their body.
#include <algorithm>
#include <cctype>
#include <utility>

#include "tests/house/header_reader.h"
#include "tests/house/house_support.h"

namespace house {
namespace {

std::string_view trim(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.remove_suffix(1);
  return text;
}

bool is_name_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

void erase_all(std::string& text, std::string_view what) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at)) text.erase(at, what.size());
}

/// Whitespace as single spaces; attributes and `inline` gone.
std::string in_one_line(std::string_view text) {
  std::string line;
  for (const char c : text) {
    const bool is_space = std::isspace(static_cast<unsigned char>(c)) != 0;
    if (!is_space || (!line.empty() && line.back() != ' ')) line += is_space ? ' ' : c;
  }
  for (const std::string_view word :
       {"[[nodiscard]] ", "[[noreturn]] ", "inline ", "virtual ", "explicit ", " override"})
    erase_all(line, word);
  return std::string(trim(line));
}

/// Position of the first `wanted` outside parentheses, brackets and angle brackets of templates; npos if there is none.
std::size_t find_outside(std::string_view code, std::string_view wanted) {
  int depth = 0;
  for (std::size_t i = 0; i < code.size(); ++i) {
    const char c = code[i];
    if (depth == 0 && code.substr(i).starts_with(wanted)) return i;
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
  }
  return std::string_view::npos;
}

/// A function's declaration without initialisers of members and without its body.
std::string_view without_body(std::string_view code) {
  const auto open = find_outside(code, "{");
  std::string_view head = trim(code.substr(0, open));
  const auto colon = find_outside(head, " : ");
  if (colon != std::string_view::npos) head = head.substr(0, colon);
  return trim(head);
}

class Reader {
 public:
  explicit Reader(std::string_view text) : lines_(split_lines(text)), code_text_(code_only(text, true)) {
    code_ = split_lines(code_text_);
  }

  HeaderApi read() {
    HeaderApi api;
    for (; at_ < lines_.size() && lines_[at_].starts_with("//"); ++at_) {
      const std::string_view line = lines_[at_].substr(2);
      // Examples stand two or more to the right of the words; four make them code, as in `///` comments.
      const bool is_code = line.starts_with("   ") && !trim(line).empty();
      api.opening.push_back(is_code ? "    " + std::string(line.substr(3)) : std::string(trim(line)));
    }
    read_scope(api.declarations, "", true);
    return api;
  }

 private:
  /// Reads up to the brace that closes the scope. type_name: of the class; empty in a namespace.
  void read_scope(std::vector<Declaration>& into, const std::string& type_name, bool is_public) {
    std::vector<std::string> doc;
    bool is_remarked = false, continues_remark = false;
    while (at_ < lines_.size()) {
      const std::string_view line = trim(lines_[at_]);
      const std::string_view code = trim(code_[at_]);
      if (line.empty()) {
        doc.clear();
        is_remarked = continues_remark = false;
        ++run_;
        ++at_;
      } else if (line.starts_with("///<")) {
        if (!into.empty()) into.back().doc.emplace_back(trim(line.substr(4)));
        ++at_;
      } else if (line.starts_with("///")) {
        doc.emplace_back(line.substr(3).starts_with(" ") ? line.substr(4) : line.substr(3));
        continues_remark = false;
        ++at_;
      } else if (line.starts_with("//")) {
        if (!continues_remark && is_public) {
          Declaration remark;
          remark.kind = Declaration::Kind::remark;
          remark.line = static_cast<int>(at_) + 1;
          into.push_back(std::move(remark));
        }
        if (is_public) into.back().doc.emplace_back(trim(line.substr(2)));
        is_remarked = continues_remark = true;
        ++at_;
      } else if (line.starts_with("#")) {
        skip_directive();
      } else if (code.starts_with("namespace ") && code.ends_with("{")) {
        ++at_;
        std::vector<Declaration> inner;
        read_scope(inner, "", is_public);
        const bool is_hidden = code.find("detail") != std::string_view::npos || code == "namespace {";
        if (!is_hidden) into.insert(into.end(), inner.begin(), inner.end());
      } else if (is_macro_call(code)) {
        ++at_;
      } else if (code.starts_with("}")) {
        ++at_;
        return;
      } else if (code == "public:" || code == "protected:" || code == "private:") {
        is_public = code != "private:";
        doc.clear();
        is_remarked = false;
        ++at_;
      } else {
        continues_remark = false;
        read_declaration(into, type_name, is_public, std::exchange(doc, {}), is_remarked);
      }
    }
  }

  /// `SOME_MACRO(...)` in a line of its own, without a semicolon.
  static bool is_macro_call(std::string_view code) {
    std::size_t end = 0;
    while (end < code.size() && (std::isupper(static_cast<unsigned char>(code[end])) != 0 || code[end] == '_')) ++end;
    return end > 2 && end < code.size() && code[end] == '(' && code.ends_with(")");
  }

  void skip_directive() {
    while (at_ < lines_.size() && lines_[at_].ends_with("\\")) ++at_;
    ++at_;
  }

  static bool opens_type(std::string_view head) {
    if (head.starts_with("template")) {
      int depth = 0;
      std::size_t i = 0;
      for (; i < head.size(); ++i) {
        if (head[i] == '<') ++depth;
        if (head[i] == '>' && --depth == 0) break;
      }
      head = trim(head.substr(std::min(i + 1, head.size())));
    }
    return starts_with_any(head, "class |struct |union ");
  }

  static std::string type_name_of(std::string_view head) {
    for (const std::string_view word : {"class ", "struct ", "union ", "enum class ", "enum "}) {
      if (const auto at = head.find(word); at != std::string_view::npos && (at == 0 || !is_name_char(head[at - 1]))) {
        std::string_view rest = head.substr(at + word.size());
        if (rest.starts_with("class ")) rest.remove_prefix(6);
        std::size_t end = 0;
        while (end < rest.size() && is_name_char(rest[end])) ++end;
        return std::string(rest.substr(0, end));
      }
    }
    return {};
  }

  /// The name before the parameter list; empty if there is none, as in `Shape stride, padding;`.
  static std::string function_name_of(std::string_view text) {
    if (text.find("operator") != std::string_view::npos) return "operator";
    const auto open = text.find('(');
    const auto equals = text.find(" = ");
    if (open == std::string_view::npos || equals < open || text.starts_with("using ")) return {};
    std::size_t begin = open;
    while (begin > 0 && is_name_char(text[begin - 1])) --begin;
    return std::string(text.substr(begin, open - begin));
  }

  void read_declaration(std::vector<Declaration>& into, const std::string& type_name, bool is_public,
                        std::vector<std::string> doc, bool is_remarked) {
    Declaration declaration;
    declaration.line = static_cast<int>(at_) + 1;
    declaration.doc = std::move(doc);
    declaration.is_remarked = is_remarked;
    declaration.run = run_;
    const std::string code = take_statement(declaration);
    const bool is_friend = code.starts_with("friend ");
    const bool is_dropped = code.find("= delete") != std::string::npos || code.starts_with("~") ||
                            code.find("= default;") != std::string::npos || code.starts_with("virtual ~") ||
                            code.starts_with("static_assert") ||
                            (code.find(" override") != std::string::npos && declaration.doc.empty());
    if (is_public && !is_friend && !is_dropped && !declaration.text.empty()) {
      if (declaration.kind == Declaration::Kind::function)
        declaration.is_member_special = declaration.name == "operator" || declaration.name == "forward" ||
                                        declaration.name == type_name || declaration.name == "requires" ||
                                        code.find(" override") != std::string::npos;
      into.push_back(std::move(declaration));
    }
  }

  /// Consumes one statement; fills in kind, name, text, and members of a class. Returns its code.
  std::string take_statement(Declaration& declaration) {
    std::string code;
    int depth = 0;
    while (at_ < lines_.size()) {
      const std::string_view line = code_[at_];
      for (std::size_t i = 0; i < line.size(); ++i) {
        const char c = line[i];
        if (c == '{' && depth == 0 && opens_type(trim(code)) && trim(code).find('=') == std::string_view::npos) {
          take_type(declaration, code, line.substr(i + 1));
          return code;
        }
        code += c;
        if (c == '{' || c == '(' || c == '[') ++depth;
        if (c == '}' || c == ')' || c == ']') --depth;
        if (depth == 0 && (c == ';' || (c == '}' && ends_statement(line.substr(i + 1))))) {
          take_trailing_comment(declaration);
          ++at_;
          finish(declaration, code);
          return std::string(trim(code));
        }
      }
      take_trailing_comment(declaration);
      code += '\n';
      ++at_;
    }
    return code;
  }

  /// After a closing brace: does the statement end, or does `;`, `,` or another brace follow?
  bool ends_statement(std::string_view rest) const {
    rest = trim(rest);
    if (rest.empty() && at_ + 1 < code_.size()) rest = trim(code_[at_ + 1]);
    return rest.empty() || (rest[0] != ';' && rest[0] != ',' && rest[0] != '{');
  }

  void take_trailing_comment(Declaration& declaration) {
    const std::string_view line = lines_[at_];
    if (const auto comment = line.find("///<"); comment != std::string_view::npos)
      declaration.doc.emplace_back(trim(line.substr(comment + 4)));
  }

  void take_type(Declaration& declaration, const std::string& head, std::string_view rest) {
    declaration.kind = Declaration::Kind::type;
    declaration.text = in_one_line(head);
    declaration.name = type_name_of(declaration.text);
    take_trailing_comment(declaration);
    ++at_;
    if (trim(rest).starts_with("}")) return;  // struct Empty {};
    if (!trim(rest).empty()) {                // all in one line: no members worth a list
      declaration.text += " {" + std::string(rest);
      return;
    }
    const bool is_struct = head.find("struct ") != std::string::npos;
    read_scope(declaration.members, declaration.name, is_struct);
  }

  static void finish(Declaration& declaration, std::string_view code) {
    code = trim(code);
    if (code.starts_with("enum ") || code.starts_with("using ")) {
      declaration.kind = code.starts_with("enum ") ? Declaration::Kind::type : Declaration::Kind::value;
      declaration.text = in_one_line(code);
      declaration.name = type_name_of(declaration.text);
      return;
    }
    if (opens_type(code)) {  // a forward declaration
      return;
    }
    const std::string name = function_name_of(in_one_line(code));
    declaration.kind = name.empty() ? Declaration::Kind::value : Declaration::Kind::function;
    declaration.name = name;
    declaration.text = in_one_line(name.empty() ? code : without_body(code));
    if (declaration.text.ends_with(";")) declaration.text.pop_back();
  }

  std::vector<std::string_view> lines_;
  std::string code_text_;
  std::vector<std::string_view> code_;  // the same lines, comments blanked
  std::size_t at_ = 0;
  int run_ = 0;
};

}  // namespace

HeaderApi read_header(std::string_view text) { return Reader(text).read(); }

}  // namespace house
