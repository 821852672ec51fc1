// Losses of one term per element: terms are made block by block and summed at once, so no tensor of terms is kept
// unless it was asked for.
#include <atomic>
#include <cmath>
#include <numbers>
#include <numeric>

#include "libamp/backend/cpu/elementwise.h"

namespace amp::cpu {
namespace {

// Elements summed one after the other; stretches of it are added in order, whatever the number of threads.
constexpr std::int64_t kSegment = 16 * 1024;

/// Calls f(pointers to N blocks of C, offset in the first operand of the loop, its step, n).
template <typename C, std::size_t N, typename F>
void for_blocks(const Loop<static_cast<int>(N)>& loop, const std::array<const Tensor*, N>& inputs, std::int64_t begin,
                std::int64_t end, F f) {
  std::array<std::array<C, kBlock>, N> buffers;
  for_stretches<static_cast<int>(N)>(loop, begin, end, [&](const auto& offsets, const auto& steps, std::int64_t n) {
    for (std::int64_t done = 0; done < n; done += kBlock) {
      const std::int64_t count = std::min(kBlock, n - done);
      std::array<const C*, N> blocks;
      for (std::size_t k = 0; k < N; ++k)
        blocks[k] =
            load_block<C>(*inputs[k], offsets[k + 1] + done * steps[k + 1], steps[k + 1], count, buffers[k].data());
      f(blocks, offsets[0] + done * steps[0], steps[0], count);
    }
  });
}

/// term(values of N operands as an array) -> C, summed as the call's reduction says.
template <std::size_t N, typename Term>
Tensors reduce_terms(const OpCall& call, const std::array<const Tensor*, N>& inputs, Term term) {
  Tensors operands;
  Shape sizes;
  for (const Tensor* t : inputs) {
    operands.push_back(*t);
    sizes = broadcast_shapes(sizes, t->sizes(), call.info().name);
  }
  const DType dtype = result_type(operands);
  const std::string reduction = call.attributes.text("reduction", "mean");
  const bool whole = reduction != "none";
  Tensor out = make_output(call, whole ? Shape{} : sizes, dtype);
  with_float_type(call, dtype, [&]<typename C>(TypeTag<C>) {
    const auto fill = [&](const std::array<const C*, N>& blocks, C* terms, std::int64_t n) {
      std::array<C, N> values;
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::size_t k = 0; k < N; ++k) values[k] = blocks[k][i];
        terms[i] = term(values);
      }
    };
    if (!whole) {
      const auto loop = make_loop<static_cast<int>(N)>(out, inputs);
      parallel_for(loop.numel, kGrain, [&](std::int64_t begin, std::int64_t end) {
        std::array<C, kBlock> terms;
        for_blocks<C, N>(loop, inputs, begin, end,
                         [&](const auto& blocks, std::int64_t at, std::int64_t step, std::int64_t n) {
                           fill(blocks, terms.data(), n);
                           store_from<C>(out.raw(), out.dtype(), at, step, n, terms.data());
                         });
      });
      return;
    }
    const auto loop = make_loop<static_cast<int>(N)>(make_view(out, sizes, contiguous_strides(sizes), 0), inputs);
    std::vector<double> sums(static_cast<std::size_t>((loop.numel + kSegment - 1) / kSegment), 0.0);
    parallel_for(static_cast<std::int64_t>(sums.size()), 1, [&](std::int64_t first, std::int64_t last) {
      std::array<C, kBlock> terms;
      for (std::int64_t s = first; s < last; ++s)
        for_blocks<C, N>(loop, inputs, s * kSegment, std::min(loop.numel, (s + 1) * kSegment),
                         [&](const auto& blocks, std::int64_t, std::int64_t, std::int64_t n) {
                           fill(blocks, terms.data(), n);
                           for (std::int64_t i = 0; i < n; ++i)
                             sums[static_cast<std::size_t>(s)] +=
                                 static_cast<double>(terms[static_cast<std::size_t>(i)]);
                         });
    });
    double total = std::accumulate(sums.begin(), sums.end(), 0.0);
    if (reduction == "mean") total /= static_cast<double>(loop.numel);  // nothing: NaN, as in PyTorch
    const C result = static_cast<C>(total);
    store_from<C>(out.raw(), out.dtype(), 0, 1, 1, &result);
  });
  return {out};
}

template <typename Term>
Tensors reduce_pairs(const OpCall& call, Term term) {
  return reduce_terms<2>(call, {&call.in(0), &call.in(1)}, [term](const auto& v) { return term(v[0], v[1]); });
}

