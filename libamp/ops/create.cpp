// Factory functions and the random number generator.
#include "libamp/ops/create.h"

#include <atomic>
#include <cmath>
#include <cstring>
#include <numbers>

#include "libamp/core/dtype_dispatch.h"

namespace amp {
namespace {

Tensor finish(Tensor t, const TensorOptions& options) {
  if (options.requires_grad) t.requires_grad_();
  return t;
}

template <typename Value>
Tensor filled(const Shape& sizes, const TensorOptions& options, Value value_at) {
  Tensor t = empty(sizes, options.dtype, options.device);
  dispatch_dtype(options.dtype, [&]<typename T>(TypeTag<T>) {
    T* out = t.data<T>();
    const std::int64_t n = t.numel();
    for (std::int64_t i = 0; i < n; ++i) out[i] = convert_element<T>(value_at(i));
  });
  return finish(std::move(t), options);
}

// Bits of a type's significand, the hidden one too.
int significant_bits(DType dtype) {
  switch (dtype) {
    case DType::float16:
      return 11;
    case DType::bfloat16:
      return 8;
    case DType::float32:
      return 24;
    case DType::float8_e4m3fn:
      return 4;
    case DType::float8_e5m2:
      return 3;
    default:
      return 53;
  }
}

// Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011): a counter and a key in, four
// words out; no state between calls, so any part of a stream can be computed by itself.
struct Philox {
  std::uint32_t words[4];
  Philox(std::uint64_t key, std::uint64_t counter) {
    std::uint32_t k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
    std::uint32_t c[4] = {static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32), 0, 0};
    for (int round = 0; round < 10; ++round) {
      const std::uint64_t a = std::uint64_t{0xD2511F53u} * c[0], b = std::uint64_t{0xCD9E8D57u} * c[2];
      const std::uint32_t next[4] = {static_cast<std::uint32_t>(b >> 32) ^ c[1] ^ k0, static_cast<std::uint32_t>(b),
                                     static_cast<std::uint32_t>(a >> 32) ^ c[3] ^ k1, static_cast<std::uint32_t>(a)};
      std::memcpy(c, next, sizeof c);
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    std::memcpy(words, c, sizeof c);
  }
};

std::atomic<std::uint64_t> seed{0x5eed};
std::atomic<std::uint64_t> position{0};

// A stretch of the stream for n values.
class Stream {
 public:
  explicit Stream(std::int64_t n) : key_(seed), at_(position.fetch_add(static_cast<std::uint64_t>(n))) {}
  /// 53 random bits for value i, and 32 more.
  [[nodiscard]] double uniform(std::int64_t i) const {
    const Philox p(key_, at_ + static_cast<std::uint64_t>(i));
    return static_cast<double>((std::uint64_t{p.words[0]} << 21) ^ (p.words[1] >> 11)) * 0x1p-53;
  }
  /// Box-Muller on two uniforms of one counter.
  [[nodiscard]] double normal(std::int64_t i) const {
    const Philox p(key_, at_ + static_cast<std::uint64_t>(i));
    const double u = (static_cast<double>(p.words[0]) + 0.5) * 0x1p-32, v = static_cast<double>(p.words[1]) * 0x1p-32;
    return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
  }
  [[nodiscard]] std::uint64_t bits(std::int64_t i) const {
    const Philox p(key_, at_ + static_cast<std::uint64_t>(i));
    return (std::uint64_t{p.words[0]} << 32) | p.words[1];
  }

