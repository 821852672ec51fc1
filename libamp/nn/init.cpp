// Starting values from the process's generator (see manual_seed). Formulas of torch/nn/init.py.
#include "libamp/nn/init.h"

#include <algorithm>
#include <cmath>

#include "libamp/core/grad_mode.h"
#include "libamp/ops/create.h"
#include "libamp/ops/pointwise.h"

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

void require_dims(const Tensor& tensor, bool fits, const char* where, const char* need) {
  if (!fits) fail(ErrorCode::value, where, std::string("only tensors of ") + need + ": got " + describe(tensor));
}

double fan_of(const Tensor& tensor, std::string_view mode) {
  const Fans f = fans(tensor);
  if (mode != "fan_in" && mode != "fan_out")
    fail(ErrorCode::value, "init", "mode: got '" + std::string(mode) + "', need 'fan_in' or 'fan_out'");
  return static_cast<double>(mode == "fan_in" ? f.in : f.out);
}

// Tensors without elements have nothing to fill, and fans of 0 to divide by.
bool is_empty(const Tensor& tensor) { return tensor.numel() == 0; }

}  // namespace

const Tensor& constant_(const Tensor& tensor, double value) {
  const no_grad quiet;
  return tensor.fill_(value);
}
const Tensor& zeros_(const Tensor& tensor) { return constant_(tensor, 0); }
const Tensor& ones_(const Tensor& tensor) { return constant_(tensor, 1); }

const Tensor& uniform_(const Tensor& tensor, double low, double high) {
  if (!(low <= high))
    fail(ErrorCode::value, "uniform_",
         "needs a lower end not above the upper one: got " + std::to_string(low) + " and " + std::to_string(high));
  return fill(tensor, [&](const Shape& sizes) { return rand(sizes).mul_(high - low).add_(low); });
}

const Tensor& normal_(const Tensor& tensor, double mean, double std) {
  if (!(std >= 0)) fail(ErrorCode::value, "normal_", "std must not be negative: got " + std::to_string(std));
  return fill(tensor, [&](const Shape& sizes) { return randn(sizes).mul_(std).add_(mean); });
}

const Tensor& trunc_normal_(const Tensor& tensor, double mean, double std, double a, double b) {
  if (!(a < b))
    fail(ErrorCode::value, "trunc_normal_",
         "the range is empty: got a = " + std::to_string(a) + ", b = " + std::to_string(b));
  // By the inverse of the distribution function: uniform between what it has at a and at b.
  const auto twice_cdf = [&](double x) { return std::erf((x - mean) / (std * std::sqrt(2.0))); };
  const double low = twice_cdf(a), high = twice_cdf(b);
  return fill(tensor, [&](const Shape& sizes) {
    const Tensor drawn = erfinv(rand(sizes).mul_(high - low).add_(low));
    return clamp(drawn.mul_(std * std::sqrt(2.0)).add_(mean), a, b);
  });
}

const Tensor& eye_(const Tensor& tensor) {
  require_dims(tensor, tensor.dim() == 2, "eye_", "2 dims");
  zeros_(tensor);
  const no_grad quiet;
  for (std::int64_t i = 0; i < std::min(tensor.size(0), tensor.size(1)); ++i) tensor.select(0, i).select(0, i).fill_(1);
  return tensor;
}

const Tensor& dirac_(const Tensor& tensor, std::int64_t groups) {
  require_dims(tensor, tensor.dim() >= 3 && tensor.dim() <= 5, "dirac_", "3, 4 or 5 dims");
  if (groups < 1 || tensor.size(0) % groups != 0)
    fail(ErrorCode::value, "dirac_",
         "the first size must be divisible by groups: got " + describe(tensor) + " and " + std::to_string(groups));
  zeros_(tensor);
  const no_grad quiet;
  const std::int64_t out = tensor.size(0) / groups;
  for (std::int64_t g = 0; g < groups; ++g)
    for (std::int64_t i = 0; i < std::min(out, tensor.size(1)); ++i) {
      Tensor kernel = tensor.select(0, g * out + i).select(0, i);
      while (kernel.dim() > 0) kernel = kernel.select(0, kernel.size(0) / 2);
      kernel.fill_(1);
    }
  return tensor;
}

