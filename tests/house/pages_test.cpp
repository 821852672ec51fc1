// docs/ops.md and docs/findings.md are the tables written out, docs/api the headers. Holds them to what they are
// written from, so that they are never behind:
//   AMP_UPDATE_PAGES=1 ./build/release/bin/house_tests "[pages]"     writes them anew
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "libamp/base/op.h"
#include "tests/house/api_pages.h"

namespace {

/// PyTorch's own names, with what stands for each.
std::string registered_names() {
  std::string section =
      "\n## PyTorch's names\n\n"
      "Every name that PyTorch 2.11 registers with autocast, the list it is on under each policy, and the op that runs "
      "it "
      "here. Written from `tests/house/pytorch_names.def`, which a test compares with the rules above.\n\n"
      "| Registered | CUDA list | CPU list | Op here | |\n|---|---|---|---|---|\n";
  const auto add = [&](std::string_view name, std::string_view cuda, std::string_view cpu, amp::OpId op,
                       std::string_view note) {
    section.append("| `").append(name).append("` | ").append(cuda).append(" | ").append(cpu).append(" | ");
    if (op == amp::OpId::none) {
      section += "not provided";
    } else {
      section.append("`").append(amp::op_info(op).name).append("`");
    }
    section.append(" | ").append(note).append(" |\n");
  };
#define PYTORCH_NAME(name, cuda_rule, cpu_rule, op, note) add(name, #cuda_rule, #cpu_rule, amp::OpId::op, note);
#include "tests/house/pytorch_names.def"
  return section;
}

/// The gradient column of the table, in words.
constexpr const char* yes = "yes";
constexpr const char* no = "no";
constexpr const char* inside = "of the ops inside";
constexpr const char* missing = "not again";
constexpr const char* kGradients[] = {
    "",
#define AMP_OP(id, cuda_rule, cpu_rule, min_inputs, max_inputs, backends, gradient, saves, cost, text) gradient,
#include "libamp/base/ops.def"
};

std::string ops_page() {
  std::string page =
      "# The ops\n\n"
      "Every row of `libamp/base/ops.def`, in its order. Written by a test from that table (see "
      "tests/house/pages_test.cpp); "
      "edit the table.\n\n"
      "The rules say how autocast treats the op under CUDA's policy and under the CPU's ([words.md](words.md) explains "
      "them). "
      "A composite op is written with other ops, which appear beneath it in a report. Gradient: \"yes\" is a formula "
      "made "
      "of ops, so it can be differentiated again; \"not again\" is an op of a gradient that cannot (or geqrf, which "
      "PyTorch does not differentiate either): differentiating it is an error that names it.\n\n"
      "| Op | CUDA rule | CPU rule | Tensor inputs | Body | Gradient | Cost | What it does |\n"
      "|---|---|---|---|---|---|---|---|\n";
  for (std::size_t i = 1; i < amp::kOpCount; ++i) {
    const amp::OpInfo& op = amp::op_info(static_cast<amp::OpId>(i));
    std::string inputs = std::to_string(op.min_inputs);
    if (op.max_inputs == amp::kAny) {
      inputs += " or more";
    } else if (op.max_inputs != op.min_inputs) {
      inputs += " to " + std::to_string(op.max_inputs);
    }
    const char* body = op.body == amp::BodyKind::composite ? "composite"
                       : op.body == amp::BodyKind::backend ? "backend"
                                                           : "none";
    page += "| `";
    page.append(op.name).append("` | ").append(amp::name(op.cuda_rule)).append(" | ").append(amp::name(op.cpu_rule));
    page.append(" | ").append(inputs).append(" | ").append(body).append(" | ").append(kGradients[i]);
    page.append(" | ").append(op.cost_name).append(" | ");
    for (const char c : op.text) {
      page += c == '|' ? std::string("\\|") : std::string(1, c);
    }
    page += " |\n";
  }
  return page + registered_names();
}

std::string findings_page() {
  std::string page =
      "# The findings\n\n"
      "What a report may say about a run, in the order it says it. Written by a test from "
      "`profiler/analysis/findings.def` "
      "(see tests/house/pages_test.cpp); edit the table. In a report each comes with its evidence, and with advice "
      "that names the "
      "tensor, op and scale of that run.\n";
#define AMPPROF_FINDING(id, severity, title, meaning) \
  page += "\n## " title "\n\n`" #id "`, " #severity ". " meaning "\n";
#include "profiler/analysis/findings.def"
  return page;
}

void check_page(const std::string& path, const std::string& expected) {
  const std::string full = std::string(AMP_SOURCE_DIR) + "/" + path;
  if (std::getenv("AMP_UPDATE_PAGES") != nullptr) {
    std::filesystem::create_directories(std::filesystem::path(full).parent_path());
    std::ofstream(full, std::ios::binary) << expected;
  }
  std::ifstream stream(full, std::ios::binary);
  const std::string actual{std::istreambuf_iterator<char>(stream), {}};
  CAPTURE(path);
  // Not CHECK(actual == expected): the difference of two pages fills the screen.
  const bool is_current = actual == expected;
  CHECK(is_current);
}

}  // namespace

TEST_CASE("the pages of the tables are current; AMP_UPDATE_PAGES=1 writes them", "[house][pages]") {
  check_page("docs/ops.md", ops_page());
  check_page("docs/findings.md", findings_page());
}

TEST_CASE("the pages of the headers are current; AMP_UPDATE_PAGES=1 writes them", "[house][pages]") {
  for (const house::Page& page : house::make_api_pages(house::read_tree(AMP_SOURCE_DIR))) {
    check_page(page.path, page.text);
  }
}
