// See text.h.
#include "profiler/report/text.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

namespace ampprof::report {
namespace {

/// Three significant digits, no exponent: 1.23, 12.3, 123, 1234.
std::string three_digits(double v) {
  const double a = std::abs(v);
  return a >= 99.95 ? fmt::format("{:.0f}", v) : a >= 9.995 ? fmt::format("{:.1f}", v) : fmt::format("{:.2f}", v);
}

}  // namespace

std::string time_text(std::int64_t ns) {
  const auto t = static_cast<double>(ns);
  if (ns < 1000) return fmt::format("{} ns", ns);
  if (t < 999.5e3) return three_digits(t / 1e3) + " us";
  if (t < 999.5e6) return three_digits(t / 1e6) + " ms";
  if (t < 120e9) return three_digits(t / 1e9) + " s";
  const std::int64_t seconds = ns / 1000000000;
  return fmt::format("{} min {:02} s", seconds / 60, seconds % 60);
}

std::string bytes_text(double bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  while (std::abs(bytes) >= 1023.5 && unit + 1 < std::size(kUnits)) bytes /= 1024, ++unit;
  return (unit == 0 ? fmt::format("{:.0f}", bytes) : three_digits(bytes)) + " " + kUnits[unit];
}

std::string count_text(double count) { return fmt::format("{:.3g}", count); }

std::string percent(double part, double all) {
  if (!(all > 0)) return "-";
  const double p = 100 * part / all;
  if (p > 0 && p < 0.05) return "<0.1 %";
  return fmt::format("{:.1f} %", p);
}

}  // namespace ampprof::report
