// See requirement.h. A recursive descent over the text that computes as it reads; expressions are short and read once.
#include "profiler/report/requirement.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "profiler/report/utf8.h"

namespace ampprof::report {
namespace {

using nlohmann::json;

/// A value on the way: known, or unknown with the reason (not measured, or no row matches).
struct Value {
  json known;
  std::vector<json> rows;  ///< what a path with [key=value] found
  bool is_rows = false;
  std::string unknown;  ///< not empty: why there is no value
  std::string path;     ///< where it came from; empty for constants and results
};

Value unknown(std::string why) {
  Value v;
  v.unknown = std::move(why);
  return v;
}
Value constant(json value) {
  Value v;
  v.known = std::move(value);
  return v;
}

struct Unit {
  std::string_view name;
  double factor;
};
constexpr Unit kUnits[] = {{"%", 0.01},     {"ns", 1},   {"us", 1e3}, {"ms", 1e6}, {"KiB", 1024}, {"MiB", 0x1p20},
                           {"GiB", 0x1p30}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1},      {"s", 1e9}};

class Evaluation {
 public:
  Evaluation(const json& report, std::string_view text) : report_(report), all_(text), rest_(text) {}

  RequirementResult run() {
    const Value value = either();
    skip_space();
    if (!rest_.empty()) bad("unexpected text");
    RequirementResult result;
    if (!value.unknown.empty()) {
      result.why = value.unknown;
      return result;
    }
    result.satisfied = truth(value);
    for (const std::string& fact : facts_) result.why += (result.why.empty() ? "" : ", ") + fact;
    return result;
  }

