// Normalisations: arguments in, op calls out.
#include "libamp/ops/norm.h"

#include "libamp/core/grad_mode.h"
#include "libamp/dispatch/run_op.h"
#include "libamp/ops/reduce.h"
#include "libamp/ops/view.h"

namespace amp {
namespace {

double machine_epsilon(DType dtype) {
  switch (dtype) {
    case DType::float64:
      return 0x1p-52;
    case DType::float16:
      return 0x1p-10;
    case DType::bfloat16:
      return 0x1p-7;
    default:
      return 0x1p-23;
  }
}

// [channels] repeated for each image: [batch * channels].
Tensor repeated(const Tensor& t, std::int64_t batch) {
  return t.defined() ? reshape(expand(unsqueeze(t, 0), {batch, t.numel()}), {batch * t.numel()}) : t;
}
// The running statistics of all images, averaged back into the ones given.
void average_into(const Tensor& running, const Tensor& all, std::int64_t batch) {
  if (!running.defined()) return;
  const no_grad quiet;
  running.copy_(mean(view(all, {batch, running.numel()}), Shape{0}));
}

}  // namespace

Tensor layer_norm(const Tensor& input, const Shape& normalized_shape, const Tensor& weight, const Tensor& bias,
                  double eps) {
  return run_op1({OpId::layer_norm, {input, weight, bias}, {{"normalized_shape", normalized_shape}, {"eps", eps}}, {}});
}

std::tuple<Tensor, Tensor, Tensor> native_layer_norm(const Tensor& input, const Shape& normalized_shape,
                                                     const Tensor& weight, const Tensor& bias, double eps) {
  const Tensors out =
      run_op({OpId::layer_norm, {input, weight, bias}, {{"normalized_shape", normalized_shape}, {"eps", eps}}, {}});
  return {out[0], out[1], out[2]};
}

Tensor rms_norm(const Tensor& input, const Shape& normalized_shape, const Tensor& weight, std::optional<double> eps) {
  return run_op1({OpId::rms_norm,
                  {input, weight},
                  {{"normalized_shape", normalized_shape}, {"eps", eps.value_or(machine_epsilon(input.dtype()))}},
                  {}});
}

Tensor group_norm(const Tensor& input, std::int64_t num_groups, const Tensor& weight, const Tensor& bias, double eps) {
  return run_op1({OpId::group_norm, {input, weight, bias}, {{"num_groups", num_groups}, {"eps", eps}}, {}});
}

Tensor batch_norm(const Tensor& input, const Tensor& running_mean, const Tensor& running_var, const Tensor& weight,
                  const Tensor& bias, bool training, double momentum, double eps) {
  return run_op1({OpId::batch_norm,
                  {input, weight, bias, running_mean, running_var},
                  {{"training", training}, {"momentum", momentum}, {"eps", eps}},
                  {}});
}

Tensor instance_norm(const Tensor& input, const Tensor& running_mean, const Tensor& running_var, const Tensor& weight,
                     const Tensor& bias, bool use_input_stats, double momentum, double eps) {
  if (input.dim() < 2)
    fail(ErrorCode::runtime, "instance_norm", "needs an input [batch, channels, ...]: got " + describe(input));
  // One image whose channels are all channels of all images.
  const std::int64_t batch = input.size(0);
  Shape joined = input.sizes();
  joined[0] = 1;
  joined[1] = batch * input.size(1);
  const auto statistics = [&](const Tensor& running) {
    return running.defined() ? clone(repeated(running, batch)) : running;
  };
  const Tensor mean_all = statistics(running_mean), var_all = statistics(running_var);
  const Tensor out = batch_norm(reshape(input, joined), mean_all, var_all, repeated(weight, batch),
                                repeated(bias, batch), use_input_stats, momentum, eps);
  if (use_input_stats && input.numel() > 0) {
    average_into(running_mean, mean_all, batch);
    average_into(running_var, var_all, batch);
  }
  return view(out, input.sizes());
}

}  // namespace amp
