// What must hold for every program, and the smallest program for which it does not.
#pragma once
#include <optional>
#include <string>

#include "tests/random/execute.h"

namespace amp::fuzz {

struct Failure {
  std::string check;  ///< its name
  std::string what;
};

/// How often checks could say something, for a fuzzer that finds nothing because it looks at nothing.
struct Tally {
  long programs = 0, steps = 0, differences = 0, kinks = 0, second_differences = 0, errors_expected = 0;
};

/// Runs all checks on a program: dtypes as predicted, results within rounding of float64, a region equal to casts by
/// hand to the bit, gradients by finite differences, the same bits again and with other threads, inputs left alone,
/// nothing leaked. large: only those that do not need small tensors.
std::optional<Failure> check_program(const Program& program, Region region, bool large, Tally& tally);

/// The region that goes with a seed.
Region region_of(std::uint64_t seed);

/// A smaller program that fails the same check.
Program shrink(const Program& program, Region region, bool large, const Failure& failure);

/// Makes, checks and shrinks: empty if all is well, else the seed, the failure and the smallest program.
std::string run_seed(std::uint64_t seed, Tally& tally);

}  // namespace amp::fuzz
