// A finding: an answer worth showing, with its evidence and advice. The table of findings is findings.def.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "profiler/analysis/loss_scale.h"
#include "profiler/analysis/memory.h"
#include "profiler/analysis/steps.h"
#include "profiler/analysis/tensors.h"

namespace ampprof::analysis {

enum class Severity { info, warning, critical };
const char* name(Severity severity);

enum class FindingId {
#define AMPPROF_FINDING(id, severity, title, text) id,
#include "profiler/analysis/findings.def"
  count_
};

struct FindingRow {
  const char* id;
  Severity severity;
  const char* title;
  const char* text;
};
const FindingRow& finding_row(FindingId id);

using EvidenceValue = std::variant<std::int64_t, double, std::string, std::vector<std::string>>;
struct Finding {
  FindingId id{};
  Severity severity{};
  std::string title;
  std::vector<std::pair<std::string, EvidenceValue>> evidence;
  std::string advice;

  Finding() = default;
  explicit Finding(FindingId which)
      : id(which), severity(finding_row(which).severity), title(finding_row(which).title) {}
  void add(std::string key, EvidenceValue value) { evidence.emplace_back(std::move(key), std::move(value)); }
  [[nodiscard]] const EvidenceValue* find(std::string_view key) const {
    for (const auto& [name, value] : evidence)
      if (name == key) return &value;
    return nullptr;
  }
};

/// Everything the findings are found in.
struct Answers {
  const timeline::Timeline& timeline;
  std::vector<OpRow> ops;
  std::vector<CastRow> casts;
  std::vector<TensorRow> tensors;
  LossScaleResult loss_scale;
  MemoryResult memory;
  std::vector<StepRow> steps;
  Totals totals;
};

/// Asks every question of analysis/.
Answers find_answers(const timeline::Timeline& timeline);

// One function for each group of findings; each appends what it finds.
void find_run_findings(const Answers& answers, std::vector<Finding>& findings);
void find_gradient_findings(const Answers& answers, std::vector<Finding>& findings);
void find_scale_findings(const Answers& answers, std::vector<Finding>& findings);
void find_cost_findings(const Answers& answers, std::vector<Finding>& findings);

/// All findings, worst first.
std::vector<Finding> find_findings(const Answers& answers);

}  // namespace ampprof::analysis
