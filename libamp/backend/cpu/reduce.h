// Reductions over any set of dims: the input is seen as [kept dims][reduced dims] by permuting strides, and each output
// element folds its slice in a fixed order, so results do not depend on the number of threads.
#pragma once
#include <vector>

#include "libamp/backend/cpu/elementwise.h"

namespace amp::cpu {

/// Dims to reduce (all if the attribute "dim" is absent or empty), wrapped and checked for duplicates, and the output.
struct Reduction {
  std::vector<bool> reduced;  // per input dim
  Shape out_sizes;            // with keepdim as asked
  Shape kept_sizes, kept_strides, fold_sizes, fold_strides;
  std::int64_t fold_count = 1;  // elements folded into each output
};
Reduction plan_reduction(const OpCall& call);

/// For each output element calls fold(values, n) on blocks of its slice in order, then finish() -> the result.
/// Make() returns a fresh folder with `void fold(const C*, int64)` and `C finish()`.
template <typename C, typename Make>
void reduce_into(const Tensor& out, const Tensor& in, const Reduction& plan, Make make) {
  // One loop over the folded dims; an outer one over the kept dims, in the (contiguous) output's order.
  Loop<1> fold_loop = [&] {
    const Tensor slice = make_view(in, plan.fold_sizes, plan.fold_strides, in.impl()->offset);
    return make_loop<1>(make_view(in, plan.fold_sizes, contiguous_strides(plan.fold_sizes), 0), {&slice});
  }();
  const std::int64_t outputs = numel_of(plan.kept_sizes);
  const std::int64_t grain = std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, plan.fold_count));
  parallel_for(outputs, grain, [&](std::int64_t begin, std::int64_t end) {
    std::array<C, kBlock> buffer, results;
    for (std::int64_t first = begin; first < end; first += kBlock) {
      const std::int64_t count = std::min(kBlock, end - first);
      for (std::int64_t r = 0; r < count; ++r) {
        std::int64_t base = 0, rest = first + r;
        for (int d = plan.kept_sizes.size() - 1; d >= 0; --d) {
          base += rest % plan.kept_sizes[d] * plan.kept_strides[d];
          rest /= plan.kept_sizes[d];
        }
        auto folder = make();
        if (plan.fold_count > 0)
          for_stretches<1>(fold_loop, 0, plan.fold_count, [&](const auto& offsets, const auto& steps, std::int64_t n) {
            for (std::int64_t done = 0; done < n; done += kBlock) {
              const std::int64_t m = std::min(kBlock, n - done);
              folder.fold(load_block<C>(in, base + offsets[1] + done * steps[1], steps[1], m, buffer.data()), m);
            }
          });
        results[static_cast<std::size_t>(r)] = folder.finish();
      }
      store_from<C>(out.raw(), out.dtype(), first, 1, count, results.data());
    }
  });
}

/// Sum of a block, in double for floats: exact enough that the result is the rounded true sum in practice.
template <typename C>
struct SumFolder {
  using Accumulator = std::conditional_t<std::is_same_v<C, std::int64_t>, std::int64_t, double>;
  Accumulator lanes[4] = {};
  void fold(const C* values, std::int64_t n) {
    std::int64_t i = 0;
    for (; i + 4 <= n; i += 4)
      for (int k = 0; k < 4; ++k) lanes[k] += static_cast<Accumulator>(values[i + k]);
    for (; i < n; ++i) lanes[0] += static_cast<Accumulator>(values[i]);
  }
  C finish() const { return static_cast<C>((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])); }
};

/// A reduction's output tensor; contiguous, in `dtype`.
Tensor reduction_output(const OpCall& call, const Reduction& plan, DType dtype);

}  // namespace amp::cpu
