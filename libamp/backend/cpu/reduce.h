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

/// Folders that can be joined: a long slice is then folded in parts of this many elements, by several threads; the
/// parts are joined in order, so the result does not depend on who folded them.
template <typename Folder>
concept Mergeable = requires(Folder a, const Folder& b) {
  a.merge(b);
};
inline constexpr std::int64_t kFoldPart = 64 * 1024;

/// Folds elements [begin, end) of the slice that starts at `base`.
template <typename C, typename Folder>
void fold_range(const Tensor& in, const Loop<1>& loop, std::int64_t base, std::int64_t begin, std::int64_t end,
                Folder& folder) {
  std::array<C, kBlock> buffer;
  if (begin < end)
    for_stretches<1>(loop, begin, end, [&](const auto& offsets, const auto& steps, std::int64_t n) {
      for (std::int64_t done = 0; done < n; done += kBlock) {
        const std::int64_t m = std::min(kBlock, n - done);
        folder.fold(load_block<C>(in, base + offsets[1] + done * steps[1], steps[1], m, buffer.data()), m);
      }
    });
}

/// For each output element calls fold(values, n) on blocks of its slice in order, then finish() -> the result.
/// Make() returns a fresh folder with `void fold(const C*, int64)` and `C finish()`.
template <typename C, typename Make>
void reduce_into(const Tensor& out, const Tensor& in, const Reduction& plan, Make make) {
  // One loop over the folded dims; an outer one over the kept dims, in the (contiguous) output's order.
  const Loop<1> fold_loop = [&] {
    const Tensor slice = make_view(in, plan.fold_sizes, plan.fold_strides, in.impl()->offset);
    return make_loop<1>(make_view(in, plan.fold_sizes, contiguous_strides(plan.fold_sizes), 0), {&slice});
  }();
  const std::int64_t outputs = numel_of(plan.kept_sizes);
  const auto base_of = [&](std::int64_t index) {
    std::int64_t base = 0;
    for (int d = plan.kept_sizes.size() - 1; d >= 0; --d) {
      base += index % plan.kept_sizes[d] * plan.kept_strides[d];
      index /= plan.kept_sizes[d];
    }
    return base;
  };
  if constexpr (Mergeable<decltype(make())>) {
    const std::int64_t parts = (plan.fold_count + kFoldPart - 1) / kFoldPart;
    if (parts > 1 && outputs < 64) {
      std::vector<decltype(make())> folders(static_cast<std::size_t>(outputs * parts), make());
      parallel_for(outputs * parts, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i)
          fold_range<C>(in, fold_loop, base_of(i / parts), i % parts * kFoldPart,
                        std::min(plan.fold_count, (i % parts + 1) * kFoldPart), folders[static_cast<std::size_t>(i)]);
      });
      for (std::int64_t r = 0; r < outputs; ++r) {
        auto& total = folders[static_cast<std::size_t>(r * parts)];
        for (std::int64_t part = 1; part < parts; ++part)
          total.merge(folders[static_cast<std::size_t>(r * parts + part)]);
        const C result = total.finish();
        store_from<C>(out.raw(), out.dtype(), r, 1, 1, &result);
      }
      return;
    }
  }
  const std::int64_t grain = std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, plan.fold_count));
  parallel_for(outputs, grain, [&](std::int64_t begin, std::int64_t end) {
    std::array<C, kBlock> results;
    for (std::int64_t first = begin; first < end; first += kBlock) {
      const std::int64_t count = std::min(kBlock, end - first);
      for (std::int64_t r = 0; r < count; ++r) {
        auto folder = make();
        fold_range<C>(in, fold_loop, base_of(first + r), 0, plan.fold_count, folder);
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
  void merge(const SumFolder& other) {
    for (int k = 0; k < 4; ++k) lanes[k] += other.lanes[k];
  }
  [[nodiscard]] Accumulator total() const { return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]); }
  C finish() const { return static_cast<C>(total()); }
};

/// Sums over leading dims of rows that lie together in memory, as for the gradient of a bias: rows are added up as they
/// come, instead of each column being picked out of all rows. False if the reduction is not of this form.
/// The rows are cut into at most 32 parts, summed by several threads and then joined in order.
template <typename C, typename Finish>
bool sum_rows_into(const Tensor& out, const Tensor& in, const Reduction& plan, Finish finish) {
  using Sum = typename SumFolder<C>::Accumulator;
  const std::int64_t columns = numel_of(plan.kept_sizes);
  if (columns < 8 || plan.fold_count < 8 || !(plan.kept_strides == contiguous_strides(plan.kept_sizes))) return false;
  const Tensor slice = make_view(in, plan.fold_sizes, plan.fold_strides, in.impl()->offset);
  const Loop<1> loop = make_loop<1>(make_view(in, plan.fold_sizes, contiguous_strides(plan.fold_sizes), 0), {&slice});
  const std::int64_t rows = plan.fold_count, least = std::max<std::int64_t>(1, kGrain / columns);
  const std::int64_t parts = std::clamp<std::int64_t>(rows / least, 1, 32);
  const Workspace memory(static_cast<std::size_t>(parts * columns) * sizeof(Sum), true);
  Sum* sums = memory.data<Sum>();
  parallel_for(parts, 1, [&](std::int64_t first, std::int64_t last) {
    std::array<C, kBlock> buffer;
    for (std::int64_t part = first; part < last; ++part) {
      Sum* total = sums + part * columns;
      std::fill_n(total, columns, Sum(0));
      for_stretches<1>(loop, rows * part / parts, rows * (part + 1) / parts,
                       [&](const auto& offsets, const auto& steps, std::int64_t n) {
                         for (std::int64_t i = 0; i < n; ++i)
                           for (std::int64_t c = 0; c < columns; c += kBlock) {
                             const std::int64_t m = std::min(kBlock, columns - c);
                             const C* x = load_block<C>(in, offsets[1] + i * steps[1] + c, 1, m, buffer.data());
                             for (std::int64_t j = 0; j < m; ++j) total[c + j] += static_cast<Sum>(x[j]);
                           }
                       });
    }
  });
  std::array<C, kBlock> results;
  for (std::int64_t c = 0; c < columns; c += kBlock) {
    const std::int64_t m = std::min(kBlock, columns - c);
    for (std::int64_t j = 0; j < m; ++j) {
      Sum total = sums[c + j];
      for (std::int64_t part = 1; part < parts; ++part) total += sums[part * columns + c + j];
      results[static_cast<std::size_t>(j)] = finish(total);
    }
    store_from<C>(out.raw(), out.dtype(), c, 1, m, results.data());
  }
  return true;
}

/// A reduction's output tensor; contiguous, in `dtype`.
Tensor reduction_output(const OpCall& call, const Reduction& plan, DType dtype);

}  // namespace amp::cpu
