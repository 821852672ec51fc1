// What changed from one run to another, as text: for `ampprof diff A B`.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace ampprof::report {

/// `a` and `b` are reports (load_report); the names are shown as the headings of the two.
std::string diff_text(const nlohmann::json& a, const std::string& name_a, const nlohmann::json& b,
                      const std::string& name_b);

}  // namespace ampprof::report
