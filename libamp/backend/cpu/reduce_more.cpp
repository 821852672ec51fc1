// Reductions beyond sum: each is a folder that takes blocks of a slice in order (see reduce.h).
#include <cmath>
#include <limits>

#include "libamp/backend/cpu/reduce.h"

namespace amp::cpu {
namespace {

template <typename C>
using Wide = std::conditional_t<std::is_integral_v<C>, std::int64_t, double>;

// Folds the input in the compute type of its dtype (or of the result, for integers) into one result of `dtype`.
template <typename MakeFor>
Tensors reduce_to(const OpCall& call, const Reduction& plan, DType dtype, MakeFor make_for) {
  const Tensor& in = call.in(0);
  refuse_float8(call, in.dtype());
  Tensor out = reduction_output(call, plan, dtype);
  const bool wide = dtype == DType::float64 || in.dtype() == DType::float64;
  const DType compute = wide ? DType::float64 : is_floating(in.dtype()) ? in.dtype() : dtype;
  with_compute_type(compute, [&]<typename C>(TypeTag<C>) { reduce_into<C>(out, in, plan, make_for(TypeTag<C>{})); });
  return {out};
}

void require_elements(const OpCall& call, const Reduction& plan) {
  if (plan.fold_count == 0)
    call.fail("there is no identity for an empty slice: got " + describe(call.in(0)) + ", need at least one element",
              call.attributes.has("dim") ? ErrorCode::index : ErrorCode::runtime);
}

DType float_result(const OpCall& call) {
  const DType own = call.in(0).dtype();
  const DType dtype = call.attributes.dtype("dtype", own);
  if (!is_floating(dtype)) call.fail("needs a floating dtype: got " + describe(call.in(0)));
  return dtype;
}

template <typename C>
struct MeanFolder {
  SumFolder<C> sum;
  std::int64_t count;
  void fold(const C* values, std::int64_t n) { sum.fold(values, n); }
  void merge(const MeanFolder& other) { sum.merge(other.sum); }
  C finish() const { return static_cast<C>(static_cast<double>(sum.total()) / static_cast<double>(count)); }
};

template <typename C>
struct ProductFolder {
  Wide<C> product = 1;
  void fold(const C* values, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) product *= static_cast<Wide<C>>(values[i]);
  }
  void merge(const ProductFolder& other) { product *= other.product; }
  C finish() const { return static_cast<C>(product); }
};

// NaN beats everything.
template <typename C, bool kLargest>
struct ExtremeFolder {
  C best = 0;
  bool empty = true;
  void fold(const C* values, std::int64_t n) {
    if (empty && n > 0) best = values[0];
    empty = empty && n == 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const C v = values[i];
      if ((kLargest ? v > best : v < best) || v != v) best = v;
      if (best != best) return;
    }
  }
  void merge(const ExtremeFolder& other) {
    if (!other.empty) fold(&other.best, 1);
  }
  C finish() const { return best; }
};

template <typename C>
struct NormFolder {
  double p;
  double total = 0;
  void fold(const C* values, std::int64_t n) {
    const auto each = [&](auto f) {
      for (std::int64_t i = 0; i < n; ++i) f(static_cast<double>(values[i] < 0 ? -values[i] : values[i]));
    };
    if (p == 2) {
      double lanes[4] = {};  // four sums do not wait for each other
      std::int64_t i = 0;
      for (; i + 4 <= n; i += 4)
        for (int k = 0; k < 4; ++k) lanes[k] += static_cast<double>(values[i + k]) * static_cast<double>(values[i + k]);
      for (; i < n; ++i) lanes[0] += static_cast<double>(values[i]) * static_cast<double>(values[i]);
      total += (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
    } else if (p == 1)
      each([&](double a) { total += a; });
    else if (p == 0)
      each([&](double a) { total += a != 0 ? 1 : 0; });
    else if (std::isinf(p) && p > 0)
      each([&](double a) { total = a > total || a != a ? a : total; });
    else if (std::isinf(p))
      each([&](double a) { total = a < total || a != a ? a : total; });
    else
      each([&](double a) { total += std::pow(a, p); });
  }
  void merge(const NormFolder& other) {
    if (!std::isinf(p))
      total += other.total;
    else if (other.total != other.total || (p > 0 ? other.total > total : other.total < total))
      total = other.total;
  }
  C finish() const {
    if (p == 2) return static_cast<C>(std::sqrt(total));
    if (p == 0 || p == 1 || std::isinf(p)) return static_cast<C>(total);
    return static_cast<C>(std::pow(total, 1 / p));
  }
};

// Running maximum and the sum of exp(x - maximum).
template <typename C>
struct LogSumExpFolder {
  double highest = -std::numeric_limits<double>::infinity(), total = 0;
  void fold(const C* values, std::int64_t n) {
    double block = highest;
    for (std::int64_t i = 0; i < n; ++i) block = std::max(block, static_cast<double>(values[i]));
    if (block != highest) total *= std::exp(highest - block);
    highest = block;
    const double shift = std::isinf(highest) ? 0 : highest;
    for (std::int64_t i = 0; i < n; ++i) total += std::exp(static_cast<double>(values[i]) - shift);
  }
  C finish() const { return static_cast<C>((std::isinf(highest) ? 0 : highest) + std::log(total)); }
};

// Welford's running mean and sum of squared deviations.
template <typename C>
struct VarianceFolder {
  double correction;
  bool root;
  double mean = 0, squares = 0, count = 0;
  void fold(const C* values, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
      const double v = static_cast<double>(values[i]), delta = v - mean;
      count += 1;
      mean += delta / count;
      squares += delta * (v - mean);
    }
  }
  C finish() const {
    const double variance = squares / std::max(0.0, count - correction);  // 0 / 0: NaN, as in PyTorch
    return static_cast<C>(root ? std::sqrt(variance) : variance);
  }
};

