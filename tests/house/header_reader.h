// A header's public declarations with their comments, read well enough for the API pages: this repository's own style
// (clang-format's), not all of C++.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace house {

/// One thing a header declares, or a remark that stands above several.
struct Declaration {
  enum class Kind { remark, function, type, value };
  Kind kind = Kind::value;
  int line = 0;
  int run = 0;                     ///< declarations without an empty line between them share their comments
  std::string name;                ///< of a type or function; empty for operators
  std::string text;                ///< the declaration without bodies and attributes, in one line
  std::vector<std::string> doc;    ///< lines of its `///` and `///<` comments, or of the remark
  bool is_remarked = false;        ///< stands right under a `//` remark that speaks for it
  bool is_member_special = false;  ///< constructor, operator, forward, override: the type or its base says it
  std::vector<Declaration> members;
};

struct HeaderApi {
  std::vector<std::string> opening;  ///< lines of the comment the file opens with
  std::vector<Declaration> declarations;
};

HeaderApi read_header(std::string_view text);

}  // namespace house
