// Takes the C++ out of Markdown pages and makes a program that runs all of it:
//   extract_snippets OUTPUT PAGE...
// A block that opens with ```cpp becomes the body of a member of a fresh Stage (guide_stage.h); one that follows a line
// `<!-- at namespace scope -->` stands before all later ones. Errors of the compiler name the page and its line.
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

namespace {

struct Snippet {
  std::string page;
  int line = 0;
  bool at_namespace_scope = false;
  std::string code;
};

bool read_page(const std::string& path, std::vector<Snippet>& snippets) {
  std::ifstream page(path);
  std::string line, before;
  bool inside = false;
  for (int number = 1; std::getline(page, line); ++number) {
    if (inside && line == "```") {
      inside = false;
    } else if (inside) {
      snippets.back().code += line + "\n";
    } else if (line == "```cpp") {
      inside = true;
      snippets.push_back({path, number + 1, before == "<!-- at namespace scope -->", {}});
    }
    if (!line.empty()) before = line;
  }
  return page.eof() && !inside;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<Snippet> snippets;
  for (int i = 2; i < argc; ++i) {
    if (!read_page(argv[i], snippets)) {
      std::fprintf(stderr, "%s: cannot be read, or ends inside a block of code\n", argv[i]);
      return 1;
    }
  }
  std::ofstream out(argc > 1 ? argv[1] : "");
  out << "// Written by extract_snippets.\n#include <cstdio>\n#include <exception>\n#include "
         "\"tests/guide/guide_stage.h\"\n"
         "namespace guide {\n";
  std::string calls;
  int count = 0;
  for (const Snippet& snippet : snippets) {
    const std::string at = "#line " + std::to_string(snippet.line) + " \"" + snippet.page + "\"\n";
    if (snippet.at_namespace_scope) {
      out << at << snippet.code;
      continue;
    }
    const std::string name = "Snippet" + std::to_string(++count);
    out << "struct " << name << " : Stage { void run() {\n" << at << snippet.code << "} };\n";
    calls += "  failed += call<guide::" + name + ">(\"" + snippet.page + ":" + std::to_string(snippet.line) + "\");\n";
  }
  out << "template <typename T> int call(const char* place) {\n  try {\n    T().run();\n    return 0;\n"
         "  } catch (const std::exception& error) {\n    std::printf(\"%s: %s\\n\", place, error.what());\n    return "
         "1;\n"
         "  }\n}\n}  // namespace guide\nusing guide::call;\nint main() {\n  int failed = 0;\n"
      << calls << "  std::printf(\"" << count
      << " pieces of code, %d failed\\n\", failed);\n  return failed != 0;\n}\n";
  return out.good() && count > 0 ? 0 : 1;
}
