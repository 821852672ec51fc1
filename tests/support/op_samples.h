// Sample calls of the ops, for tests that go over the whole table: does autocast cast as listed, do gradients agree
// with difference quotients, does a random program keep its promises. A row of op_samples_*.cpp is one call; an op on
// one of autocast's lists must have at least one (tests/autocast/op_lists_test.cpp checks).
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "libamp/base/op.h"
#include "libamp/core/tensor.h"

namespace amp::test {

/// How the elements of one tensor argument are drawn. Floating values are multiples of 1/128 below 2 in magnitude:
/// exact in float16 and bfloat16. Those of arguments 0, 2, ... are odd multiples and those of 1, 3, ... are even ones
/// without 0, so that neither a value nor the difference of two neighbours hits a kink at 0, 1/2 or 1. No value comes
/// twice in a tensor of up to 38 elements.
enum class Fill : std::uint8_t {
  any,          ///< (-2, 2)
  positive,     ///< (0.25, 2)
  unit,         ///< (-0.9, 0.9)
  probability,  ///< (0.05, 0.95)
  signs,        ///< -1 or 1
  binary,       ///< 0 or 1, floating
  index,        ///< int64 in [0, high), distinct where the tensor has at most `high` elements
  mask,         ///< bool
  dominant,     ///< square matrices: (0.5, 1) on the diagonal, below 0.1 off it. Not singular, nor with the transpose
};

/// One tensor argument.
struct Argument {
  Shape sizes;
  Fill fill = Fill::any;
  bool differentiable = true;  ///< false: never asked for a gradient, such as a target. Floating all the same
  std::int64_t high = 0;       ///< of Fill::index

  [[nodiscard]] bool is_floating() const { return fill != Fill::index && fill != Fill::mask; }
};

using SampleCall = std::function<Tensors(const Tensors& arguments)>;

/// One call of one op.
struct OpSample {
  OpId op = OpId::none;  ///< the row it is about; a composite's inner ops run as well
  std::string text;      ///< the call as written, for messages
  std::vector<Argument> arguments;
  SampleCall function;
  SampleCall method;  ///< the same as a method of the first argument; empty where there is none
};

/// All samples, by topic.
const std::vector<OpSample>& op_samples();
/// Those of one op.
std::vector<const OpSample*> samples_of(OpId op);

/// The arguments of a call: floating ones in dtype `floating`, requiring gradients where asked and differentiable.
/// The same seed gives the same values, whatever the dtype.
Tensors make_arguments(const OpSample& sample, DType floating, int seed = 1, bool requires_grad = false);

}  // namespace amp::test
