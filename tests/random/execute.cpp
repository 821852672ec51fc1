// The modes of execute.h.
#include "tests/random/execute.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "libamp/autocast/scope.h"
#include "libamp/autograd/autograd.h"
#include "libamp/ops/ops.h"

namespace amp::fuzz {
namespace {

bool is_real(const Leaf& leaf) { return leaf.want.data < Data::index; }

/// What autocast touches.
bool is_touched(const Tensor& t) { return t.is_floating_point() && t.dtype() != DType::float64; }

bool is_half(const Tensor& t) { return is_touched(t) && t.dtype() != DType::float32; }

const Row& row_of(const Step& step) { return catalogue()[static_cast<std::size_t>(step.row)]; }

/// How many operands decide a promotion: not bilinear's bias, which is optional.
std::size_t voters_of(const Row& row, std::size_t count) { return std::string_view(row.op) == "bilinear" ? 3 : count; }

class Executor {
 public:
  Executor(const Program& program, const Mode& mode) : program_(program), mode_(mode) {}

  Run execute() {
    for (const Leaf& leaf : program_.leaves) {
      const DType dtype = leaf.is_half && mode_.way != Way::plain ? mode_.region.fast : mode_.leaves;
      run_.values.push_back(make_leaf(leaf, dtype));
      if (is_real(leaf) && mode_.gradients) run_.values.back().requires_grad_();
    }
    {
      std::optional<autocast> region;
      if (mode_.way == Way::region) region.emplace("cpu", options());
      for (const Step& step : program_.steps) run_step(step);
    }
    casts_.clear();
    run_.gradients.resize(program_.leaves.size());
    run_.loss = loss_of(program_, run_, mode_.leaves);
    if (mode_.gradients && run_.loss.requires_grad()) {
      run_.loss.backward({}, mode_.retain_graph || mode_.create_graph, mode_.create_graph);
      for (std::size_t i = 0; i < program_.leaves.size(); ++i) run_.gradients[i] = run_.values[i].grad();
    }
    return std::move(run_);
  }

 private:
  [[nodiscard]] AutocastOptions options() const { return {.dtype = mode_.region.fast, .policy = mode_.region.policy}; }

  Tensor cast_by_hand(int operand, const Tensor& value, DType target) {
    if (!is_touched(value) || value.dtype() == target) return value;
    const bool is_cached =
        target == mode_.region.fast && value.dtype() == DType::float32 && value.requires_grad() && value.is_leaf();
    if (!is_cached) return value.to(target);
    Tensor& cast = casts_[operand];
    if (!cast.defined()) cast = value.to(target);
    return cast;
  }

  void run_step(const Step& step) {
    const Row& row = row_of(step);
    Tensors in;
    std::vector<DType> dtypes;
    for (const int operand : step.operands) {
      in.push_back(run_.values[static_cast<std::size_t>(operand)]);
      dtypes.push_back(in.back().dtype());
    }
    Prediction prediction;
    if (mode_.way != Way::plain) prediction = predict(row.op, mode_.region, dtypes, voters_of(row, dtypes.size()));
    Seen seen;
    seen.refused = prediction.refused;
    seen.attribute = prediction.attribute;
    seen.opaque = row.transparent && mode_.way != Way::plain && !prediction.operands && !prediction.refused;
    for (std::size_t i = 0; i < in.size(); ++i)
      seen.operands.push_back(prediction.operands ? cast_by_hand(step.operands[i], in[i], *prediction.operands)
                                                  : in[i]);
    seen.mixed = is_mixed(seen.operands);
    seen.unsupported = row.wide_only && std::any_of(seen.operands.begin(), seen.operands.end(), is_half);
    Tensor out;
    try {
      out = run_row(row, step, in, seen);
    } catch (const Error& error) {
      seen.error = error.what();
      out = fall_back(row, step, in, seen);
    }
    if (mode_.noise > 0 && out.is_floating_point()) out = out * noise_like(out, step.seed);
    run_.values.push_back(out);
    run_.seen.push_back(std::move(seen));
  }

  /// Factors around 1.
  [[nodiscard]] Tensor noise_like(const Tensor& value, std::uint64_t seed) const {
    Choice choice(seed);
    std::vector<double> factors(static_cast<std::size_t>(value.numel()));
    for (double& factor : factors) factor = 1 + mode_.noise * (2 * choice.real() - 1);
    return tensor(factors, value.sizes(), {.dtype = value.dtype()});
  }

  Tensor run_row(const Row& row, const Step& step, const Tensors& in, const Seen& seen) const {
    Choice choice(step.seed);
    if (mode_.way != Way::by_hand) return row.run(in, choice, {});
    if (seen.refused) fail(ErrorCode::runtime, row.op, "refused by the prediction");
    if (!seen.opaque) return row.run(seen.operands, choice, seen.attribute);
    const autocast region("cpu", options());
    return row.run(in, choice, {});
  }

  /// With all operands in float32 and autocast off, as a user would repair the call.
  Tensor fall_back(const Row& row, const Step& step, const Tensors& in, Seen& seen) const {
    if (mode_.way == Way::plain) throw;
    const autocast off("cpu", {.enabled = false});
    seen.attribute.reset();
    seen.operands.clear();
    for (const Tensor& t : in) seen.operands.push_back(is_touched(t) ? t.to(DType::float32) : t);
    Choice choice(step.seed);
    return row.run(seen.operands, choice, {});
  }

  const Program& program_;
  const Mode& mode_;
  Run run_;
  std::map<int, Tensor> casts_;  // by the leaf they are of
};

}  // namespace

bool is_mixed(const Tensors& operands) {
  std::optional<DType> first;
  for (const Tensor& t : operands) {
    if (!t.is_floating_point()) continue;
    if (first && *first != t.dtype()) return true;
    first = t.dtype();
  }
  return false;
}

Tensor weights_like(const Tensor& value, double phase) {
  std::vector<double> weights(static_cast<std::size_t>(value.numel()));
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = std::cos(1.3 * static_cast<double>(i) + phase);
  return tensor(weights, value.sizes(), {.dtype = value.dtype()});
}

Tensor loss_of(const Program& program, const Run& run, DType dtype) {
  std::vector<bool> is_used(run.values.size(), false);
  for (const Step& step : program.steps)
    for (const int operand : step.operands) is_used[static_cast<std::size_t>(operand)] = true;
  Tensor loss = scalar_tensor(0, {.dtype = dtype});
  for (std::size_t i = program.leaves.size(); i < run.values.size(); ++i) {
    if (is_used[i] || !run.values[i].is_floating_point()) continue;
    const Tensor value = run.values[i].to(dtype);
    loss = loss + sum(value * weights_like(value, static_cast<double>(i)));
  }
  return loss;
}

Run execute(const Program& program, const Mode& mode) { return Executor(program, mode).execute(); }

}  // namespace amp::fuzz
