// Connectionist temporal classification (Graves et al., ICML 2006): the probability of a label sequence, summed over
// all its alignments with the input by dynamic programming over (time, extended label). In float64 logarithms, one
// sample of the batch a thread.
#include <cmath>
#include <limits>

#include "libamp/backend/cpu/dense.h"

namespace amp::cpu {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

double log_add(double a, double b) {
  const double high = std::max(a, b);
  return high == kNever ? kNever : high + std::log1p(std::exp(std::min(a, b) - high));
}

// Inputs: log probabilities [time, batch, classes]; targets [batch, longest] or all of them in a row; lengths [batch].
struct Alignment {
  std::int64_t steps = 0, batch = 0, classes = 0, blank = 0;
  Wide<double> log_probs;
  Wide<std::int64_t> targets, input_lengths, target_lengths;
  std::vector<std::int64_t> target_start;

  Alignment(const OpCall& call, const Tensor& lp, std::size_t first)
      : steps(lp.size(0)),
        batch(lp.size(1)),
        classes(lp.size(2)),
        blank(call.attributes.integer("blank", 0)),
        log_probs(lp),
        targets(call.in(first)),
        input_lengths(call.in(first + 1)),
        target_lengths(call.in(first + 2)) {
    if (blank < 0 || blank >= classes)
      call.fail("blank must be a class: got " + std::to_string(blank) + ", need [0, " + std::to_string(classes) + ")");
    if (call.in(first + 1).numel() != batch || call.in(first + 2).numel() != batch)
      call.fail("needs one length for each sample: got " + describe(call.in(first + 1)) + " and " +
                describe(call.in(first + 2)) + " for " + describe(lp));
    const Tensor& all = call.in(first);
    const std::int64_t room = all.dim() == 2 ? all.size(1) : all.numel();
    std::int64_t next = 0;
    for (std::int64_t b = 0; b < batch; ++b) {
      const std::int64_t length = target_lengths[b];
      target_start.push_back(all.dim() == 2 ? b * room : next);
      next += length;
      const bool fits = length >= 0 && (all.dim() == 2 ? length <= room && all.size(0) == batch : next <= room);
      if (!fits || input_lengths[b] < 0 || input_lengths[b] > steps)
        call.fail("a length does not fit: got input length " + std::to_string(input_lengths[b]) + " of " +
                  std::to_string(steps) + " and target length " + std::to_string(length) + " for targets " +
                  describe(all));
      for (std::int64_t i = 0; i < length; ++i)
        if (const std::int64_t label = targets[target_start.back() + i]; label < 0 || label >= classes)
          call.fail("a target is not a class: got " + std::to_string(label) + ", need [0, " + std::to_string(classes) +
                    ")");
    }
  }
  [[nodiscard]] double log_prob(std::int64_t t, std::int64_t b, std::int64_t c) const {
    return log_probs[(t * batch + b) * classes + c];
  }
  // Labels with blanks between and around them: position s of 2 * length + 1.
  [[nodiscard]] std::int64_t label(std::int64_t b, std::int64_t s) const {
    return s % 2 == 0 ? blank : targets[target_start[static_cast<std::size_t>(b)] + s / 2];
  }
  // May an alignment skip the blank between s - 2 and s?
  [[nodiscard]] bool skips(std::int64_t b, std::int64_t s) const {
    return s % 2 == 1 && label(b, s) != label(b, s - 2);
  }
};

using Table = std::vector<double>;  // [input length, 2 * target length + 1]

// alpha[t, s]: log probability of all beginnings that are at s at time t.
Table beginnings(const Alignment& a, std::int64_t b) {
  const std::int64_t steps = a.input_lengths[b], wide = 2 * a.target_lengths[b] + 1;
  Table alpha(static_cast<std::size_t>(steps * wide), kNever);
  for (std::int64_t t = 0; t < steps; ++t)
    for (std::int64_t s = 0; s < wide; ++s) {
      double sum = kNever;
      if (t == 0) {
        sum = s < 2 ? 0 : kNever;
      } else {
        const double* before = alpha.data() + (t - 1) * wide;
        sum = before[s];
        if (s >= 1) sum = log_add(sum, before[s - 1]);
        if (s >= 2 && a.skips(b, s)) sum = log_add(sum, before[s - 2]);
      }
      alpha[static_cast<std::size_t>(t * wide + s)] = sum + a.log_prob(t, b, a.label(b, s));
    }
  return alpha;
}

// beta[t, s]: log probability of all endings that are at s at time t, that step included.
Table endings(const Alignment& a, std::int64_t b) {
  const std::int64_t steps = a.input_lengths[b], wide = 2 * a.target_lengths[b] + 1;
  Table beta(static_cast<std::size_t>(steps * wide), kNever);
  for (std::int64_t t = steps - 1; t >= 0; --t)
    for (std::int64_t s = 0; s < wide; ++s) {
      double sum = kNever;
      if (t == steps - 1) {
        sum = s >= wide - 2 ? 0 : kNever;
      } else {
        const double* after = beta.data() + (t + 1) * wide;
        sum = after[s];
        if (s + 1 < wide) sum = log_add(sum, after[s + 1]);
        if (s + 2 < wide && a.skips(b, s + 2)) sum = log_add(sum, after[s + 2]);
      }
      beta[static_cast<std::size_t>(t * wide + s)] = sum + a.log_prob(t, b, a.label(b, s));
    }
  return beta;
}

// Without an input step only an empty target fits.
double negative_log_likelihood(const Alignment& a, std::int64_t b, const Table& alpha) {
  const std::int64_t steps = a.input_lengths[b], wide = 2 * a.target_lengths[b] + 1;
  if (steps == 0) return wide == 1 ? 0 : -kNever;
  const double* last = alpha.data() + (steps - 1) * wide;
  return -(wide == 1 ? last[0] : log_add(last[wide - 1], last[wide - 2]));
}

void require_log_probs(const OpCall& call, const Tensor& lp) {
  if (lp.dim() != 3) call.fail("needs log probabilities [time, batch, classes]: got " + describe(lp));
  if (lp.dtype() != DType::float32 && lp.dtype() != DType::float64)
    call.fail("is implemented for float32 and float64: got " + describe(lp), ErrorCode::not_implemented);
}

}  // namespace

