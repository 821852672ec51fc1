// Runs a program in one of its modes and keeps all it computes.
#pragma once
#include <string>
#include <vector>

#include "tests/random/predict.h"
#include "tests/random/program.h"

namespace amp::fuzz {

enum class Way : std::uint8_t {
  plain,    ///< no autocast, all leaves in one type
  region,   ///< one autocast region around all steps
  by_hand,  ///< no autocast: casts as predict.h says, one for each leaf and type as the cast cache would
};

struct Mode {
  Way way = Way::plain;
  DType leaves = DType::float32;
  Region region;
  bool gradients = true;
  double noise = 0;  ///< relative, on every element that a step computes: what rounding in a narrower type would do
  bool retain_graph = false;
  bool create_graph = false;  ///< then leaves and gradients hold each other until the gradients are dropped
};

/// What the body of a step saw, by the prediction.
struct Seen {
  Tensors operands;
  std::optional<DType> attribute;
  bool refused = false;      ///< the prediction: an error
  bool opaque = false;       ///< a composite that the region looks into: nothing is predicted for it as a whole
  bool unsupported = false;  ///< the body was handed halves and has none for them
  bool mixed = false;        ///< floating operands of several types were handed to the body
  std::string error;  ///< then the step ran again with float32 operands and no autocast, and these are in `operands`
};

struct Run {
  Tensors values;  ///< leaves, then one a step
  std::vector<Seen> seen;
  Tensors gradients;  ///< one a leaf; undefined for those without
  Tensor loss;
};

/// Throws Error if something fails that has no fallback.
Run execute(const Program& program, const Mode& mode);
/// Do the floating operands differ in type?
bool is_mixed(const Tensors& operands);
/// The number that is differentiated: a weighted sum of the values nothing else uses.
Tensor loss_of(const Program& program, const Run& run, DType dtype);
/// Weights that differ from element to element.
Tensor weights_like(const Tensor& value, double phase);

}  // namespace amp::fuzz