 private:
  [[noreturn]] void bad(const std::string& what) const {
    throw BadExpression(fmt::format("{} at \"{}\" in \"{}\"", what, rest_.empty() ? "the end" : rest_, all_));
  }
  void skip_space() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\t')) rest_.remove_prefix(1);
  }
  bool take(std::string_view token) {
    skip_space();
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  void need(std::string_view token) {
    if (!take(token)) bad(fmt::format("need \"{}\"", token));
  }

  bool truth(const Value& value) const {
    if (value.is_rows) return !value.rows.empty();
    if (!value.known.is_boolean()) bad("need a comparison, a yes or no, or rows");
    return value.known.get<bool>();
  }

  /// a || b. Unknown only if neither side is true.
  Value either() {
    Value left = both();
    while (take("||")) {
      Value right = both();
      if (left.unknown.empty() && truth(left)) continue;
      if (right.unknown.empty() && truth(right))
        left = constant(true);
      else if (left.unknown.empty())
        left = right.unknown.empty() ? constant(false) : right;
    }
    return left;
  }

  /// a && b. False wins over unknown.
  Value both() {
    Value left = negation();
    while (take("&&")) {
      Value right = negation();
      if (left.unknown.empty() && !truth(left))
        left = constant(false);
      else if (!right.unknown.empty() || left.unknown.empty())
        left = right.unknown.empty() ? constant(truth(right)) : right;
      else if (!truth(right))
        left = constant(false);
    }
    return left;
  }

  Value negation() {
    skip_space();
    if (rest_.starts_with("!") && !rest_.starts_with("!=")) {
      rest_.remove_prefix(1);
      if (++depth_ > kMaxDepth) bad("too many nested parts");
      const Value value = negation();
      --depth_;
      return value.unknown.empty() ? constant(!truth(value)) : value;
    }
    return comparison();
  }

  Value comparison() {
    Value left = sum();
    for (const std::string_view op : {"<=", ">=", "==", "!=", "<", ">"}) {
      if (!take(op)) continue;
      return compare(single(left), op, single(sum()));
    }
    return left;
  }

  Value compare(const Value& a, std::string_view op, const Value& b) const {
    if (!a.unknown.empty()) return a;
    if (!b.unknown.empty()) return b;
    const json &x = a.known, &y = b.known;
    const bool equality = op == "==" || op == "!=";
    const bool alike =
        (x.is_number() && y.is_number()) || (x.is_string() && y.is_string()) || (equality && x.type() == y.type());
    if (!alike) bad(fmt::format("cannot compare {} with {}", x.type_name(), y.type_name()));
    if (op == "==") return constant(x == y);
    if (op == "!=") return constant(x != y);
    if (op == "<") return constant(x < y);
    if (op == "<=") return constant(x <= y);
    if (op == ">") return constant(x > y);
    return constant(x >= y);
  }

  /// One value of a path that may have found several rows.
  Value single(Value value) const {
    if (!value.unknown.empty() || !value.is_rows) return value;
    if (value.rows.empty()) return unknown("nothing matches " + value.path);
    if (value.rows.size() > 1)
      bad(fmt::format("{} matches {} rows: use count, sum, min or max", value.path, value.rows.size()));
    Value one = value;
    one.is_rows = false;
    one.known = value.rows[0];
    if (one.known.is_null()) return not_measured(value.path);
    return one;
  }

  double number(const Value& value) const {
    if (!value.known.is_number()) bad(fmt::format("need a number, {} is {}", value.path, value.known.type_name()));
    return value.known.get<double>();
  }

  Value arithmetic(const Value& left, char op, const Value& right) const {
    const Value a = single(left), b = single(right);
    if (!a.unknown.empty()) return a;
    if (!b.unknown.empty()) return b;
    const double x = number(a), y = number(b);
    const double r = op == '+' ? x + y : op == '-' ? x - y : op == '*' ? x * y : x / y;
    return std::isfinite(r) ? constant(r) : unknown(fmt::format("{} {} {} is no number", x, op, y));
  }

  Value sum() {
    Value left = product();
    while (true) {
      skip_space();
      if (rest_.empty() || (rest_[0] != '+' && rest_[0] != '-')) return left;
      const char op = rest_[0];
      rest_.remove_prefix(1);
      left = arithmetic(left, op, product());
    }
  }

  Value product() {
    Value left = primary();
    while (true) {
      skip_space();
      if (rest_.empty() || (rest_[0] != '*' && rest_[0] != '/')) return left;
      const char op = rest_[0];
      rest_.remove_prefix(1);
      left = arithmetic(left, op, primary());
    }
  }

  Value primary() {
    if (++depth_ > kMaxDepth) bad("too many nested parts");
    Value value = read_primary();
    --depth_;
    return value;
  }

  Value read_primary() {
    skip_space();
    if (rest_.empty()) bad("need a value");
    const char c = rest_[0];
    if (take("(")) {
      Value inner = either();
      need(")");
      return inner;
    }
    if (take("-")) return arithmetic(constant(0), '-', primary());
    if (c == '\'' || c == '"') return constant(quoted());
    if ((c >= '0' && c <= '9') || c == '.') return constant(literal());
    const std::string name = word();
    if (name == "true" || name == "false") return constant(name == "true");
    if (take("(")) return function(name);
    return path(name);
  }

  std::string quoted() {
    const char quote = rest_[0];
    const std::size_t end = rest_.find(quote, 1);
    if (end == std::string_view::npos) bad("a quoted text without its end");
    std::string text(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return text;
  }

  double literal() {
    double value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc()) bad("need a number");
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    for (const Unit& unit : kUnits) {
      if (!rest_.starts_with(unit.name)) continue;
      rest_.remove_prefix(unit.name.size());
      value *= unit.factor;
      break;
    }
    if (!rest_.empty() && is_word(rest_[0])) bad("unknown unit");
    return value;
  }

  static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  }
  std::string word() {
    std::size_t n = 0;
    while (n < rest_.size() && is_word(rest_[n])) ++n;
    if (n == 0) bad("need a value");
    std::string name(rest_.substr(0, n));
    rest_.remove_prefix(n);
    return name;
  }

  Value function(const std::string& name) {
    Value argument = either();
    need(")");
    if (name == "measured") {
      const bool nothing = argument.is_rows && argument.rows.empty();
      return constant(argument.unknown.empty() && !nothing);
    }
    if (name != "count" && name != "sum" && name != "min" && name != "max")
      bad(fmt::format("unknown function {}: there are count, sum, min, max, measured", name));
    if (!argument.unknown.empty()) return argument;
    if (!argument.is_rows && argument.known.is_array()) {
      argument.rows.assign(argument.known.begin(), argument.known.end());
      argument.is_rows = true;
    }
    if (!argument.is_rows) bad(fmt::format("{} needs rows", name));
    Value result = name == "count" ? constant(argument.rows.size()) : fold(name, argument);
    if (result.unknown.empty()) facts_.push_back(fmt::format("{}({}) is {}", name, argument.path, result.known.dump()));
    return result;
  }

  Value fold(const std::string& name, const Value& argument) const {
    if (argument.rows.empty() && name != "sum") return unknown("nothing matches " + argument.path);
    double total = 0, least = 0, most = 0;
    bool first = true;
    for (const json& row : argument.rows) {
      if (row.is_null()) return not_measured(argument.path);
      if (!row.is_number()) bad(fmt::format("{} needs numbers, {} is {}", name, argument.path, row.type_name()));
      const auto x = row.get<double>();
      total += x;
      least = first ? x : std::min(least, x);
      most = first ? x : std::max(most, x);
      first = false;
    }
    return constant(name == "sum" ? total : name == "min" ? least : most);
  }

