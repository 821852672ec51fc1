// Checks of types and values of one run.
#include "tests/random/check_values.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "libamp/core/grad_mode.h"
#include "libamp/ops/ops.h"

namespace amp::fuzz {
namespace {

const Row& row_of(const Step& step) { return catalogue()[static_cast<std::size_t>(step.row)]; }

std::string place(const Program& program, std::size_t step) {
  return "v" + std::to_string(program.leaves.size() + step) + " (" + row_of(program.steps[step]).op + ")";
}

/// Half the distance between neighbours at 1.
double roundoff(DType dtype) {
  switch (dtype) {
    case DType::float16:
      return 0x1p-11;
    case DType::bfloat16:
      return 0x1p-8;
    case DType::float32:
      return 0x1p-24;
    default:
      return 0x1p-53;
  }
}
double smallest(DType dtype) { return dtype == DType::float16 ? 0x1p-24 : 1e-38; }

double largest_magnitude(const std::vector<double>& values) {
  double largest = 0;
  for (const double v : values) largest = std::max(largest, std::abs(v));
  return largest;
}

/// Bounds of a result's error: relative to the element, and absolute.
struct Tolerance {
  double relative, absolute;
};

// Rounding the result once costs roundoff(out) of it. Before that, n terms of size m accumulated in float32 lose at
// most n roundoff(float32) m, and a function of float32 a few units of what it works with. What is made of several ops
// rounds each time to its narrowest type.
Tolerance tolerance_of(const Row& row, const Seen& seen, const Tensor& out, double largest_result) {
  // Elements that are picked out of several types are converted to the one they meet in.
  if (row.exact == Exact::bits) return {is_mixed(seen.operands) ? 1.001 * roundoff(out.dtype()) : 0, 0};
  double terms = 1, size = std::max(1.0, largest_result), product = 1;
  double coarsest = roundoff(out.dtype());
  for (const Tensor& t : seen.operands) {
    if (!t.is_floating_point()) continue;
    const double magnitude = std::max(1.0, largest_magnitude(t.to_vector()));
    size = std::max(size, magnitude);
    product *= magnitude;
    terms = std::max(terms, static_cast<double>(t.numel()));
    if (t.dtype() != DType::float64) coarsest = std::max(coarsest, roundoff(t.dtype()));
  }
  const double single = std::max(roundoff(DType::float64), std::min(coarsest, roundoff(DType::float32)));
  Tolerance tolerance{1.001 * roundoff(out.dtype()), smallest(out.dtype())};
  if (row.exact == Exact::once) tolerance.absolute += 16 * single * size;
  if (row.exact == Exact::biased) tolerance.absolute += roundoff(out.dtype()) * std::max(product, size);
  if (row.exact == Exact::products || row.exact == Exact::biased)
    tolerance.absolute += (32 + 4 * terms) * single * std::max(product, size);
  if (row.exact == Exact::inside) tolerance.absolute += (16 + 2 * terms) * coarsest * std::max(product, size);
  return tolerance;
}

/// The same step in float64, on exactly the operands its body saw.
Tensor in_double(const Row& row, const Step& step, const Seen& seen) {
  Tensors operands;
  for (const Tensor& t : seen.operands) operands.push_back(t.is_floating_point() ? t.to(DType::float64) : t);
  Choice choice(step.seed);
  return row.run(operands, choice, {});
}

/// The type a step's result must have; nothing where the prediction does not say.
std::optional<DType> expected_dtype(const Row& row, const Seen& seen) {
  if (row.result == Result::boolean) return DType::bool_;
  if (row.result == Result::index) return DType::int64;
  if (seen.attribute) return seen.attribute;
  std::vector<DType> types;
  std::vector<int> dims;
  for (const Tensor& t : seen.operands) {
    types.push_back(t.dtype());
    dims.push_back(t.dim());
  }
  if (is_mixed(seen.operands) && row.mixed != Mixed::promotes) return {};
  return row.result == Result::first ? types[0] : meet(types, dims);
}

}  // namespace

std::string compare_types(const Program& program, const Run& run, long& errors) {
  for (std::size_t k = 0; k < program.steps.size(); ++k) {
    const Row& row = row_of(program.steps[k]);
    const Seen& seen = run.seen[k];
    if (seen.opaque) continue;
    const bool must_fail = seen.refused || seen.unsupported || (seen.mixed && row.mixed == Mixed::refuses);
    const bool may_fail = must_fail || (seen.mixed && row.mixed == Mixed::unknown);
    if (!seen.error.empty()) ++errors;
    if (seen.error.empty() && must_fail)
      return place(program, k) + ": no error, though " +
             (seen.refused       ? "the region refuses it"
              : seen.unsupported ? "there is no body for halves"
                                 : "types are mixed");
    if (!seen.error.empty() && !may_fail) return place(program, k) + ": unexpected error: " + seen.error;
    const auto expected = expected_dtype(row, seen);
    const DType actual = run.values[program.leaves.size() + k].dtype();
    if (expected && *expected != actual)
      return place(program, k) + ": type " + std::string(name(actual)) + ", the rules say " +
             std::string(name(*expected));
  }
  return {};
}

std::string compare_values(const Program& program, const Run& run) {
  const no_grad quiet;
  for (std::size_t k = 0; k < program.steps.size(); ++k) {
    const Row& row = row_of(program.steps[k]);
    const Tensor& out = run.values[program.leaves.size() + k];
    if (run.seen[k].opaque) continue;
    const Tensor reference = in_double(row, program.steps[k], run.seen[k]);
    if (reference.sizes() != out.sizes())
      return place(program, k) + ": sizes " + to_string(out.sizes()) + ", in float64 " + to_string(reference.sizes());
    const std::vector<double> actual = out.to_vector(), expected = reference.to_vector();
    const Tolerance tolerance = tolerance_of(row, run.seen[k], out, largest_magnitude(expected));
    for (std::size_t i = 0; i < actual.size(); ++i) {
      const double allowed = tolerance.relative * std::abs(expected[i]) + tolerance.absolute;
      if (std::abs(actual[i] - expected[i]) <= allowed) continue;
      char text[160];
      std::snprintf(text, sizeof text, " element %zu: %.9g, in float64 %.9g, allowed %.3g", i, actual[i], expected[i],
                    allowed);
      return place(program, k) + " " + std::string(name(out.dtype())) + text;
    }
  }
  return {};
}

std::string compare_bits(const Tensor& a, const Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined() ? "" : "one is missing";
  if (a.dtype() != b.dtype()) return std::string(name(a.dtype())) + " and " + std::string(name(b.dtype()));
  if (a.sizes() != b.sizes()) return to_string(a.sizes()) + " and " + to_string(b.sizes());
  const no_grad quiet;
  const Tensor x = a.detach().clone(), y = b.detach().clone();  // contiguous
  if (std::memcmp(x.raw(), y.raw(), static_cast<std::size_t>(x.numel()) * size_of(x.dtype())) == 0) return {};
  const std::vector<double> p = x.to_vector(), q = y.to_vector();
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (p[i] == q[i]) continue;
    char text[100];
    std::snprintf(text, sizeof text, "element %zu: %.9g and %.9g", i, p[i], q[i]);
    return text;
  }
  return "zeros or NaNs of other bits";
}

std::string compare_runs(const Program& program, const Run& a, const Run& b, bool with_gradients) {
  for (std::size_t k = 0; k < program.steps.size(); ++k) {
    if (a.seen[k].error.empty() != b.seen[k].error.empty())
      return place(program, k) + ": only one fails: " + a.seen[k].error + b.seen[k].error;
    const std::size_t at = program.leaves.size() + k;
    if (std::string difference = compare_bits(a.values[at], b.values[at]); !difference.empty())
      return place(program, k) + ": " + difference;
  }
  for (std::size_t i = 0; with_gradients && i < a.gradients.size(); ++i)
    if (std::string difference = compare_bits(a.gradients[i], b.gradients[i]); !difference.empty())
      return "gradient of v" + std::to_string(i) + ": " + difference;
  return {};
}

}  // namespace amp::fuzz
