// Softmax, nll_loss and cross_entropy: arguments in, op calls out.
#include "libamp/ops/softmax.h"

#include "libamp/dispatch/run_op.h"
#include "libamp/ops/math.h"

namespace amp {
namespace {

Tensor softmax_op(OpId op, const Tensor& input, std::int64_t dim, std::optional<DType> dtype) {
  Attributes attributes{{"dim", dim}};
  if (dtype) attributes.set("dtype", *dtype);
  return run_op1({op, {input}, attributes, {}});
}

std::string checked_reduction(OpId op, std::string_view reduction) {
  if (reduction != "mean" && reduction != "sum" && reduction != "none")
    fail(ErrorCode::value, op_info(op).name,
         "unknown reduction: got '" + std::string(reduction) + "', need 'mean', 'sum' or 'none'");
  return std::string(reduction);
}

}  // namespace

Tensor softmax(const Tensor& input, std::int64_t dim, std::optional<DType> dtype) {
  return softmax_op(OpId::softmax, input, dim, dtype);
}
Tensor log_softmax(const Tensor& input, std::int64_t dim, std::optional<DType> dtype) {
  return softmax_op(OpId::log_softmax, input, dim, dtype);
}
Tensor softmin(const Tensor& input, std::int64_t dim, std::optional<DType> dtype) {
  return softmax(-input, dim, dtype);
}

Tensor nll_loss(const Tensor& input, const Tensor& target, const Tensor& weight, std::int64_t ignore_index,
                std::string_view reduction) {
  return run_op1({OpId::nll_loss,
                  {input, target, weight},
                  {{"reduction", checked_reduction(OpId::nll_loss, reduction)}, {"ignore_index", ignore_index}},
                  {}});
}

Tensor cross_entropy(const Tensor& input, const Tensor& target, const Tensor& weight, std::int64_t ignore_index,
                     std::string_view reduction, double label_smoothing) {
  return run_op1({OpId::cross_entropy_loss,
                  {input, target, weight},
                  {{"reduction", checked_reduction(OpId::cross_entropy_loss, reduction)},
                   {"ignore_index", ignore_index},
                   {"label_smoothing", label_smoothing}},
                  {}});
}

}  // namespace amp
