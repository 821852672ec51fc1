// Norm-based distances. p: order of the norm; infinity is allowed.
#pragma once
#include "libamp/core/tensor.h"

namespace amp {

/// norm(input - other, p), one number.
Tensor dist(const Tensor& input, const Tensor& other, double p = 2);
/// x1 [..., P, M], x2 [..., R, M] -> [..., P, R]: distance of each row of x1 to each of x2. float32 and float64.
Tensor cdist(const Tensor& x1, const Tensor& x2, double p = 2);
/// input [N, M] -> [N (N - 1) / 2]: distances of the row pairs (0, 1), (0, 2), ... float32 and float64.
Tensor pdist(const Tensor& input, double p = 2);
/// norm(x1 - x2 + eps, p) over the last dim.
Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, double p = 2, double eps = 1e-6, bool keepdim = false);
/// x1 . x2 / (max(|x1|, eps) max(|x2|, eps)) along dim
Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, std::int64_t dim = 1, double eps = 1e-8);
/// Scales slices along dim whose norm exceeds maxnorm down to it.
Tensor renorm(const Tensor& input, double p, std::int64_t dim, double maxnorm);
/// input / max(norm(input, p) along dim, eps)
Tensor normalize(const Tensor& input, double p = 2, std::int64_t dim = 1, double eps = 1e-12);

}  // namespace amp
