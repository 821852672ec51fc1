// The losses that are made of other functions, as torch.nn.functional makes them: autocast sees what they consist of.
#include "libamp/nn/losses.h"

#include <cmath>
#include <numbers>

#include "libamp/core/grad_mode.h"
#include "libamp/ops/math.h"
#include "libamp/ops/pointwise.h"
#include "libamp/ops/reduce.h"
#include "libamp/ops/view.h"

namespace amp::nn {
namespace {

Tensor reduce(const Tensor& loss, const std::string& reduction, const char* where) {
  if (reduction == "none") return loss;
  if (reduction == "mean") return mean(loss);
  if (reduction == "sum") return sum(loss);
  fail(ErrorCode::value, where, "reduction: got '" + reduction + "', need 'mean', 'sum' or 'none'");
}

}  // namespace

Tensor MultiLabelSoftMarginLoss::forward(const Tensor& input, const Tensor& target) {
  Tensor loss = -(target * log_sigmoid(input) + (1.0 - target) * log_sigmoid(-input));
  if (weight_.defined()) loss = loss * weight_;
  return reduce(mean(loss, Shape{-1}), reduction_, "MultiLabelSoftMarginLoss");
}

Tensor GaussianNLLLoss::forward(const Tensor& input, const Tensor& target, const Tensor& var) {
  Tensor limited = var;
  if (!(var.sizes() == input.sizes())) {
    Shape without_last = input.sizes();
    if (!without_last.empty()) without_last.erase(without_last.size() - 1);
    if (var.sizes() == without_last)
      limited = unsqueeze(var, -1);
    else if (var.dim() != input.dim() || var.size(-1) != 1)
      fail(ErrorCode::value, "GaussianNLLLoss",
           "var must have input's shape, or one value for its last dim: got " + describe(var) + " for " +
               describe(input));
  }
  if (any(lt(var.detach(), 0)).item() != 0)
    fail(ErrorCode::value, "GaussianNLLLoss", "var has a negative entry: need variances");
  limited = clone(limited);
  {
    const no_grad quiet;  // its gradient is that of var, also where the limit holds
    clamp_(limited, eps_);
  }
  const Tensor difference = input - target;
  Tensor loss = (log(limited) + difference * difference / limited) * 0.5;
  if (full_) loss = loss + 0.5 * std::log(2 * std::numbers::pi);
  return reduce(loss, reduction_, "GaussianNLLLoss");
}

}  // namespace amp::nn
