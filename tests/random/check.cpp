// The checks of one program, and shrinking.
#include "tests/random/check.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "libamp/autocast/scope.h"
#include "libamp/autograd/autograd.h"
#include "libamp/core/allocator.h"
#include "libamp/core/thread_pool.h"
#include "libamp/ops/ops.h"
#include "tests/random/check_values.h"

namespace amp::fuzz {
namespace {

constexpr double kStep = 1e-5;

Mode plain(DType leaves) { return {Way::plain, leaves, {}}; }
Mode in_region(Region region) { return {Way::region, DType::float32, region}; }
Mode by_hand(Region region) { return {Way::by_hand, DType::float32, region}; }

class Checker {
 public:
  Checker(const Program& program, Region region, bool large, Tally& tally)
      : program_(program), region_(region), large_(large), tally_(tally) {}

  std::optional<Failure> run() {
    const std::size_t used = cpu_allocator::statistics().used;
    try {
      check_all();
    } catch (const Error& error) {
      note("error", error.what());
    }
    if (!failure_ && cpu_allocator::statistics().used != used)
      note("leak", std::to_string(cpu_allocator::statistics().used - used) + " bytes are still allocated");
    return failure_;
  }

 private:
  void note(const char* check, const std::string& what) {
    if (!failure_ && !what.empty()) failure_ = Failure{check, what};
  }

  void check_all() {
    const Run region = execute(program_, in_region(region_));
    note("types", compare_types(program_, region, tally_.errors_expected));
    note("by_hand", compare_runs(program_, region, execute(program_, by_hand(region_)), shares_casts(region)));
    note("again", compare_runs(program_, region, execute(program_, in_region(region_)), true));
    note("leaves", compare_leaves(region));
    note("gradient_types", compare_gradient_types(region));
    check_threads(region);
    if (large_ || failure_) return;
    note("values", compare_values(program_, region));
    const Run single = execute(program_, plain(DType::float32));
    note("values_float32", compare_values(program_, single));
    Mode silent = in_region(region_);
    silent.gradients = false;
    note("no_grad", compare_runs(program_, region, execute(program_, silent), false));
    note("in_place", check_in_place());
    const Run exact = execute(program_, plain(DType::float64));
    note("gradients_float32", compare_gradients(single, exact));
    note("differences", check_differences(exact));
    note("second_differences", check_second_differences());
  }

  /// A step whose composite is looked into casts for itself by hand, without the region's cache.
  [[nodiscard]] static bool shares_casts(const Run& run) {
    return std::none_of(run.seen.begin(), run.seen.end(), [](const Seen& seen) { return seen.opaque; });
  }

  void check_threads(const Run& region) {
    const int before = num_threads();
    for (const int threads : {1, 2}) {
      set_num_threads(threads);
      note("threads", compare_runs(program_, region, execute(program_, in_region(region_)), true));
    }
    set_num_threads(before);
  }

  [[nodiscard]] std::string compare_leaves(const Run& run) const {
    for (std::size_t i = 0; i < program_.leaves.size(); ++i) {
      const Tensor& leaf = run.values[i];
      const Tensor fresh = make_leaf(program_.leaves[i], leaf.dtype());
      if (leaf.version() != fresh.version() || !compare_bits(leaf, fresh).empty())
        return "v" + std::to_string(i) + " was changed: version " + std::to_string(leaf.version());
    }
    return {};
  }

  [[nodiscard]] std::string compare_gradient_types(const Run& run) const {
    for (std::size_t i = 0; i < program_.leaves.size(); ++i) {
      const Tensor& gradient = run.gradients[i];
      if (gradient.defined() &&
          (gradient.dtype() != run.values[i].dtype() || gradient.sizes() != run.values[i].sizes()))
        return "gradient of v" + std::to_string(i) + " is " + describe(gradient) + ", the leaf " +
               describe(run.values[i]);
    }
    return {};
  }

  /// Float32 and float64 gradients differ by rounding, which the program amplifies as it amplifies noise.
  [[nodiscard]] std::string compare_gradients(const Run& single, const Run& exact) const {
    constexpr double kNoise = 1e-7, kMargin = 64;
    Program noisy = program_;
    Choice choice(program_.seed + 1);
    for (Leaf& leaf : noisy.leaves)
      if (leaf.want.data < Data::index)
        for (double& v : leaf.values) v *= 1 + kNoise * (2 * choice.real() - 1);
    Mode mode = plain(DType::float64);
    mode.noise = kNoise;
    const Run moved = execute(noisy, mode);
    for (std::size_t i = 0; i < single.gradients.size(); ++i) {
      if (single.gradients[i].defined() != exact.gradients[i].defined()) return "only one type has a gradient";
      if (!exact.gradients[i].defined()) continue;
      const auto a = single.gradients[i].to_vector(), b = exact.gradients[i].to_vector();
      const auto c = moved.gradients[i].to_vector();
      double moves = 0, size = 1;
      for (std::size_t k = 0; k < b.size(); ++k) {
        moves = std::max(moves, std::abs(b[k] - c[k]));
        size = std::max(size, std::abs(b[k]));
      }
      if (moves > 1e-3 * size) continue;  // the leaves sit at a jump
      for (std::size_t k = 0; k < b.size(); ++k)
        if (!(std::abs(a[k] - b[k]) <= kMargin * (moves + kNoise * size)))
          return "gradient of v" + std::to_string(i) + " element " + std::to_string(k) + ": " + std::to_string(a[k]) +
                 " in float32, " + std::to_string(b[k]) + " in float64";
    }
    return {};
  }

