// User-facing losses: check the arguments, build the call, run it.
#include "libamp/ops/loss.h"

#include <cmath>
#include <cstdio>
#include <mutex>
#include <numbers>
#include <set>
#include <string>

#include "libamp/dispatch/run_op.h"
#include "libamp/ops/math.h"
#include "libamp/ops/pointwise.h"
#include "libamp/ops/reduce.h"
#include "libamp/ops/view.h"

namespace amp {
namespace {

Attributes reduced(std::string_view reduction, const char* where) {
  if (reduction != "mean" && reduction != "sum" && reduction != "none")
    fail(ErrorCode::value, where, "reduction: got '" + std::string(reduction) + "', need 'mean', 'sum' or 'none'");
  return {{"reduction", std::string(reduction)}};
}
Tensor run1(OpId op, Tensors inputs, Attributes attributes) {
  return run_op1({op, std::move(inputs), std::move(attributes), {}});
}
// Broadcasting a loss is legal, and seldom meant. Each text is printed once, as Python does with its warnings.
void warn_if_sizes_differ(const Tensor& input, const Tensor& target, const char* where) {
  if (!input.defined() || !target.defined() || input.sizes() == target.sizes()) return;
  const std::string text = std::string("[") + where + "] Using a target size (" + to_string(target.sizes()) +
                           ") that is different to the input size (" + to_string(input.sizes()) +
                           "). This will likely lead to incorrect results due to broadcasting. Please ensure they have "
                           "the same size.";
  static std::mutex mutex;
  static std::set<std::string> printed;
  const std::lock_guard lock(mutex);
  if (printed.insert(text).second) std::fprintf(stderr, "libamp warning: %s\n", text.c_str());
}
void require_same_sizes(const Tensor& input, const Tensor& target, const char* where, ErrorCode code) {
  if (!(input.sizes() == target.sizes()))
    fail(code, where, "target must have the input's shape: got " + describe(target) + " for " + describe(input));
}

}  // namespace

Tensor mse_loss(const Tensor& input, const Tensor& target, std::string_view reduction) {
  warn_if_sizes_differ(input, target, "mse_loss");
  return run1(OpId::mse_loss, {input, target}, reduced(reduction, "mse_loss"));
}
Tensor l1_loss(const Tensor& input, const Tensor& target, std::string_view reduction) {
  warn_if_sizes_differ(input, target, "l1_loss");
  return run1(OpId::l1_loss, {input, target}, reduced(reduction, "l1_loss"));
}
Tensor smooth_l1_loss(const Tensor& input, const Tensor& target, std::string_view reduction, double beta) {
  if (!(beta >= 0))
    fail(ErrorCode::runtime, "smooth_l1_loss", "beta must not be negative: got " + std::to_string(beta));
  warn_if_sizes_differ(input, target, "smooth_l1_loss");
  Attributes attributes = reduced(reduction, "smooth_l1_loss");
  attributes.set("beta", beta);
  return run1(OpId::smooth_l1_loss, {input, target}, std::move(attributes));
}
Tensor huber_loss(const Tensor& input, const Tensor& target, std::string_view reduction, double delta) {
  if (!(delta > 0)) fail(ErrorCode::runtime, "huber_loss", "delta must be positive: got " + std::to_string(delta));
  warn_if_sizes_differ(input, target, "huber_loss");
  Attributes attributes = reduced(reduction, "huber_loss");
  attributes.set("delta", delta);
  return run1(OpId::huber_loss, {input, target}, std::move(attributes));
}
Tensor soft_margin_loss(const Tensor& input, const Tensor& target, std::string_view reduction) {
  return run1(OpId::soft_margin_loss, {input, target}, reduced(reduction, "soft_margin_loss"));
}

Tensor kl_div(const Tensor& input, const Tensor& target, std::string_view reduction, bool log_target) {
  const bool per_batch = reduction == "batchmean";
  Attributes attributes = reduced(per_batch ? "sum" : reduction, "kl_div");
  attributes.set("log_target", log_target);
  const Tensor loss = run1(OpId::kl_div, {input, target}, std::move(attributes));
  return per_batch && input.dim() > 0 ? loss / static_cast<double>(input.size(0)) : loss;
}

Tensor poisson_nll_loss(const Tensor& input, const Tensor& target, bool log_input, bool full, double eps,
                        std::string_view reduction) {
  Attributes attributes = reduced(reduction, "poisson_nll_loss");
  attributes.set("log_input", log_input);
  attributes.set("full", full);
  attributes.set("eps", eps);
  return run1(OpId::poisson_nll_loss, {input, target}, std::move(attributes));
}

Tensor binary_cross_entropy(const Tensor& input, const Tensor& target, const Tensor& weight,
                            std::string_view reduction) {
  require_same_sizes(input, target, "binary_cross_entropy", ErrorCode::value);
  return run1(OpId::binary_cross_entropy, {input, target, weight}, reduced(reduction, "binary_cross_entropy"));
}
Tensor binary_cross_entropy_with_logits(const Tensor& input, const Tensor& target, const Tensor& weight,
                                        std::string_view reduction, const Tensor& pos_weight) {
  require_same_sizes(input, target, "binary_cross_entropy_with_logits", ErrorCode::value);
  return run1(OpId::binary_cross_entropy_with_logits, {input, target, weight, pos_weight},
              reduced(reduction, "binary_cross_entropy_with_logits"));
}

Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target, double margin,
                             std::string_view reduction) {
  Attributes attributes = reduced(reduction, "cosine_embedding_loss");
  attributes.set("margin", margin);
  return run1(OpId::cosine_embedding_loss, {input1, input2, target}, std::move(attributes));
}
Tensor hinge_embedding_loss(const Tensor& input, const Tensor& target, double margin, std::string_view reduction) {
  Attributes attributes = reduced(reduction, "hinge_embedding_loss");
  attributes.set("margin", margin);
  return run1(OpId::hinge_embedding_loss, {input, target}, std::move(attributes));
}
Tensor margin_ranking_loss(const Tensor& input1, const Tensor& input2, const Tensor& target, double margin,
                           std::string_view reduction) {
  if (input1.dim() != input2.dim() || input1.dim() != target.dim())
    fail(ErrorCode::runtime, "margin_ranking_loss",
         "all operands need the same number of dims: got " + describe(input1) + ", " + describe(input2) + " and " +
             describe(target));
  Attributes attributes = reduced(reduction, "margin_ranking_loss");
  attributes.set("margin", margin);
  return run1(OpId::margin_ranking_loss, {input1, input2, target}, std::move(attributes));
}
Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative, double margin,
                           double p, double eps, bool swap, std::string_view reduction) {
  Attributes attributes = reduced(reduction, "triplet_margin_loss");
  attributes.set("margin", margin);
  attributes.set("p", p);
  attributes.set("eps", eps);
  attributes.set("swap", swap);
  return run1(OpId::triplet_margin_loss, {anchor, positive, negative}, std::move(attributes));
}
Tensor multi_margin_loss(const Tensor& input, const Tensor& target, double p, double margin, const Tensor& weight,
                         std::string_view reduction) {
  if (p != 1 && p != 2) fail(ErrorCode::runtime, "multi_margin_loss", "p must be 1 or 2: got " + std::to_string(p));
  Attributes attributes = reduced(reduction, "multi_margin_loss");
  attributes.set("p", p);
  attributes.set("margin", margin);
  return run1(OpId::multi_margin_loss, {input, target, weight}, std::move(attributes));
}
Tensor multilabel_margin_loss(const Tensor& input, const Tensor& target, std::string_view reduction) {
  require_same_sizes(input, target, "multilabel_margin_loss", ErrorCode::runtime);
  return run1(OpId::multilabel_margin_loss, {input, target}, reduced(reduction, "multilabel_margin_loss"));
}