const Tensor& orthogonal_(const Tensor& tensor, double gain) {
  require_dims(tensor, tensor.dim() >= 2, "orthogonal_", "2 or more dims");
  if (is_empty(tensor)) return tensor;
  const std::int64_t rows = tensor.size(0), columns = tensor.numel() / rows;
  // Gram-Schmidt on the rows of a normal matrix with fewer rows than columns: their span is uniformly distributed, as
  // that of the QR decomposition with its signs put right. Each row is cleared of the others twice, which keeps it
  // orthogonal to the last digits.
  const std::int64_t count = std::min(rows, columns), width = std::max(rows, columns);
  std::vector<double> q = randn({count, width}).to_vector();
  const auto row = [&](std::int64_t i) { return q.data() + i * width; };
  const auto dot = [&](const double* a, const double* b) {
    double sum = 0;
    for (std::int64_t k = 0; k < width; ++k) sum += a[k] * b[k];
    return sum;
  };
  for (std::int64_t i = 0; i < count; ++i) {
    for (int pass = 0; pass < 2; ++pass)
      for (std::int64_t j = 0; j < i; ++j) {
        const double part = dot(row(i), row(j));
        for (std::int64_t k = 0; k < width; ++k) row(i)[k] -= part * row(j)[k];
      }
    const double length = std::sqrt(dot(row(i), row(i)));
    for (std::int64_t k = 0; k < width; ++k) row(i)[k] /= length;
  }
  return fill(tensor, [&](const Shape& sizes) {
    const Tensor flat = amp::tensor(q, {count, width});
    return (rows > columns ? flat.t().contiguous() : flat).mul_(gain).view(sizes);
  });
}

const Tensor& sparse_(const Tensor& tensor, double sparsity, double std) {
  require_dims(tensor, tensor.dim() == 2, "sparse_", "2 dims");
  normal_(tensor, 0, std);
  const no_grad quiet;
  const auto zeros = static_cast<std::size_t>(std::ceil(sparsity * static_cast<double>(tensor.size(0))));
  for (std::int64_t column = 0; column < tensor.size(1); ++column) {
    const std::vector<double> order = randperm(tensor.size(0)).to_vector();
    for (std::size_t i = 0; i < std::min(zeros, order.size()); ++i)
      tensor.select(0, static_cast<std::int64_t>(order[i])).select(0, column).fill_(0);
  }
  return tensor;
}

Fans fans(const Tensor& weight) {
  if (weight.dim() < 2)
    fail(ErrorCode::value, "init", "fan in and fan out need a tensor of 2 or more dims: got " + describe(weight));
  const std::int64_t out = weight.sizes()[0], in = weight.sizes()[1];
  const std::int64_t field = out * in > 0 ? weight.numel() / (out * in) : 0;
  return {in * field, out * field};
}

double calculate_gain(std::string_view nonlinearity, std::optional<double> param) {
  if (nonlinearity == "linear" || nonlinearity == "sigmoid" || nonlinearity == "conv1d" || nonlinearity == "conv2d" ||
      nonlinearity == "conv3d" || nonlinearity == "conv_transpose1d" || nonlinearity == "conv_transpose2d" ||
      nonlinearity == "conv_transpose3d")
    return 1;
  if (nonlinearity == "tanh") return 5.0 / 3;
  if (nonlinearity == "relu") return std::sqrt(2.0);
  if (nonlinearity == "leaky_relu") {
    const double slope = param.value_or(0.01);
    return std::sqrt(2 / (1 + slope * slope));
  }
  if (nonlinearity == "selu") return 0.75;
  fail(ErrorCode::value, "calculate_gain", "unsupported nonlinearity: got '" + std::string(nonlinearity) + "'");
}

const Tensor& kaiming_uniform_(const Tensor& tensor, double a, std::string_view mode, std::string_view nonlinearity) {
  if (is_empty(tensor)) return tensor;
  const double std = calculate_gain(nonlinearity, a) / std::sqrt(fan_of(tensor, mode)), bound = std::sqrt(3.0) * std;
  return uniform_(tensor, -bound, bound);
}

const Tensor& kaiming_normal_(const Tensor& tensor, double a, std::string_view mode, std::string_view nonlinearity) {
  if (is_empty(tensor)) return tensor;
  return normal_(tensor, 0, calculate_gain(nonlinearity, a) / std::sqrt(fan_of(tensor, mode)));
}

const Tensor& xavier_uniform_(const Tensor& tensor, double gain) {
  const Fans f = fans(tensor);
  if (is_empty(tensor)) return tensor;
  const double bound = gain * std::sqrt(6 / static_cast<double>(f.in + f.out));
  return uniform_(tensor, -bound, bound);
}

const Tensor& xavier_normal_(const Tensor& tensor, double gain) {
  const Fans f = fans(tensor);
  if (is_empty(tensor)) return tensor;
  return normal_(tensor, 0, gain * std::sqrt(2 / static_cast<double>(f.in + f.out)));
}

}  // namespace amp::nn::init
