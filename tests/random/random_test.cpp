// Random programs from fixed seeds; thousands more by hand: bin/amp_fuzz --seed N --programs K.
#include <catch2/catch_test_macros.hpp>

#include "tests/random/check.h"

namespace amp::fuzz {
namespace {

TEST_CASE("random programs keep the rules of autocast and of calculus", "[random]") {
  Tally tally;
  std::string reports;
  for (std::uint64_t seed = 1; seed <= 160; ++seed) reports += run_seed(seed, tally);
  std::fputs(reports.c_str(), stdout);  // as lines: the test framework would wrap them
  CHECK(reports.empty());
  CHECK(tally.steps > 500);
  CHECK(tally.differences > 300);
  CHECK(tally.second_differences > 50);
  CHECK(tally.errors_expected > 3);
  CHECK(tally.kinks < tally.differences / 4);
}

}  // namespace
}  // namespace amp::fuzz
