// Runs two commands in turns, A B A B ..., reads "median_step_ns": N from what each prints, and gives the ratio A / B
// pair by pair, so that a machine whose speed drifts does not decide. usage: in_turns PAIRS 'COMMAND A' 'COMMAND B'
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

namespace {

std::optional<double> run(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return {};
  std::string output;
  std::array<char, 4096> buffer;
  while (const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe)) output.append(buffer.data(), n);
  if (pclose(pipe) != 0) return {};
  constexpr char kKey[] = "\"median_step_ns\": ";
  const auto at = output.find(kKey);
  if (at == std::string::npos) return {};
  return std::strtod(output.c_str() + at + sizeof(kKey) - 1, nullptr);
}

struct Spread {
  double low, median, high;
};
Spread spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {values.front(), values[values.size() / 2], values.back()};
}

}  // namespace

int main(int argc, char** argv) {
  const int pairs = argc == 4 ? std::atoi(argv[1]) : 0;
  if (pairs < 1) {
    fmt::print(stderr, "usage: in_turns PAIRS 'COMMAND A' 'COMMAND B'\n");
    return 2;
  }
  std::vector<double> a, b, ratios;
  for (int i = 0; i < pairs; ++i) {
    // Who goes first alternates too.
    std::optional<double> first = run(argv[i % 2 == 0 ? 2 : 3]), second = run(argv[i % 2 == 0 ? 3 : 2]);
    if (!first || !second) {
      fmt::print(stderr, "in_turns: a command failed or printed no median_step_ns\n");
      return 1;
    }
    if (i % 2 != 0) std::swap(first, second);
    a.push_back(*first);
    b.push_back(*second);
    ratios.push_back(*first / *second);
  }
  const Spread sa = spread_of(a), sb = spread_of(b), sr = spread_of(ratios);
  fmt::print("            {:>12} {:>12} {:>12}\n", "min", "median", "max");
  fmt::print("A    us/step {:>11.1f} {:>12.1f} {:>12.1f}   {}\n", sa.low / 1e3, sa.median / 1e3, sa.high / 1e3,
             argv[2]);
  fmt::print("B    us/step {:>11.1f} {:>12.1f} {:>12.1f}   {}\n", sb.low / 1e3, sb.median / 1e3, sb.high / 1e3,
             argv[3]);
  fmt::print("A/B  ratio   {:>11.4f} {:>12.4f} {:>12.4f}   {} pairs\n", sr.low, sr.median, sr.high, pairs);
  return 0;
}
