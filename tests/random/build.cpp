// Makes programs, and prints them. A program is run in float64 while it is made: a step is kept if its operands are in
// the domain of its row and its result stays small.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "libamp/core/grad_mode.h"
#include "libamp/ops/ops.h"
#include "tests/random/program.h"

namespace amp::fuzz {
namespace {

constexpr double kLargest = 8;

double draw(Data data, std::int64_t limit, Choice& c) {
  const double u = c.real();
  switch (data) {
    case Data::real:
      return 3 * u - 1.5;
    case Data::positive:
      return 0.4 + 1.4 * u;
    case Data::unit:
      return 1.6 * u - 0.8;
    case Data::nonzero:
      return (0.4 + 1.2 * u) * (c.chance(0.5) ? 1 : -1);
    case Data::probability:
      return 0.1 + 0.8 * u;
    case Data::index:
      return static_cast<double>(c.below(limit));
    case Data::mask:
      return u < 0.5 ? 1 : 0;
    case Data::sign:
      return u < 0.5 ? 1 : -1;
  }
  return 0;
}

bool fits(const std::vector<double>& values, Data data) {
  return std::all_of(values.begin(), values.end(), [data](double v) {
    switch (data) {
      case Data::positive:
        return v > 0.2;
      case Data::unit:
        return std::abs(v) < 0.9;
      case Data::nonzero:
        return std::abs(v) > 0.1;
      case Data::probability:
        return v > 0.04 && v < 0.96;
      default:
        return true;
    }
  });
}

/// Roots of sums of squares: near 0 the formulas of their gradients cancel, and at 0 there is none, as in PyTorch.
bool is_singular_at_zero(std::string_view op) {
  return op == "std" || op == "dist" || op == "cdist" || op == "pdist" || op == "norm" || op == "linalg_vector_norm";
}

bool is_real(Data data) { return data < Data::index; }

class Maker {
 public:
  Maker(std::uint64_t seed, bool large) : choice_(seed), large_(large) { program_.seed = seed; }

  Program make(int steps) {
    const no_grad quiet;
    for (int i = 0; i < 2; ++i) add_leaf({pick_sizes(), choice_.chance(0.3) ? Data::positive : Data::real});
    for (int tries = 0; tries < 40 * steps && static_cast<int>(program_.steps.size()) < steps; ++tries) try_step();
    return std::move(program_);
  }

 private:
  Shape pick_sizes() {
    static const std::vector<Shape> kSizes = {{5},          {3},          {3, 4},          {4, 4}, {2, 3, 4}, {2, 4, 6},
                                              {2, 2, 4, 5}, {2, 4, 3, 3}, {1, 2, 3, 4, 4}, {6, 3}, {}};
    Shape sizes = kSizes[static_cast<std::size_t>(choice_.below(static_cast<std::int64_t>(kSizes.size())))];
    if (large_ && !sizes.empty()) sizes[0] *= 4096 / numel_of(sizes) * 8 + 1;
    return sizes;
  }

  int add_leaf(const Want& want) {
    Leaf leaf{want, {}, is_real(want.data) && choice_.chance(0.15)};
    for (std::int64_t i = 0; i < numel_of(want.sizes); ++i) leaf.values.push_back(draw(want.data, want.limit, choice_));
    // Leaves come first in values[]: those of steps move up.
    const int at = static_cast<int>(program_.leaves.size());
    for (Step& step : program_.steps)
      for (int& operand : step.operands)
        if (operand >= at) ++operand;
    values_.insert(values_.begin() + at, make_leaf(leaf, DType::float64));
    program_.leaves.push_back(std::move(leaf));
    return at;
  }

