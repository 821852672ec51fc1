// The lists of predict.h. PyTorch 2.11: aten/src/ATen/autocast_mode.h, and its documented lists of ops.
#include "tests/random/predict.h"

#include <algorithm>
#include <set>

namespace amp::fuzz {
namespace {

using Names = std::set<std::string_view>;

const Names kCudaLower = {"conv1d",
                          "conv2d",
                          "conv3d",
                          "conv_transpose1d",
                          "conv_transpose2d",
                          "conv_transpose3d",
                          "addmm",
                          "addmv",
                          "addr",
                          "addbmm",
                          "baddbmm",
                          "matmul",
                          "mm",
                          "mv",
                          "bmm",
                          "linear",
                          "einsum",
                          "chain_matmul",
                          "linalg_multi_dot",
                          "linalg_vecdot",
                          "lstm_cell",
                          "gru_cell",
                          "rnn_tanh_cell",
                          "rnn_relu_cell",
                          "prelu",
                          "scaled_dot_product_attention"};
const Names kCudaFloat = {"acos",
                          "asin",
                          "cosh",
                          "erfinv",
                          "exp",
                          "expm1",
                          "log",
                          "log10",
                          "log2",
                          "log1p",
                          "reciprocal",
                          "rsqrt",
                          "sinh",
                          "tan",
                          "softplus",
                          "pow",
                          "rpow",
                          "layer_norm",
                          "group_norm",
                          "frobenius_norm",
                          "nuclear_norm",
                          "renorm",
                          "dist",
                          "pdist",
                          "cdist",
                          "cosine_similarity",
                          "poisson_nll_loss",
                          "cosine_embedding_loss",
                          "nll_loss",
                          "hinge_embedding_loss",
                          "kl_div",
                          "l1_loss",
                          "smooth_l1_loss",
                          "huber_loss",
                          "mse_loss",
                          "margin_ranking_loss",
                          "multilabel_margin_loss",
                          "soft_margin_loss",
                          "triplet_margin_loss",
                          "multi_margin_loss",
                          "binary_cross_entropy_with_logits",
                          "logsumexp",
                          "upsample_nearest1d",
                          "upsample_nearest2d",
                          "upsample_nearest3d",
                          "upsample_linear1d",
                          "upsample_bilinear2d",
                          "upsample_trilinear3d",
                          "upsample_bicubic2d"};
const Names kCudaSetDtype = {"prod",   "softmax", "log_softmax",        "cumprod",
                             "cumsum", "sum",     "linalg_vector_norm", "linalg_matrix_norm"};
const Names kCudaPromote = {"addcdiv", "addcmul",      "atan2",     "bilinear",  "cross",      "dot",
                            "vdot",    "grid_sampler", "index_put", "tensordot", "scatter_add"};
const Names kCpuLower = {"conv1d",
                         "conv2d",
                         "conv3d",
                         "conv_transpose1d",
                         "conv_transpose2d",
                         "conv_transpose3d",
                         "bmm",
                         "mm",
                         "baddbmm",
                         "addmm",
                         "addbmm",
                         "linear",
                         "linalg_vecdot",
                         "matmul",
                         "prelu",
                         "scaled_dot_product_attention"};
const Names kCpuFloat = {"avg_pool3d",
                         "max_pool3d",
                         "adaptive_avg_pool3d",
                         "adaptive_max_pool3d",
                         "grid_sampler",
                         "prod",
                         "cdist",
                         "trace",
                         "binary_cross_entropy",
                         "mse_loss",
                         "cosine_embedding_loss",
                         "nll_loss",
                         "hinge_embedding_loss",
                         "poisson_nll_loss",
                         "smooth_l1_loss",
                         "cross_entropy_loss",
                         "l1_loss",
                         "huber_loss",
                         "margin_ranking_loss",
                         "soft_margin_loss",
                         "triplet_margin_loss",
                         "multi_margin_loss",
                         "ctc_loss",
                         "kl_div",
                         "multilabel_margin_loss",
                         "binary_cross_entropy_with_logits"};
const Names kCpuPromote = {"stack", "cat", "index_copy"};

bool is_touched(DType type) { return is_floating(type) && type != DType::float64; }

Prediction promote(DType fast, const std::vector<DType>& operands, std::size_t voters) {
  Prediction prediction;
  DType widest = fast;
  for (std::size_t i = 0; i < std::min(voters, operands.size()); ++i) {
    if (!is_touched(operands[i])) continue;
    const bool is_wide = widest == DType::float32 || operands[i] == DType::float32;
    if (!is_wide && (widest != fast || operands[i] != fast)) {
      prediction.refused = true;
      return prediction;
    }
    if (is_wide) widest = DType::float32;
  }
  prediction.operands = widest;
  return prediction;
}

}  // namespace

Prediction predict(std::string_view op, Region region, const std::vector<DType>& operands, std::size_t voters) {
  Prediction prediction;
  const bool first_touched = !operands.empty() && is_touched(operands[0]);
  if (region.policy == Policy::cpu) {
    if (kCpuLower.contains(op)) prediction.operands = region.fast;
    if (kCpuFloat.contains(op)) prediction.operands = DType::float32;
    if (kCpuPromote.contains(op)) return promote(region.fast, operands, voters);
    return prediction;
  }
  if (kCudaLower.contains(op)) prediction.operands = region.fast;
  if (kCudaFloat.contains(op)) prediction.operands = DType::float32;
  if (kCudaPromote.contains(op)) return promote(region.fast, operands, voters);
  if (kCudaSetDtype.contains(op) && first_touched) prediction.attribute = DType::float32;
  if (op == "norm" && !operands.empty()) prediction.attribute = first_touched ? DType::float32 : operands[0];
  if (op == "binary_cross_entropy") prediction.refused = true;
  return prediction;
}

DType meet(const std::vector<DType>& types, const std::vector<int>& dims) {
  // Operands with dims outrank numbers without, as long as both are floating.
  DType best[2] = {DType::bool_, DType::bool_};  // with dims, without
  for (std::size_t i = 0; i < types.size(); ++i) {
    DType& into = best[dims[i] == 0 ? 1 : 0];
    if (!is_floating(types[i])) continue;
    if (!is_floating(into)) {
      into = types[i];
    } else if (into != types[i]) {
      const bool is_double = into == DType::float64 || types[i] == DType::float64;
      into = is_double ? DType::float64 : DType::float32;  // of two halves, too
    }
  }
  return is_floating(best[0]) ? best[0] : best[1];
}

}  // namespace amp::fuzz