  /// After the forward pass a value is changed in place. Then backward either says so or does not care.
  [[nodiscard]] std::string check_in_place() const {
    const Run clean = execute(program_, plain(DType::float64));
    Mode forward = plain(DType::float64);
    forward.retain_graph = true;
    for (std::size_t k = program_.leaves.size(); k < clean.values.size(); ++k) {
      const Run run = execute(program_, forward);
      const Tensor& value = run.values[k];
      if (!value.is_floating_point()) continue;
      try {
        const no_grad quiet;
        value.mul_(1.5);
      } catch (const Error&) {
        continue;  // a view of which this is not allowed
      }
      for (std::size_t i = 0; i < program_.leaves.size(); ++i) run.values[i].set_grad({});
      if (!run.loss.requires_grad()) continue;
      try {
        run.loss.backward();
      } catch (const Error&) {
        continue;
      }
      for (std::size_t i = 0; i < program_.leaves.size(); ++i)
        if (const std::string difference = compare_bits(clean.gradients[i], run.values[i].grad()); !difference.empty())
          return "v" + std::to_string(k) + " was changed in place, and backward used it: gradient of v" +
                 std::to_string(i) + ": " + difference;
    }
    return {};
  }

  using Number = double (*)(const Program&);

  /// A number of the program by one element of a leaf: central difference; nothing at a kink.
  [[nodiscard]] std::optional<double> differentiate(Number number, Program& program, double& element) const {
    const double before = element;
    const auto at = [&](double offset) {
      element = before + offset;
      const double value = number(program);
      element = before;
      return value;
    };
    const double here = at(0), above = at(kStep), below = at(-kStep);
    const double wide = (above - below) / (2 * kStep), narrow = (at(kStep / 2) - at(-kStep / 2)) / kStep;
    const double bend = std::abs((above - here) - (here - below)) / kStep;
    const double size = std::max(1.0, std::abs(wide));
    if (!(std::abs(wide - narrow) <= 1e-5 * size && bend <= 1e-2 * size)) return {};  // NaN, too: a step onto a pole
    return wide;
  }

  static double loss_number(const Program& program) {
    Mode mode = plain(DType::float64);
    mode.gradients = false;
    const no_grad quiet;
    return execute(program, mode).loss.item();
  }

  /// A weighted sum of the gradients.
  static Tensor gradient_sum(const Program& program, const Run& run) {
    Tensor total = scalar_tensor(0, {.dtype = DType::float64});
    for (std::size_t i = 0; i < program.leaves.size(); ++i)
      if (run.gradients[i].defined()) total = total + sum(run.gradients[i] * weights_like(run.gradients[i], 0.5));
    return total;
  }
  static double gradient_number(const Program& program) {
    const Run run = execute(program, plain(DType::float64));
    const no_grad quiet;
    return gradient_sum(program, run).item();
  }

  std::string compare_differences(Number number, const Tensors& gradients, double tolerance, long& compared) {
    Program program = program_;
    Choice choice(program_.seed + 2);
    for (std::size_t i = 0; i < program.leaves.size(); ++i) {
      if (program.leaves[i].want.data >= Data::index) continue;
      auto& values = program.leaves[i].values;
      const std::vector<double> formula =
          gradients[i].defined() ? gradients[i].to_vector() : std::vector<double>(values.size(), 0.0);
      for (int tries = 0; tries < 2 && !values.empty(); ++tries) {
        const auto k = static_cast<std::size_t>(choice.below(static_cast<std::int64_t>(values.size())));
        const std::optional<double> difference = differentiate(number, program, values[k]);
        ++(difference ? compared : tally_.kinks);
        if (!difference || std::abs(*difference - formula[k]) <= tolerance * std::max(1.0, std::abs(*difference)))
          continue;
        char text[160];
        std::snprintf(text, sizeof text, "d/dv%zu[%zu]: formula %.9g, difference quotient %.9g", i, k, formula[k],
                      *difference);
        return text;
      }
    }
    return {};
  }

  std::string check_differences(const Run& exact) {
    return compare_differences(loss_number, exact.gradients, 1e-4, tally_.differences);
  }

