// The normalisation layers.
#include "libamp/nn/norms.h"

#include "libamp/core/grad_mode.h"
#include "libamp/core/observer.h"
#include "libamp/core/step_clock.h"
#include "libamp/dispatch/announce.h"
#include "libamp/nn/new_parameter.h"
#include "libamp/ops/norm.h"
#include "libamp/ops/view.h"

namespace amp::nn {
namespace {

// What a forward pass has made of a buffer, by the path of the module that runs.
void announce_buffer(const Tensor& buffer, const char* name) {
  if (!buffer.defined()) return;
  const StringId path = observe::intern(std::string(observe::text(context().module_path)) + name);
  announce::tensor_stats(buffer, path, TensorRole::buffer, OpId::batch_norm);
}

}  // namespace

LayerNorm::LayerNorm(const Shape& normalized_shape, double eps, bool elementwise_affine, bool with_bias)
    : normalized_shape_(normalized_shape), eps_(eps) {
  if (!elementwise_affine) return;
  weight = register_parameter("weight", new_ones(normalized_shape));
  if (with_bias) bias = register_parameter("bias", new_zeros(normalized_shape));
}
Tensor LayerNorm::forward(const Tensor& input) { return layer_norm(input, normalized_shape_, weight, bias, eps_); }

GroupNorm::GroupNorm(std::int64_t num_groups, std::int64_t num_channels, double eps, bool affine)
    : num_groups_(num_groups), eps_(eps) {
  if (num_groups < 1 || num_channels % num_groups != 0)
    fail(ErrorCode::value, "GroupNorm",
         "channels must be divisible by groups: got " + std::to_string(num_channels) + " channels, " +
             std::to_string(num_groups) + " groups");
  if (!affine) return;
  weight = register_parameter("weight", new_ones({num_channels}));
  bias = register_parameter("bias", new_zeros({num_channels}));
}
Tensor GroupNorm::forward(const Tensor& input) { return group_norm(input, num_groups_, weight, bias, eps_); }

RMSNorm::RMSNorm(const Shape& normalized_shape, std::optional<double> eps, bool elementwise_affine)
    : normalized_shape_(normalized_shape), eps_(eps) {
  if (elementwise_affine) weight = register_parameter("weight", new_ones(normalized_shape));
}
Tensor RMSNorm::forward(const Tensor& input) { return rms_norm(input, normalized_shape_, weight, eps_); }

BatchNorm::BatchNorm(std::int64_t num_features, const BatchNormArguments& arguments) : arguments_(arguments) {
  if (arguments.affine) {
    weight = register_parameter("weight", new_ones({num_features}));
    bias = register_parameter("bias", new_zeros({num_features}));
  }
  if (!arguments.track_running_stats) return;
  running_mean = register_buffer("running_mean", new_zeros({num_features}));
  running_var = register_buffer("running_var", new_ones({num_features}));
  num_batches_tracked = register_buffer("num_batches_tracked", new_zeros({}, DType::int64));
}

Tensor BatchNorm::forward(const Tensor& input) {
  check(input);
  double factor = arguments_.momentum.value_or(0);
  if (is_training() && num_batches_tracked.defined()) {
    const no_grad quiet;
    const double batches = num_batches_tracked.item() + 1;
    num_batches_tracked.fill_(batches);
    if (!arguments_.momentum) factor = 1 / batches;
  }
  const bool own_statistics = is_training() || !running_mean.defined();
  Tensor output = batch_norm(input, running_mean, running_var, weight, bias, own_statistics, factor, arguments_.eps);
  if (is_training() && observe::active() && step_clock::sampled()) {
    announce_buffer(running_mean, ".running_mean");
    announce_buffer(running_var, ".running_var");
  }
  return output;
}

void BatchNorm1d::check(const Tensor& input) const {
  if (input.dim() != 2 && input.dim() != 3)
    fail(ErrorCode::value, "BatchNorm1d", "input must have 2 or 3 dims: got " + describe(input));
}
void BatchNorm2d::check(const Tensor& input) const {
  if (input.dim() != 4) fail(ErrorCode::value, "BatchNorm2d", "input must have 4 dims: got " + describe(input));
}
void BatchNorm3d::check(const Tensor& input) const {
  if (input.dim() != 5) fail(ErrorCode::value, "BatchNorm3d", "input must have 5 dims: got " + describe(input));
}

InstanceNorm::InstanceNorm(int spatial, std::int64_t num_features, const InstanceNormArguments& arguments)
    : spatial_(spatial), num_features_(num_features), arguments_(arguments) {
  if (arguments.affine) {
    weight = register_parameter("weight", new_ones({num_features}));
    bias = register_parameter("bias", new_zeros({num_features}));
  }
  if (!arguments.track_running_stats) return;
  running_mean = register_buffer("running_mean", new_zeros({num_features}));
  running_var = register_buffer("running_var", new_ones({num_features}));
  num_batches_tracked = register_buffer("num_batches_tracked", new_zeros({}, DType::int64));
}

Tensor InstanceNorm::forward(const Tensor& input) {
  const bool batched = input.dim() == spatial_ + 2;
  if (!batched && input.dim() != spatial_ + 1)
    fail(ErrorCode::value, "InstanceNorm",
         "input must have " + std::to_string(spatial_ + 1) + " or " + std::to_string(spatial_ + 2) + " dims: got " +
             describe(input));
  if (arguments_.affine && input.size(-spatial_ - 1) != num_features_)
    fail(ErrorCode::value, "InstanceNorm",
         "wrong number of channels: got " + describe(input) + ", need " + std::to_string(num_features_));
  const Tensor x = batched ? input : unsqueeze(input, 0);
  const bool own_statistics = is_training() || !running_mean.defined();
  const Tensor output =
      instance_norm(x, running_mean, running_var, weight, bias, own_statistics, arguments_.momentum, arguments_.eps);
  return batched ? output : squeeze(output, 0);
}

}  // namespace amp::nn