template <typename C, bool kAll>
struct TruthFolder {
  bool truth = kAll;
  void fold(const C* values, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) truth = kAll ? truth && values[i] != C(0) : truth || values[i] != C(0);
  }
  C finish() const { return static_cast<C>(truth ? 1 : 0); }
};

Tensors norm_of(const OpCall& call) {
  const Reduction plan = plan_reduction(call);
  const double p = call.attributes.number("p", 2);
  if (std::isinf(p)) require_elements(call, plan);
  return reduce_to(call, plan, float_result(call), [p]<typename C>(TypeTag<C>) {
    const double start = std::isinf(p) && p < 0 ? std::numeric_limits<double>::infinity() : 0;
    return [p, start] { return NormFolder<C>{p, start}; };
  });
}

Tensors variance(const OpCall& call, bool root) {
  const Reduction plan = plan_reduction(call);
  const double correction = call.attributes.number("correction", 1);
  return reduce_to(call, plan, float_result(call), [=]<typename C>(TypeTag<C>) {
    return [=] { return VarianceFolder<C>{correction, root}; };
  });
}

template <bool kLargest>
Tensors extreme(const OpCall& call) {
  const Reduction plan = plan_reduction(call);
  require_elements(call, plan);
  return reduce_to(call, plan, call.in(0).dtype(),
                   []<typename C>(TypeTag<C>) { return [] { return ExtremeFolder<C, kLargest>{}; }; });
}

template <bool kAll>
Tensors truth(const OpCall& call) {
  const Reduction plan = plan_reduction(call);
  const Tensor& in = call.in(0);
  Tensor out = reduction_output(call, plan, DType::bool_);
  with_compute_type(in.dtype(), [&]<typename C>(TypeTag<C>) {
    reduce_into<C>(out, in, plan, [] { return TruthFolder<C, kAll>{}; });
  });
  return {out};
}

}  // namespace

Tensors mean(const OpCall& call) {
  const Reduction plan = plan_reduction(call);
  return reduce_to(call, plan, float_result(call), [&plan]<typename C>(TypeTag<C>) {
    return [count = plan.fold_count] { return MeanFolder<C>{{}, count}; };
  });
}
Tensors prod(const OpCall& call) {
  const DType own = is_floating(call.in(0).dtype()) ? call.in(0).dtype() : DType::int64;
  return reduce_to(call, plan_reduction(call), call.attributes.dtype("dtype", own),
                   []<typename C>(TypeTag<C>) { return [] { return ProductFolder<C>{}; }; });
}
Tensors norm(const OpCall& call) { return norm_of(call); }
Tensors linalg_vector_norm(const OpCall& call) { return norm_of(call); }
Tensors logsumexp(const OpCall& call) {
  return reduce_to(call, plan_reduction(call), float_result(call),
                   []<typename C>(TypeTag<C>) { return [] { return LogSumExpFolder<C>{}; }; });
}
Tensors var(const OpCall& call) { return variance(call, false); }
Tensors std(const OpCall& call) { return variance(call, true); }

Tensors max(const OpCall& call) { return extreme<true>(call); }
Tensors min(const OpCall& call) { return extreme<false>(call); }
Tensors amax(const OpCall& call) { return extreme<true>(call); }
Tensors amin(const OpCall& call) { return extreme<false>(call); }
Tensors all(const OpCall& call) { return truth<true>(call); }
Tensors any(const OpCall& call) { return truth<false>(call); }

}  // namespace amp::cpu
