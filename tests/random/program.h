// Random programs: short graphs of ops over small tensors, made from a seed. A program is data (leaves with float64
// values, and steps that name a row of the catalogue), so it can be run in any mode, printed, and made smaller.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libamp/base/op.h"
#include "libamp/core/tensor.h"

namespace amp::fuzz {

/// Random numbers that are the same on every machine (splitmix64).
class Choice {
 public:
  explicit Choice(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// In [0, n)
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(n)); }
  /// In [0, 1)
  double real() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  bool chance(double p) { return real() < p; }

 private:
  std::uint64_t state_;
};

/// What the elements of an operand are.
enum class Data : std::uint8_t { real, positive, unit, nonzero, probability, index, mask, sign };

/// An operand that a row asks for.
struct Want {
  Shape sizes;
  Data data = Data::real;
  std::int64_t limit = 0;  ///< index: elements are in [0, limit)
};

/// How a row's result type follows from the types its body sees.
enum class Result : std::uint8_t { promoted, first, boolean, index };

/// What a body does with operands of different floating types.
enum class Mixed : std::uint8_t { promotes, refuses, unknown };

/// How exact a body is: where its result is rounded.
enum class Exact : std::uint8_t {
  bits,      ///< moves or picks elements: no rounding at all
  once,      ///< computed in float32 or wider, rounded once
  products,  ///< the same over sums of products
  biased,    ///< a sum of products, rounded, and a bias added, rounded
  inside,    ///< made of ops that each round
};

/// One op that programs are made of.
struct Row {
  const char* op;  ///< its name in the op table
  Data first;      ///< what its first operand must be
  /// Fills in the operands after the first, for a first one of these sizes; false if that does not fit. null: none.
  bool (*need)(const Shape& first, Choice& choice, std::vector<Want>& others);
  Tensor (*run)(const Tensors& in, Choice& choice, std::optional<DType> dtype);
  Exact exact = Exact::once;
  Result result = Result::promoted;
  Mixed mixed = Mixed::promotes;
  /// A composite: where it is on no list, what it consists of is cast op by op.
  bool transparent = false;
  bool wide_only = false;  ///< has no body for half types
};

const std::vector<Row>& catalogue();

/// A tensor that a program starts with.
struct Leaf {
  Want want;
  std::vector<double> values;
  bool is_half = false;  ///< in the region's fast type instead of float32
};

/// values[] of a program are its leaves, then one a step.
struct Step {
  int row = 0;
  std::vector<int> operands;
  std::uint64_t seed = 0;  ///< of the row's own choices
};

struct Program {
  std::uint64_t seed = 0;
  std::vector<Leaf> leaves;
  std::vector<Step> steps;
};

/// Makes a program of up to `steps` steps whose values all stay within +-8. large: tensors that threads share.
Program make_program(std::uint64_t seed, int steps, bool large);
/// One line a leaf and a step.
std::string print(const Program& program);

/// Values as they come, in this type unless they are indices, masks or signs.
Tensor make_leaf(const Leaf& leaf, DType dtype);

}  // namespace amp::fuzz
