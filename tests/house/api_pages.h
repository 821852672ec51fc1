// docs/api: the reference of libamp's public headers, built from their declarations and comments, and the rule that
// every public function has one.
#pragma once
#include <string>
#include <vector>

#include "tests/house/house_support.h"

namespace house {

struct Page {
  std::string path, text;
};

/// The index and one page a folder.
std::vector<Page> make_api_pages(const Tree& tree);
/// Public functions and types without a comment; a function that is named like an op has the op table's words.
Violations find_undocumented(const Tree& tree);

}  // namespace house