  void try_step() {
    const auto& rows = catalogue();
    Step step;
    step.row = static_cast<int>(choice_.below(static_cast<std::int64_t>(rows.size())));
    step.seed = choice_.next();
    const Row& row = rows[static_cast<std::size_t>(step.row)];
    const int first = pick_first();
    if (!values_[static_cast<std::size_t>(first)].is_floating_point() ||
        !fits(values_[static_cast<std::size_t>(first)].to_vector(), row.first))
      return;
    std::vector<Want> others;
    Choice own(step.seed);
    const Shape sizes = values_[static_cast<std::size_t>(first)].sizes();
    if (row.need != nullptr && !row.need(sizes, own, others)) return;
    std::vector<int> operands = {first};
    for (const Want& want : others) {
      const std::size_t leaves = program_.leaves.size();
      const int operand = find_or_add(want);
      if (program_.leaves.size() != leaves)
        for (int& earlier : operands)
          if (earlier >= operand) ++earlier;
      operands.push_back(operand);
    }
    step.operands = operands;
    Tensors in;
    for (const int operand : operands) in.push_back(values_[static_cast<std::size_t>(operand)]);
    Choice again(step.seed);
    Tensor out = row.run(in, again, {});
    if (out.numel() == 0 || out.numel() > (large_ ? 400000 : 400) || out.dim() > 6) return;
    if (is_singular_at_zero(row.op) && !fits(out.to_vector(), Data::nonzero)) return;
    if (out.is_floating_point())
      for (const double v : out.to_vector())
        if (!(std::abs(v) <= kLargest)) return;
    values_.push_back(std::move(out));
    program_.steps.push_back(std::move(step));
  }

  /// Later values more often, so that programs are deep.
  int pick_first() {
    const auto count = static_cast<std::int64_t>(values_.size());
    return static_cast<int>(std::max(choice_.below(count), choice_.below(count)));
  }

  int find_or_add(const Want& want) {
    std::vector<int> fitting;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const bool is_leaf = i < program_.leaves.size();
      const bool has_kind =
          is_real(want.data)
              ? values_[i].is_floating_point() && (!is_leaf || is_real(program_.leaves[i].want.data))
              : is_leaf && program_.leaves[i].want.data == want.data && program_.leaves[i].want.limit == want.limit;
      if (has_kind && values_[i].sizes() == want.sizes && fits(values_[i].to_vector(), want.data))
        fitting.push_back(static_cast<int>(i));
    }
    if (!fitting.empty() && choice_.chance(0.6))
      return fitting[static_cast<std::size_t>(choice_.below(static_cast<std::int64_t>(fitting.size())))];
    return add_leaf(want);
  }

  Choice choice_;
  bool large_;
  Program program_;
  Tensors values_;  // in float64
};

}  // namespace

Program make_program(std::uint64_t seed, int steps, bool large) { return Maker(seed, large).make(steps); }

Tensor make_leaf(const Leaf& leaf, DType dtype) {
  switch (leaf.want.data) {
    case Data::index:
      dtype = DType::int64;
      break;
    case Data::mask:
      dtype = DType::bool_;
      break;
    default:
      break;
  }
  return tensor(leaf.values, leaf.want.sizes, {.dtype = dtype});
}

std::string print(const Program& program) {
  constexpr const char* kKinds[] = {"real", "positive", "unit", "nonzero", "probability", "index", "mask", "sign"};
  std::string text = "program of seed " + std::to_string(program.seed) + "\n";
  for (std::size_t i = 0; i < program.leaves.size(); ++i) {
    const Leaf& leaf = program.leaves[i];
    text += "  v" + std::to_string(i) + " = leaf " + to_string(leaf.want.sizes) + " " +
            kKinds[static_cast<int>(leaf.want.data)] + (leaf.is_half ? ", in the fast type:" : ":");
    for (std::size_t k = 0; k < std::min<std::size_t>(leaf.values.size(), 12); ++k) {
      char number[32];
      std::snprintf(number, sizeof number, " %.17g", leaf.values[k]);
      text += number;
    }
    text += leaf.values.size() > 12 ? " ...\n" : "\n";
  }
  for (std::size_t k = 0; k < program.steps.size(); ++k) {
    const Step& step = program.steps[k];
    text += "  v" + std::to_string(program.leaves.size() + k) + " = " +
            catalogue()[static_cast<std::size_t>(step.row)].op + "(";
    for (std::size_t i = 0; i < step.operands.size(); ++i)
      text += (i > 0 ? ", v" : "v") + std::to_string(step.operands[i]);
    text += ")   row " + std::to_string(step.row) + ", choices " + std::to_string(step.seed) + "\n";
  }
  return text;
}

}  // namespace amp::fuzz
