// ampprof ops: the op table of libamp, as this build has it.
#include <fmt/format.h>

#include <algorithm>
#include <CLI/CLI.hpp>
#include <memory>

#include "libamp/base/op.h"
#include "profiler/cli/command.h"

namespace ampprof::cli {
namespace {

std::string inputs_of(const amp::OpInfo& info) {
  if (info.max_inputs == amp::kAny) return fmt::format("{}+", info.min_inputs);
  return info.min_inputs == info.max_inputs ? fmt::format("{}", info.min_inputs)
                                            : fmt::format("{}-{}", info.min_inputs, info.max_inputs);
}

const char* name_of(amp::BodyKind body) {
  return body == amp::BodyKind::backend ? "backend" : body == amp::BodyKind::composite ? "composite" : "none";
}

int print_ops(const std::string& filter) {
  std::size_t width = 4, shown = 0;
  for (std::size_t i = 1; i < amp::kOpCount; ++i)
    width = std::max(width, amp::op_info(static_cast<amp::OpId>(i)).name.size());
  fmt::print("{:<{}}  {:<18}  {:<18}  {:>6}  {:<9}  {:<8}  {}\n", "op", width, "rule on cuda", "rule on cpu", "inputs",
             "body", "gradient", "what it does");
  for (std::size_t i = 1; i < amp::kOpCount; ++i) {
    const amp::OpInfo& info = amp::op_info(static_cast<amp::OpId>(i));
    const bool wanted = info.name.find(filter) != std::string_view::npos || name(info.cuda_rule) == filter ||
                        name(info.cpu_rule) == filter;
    if (!wanted) continue;
    ++shown;
    fmt::print("{:<{}}  {:<18}  {:<18}  {:>6}  {:<9}  {:<8}  {}\n", info.name, width, name(info.cuda_rule),
               name(info.cpu_rule), inputs_of(info), name_of(info.body), info.differentiable ? "yes" : "no", info.text);
  }
  if (shown != 0) return kExitFine;
  fmt::print(stderr, "ampprof ops: no op or rule is called {}\n", filter);
  return kExitUsage;
}

}  // namespace

void add_ops_command(CLI::App& app, int& exit_code) {
  auto filter = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("ops", "Print the op table: cast rules, inputs, gradient");
  command->add_option("NAME", *filter, "Only ops whose name contains this, or with this cast rule");
  command->callback([filter, &exit_code] { exit_code = print_ops(*filter); });
}

}  // namespace ampprof::cli