 private:
  std::uint64_t key_, at_;
};

}  // namespace

Tensor full(const Shape& sizes, double value, const TensorOptions& options) {
  return filled(sizes, options, [value](std::int64_t) { return value; });
}
Tensor zeros(const Shape& sizes, const TensorOptions& options) {
  Tensor t = empty(sizes, options.dtype, options.device);
  if (t.numel() > 0) std::memset(t.raw(), 0, t.impl()->storage->bytes());
  return finish(std::move(t), options);
}
Tensor ones(const Shape& sizes, const TensorOptions& options) { return full(sizes, 1, options); }
Tensor zeros_like(const Tensor& like) { return zeros(like.sizes(), {.dtype = like.dtype(), .device = like.device()}); }
Tensor ones_like(const Tensor& like) { return ones(like.sizes(), {.dtype = like.dtype(), .device = like.device()}); }
Tensor empty_like(const Tensor& like) { return empty(like.sizes(), like.dtype(), like.device()); }

Tensor full_like(const Tensor& like, double value) {
  return full(like.sizes(), value, {.dtype = like.dtype(), .device = like.device()});
}
Tensor rand_like(const Tensor& like) { return rand(like.sizes(), {.dtype = like.dtype(), .device = like.device()}); }
Tensor randn_like(const Tensor& like) { return randn(like.sizes(), {.dtype = like.dtype(), .device = like.device()}); }

Tensor eye(std::int64_t n, const TensorOptions& options) { return eye(n, n, options); }
Tensor eye(std::int64_t n, std::int64_t m, const TensorOptions& options) {
  return filled({n, m}, options, [m](std::int64_t i) { return i / m == i % m ? 1 : 0; });
}
Tensor arange(double start, double end, double step, const TensorOptions& options) {
  if (step == 0 || !std::isfinite(start) || !std::isfinite(end) || (end - start) / step < 0)
    fail(ErrorCode::runtime, "arange",
         "the range has no end: got start " + std::to_string(start) + ", end " + std::to_string(end) + ", step " +
             std::to_string(step));
  return filled({static_cast<std::int64_t>(std::ceil((end - start) / step))}, options,
                [=](std::int64_t i) { return start + static_cast<double>(i) * step; });
}
Tensor linspace(double start, double end, std::int64_t steps, const TensorOptions& options) {
  if (steps < 0) fail(ErrorCode::runtime, "linspace", "needs a number from 0: got " + std::to_string(steps) + " steps");
  const double step = steps > 1 ? (end - start) / static_cast<double>(steps - 1) : 0;
  // From the nearer end, so that the last one is `end` itself.
  return filled({steps}, options, [=](std::int64_t i) {
    return i < steps / 2 || steps == 1 ? start + step * static_cast<double>(i)
                                       : end - step * static_cast<double>(steps - 1 - i);
  });
}
Tensor logspace(double start, double end, std::int64_t steps, double base, const TensorOptions& options) {
  const std::vector<double> powers = linspace(start, end, steps, {.dtype = DType::float64}).to_vector();
  return filled({steps}, options, [&](std::int64_t i) { return std::pow(base, powers[static_cast<std::size_t>(i)]); });
}

Tensor arange(std::int64_t end, const TensorOptions& options) {
  return filled({end < 0 ? 0 : end}, options, [](std::int64_t i) { return i; });
}

Tensor tensor(std::span<const double> values, const TensorOptions& options) {
  return tensor(values, Shape{static_cast<std::int64_t>(values.size())}, options);
}
Tensor tensor(std::initializer_list<double> values, const TensorOptions& options) {
  return tensor(std::span(values.begin(), values.size()), options);
}
Tensor tensor(std::span<const double> values, const Shape& sizes, const TensorOptions& options) {
  if (numel_of(sizes) != static_cast<std::int64_t>(values.size()))
    fail(ErrorCode::runtime, "tensor",
         "got " + std::to_string(values.size()) + " values for shape " + to_string(sizes));
  return filled(sizes, options, [&](std::int64_t i) { return values[static_cast<std::size_t>(i)]; });
}
Tensor scalar_tensor(double value, const TensorOptions& options) { return full({}, value, options); }

Tensor wrapped_number(double value) {
  Tensor t = full({}, value, {.dtype = DType::float64});
  t.impl()->is_wrapped_number = true;
  return t;
}
Tensor wrapped_number(std::int64_t value) {
  Tensor t = filled({}, {.dtype = DType::int64}, [value](std::int64_t) { return value; });
  t.impl()->is_wrapped_number = true;
  return t;
}

Tensor from_memory(const void* data, const Shape& sizes, DType dtype) {
  Tensor t = empty(sizes, dtype);
  if (t.numel() > 0) std::memcpy(t.raw(), data, t.impl()->storage->bytes());
  return t;
}

void manual_seed(std::uint64_t value) {
  seed = value;
  position = 0;
}
Tensor get_rng_state() {
  const std::uint64_t state[] = {seed, position};
  return from_memory(state, {sizeof state}, DType::uint8);
}
void set_rng_state(const Tensor& state) {
  std::uint64_t values[2] = {};
  if (!state.defined() || state.dtype() != DType::uint8 || !(state.sizes() == Shape{sizeof values}) ||
      !state.is_contiguous())
    fail(ErrorCode::value, "set_rng_state", "need the uint8[16] that get_rng_state gives, got " + describe(state));
  std::memcpy(values, state.raw(), sizeof values);
  seed = values[0];
  position = values[1];
}
Tensor rand(const Shape& sizes, const TensorOptions& options) {
  const Stream stream(numel_of(sizes));
  // As many random bits as the type's numbers just below 1 have: rounding could give 1 otherwise, as it would also in
  // PyTorch, which draws so too.
  const double steps = std::ldexp(1.0, significant_bits(options.dtype));
  return filled(sizes, options, [&](std::int64_t i) { return std::floor(stream.uniform(i) * steps) / steps; });
}
Tensor randn(const Shape& sizes, const TensorOptions& options) {
  const Stream stream(numel_of(sizes));
  return filled(sizes, options, [&](std::int64_t i) { return stream.normal(i); });
}
Tensor randint(std::int64_t low, std::int64_t high, const Shape& sizes, const TensorOptions& options) {
  if (high <= low)
    fail(ErrorCode::runtime, "randint", "empty range: got [" + std::to_string(low) + ", " + std::to_string(high) + ")");
  const Stream stream(numel_of(sizes));
  const auto range = static_cast<std::uint64_t>(high - low);
  return filled(sizes, options,
                [&](std::int64_t i) { return low + static_cast<std::int64_t>(stream.bits(i) % range); });
}
Tensor randperm(std::int64_t n) {
  if (n < 0) fail(ErrorCode::runtime, "randperm", "n must not be negative: got " + std::to_string(n));
  Tensor t = arange(n);
  const Stream stream(n);
  auto* values = t.data<std::int64_t>();
  for (std::int64_t i = n - 1; i > 0; --i)
    std::swap(values[i], values[stream.bits(i) % static_cast<std::uint64_t>(i + 1)]);
  return t;
}

Tensor bernoulli(const Tensor& p) {
  const std::vector<double> chances = p.to_vector();
  for (const double c : chances)
    if (!(c >= 0 && c <= 1))
      fail(ErrorCode::runtime, "bernoulli", "needs probabilities in [0, 1]: got " + std::to_string(c));
  const Stream stream(p.numel());
  return filled(p.sizes(), {.dtype = p.dtype(), .device = p.device()},
                [&](std::int64_t i) { return stream.uniform(i) < chances[static_cast<std::size_t>(i)] ? 1 : 0; });
}

Tensor multinomial(const Tensor& input, std::int64_t num_samples, bool replacement) {
  if (input.dim() < 1 || input.dim() > 2 || !input.is_floating_point() || num_samples < 1)
    fail(ErrorCode::runtime, "multinomial",
         "needs weights in one or two dims and a number from 1: got " + describe(input) + " and " +
             std::to_string(num_samples));
  const std::int64_t n = input.size(-1), rows = input.dim() == 2 ? input.size(0) : 1;
  std::vector<double> weights = input.to_vector();
  Shape sizes = input.sizes();
  sizes[sizes.size() - 1] = num_samples;
  Tensor out = empty(sizes, DType::int64, input.device());
  const Stream stream(rows * num_samples);
  for (std::int64_t row = 0; row < rows; ++row) {
    double* own = weights.data() + row * n;
    double total = 0;
    std::int64_t positive = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      if (!(own[i] >= 0) || std::isinf(own[i]))
        fail(ErrorCode::runtime, "multinomial",
             "needs finite weights that are not negative: got " + std::to_string(own[i]));
      total += own[i];
      positive += own[i] > 0 ? 1 : 0;
    }
    if (positive == 0 || (!replacement && positive < num_samples))
      fail(ErrorCode::runtime, "multinomial",
           "there are not enough weights above zero: got " + std::to_string(positive) + ", need " +
               std::to_string(replacement ? 1 : num_samples));
    for (std::int64_t k = 0; k < num_samples; ++k) {
      double rest = stream.uniform(row * num_samples + k) * total;
      std::int64_t chosen = -1;
      for (std::int64_t i = 0; i < n && (chosen < 0 || rest >= 0); ++i) {
        if (own[i] <= 0) continue;
        chosen = i;  // the last one that has a weight, should rounding leave a rest
        rest -= own[i];
      }
      out.data<std::int64_t>()[row * num_samples + k] = chosen;
      if (replacement) continue;
      total -= own[chosen];
      own[chosen] = 0;
    }
  }
  return out;
}

}  // namespace amp
