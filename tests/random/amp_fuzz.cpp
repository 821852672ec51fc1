// amp_fuzz: random programs by the thousand, from one seed on. Prints the seed, the check that failed and the smallest
// program for which it fails; closes with what was looked at. Exit code 1 if any program failed.
//   amp_fuzz [--seed N] [--programs K] [--rows]      --rows: the ops that programs are made of, and those they are not
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

#include "tests/random/check.h"

namespace {

void print_rows() {
  std::set<std::string_view> used;
  for (const amp::fuzz::Row& row : amp::fuzz::catalogue()) used.insert(row.op);
  for (std::size_t i = 1; i < amp::kOpCount; ++i) {
    const std::string_view name = amp::op_info(static_cast<amp::OpId>(i)).name;
    std::printf("%s %.*s\n", used.contains(name) ? "used  " : "unused", static_cast<int>(name.size()), name.data());
  }
}

}  // namespace

int main(int argc, char** argv) {
  unsigned long long seed = 1, programs = 1000;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    if (option == "--rows") {
      print_rows();
      return 0;
    }
    if ((option != "--seed" && option != "--programs") || i + 1 == argc) {
      std::fprintf(stderr, "usage: amp_fuzz [--seed N] [--programs K] [--rows]\n");
      return 2;
    }
    (option == "--seed" ? seed : programs) = std::strtoull(argv[++i], nullptr, 10);
  }
  amp::fuzz::Tally tally;
  unsigned long long failed = 0;
  for (unsigned long long i = 0; i < programs; ++i) {
    const std::string report = amp::fuzz::run_seed(seed + i, tally);
    if (report.empty()) continue;
    ++failed;
    std::fputs(report.c_str(), stdout);
    std::fflush(stdout);
  }
  std::printf(
      "%ld programs, %ld steps, %ld differences, %ld of second order, %ld kinks left out, %ld errors that were due\n",
      tally.programs, tally.steps, tally.differences, tally.second_differences, tally.kinks, tally.errors_expected);
  std::printf("%llu passed, %llu failed\n", programs - failed, failed);
  return failed == 0 ? 0 : 1;
}
