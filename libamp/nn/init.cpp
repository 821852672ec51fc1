// Starting values from the process's generator (see manual_seed).
#include "libamp/nn/init.h"

#include <cmath>

#include "libamp/core/grad_mode.h"
#include "libamp/ops/create.h"

namespace amp::nn::init {
namespace {

// Values are made once in the parameter's own type: a step through another tensor would show in peak memory.
template <typename Make>
const Tensor& fill(const Tensor& tensor, Make make) {
  const no_grad quiet;
  const CauseScope cause(&Context::cause, MemoryCause::weights);
  tensor.copy_(make(tensor.sizes()));
  return tensor;
}

}  // namespace

const Tensor& constant_(const Tensor& tensor, double value) {
  const no_grad quiet;
  return tensor.fill_(value);
}

const Tensor& uniform_(const Tensor& tensor, double low, double high) {
  return fill(tensor, [&](const Shape& sizes) { return rand(sizes).mul_(high - low).add_(low); });
}

const Tensor& normal_(const Tensor& tensor, double mean, double std) {
  return fill(tensor, [&](const Shape& sizes) { return randn(sizes).mul_(std).add_(mean); });
}

Fans fans(const Tensor& weight) {
  if (weight.dim() < 2)
    fail(ErrorCode::value, "init", "fan in and fan out need a tensor of 2 or more dims: got " + describe(weight));
  const std::int64_t out = weight.sizes()[0], in = weight.sizes()[1];
  const std::int64_t field = out * in > 0 ? weight.numel() / (out * in) : 0;
  return {in * field, out * field};
}

const Tensor& kaiming_uniform_(const Tensor& tensor, double a) {
  const double bound = std::sqrt(6 / ((1 + a * a) * static_cast<double>(fans(tensor).in)));
  return uniform_(tensor, -bound, bound);
}

const Tensor& xavier_uniform_(const Tensor& tensor, double gain) {
  const Fans f = fans(tensor);
  const double bound = gain * std::sqrt(6 / static_cast<double>(f.in + f.out));
  return uniform_(tensor, -bound, bound);
}

}  // namespace amp::nn::init
