// Holds this repository to the rules of the house, and each rule to a planted violation beside a near miss.
#include <catch2/catch_test_macros.hpp>
#include <cstdio>
#include <map>
#include <string>

#include "tests/house/api_pages.h"
#include "tests/house/house_support.h"

namespace house {
namespace {

using Rule = Violations (*)(const Tree&);

const Tree& this_tree() {
  static const Tree kTree = read_tree(AMP_SOURCE_DIR);
  return kTree;
}

struct Case {
  const char* name;
  Rule rule;
  Tree broken;     // each has exactly one violation
  Tree near_miss;  // and this one none
};

// Without a leading newline the planted lines would be directives of this very file.
std::string lines(const std::string& text) { return "// A file.\n#pragma once\n" + text + "\n"; }
std::string include(const std::string& target) { return lines("#include \"" + target + "\""); }

Tree with_def(const std::string& docs, const std::string& tests) {
  return {{"docs/ops.md", docs},
          {"libamp/base/ops.def",
           "// Ops.\nAMP_OP(matmul, none, kA | kB, f(1, 2), \"text, (with) commas\")\n#undef AMP_OP\n"},
          {"tests/ops/cases.json", tests}};
}

const std::map<std::string, std::vector<Case>>& rules() {
  static const std::map<std::string, std::vector<Case>> kRules = {
      {"an include points down the layers",
       {
           {"up inside libamp",
            find_upward_includes,
            {{"libamp/core/tensor.h", include("libamp/dispatch/run_op.h")}},
            {{"libamp/dispatch/run_op.h", include("libamp/core/tensor.h")}}},
           {"sideways",
            find_upward_includes,
            {{"libamp/nn/a.cpp", include("libamp/optim/sgd.h")}},
            {{"libamp/nn/a.cpp", include("libamp/nn/b.h")}}},
           {"across the backends",
            find_upward_includes,
            {{"libamp/backend/cuda/a.cpp", include("libamp/backend/cpu/b.h")}},
            {{"libamp/backend/cuda/a.cpp", include("kernels/b.cuh")}}},
           {"a kernel from an op",
            find_upward_includes,
            {{"libamp/ops/a.cpp", include("kernels/b.cuh")}},
            {{"libamp/ops/a.cpp", include("libamp/dispatch/run_op.h")}}},
           {"a kernel that knows somebody",
            find_upward_includes,
            {{"kernels/a.cu", include("libamp/base/half.h")}},
            {{"kernels/a.cu", include("kernels/b.cuh")}}},
           {"libamp names the recorder",
            find_upward_includes,
            {{"libamp/observe/a.cpp", include("profiler/recorder/b.h")}},
            {{"libamp/observe/a.cpp", include("libamp/base/event.h")}}},
           {"the profiler knows more than base",
            find_upward_includes,
            {{"profiler/report/a.cpp", include("libamp/core/tensor.h")}},
            {{"profiler/report/a.cpp", include("libamp/base/event.h")}}},
           {"up inside the profiler",
            find_upward_includes,
            {{"profiler/timeline/a.h", include("profiler/analysis/b.h")}},
            {{"profiler/analysis/a.h", include("profiler/timeline/b.h")}}},
           {"recorder beside timeline",
            find_upward_includes,
            {{"profiler/recorder/a.h", include("profiler/timeline/b.h")}},
            {{"profiler/recorder/a.h", include("profiler/capture/b.h")}}},
           {"a folder of no layer", find_upward_includes, {{"stuff/a.h", lines("")}}, {{"tests/stuff/a.h", lines("")}}},
       }},
      {"a header from outside stays in its place",
       {
           {"cblas",
            find_misplaced_vendor_headers,
            {{"libamp/ops/matmul.cpp", lines("#include <cblas.h>")}},
            {{"libamp/backend/cpu/matmul.cpp", lines("#include <cblas.h>")}}},
           {"cuBLAS",
            find_misplaced_vendor_headers,
            {{"libamp/backend/cpu/a.cpp", lines("#  include <cublasLt.h>")}},
            {{"libamp/backend/cuda/a.cpp", lines("#include <cublasLt.h>")}}},
           {"CUPTI",
            find_misplaced_vendor_headers,
            {{"profiler/recorder/clock.cpp", lines("#include <cupti.h>")}},
            {{"profiler/recorder/cupti_source.cpp", lines("#include <cupti.h>")}}},
           {"NVTX",
            find_misplaced_vendor_headers,
            {{"libamp/core/a.cpp", lines("#include <nvtx3/nvToolsExt.h>")}},
            {{"libamp/core/a.cpp", lines("// #include <nvtx3/nvToolsExt.h>")}}},
       }},
      {"an include is written from the root",
       {{"relative",
         find_unrooted_includes,
         {{"libamp/core/a.h", lines("")}, {"libamp/core/b.h", include("a.h")}},
         {{"libamp/core/a.h", lines("")}, {"libamp/core/b.h", include("libamp/core/a.h")}}}}},
      {"a header does not bring in the slow ones",
       {{"json",
         find_json_in_headers,
         {{"profiler/report/a.h", lines("#include <nlohmann/json.hpp>")}},
         {{"profiler/report/a.h", lines("#include <nlohmann/json_fwd.hpp>")},
          {"profiler/report/a.cpp", lines("#include <nlohmann/json.hpp>")}}}}},
      {"no #if for CUDA outside its places",
       {{"ifdef",
         find_cuda_conditions,
         {{"libamp/core/a.h", lines("#ifdef __CUDACC__\n#endif")}},
         {{"kernels/a.cuh", lines("#ifdef __CUDACC__\n#endif")}}},
        {"if",
         find_cuda_conditions,
         {{"libamp/ops/a.cpp", lines("# if defined(X) && AMP_WITH_CUDA\n#endif")}},
         {{"libamp/ops/a.cpp", lines("#if X  // not AMP_WITH_CUDA\n#endif")}}},
        {"elif",
         find_cuda_conditions,
         {{"libamp/ops/a.cpp", lines("#if X\n#elif AMP_WITH_CUDA\n#endif")}},
         {{"libamp/backend/a.cpp", lines("#if X\n#elif AMP_WITH_CUDA\n#endif")}}}}},
      {"the recorder does not throw",
       {{"throw",
         find_throws_in_recorder,
         {{"profiler/recorder/a.cpp", lines("void f() { throw 1; }")}},
         {{"profiler/recorder/a.cpp", lines("// throw\nauto a = \"throw\";\nint rethrow;")},
          {"profiler/cli/a.cpp", lines("void f() { throw 1; }")}}},
        {"after a string with an escaped quote",
         find_throws_in_recorder,
         {{"profiler/recorder/a.cpp", lines("void f() { g(\"\\\"\", '\"', 1'000); throw 1; }")}},
         {{"profiler/recorder/a.cpp", lines("auto a = R\"x(\" throw )\" )x\";")}}}}},
      {"a file has at most 500 lines",
       {{"501",
         find_long_files,
         {{"libamp/core/a.cpp", std::string(501, '\n')}},
         {{"libamp/core/a.cpp", std::string(500, '\n')}, {"docs/a.md", std::string(501, '\n')}}}}},
      {"a file opens with what it is for",
       {{"no comment",
         find_unopened_files,
         {{"libamp/core/a.cpp", "int a;\n"}},
         {{"libamp/core/a.cpp", "// A.\nint a;\n"}}}}},
      {"a header guards itself",
       {{"no guard",
         find_unguarded_headers,
         {{"libamp/core/a.h", "// #pragma once\n"}},
         {{"libamp/core/a.h", lines("")}}}}},
      {"a row has its documentation and its test data",
       {{"no documentation", find_bare_rows, with_def("| `matmul_` |", "{\"op\": \"matmul\"}"),
         with_def("| `matmul` |", "{\"op\": \"matmul\"}")},
        {"no test data", find_bare_rows, with_def("| `matmul` |", "{\"op\": \"bmatmul\"}"),
         with_def("| `matmul` |", "{\"op\": \"matmul\"}")}}},
      {"a table is known to the house",
       {{"unlisted",
         find_unlisted_tables,
         {{"libamp/base/new.def", "// Rows.\n"}},
         {{"libamp/base/ops.def", "// Rows.\n"}}}}},
      {"a table is read",
       {{"unread",
         find_unread_tables,
         {{"libamp/base/ops.def", "// Rows.\n"}},
         {{"libamp/base/ops.def", "// Rows.\n"}, {"libamp/base/op.h", include("libamp/base/ops.def")}}}}},
      {"no file names a machine or a package host",
       {{"a path",
         find_forbidden_words,
         {{"docs/a.md",
           "see /ro"
           "ot/x\n"}},
         {{"docs/a.md", "see the root/\n"}}},
        {"a host",
         find_forbidden_words,
         {{"scripts/a.sh",
           "http://deb.deb"
           "ian.org/\n"}},
         {{"docs/a.md", "debian\n"}}}}},
      {"what is public has a comment",
       {{"a function",
         find_undocumented,
         {{"libamp/amp.h", include("libamp/nn/a.h")},
          {"libamp/nn/a.h", lines("namespace amp {\nint f(int a = {});\n}")}},
         {{"libamp/amp.h", include("libamp/nn/a.h")},
          {"libamp/nn/a.h",
           lines("namespace amp {\n/// F.\nint f(int);\nint f(bool);\nint g();  ///< G\n\n// H.\nint h() "
                 "{ return 1; }\nint i = f({});\n}")},
          {"libamp/nn/b.h", lines("int hidden();")}}},
        {"a function in a header that a named one takes in",
         find_undocumented,
         {{"libamp/amp.h", include("libamp/nn/a.h")},
          {"libamp/nn/a.h", include("libamp/nn/b.h")},
          {"libamp/nn/b.h", lines("int f();")}},
         {{"libamp/amp.h", include("libamp/nn/a.h")},
          {"libamp/nn/a.h", include("libamp/nn/b.h") + "\n" + include("libamp/tape/c.h")},
          {"libamp/nn/b.h", lines("/// F.\nint f();")},
          {"libamp/tape/c.h", lines("int hidden();")}}},
        {"a class",
         find_undocumented,
         {{"libamp/amp.h", include("libamp/nn/a.h")},
          {"libamp/nn/a.h", lines("namespace amp {\nclass A {\n public:\n  A();\n private:\n  int f();\n};\n}")}},
         {{"libamp/amp.h", include("libamp/nn/a.h")},
          {"libamp/nn/a.h",
           lines("namespace amp {\n/// A.\nclass A : B {\n public:\n  A() : a_{1} {}\n  int g() override;\n "
                 "private:\n  int f();\n};\n}")}}},
        {"a method",
         find_undocumented,
         {{"libamp/amp.h", include("libamp/nn/a.h")},
          {"libamp/nn/a.h", lines("/// A.\nstruct A {\n  A() : a_{1} {}\n  int f() const { return 1; }\n};")}},
         {{"libamp/amp.h", include("libamp/nn/a.h")},
          {"libamp/nn/a.h", lines("/// A.\nstruct A {\n  int a = 1;\n  ~A();\n  A(const A&) = delete;\n};")}}}}},
      {"a document has no empty promises",
       {{"heading",
         find_unfinished_headings,
         {{"docs/a.md", "# A\n## TODO\n"}},
         {{"docs/a.md", "# A\n```\n# TODO\n```\n"}}}}},
      {"the lock file names no addresses",
       {{"resolved",
         find_lockfile_addresses,
         {{"viewer/package-lock.json", "{\n\"resolved\": \"x\"}\n"}},
         {{"viewer/package.json", "{\n\"resolved\": \"x\"}\n"}}}}},
  };
  return kRules;
}

}  // namespace

TEST_CASE("every rule finds its planted violation and lets the near miss pass", "[house]") {
  for (const auto& [rule_name, cases] : rules()) {
    for (const Case& planted : cases) {
      CAPTURE(rule_name, planted.name);
      CHECK(planted.rule(planted.broken).size() == 1);
      const Violations missed = planted.rule(planted.near_miss);
      CAPTURE(missed.empty() ? std::string() : missed.front().what);
      CHECK(missed.empty());
    }
  }
}

TEST_CASE("this repository keeps the rules of the house", "[house]") {
  REQUIRE(this_tree().size() > 20);
  for (const auto& [rule_name, cases] : rules()) {
    DYNAMIC_SECTION(rule_name) {
      std::string report;
      for (const Violation& violation : cases.front().rule(this_tree())) {
        report += violation.path + ":" + std::to_string(violation.line) + " " + violation.what + "\n";
      }
      std::fputs(report.c_str(), stdout);  // as lines: the test framework would wrap them
      CHECK(report.empty());
    }
  }
}

}  // namespace house
