// User-facing distances.
#include "libamp/ops/distance.h"

#include "libamp/dispatch/run_op.h"
#include "libamp/ops/math.h"
#include "libamp/ops/pointwise.h"
#include "libamp/ops/reduce.h"
#include "libamp/ops/view.h"

namespace amp {

Tensor dist(const Tensor& input, const Tensor& other, double p) {
  return run_op1({OpId::dist, {input, other}, {{"p", p}}, {}});
}
Tensor cdist(const Tensor& x1, const Tensor& x2, double p) {
  if (p < 0) fail(ErrorCode::runtime, "cdist", "p must not be negative: got " + std::to_string(p));
  return run_op1({OpId::cdist, {x1, x2}, {{"p", p}}, {}});
}
Tensor pdist(const Tensor& input, double p) {
  if (input.dim() != 2) fail(ErrorCode::runtime, "pdist", "needs a matrix: got " + describe(input));
  if (p < 0) fail(ErrorCode::runtime, "pdist", "p must not be negative: got " + std::to_string(p));
  return run_op1({OpId::pdist, {input}, {{"p", p}}, {}});
}
Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, double p, double eps, bool keepdim) {
  return norm(x1 - x2 + eps, p, {-1}, keepdim);
}
Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, std::int64_t dim, double eps) {
  return run_op1({OpId::cosine_similarity, {x1, x2}, {{"dim", dim}, {"eps", eps}}, {}});
}
Tensor renorm(const Tensor& input, double p, std::int64_t dim, double maxnorm) {
  if (p <= 0) fail(ErrorCode::runtime, "renorm", "p must be positive: got " + std::to_string(p));
  if (maxnorm < 0) fail(ErrorCode::runtime, "renorm", "maxnorm must not be negative: got " + std::to_string(maxnorm));
  if (input.dim() < 2) fail(ErrorCode::runtime, "renorm", "needs at least 2 dims: got " + describe(input));
  return run_op1({OpId::renorm, {input}, {{"p", p}, {"dim", dim}, {"maxnorm", maxnorm}}, {}});
}
// On no list of its own: its norm is.
Tensor normalize(const Tensor& input, double p, std::int64_t dim, double eps) {
  return input / clamp(norm(input, p, {dim}, true), eps);
}

}  // namespace amp