Tensors ctc_loss_nll(const OpCall& call) {
  const Tensor& lp = call.in(0);
  require_log_probs(call, lp);
  const Alignment a(call, lp, 1);
  const Tensor out = make_output(call, {a.batch}, lp.dtype());
  std::vector<double> losses(static_cast<std::size_t>(a.batch));
  parallel_for(a.batch, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b)
      losses[static_cast<std::size_t>(b)] = negative_log_likelihood(a, b, beginnings(a, b));
  });
  store_from<double>(out.raw(), out.dtype(), 0, 1, a.batch, losses.data());
  return {out};
}

// Inputs: gradient [batch], log probabilities, targets, lengths. As in PyTorch the log probabilities are taken to be
// those of a softmax: the gradient is p - occupancy, where the partial derivative alone would be -occupancy; behind a
// log_softmax both give the same.
Tensors ctc_loss_backward(const OpCall& call) {
  const Tensor& lp = call.in(1);
  require_log_probs(call, lp);
  const Alignment a(call, lp, 2);
  const Wide<double> grad(call.in(0));
  const Tensor out = make_output(call, lp.sizes(), lp.dtype());
  std::vector<double> result(static_cast<std::size_t>(lp.numel()), 0.0);
  parallel_for(a.batch, 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<double> occupancy(static_cast<std::size_t>(a.classes));
    for (std::int64_t b = begin; b < end; ++b) {
      if (grad[b] == 0) continue;  // also of a loss that is infinite and was taken out
      const Table alpha = beginnings(a, b), beta = endings(a, b);
      const double loss = negative_log_likelihood(a, b, alpha);
      const std::int64_t wide = 2 * a.target_lengths[b] + 1;
      for (std::int64_t t = 0; t < a.input_lengths[b]; ++t) {
        std::fill(occupancy.begin(), occupancy.end(), kNever);
        for (std::int64_t s = 0; s < wide; ++s) {
          double& sum = occupancy[static_cast<std::size_t>(a.label(b, s))];
          const auto at = static_cast<std::size_t>(t * wide + s);
          sum = log_add(sum, alpha[at] + beta[at]);
        }
        for (std::int64_t c = 0; c < a.classes; ++c) {
          const double p = a.log_prob(t, b, c), passed = occupancy[static_cast<std::size_t>(c)];
          const double taken = passed == kNever ? 0 : std::exp(passed - p + loss);
          result[static_cast<std::size_t>((t * a.batch + b) * a.classes + c)] = grad[b] * (std::exp(p) - taken);
        }
      }
    }
  });
  store_from<double>(out.raw(), out.dtype(), 0, 1, lp.numel(), result.data());
  return {out};
}

}  // namespace amp::cpu
