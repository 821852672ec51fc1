// Tensor statistics in one pass. Definitions as in the report (profiler/report/SCHEMA.md): underflow counts non-zero
// values that round to zero in a type (nearest even), overflow finite values that leave its range.
#include <array>
#include <cmath>
#include <limits>
#include <mutex>

#include "libamp/backend/cpu/elementwise.h"
#include "libamp/backend/cpu/table.h"

namespace amp::cpu {
namespace {

// Magnitudes at which rounding to each narrow type, in the order of kNarrowTypes, gives zero or leaves the range.
// Half of the smallest subnormal is a tie, and goes to even zero. The upper ties go to even too: away from the
// largest value of float16, bfloat16 and float8_e5m2 (odd mantissa), but back to 448 in float8_e4m3fn (even).
constexpr double kToZero[kNarrowTypeCount] = {0x1p-25, 0x1p-134, 0x1p-10, 0x1p-17};
constexpr double kLeaves[kNarrowTypeCount] = {65520, 0x1.ffp127, 464, 61440};
constexpr bool kTieStays[kNarrowTypeCount] = {false, false, true, false};

constexpr int kLowest = -1074;  // of float64; float32's is -149
constexpr int kBins = 1023 - kLowest + 1;

struct Counts {
  std::array<std::uint64_t, kBins> exponents{};
  std::uint64_t zero = 0, nan = 0, pos_inf = 0, neg_inf = 0;
  double min_abs = std::numeric_limits<double>::infinity(), max_abs = 0;
  std::array<std::uint64_t, kNarrowTypeCount> underflow{}, overflow{};

  template <typename C>
  void add(const C* values, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
      const double x = static_cast<double>(values[i]);
      const double magnitude = std::fabs(x);
      if (magnitude == 0) {
        ++zero;
      } else if (std::isnan(x)) {
        ++nan;
      } else if (std::isinf(x)) {
        ++(x > 0 ? pos_inf : neg_inf);
      } else {
        min_abs = std::min(min_abs, magnitude);
        max_abs = std::max(max_abs, magnitude);
        ++exponents[static_cast<std::size_t>(std::ilogb(magnitude) - kLowest)];
        for (std::size_t t = 0; t < kNarrowTypeCount; ++t) {
          underflow[t] += magnitude <= kToZero[t];
          overflow[t] += magnitude > kLeaves[t] || (magnitude == kLeaves[t] && !kTieStays[t]);
        }
      }
    }
  }

  void merge(const Counts& other) {
    for (std::size_t i = 0; i < exponents.size(); ++i) exponents[i] += other.exponents[i];
    zero += other.zero;
    nan += other.nan;
    pos_inf += other.pos_inf;
    neg_inf += other.neg_inf;
    min_abs = std::min(min_abs, other.min_abs);
    max_abs = std::max(max_abs, other.max_abs);
    for (std::size_t t = 0; t < kNarrowTypeCount; ++t) {
      underflow[t] += other.underflow[t];
      overflow[t] += other.overflow[t];
    }
  }
};

}  // namespace

void tensor_stats(const Tensor& tensor, TensorStatEvent& event, std::vector<std::uint64_t>& counts) {
  auto total = std::make_unique<Counts>();
  std::mutex mutex;
  const Loop<1> loop =
      make_loop<1>(make_view(tensor, tensor.sizes(), contiguous_strides(tensor.sizes()), 0), {&tensor});
  with_compute_type(tensor.dtype(), [&]<typename C>(TypeTag<C>) {
    parallel_for(loop.numel, kGrain, [&](std::int64_t begin, std::int64_t end) {
      auto mine = std::make_unique<Counts>();
      std::array<C, kBlock> buffer;
      for_stretches<1>(loop, begin, end, [&](const auto& offsets, const auto& steps, std::int64_t n) {
        for (std::int64_t done = 0; done < n; done += kBlock) {
          const std::int64_t m = std::min(kBlock, n - done);
          mine->add(load_block<C>(tensor, offsets[1] + done * steps[1], steps[1], m, buffer.data()), m);
        }
      });
      const std::lock_guard lock(mutex);  // counts are integers: the order of merging does not show
      total->merge(*mine);
    });
  });
  event.count = static_cast<std::uint64_t>(tensor.numel());
  event.zero = total->zero;
  event.nan = total->nan;
  event.pos_inf = total->pos_inf;
  event.neg_inf = total->neg_inf;
  event.max_abs = total->max_abs;
  event.min_abs_nonzero = std::isinf(total->min_abs) ? 0 : total->min_abs;
  std::copy(total->underflow.begin(), total->underflow.end(), event.underflow);
  std::copy(total->overflow.begin(), total->overflow.end(), event.overflow);
  counts.clear();
  event.exponent_first = 0;
  event.exponent_bins = 0;
  if (total->max_abs == 0) return;
  const int first = std::ilogb(event.min_abs_nonzero), last = std::ilogb(event.max_abs);
  event.exponent_first = first;
  event.exponent_bins = static_cast<std::uint32_t>(last - first + 1);
  counts.assign(total->exponents.begin() + (first - kLowest), total->exponents.begin() + (last - kLowest) + 1);
}

}  // namespace amp::cpu
