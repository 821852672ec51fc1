// Drawing arguments, and the list of the lists.
#include "tests/support/op_samples.h"

#include <algorithm>
#include <random>
#include <set>

#include "libamp/ops/create.h"

namespace amp::test {

std::vector<OpSample> product_samples();
std::vector<OpSample> pointwise_samples();
std::vector<OpSample> reduce_samples();
std::vector<OpSample> index_samples();
std::vector<OpSample> loss_samples();
std::vector<OpSample> layer_samples();
std::vector<OpSample> linalg_samples();
std::vector<OpSample> more_samples();

const std::vector<OpSample>& op_samples() {
  static const std::vector<OpSample> all = [] {
    std::vector<OpSample> joined;
    for (auto* list : {&product_samples, &pointwise_samples, &reduce_samples, &index_samples, &loss_samples,
                       &layer_samples, &linalg_samples, &more_samples})
      for (OpSample& sample : list()) joined.push_back(std::move(sample));
    return joined;
  }();
  return all;
}

std::vector<const OpSample*> samples_of(OpId op) {
  std::vector<const OpSample*> found;
  for (const OpSample& sample : op_samples())
    if (sample.op == op) found.push_back(&sample);
  return found;
}

namespace {

using Random = std::minstd_rand;

struct Range {
  int low, high;  // in 128ths
};
Range range_of(Fill fill) {
  switch (fill) {
    case Fill::positive:
      return {32, 255};
    case Fill::unit:
      return {-115, 115};
    case Fill::probability:
      return {7, 121};
    default:
      return {-255, 255};
  }
}

std::vector<double> draw(const Argument& argument, std::size_t position, Random& random) {
  const auto count = static_cast<std::size_t>(numel_of(argument.sizes));
  std::vector<double> values(count);
  const auto below = [&random](std::int64_t n) {
    return static_cast<std::int64_t>(random() >> 8) % std::max<std::int64_t>(n, 1);
  };
  const bool small = count <= 100;
  std::set<std::int64_t> used;
  const std::int64_t columns = argument.sizes.empty() ? 1 : argument.sizes.back();
  for (std::size_t i = 0; i < count; ++i) {
    double& value = values[i];
    if (argument.fill == Fill::dominant) {
      const auto row = static_cast<std::int64_t>(i) / columns % columns,
                 column = static_cast<std::int64_t>(i) % columns;
      std::int64_t drawn = 0;
      do drawn = row == column ? 65 + below(62) : below(25) - 12;
      while (drawn == 0 || (row == column && !used.insert(drawn).second));
      value = static_cast<double>(drawn) / 128;
    } else if (argument.fill == Fill::mask || argument.fill == Fill::binary) {
      value = static_cast<double>(below(2));
    } else if (argument.fill == Fill::signs) {
      value = below(2) != 0 ? 1 : -1;
    } else if (argument.fill == Fill::index) {
      const bool distinct = static_cast<std::int64_t>(count) <= argument.high;
      std::int64_t drawn = below(argument.high);
      while (distinct && !used.insert(drawn).second) drawn = below(argument.high);
      value = static_cast<double>(drawn);
    } else {
      const auto [low, high] = range_of(argument.fill);
      std::int64_t drawn = 0;
      do {
        drawn = low + below(high - low + 1);
        drawn += (drawn & 1) == (position % 2 == 0 ? 0 : 1) ? (drawn < high ? 1 : -1) : 0;
      } while (drawn == 0 ||
               (small && count <= static_cast<std::size_t>(high - low) / 3 && !used.insert(drawn).second));
      value = static_cast<double>(drawn) / 128;
    }
  }
  return values;
}

}  // namespace

Tensors make_arguments(const OpSample& sample, DType floating, int seed, bool requires_grad) {
  Random random(static_cast<unsigned>(seed) * 2654435761u + 12345u);
  random.discard(7);
  Tensors arguments;
  for (std::size_t i = 0; i < sample.arguments.size(); ++i) {
    const Argument& argument = sample.arguments[i];
    const DType dtype = argument.fill == Fill::index  ? DType::int64
                        : argument.fill == Fill::mask ? DType::bool_
                                                      : floating;
    arguments.push_back(tensor(draw(argument, i, random), argument.sizes, {.dtype = dtype}));
    if (requires_grad && argument.is_floating() && argument.differentiable) arguments.back().requires_grad_();
  }
  return arguments;
}

}  // namespace amp::test