template <typename C>
C log_sigmoid_of(C x) {
  return std::min(x, C(0)) - std::log1p(std::exp(-std::abs(x)));
}

}  // namespace

Tensors mse_loss(const OpCall& call) {
  return reduce_pairs(call, [](auto x, auto t) { return (x - t) * (x - t); });
}
Tensors l1_loss(const OpCall& call) {
  return reduce_pairs(call, [](auto x, auto t) { return std::abs(x - t); });
}
Tensors smooth_l1_loss(const OpCall& call) {
  const double beta = call.attributes.number("beta", 1);
  return reduce_pairs(call, [beta](auto x, auto t) {
    using C = decltype(x);
    const C b = static_cast<C>(beta), d = std::abs(x - t);
    return d < b ? C(0.5) * d * d / b : d - C(0.5) * b;
  });
}
Tensors huber_loss(const OpCall& call) {
  const double delta = call.attributes.number("delta", 1);
  return reduce_pairs(call, [delta](auto x, auto t) {
    using C = decltype(x);
    const C limit = static_cast<C>(delta), d = std::abs(x - t);
    return d <= limit ? C(0.5) * d * d : limit * (d - C(0.5) * limit);
  });
}
Tensors soft_margin_loss(const OpCall& call) {
  return reduce_pairs(call, [](auto x, auto t) { return -log_sigmoid_of(x * t); });
}

Tensors kl_div(const OpCall& call) {
  if (call.attributes.flag("log_target", false))
    return reduce_pairs(call, [](auto x, auto t) { return std::exp(t) * (t - x); });
  return reduce_pairs(call, [](auto x, auto t) { return (t == 0 ? t : t * std::log(t)) - t * x; });
}

Tensors poisson_nll_loss(const OpCall& call) {
  const bool log_input = call.attributes.flag("log_input", true), full = call.attributes.flag("full", false);
  const double eps = call.attributes.number("eps", 1e-8);
  return reduce_pairs(call, [=](auto x, auto t) {
    using C = decltype(x);
    C loss = log_input ? std::exp(x) - t * x : x - t * std::log(x + static_cast<C>(eps));
    // Stirling's approximation of log(target!).
    if (full && t > 1) loss += t * std::log(t) - t + C(0.5) * std::log(C(2) * std::numbers::pi_v<C> * t);
    return loss;
  });
}

Tensors binary_cross_entropy(const OpCall& call) {
  const Tensor one = call.has(2) ? call.in(2) : [&] {
    Tensor t = empty({}, call.in(0).dtype(), call.in(0).device());
    const float value = 1;
    store_from<float>(t.raw(), t.dtype(), 0, 1, 1, &value);
    return t;
  }();
  std::atomic<bool> outside{false};
  Tensors result = reduce_terms<3>(call, {&call.in(0), &call.in(1), &one}, [&outside](const auto& v) {
    using C = std::decay_t<decltype(v[0])>;
    const C x = v[0], t = v[1];
    if (!(x >= 0 && x <= 1)) outside.store(true, std::memory_order_relaxed);
    // Logarithms are limited to -100, so that a certain and wrong prediction costs much, and not infinitely much.
    return -v[2] * ((C(1) - t) * std::max(std::log1p(-x), C(-100)) + t * std::max(std::log(x), C(-100)));
  });
  if (outside)
    call.fail("all elements of the input must be between 0 and 1: got " + describe(call.in(0)) + " with others");
  return result;
}

Tensors binary_cross_entropy_with_logits(const OpCall& call) {
  const Tensor &x = call.in(0), &target = call.in(1);
  const auto term = [](auto v, auto t, auto positive) {
    return (1 - t) * v - ((positive - 1) * t + 1) * log_sigmoid_of(v);
  };
  if (call.has(2) && call.has(3))
    return reduce_terms<4>(call, {&x, &target, &call.in(2), &call.in(3)},
                           [term](const auto& v) { return v[2] * term(v[0], v[1], v[3]); });
  if (call.has(2))
    return reduce_terms<3>(call, {&x, &target, &call.in(2)}, [term](const auto& v) {
      using C = std::decay_t<decltype(v[0])>;
      return v[2] * term(v[0], v[1], C(1));
    });
  if (call.has(3))
    return reduce_terms<3>(call, {&x, &target, &call.in(3)}, [term](const auto& v) { return term(v[0], v[1], v[2]); });
  return reduce_terms<2>(call, {&x, &target}, [term](const auto& v) {
    using C = std::decay_t<decltype(v[0])>;
    return term(v[0], v[1], C(1));
  });
}

}  // namespace amp::cpu