namespace {

Tensor reduce_loss(const Tensor& loss, std::string_view reduction, const char* where) {
  static_cast<void>(reduced(reduction, where));
  return reduction == "none" ? loss : reduction == "sum" ? sum(loss) : mean(loss);
}

}  // namespace

Tensor multilabel_soft_margin_loss(const Tensor& input, const Tensor& target, const Tensor& weight,
                                   std::string_view reduction) {
  Tensor loss = -(target * log_sigmoid(input) + (1 - target) * log_sigmoid(-input));
  if (weight.defined()) loss = loss * weight;
  return reduce_loss(mean(loss, {-1}), reduction, "multilabel_soft_margin_loss");
}

Tensor gaussian_nll_loss(const Tensor& input, const Tensor& target, const Tensor& var, bool full, double eps,
                         std::string_view reduction) {
  Tensor spread = var;
  // One variance for each row: [..., 1], or without that dim.
  if (!(var.sizes() == input.sizes()) && var.dim() + 1 == input.dim()) spread = unsqueeze(var, -1);
  if (any(lt(var, 0)).item<bool>())
    fail(ErrorCode::value, "gaussian_nll_loss", "variances must not be negative: got " + describe(var));
  // The limit is set without a gradient, as in PyTorch.
  const Tensor limited = spread + (clamp(spread, eps) - spread).detach();
  const Tensor difference = input - target;
  Tensor loss = (log(limited) + difference * difference / limited) * 0.5;
  if (full) loss = loss + 0.5 * std::log(2 * std::numbers::pi);
  return reduce_loss(loss, reduction, "gaussian_nll_loss");
}

Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, std::int64_t blank, std::string_view reduction, bool zero_infinity) {
  Attributes attributes = reduced(reduction, "ctc_loss");
  attributes.set("blank", blank);
  attributes.set("zero_infinity", zero_infinity);
  const auto whole = [](const Tensor& t) { return to(reshape(t, {-1}), DType::int64); };
  const bool single = log_probs.dim() == 2;
  const Tensor labels = to(single && targets.dim() == 1 ? unsqueeze(targets, 0) : targets, DType::int64);
  const Tensor loss =
      run1(OpId::ctc_loss,
           {single ? unsqueeze(log_probs, 1) : log_probs, labels, whole(input_lengths), whole(target_lengths)},
           std::move(attributes));
  return single && reduction == "none" ? squeeze(loss, 0) : loss;
}

}  // namespace amp