  /// The reason the report gives: of the path itself, or of the longest path above it.
  Value not_measured(const std::string& path) const {
    std::string plain;  // not_measured writes ops[].flops for every row
    bool inside = false;
    for (const char c : path) {
      if (c == '[') plain += "[]";
      inside = c == '[' || (inside && c != ']');
      if (!inside && c != ']') plain += c;
    }
    const json& reasons = report_.at("not_measured");
    for (std::string at = plain; !at.empty();
         at.erase(at.find_last_of(".[") == std::string::npos ? 0 : at.find_last_of(".[")))
      if (reasons.contains(at))
        return unknown(fmt::format("{}: not measured: {}", path, reasons[at].get<std::string>()));
    return unknown(path + ": not measured");
  }

  Value path(const std::string& first) {
    Value value;
    value.path = first;
    if (!report_.contains(first)) bad(fmt::format("reports have no {}", first));
    value.known = report_.at(first);
    while (true) {
      if (rest_.starts_with(".")) {
        rest_.remove_prefix(1);
        step_into(value, word());
      } else if (rest_.starts_with("[")) {
        rest_.remove_prefix(1);
        filter(value);
      } else {
        break;
      }
    }
    if (value.is_rows) return value;
    if (value.known.is_null()) return not_measured(value.path);
    if (!value.known.is_structured())
      facts_.push_back(fmt::format("{} is {}", value.path, to_printable(value.known.dump())));
    return value;
  }

  void step_into(Value& value, const std::string& key) {
    (value.path += '.') += key;
    if (!value.is_rows && value.known.is_array()) {
      value.rows.assign(value.known.begin(), value.known.end());
      value.is_rows = true;
    }
    if (value.is_rows) {
      for (json& row : value.rows) {
        if (!row.is_object() || !row.contains(key)) bad(fmt::format("reports have no {}", value.path));
        row = json(row.at(key));
      }
      return;
    }
    if (value.known.is_null()) return;  // not measured stays not measured
    if (!value.known.is_object() || !value.known.contains(key)) bad(fmt::format("reports have no {}", value.path));
    value.known = json(value.known.at(key));
  }

  void filter(Value& value) {
    const std::string_view begin = rest_;
    if (!value.is_rows && !value.known.is_array()) bad(fmt::format("{} has no rows", value.path));
    if (!value.is_rows) value.rows.assign(value.known.begin(), value.known.end());
    value.is_rows = true;
    skip_space();
    if (!rest_.empty() && rest_[0] >= '0' && rest_[0] <= '9') {
      const auto index = static_cast<std::size_t>(literal());
      std::vector<json> one;
      if (index < value.rows.size()) one.push_back(value.rows[index]);
      value.rows = std::move(one);
    } else {
      do {
        skip_space();
        const std::string key = word();
        need("=");
        skip_space();
        const bool is_quoted = !rest_.empty() && (rest_[0] == '\'' || rest_[0] == '"');
        const std::string wanted = is_quoted ? quoted() : std::string(bare());
        keep_matching(value, key, wanted);
      } while (take(","));
    }
    need("]");
    (value.path += '[') += begin.substr(0, begin.size() - rest_.size());
  }

  std::string_view bare() {
    const std::size_t end = rest_.find_first_of(",]");
    if (end == std::string_view::npos) bad("need \"]\"");
    std::string_view text = rest_.substr(0, end);
    rest_.remove_prefix(end);
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    return text;
  }

  void keep_matching(Value& value, const std::string& key, const std::string& wanted) const {
    std::vector<json> kept;
    for (json& row : value.rows) {
      if (!row.is_object() || !row.contains(key)) bad(fmt::format("rows of {} have no {}", value.path, key));
      const json& found = row.at(key);
      if ((found.is_string() ? found.get<std::string>() : found.dump()) == wanted) kept.push_back(std::move(row));
    }
    value.rows = std::move(kept);
  }

  static constexpr int kMaxDepth = 200;

  const json& report_;
  std::string_view all_, rest_;
  std::vector<std::string> facts_;
  int depth_ = 0;
};

}  // namespace

RequirementResult check_requirement(const json& report, std::string_view expression) {
  return Evaluation(report, expression).run();
}

}  // namespace ampprof::report