  std::string check_second_differences() {
    if (program_.steps.size() > 4) return {};
    Mode mode = plain(DType::float64);
    mode.create_graph = true;
    const Run run = execute(program_, mode);
    const Tensor total = gradient_sum(program_, run);
    for (std::size_t i = 0; i < program_.leaves.size(); ++i) run.values[i].set_grad({});
    Tensors second(program_.leaves.size());
    if (total.requires_grad()) {
      try {
        total.backward();
      } catch (const Error& error) {
        if (error.code() == ErrorCode::not_implemented) return {};  // a gradient that says it has none of its own
        throw;
      }
      for (std::size_t i = 0; i < program_.leaves.size(); ++i) second[i] = run.values[i].grad();
    }
    return compare_differences(gradient_number, second, 1e-3, tally_.second_differences);
  }

  const Program& program_;
  Region region_;
  bool large_;
  Tally& tally_;
  std::optional<Failure> failure_;
};

/// values[] of `program` without value `removed`; nothing if something still uses it.
std::optional<Program> without_step(const Program& program, std::size_t step) {
  Program smaller = program;
  const int removed = static_cast<int>(program.leaves.size() + step);
  smaller.steps.erase(smaller.steps.begin() + static_cast<std::ptrdiff_t>(step));
  for (Step& later : smaller.steps)
    for (int& operand : later.operands) {
      if (operand == removed) return {};
      if (operand > removed) --operand;
    }
  return smaller;
}

std::optional<Program> without_leaf(const Program& program, std::size_t leaf) {
  Program smaller = program;
  smaller.leaves.erase(smaller.leaves.begin() + static_cast<std::ptrdiff_t>(leaf));
  for (Step& step : smaller.steps)
    for (int& operand : step.operands) {
      if (operand == static_cast<int>(leaf)) return {};
      if (operand > static_cast<int>(leaf)) --operand;
    }
  return smaller;
}

/// The step's result becomes a leaf that has its float64 values.
std::optional<Program> with_leaf_for(const Program& program, std::size_t step) {
  Mode mode = plain(DType::float64);
  mode.gradients = false;
  const Run run = execute(program, mode);
  const std::size_t value = program.leaves.size() + step;
  if (!run.values[value].is_floating_point()) return {};
  Program smaller = program;
  smaller.steps.erase(smaller.steps.begin() + static_cast<std::ptrdiff_t>(step));
  const int old = static_cast<int>(value), made = static_cast<int>(program.leaves.size());
  smaller.leaves.push_back({{run.values[value].sizes(), Data::real}, run.values[value].to_vector(), false});
  for (Step& later : smaller.steps)
    for (int& operand : later.operands)
      operand = operand == old ? made : operand >= made && operand < old ? operand + 1 : operand;
  return smaller;
}

}  // namespace

std::optional<Failure> check_program(const Program& program, Region region, bool large, Tally& tally) {
  ++tally.programs;
  tally.steps += static_cast<long>(program.steps.size());
  return Checker(program, region, large, tally).run();
}

Region region_of(std::uint64_t seed) {
  return {seed % 2 == 0 ? Policy::cuda : Policy::cpu, seed / 2 % 2 == 0 ? DType::float16 : DType::bfloat16};
}

Program shrink(const Program& program, Region region, bool large, const Failure& failure) {
  using Move = std::optional<Program> (*)(const Program&, std::size_t);
  Program smallest = program;
  Tally unused;
  for (bool improved = true; improved;) {
    improved = false;
    for (const auto& [move, is_leaf] :
         {std::pair<Move, bool>{without_step, false}, {with_leaf_for, false}, {without_leaf, true}}) {
      for (std::size_t i = (is_leaf ? smallest.leaves.size() : smallest.steps.size()); i-- > 0;) {
        std::optional<Program> candidate;
        try {
          candidate = move(smallest, i);
        } catch (const Error&) {
          continue;
        }
        if (!candidate) continue;
        const auto found = check_program(*candidate, region, large, unused);
        if (!found || found->check != failure.check) continue;
        smallest = std::move(*candidate);
        improved = true;
      }
    }
  }
  return smallest;
}

std::string run_seed(std::uint64_t seed, Tally& tally) {
  const bool large = seed % 16 == 15;
  const Region region = region_of(seed);
  const std::string where = "seed " + std::to_string(seed) + ", " + std::string(name(region.policy)) + "'s rules, " +
                            std::string(name(region.fast)) + ": ";
  Program program;
  try {
    program = make_program(seed, large ? 4 : 2 + static_cast<int>(seed % 9), large);
  } catch (const Error& error) {
    return where + "making it failed: " + error.what() + "\n";
  }
  const std::optional<Failure> failure = check_program(program, region, large, tally);
  if (!failure) return {};
  const Program smallest = shrink(program, region, large, *failure);
  Tally unused;
  const auto again = check_program(smallest, region, large, unused);
  return where + failure->check + "\n" + print(smallest) + "  " + (again ? again->what : failure->what) + "\n";
}

}  // namespace amp::fuzz
