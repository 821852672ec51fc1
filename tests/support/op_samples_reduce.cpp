// Sample calls of reductions, scans, orders and distances.
#include <limits>

#include "tests/support/op_sample_row.h"

namespace amp::test {

std::vector<OpSample> reduce_samples() {
  return {
      AMP_SAMPLE_METHOD(sum, sum(a[0]), a[0].sum(), any({3, 4})),
      AMP_SAMPLE_METHOD(sum, sum(a[0], {0, 2}, true), a[0].sum({0, 2}, true), any({3, 4, 2})),
      AMP_SAMPLE_METHOD(mean, mean(a[0], {1}), a[0].mean({1}), any({3, 4})),
      AMP_SAMPLE(var, var(a[0], {1}), any({3, 4})),
      AMP_SAMPLE(std, amp::std(a[0], {1}), any({3, 4})),
      AMP_SAMPLE(prod, prod(a[0]), positive({3, 4})),
      AMP_SAMPLE(prod, prod(a[0], 1), positive({3, 4})),
      AMP_SAMPLE(cumsum, cumsum(a[0], 1), any({3, 4})),
      AMP_SAMPLE(cumprod, cumprod(a[0], 0), positive({3, 4})),
      AMP_SAMPLE(norm, norm(a[0]), any({3, 4})),
      AMP_SAMPLE(norm, norm(a[0], 1, {1}, true), any({3, 4})),
      AMP_SAMPLE(linalg_vector_norm, vector_norm(a[0], 3, {1}), any({3, 4})),
      AMP_SAMPLE(logsumexp, logsumexp(a[0], {1}), any({3, 4})),
      AMP_SAMPLE(max, max(a[0]), any({3, 4})),
      AMP_SAMPLE(min, min(a[0]), any({3, 4})),
      AMP_SAMPLE(amax, amax(a[0], {1}), any({3, 4})),
      AMP_SAMPLE(amin, amin(a[0], {1}), any({3, 4})),
      AMP_SAMPLE(max_dim, max(a[0], 1), any({3, 4})),
      AMP_SAMPLE(min_dim, min(a[0], 1), any({3, 4})),
      AMP_SAMPLE_METHOD(argmax, argmax(a[0], 1), a[0].argmax(1), any({3, 4})),
      AMP_SAMPLE(argmin, argmin(a[0], 1), any({3, 4})),
      AMP_SAMPLE(all, all(a[0], {1}), mask({3, 4})),
      AMP_SAMPLE(any, amp::any(a[0], {1}), mask({3, 4})),
      AMP_SAMPLE(topk, topk(a[0], 2, 1), any({3, 4})),
      AMP_SAMPLE(sort, sort(a[0], 1, true), any({3, 4})),
      AMP_SAMPLE(dot, dot(a[0], a[1]), any({8}), any({8})),
      AMP_SAMPLE(vdot, vdot(a[0], a[1]), any({8}), any({8})),
      AMP_SAMPLE(cross, cross(a[0], a[1]), any({4, 3}), any({4, 3})),
      // -- distances
      AMP_SAMPLE(dist, dist(a[0], a[1]), any({3, 4}), any({3, 4})),
      AMP_SAMPLE(cdist, cdist(a[0], a[1]), any({2, 3, 4}), any({2, 5, 4})),
      AMP_SAMPLE(pdist, pdist(a[0]), any({4, 3})),
      AMP_SAMPLE(cosine_similarity, cosine_similarity(a[0], a[1]), any({3, 5}), any({3, 5})),
      AMP_SAMPLE(renorm, renorm(a[0], 2, 0, 1), any({3, 5})),
  };
}

}  // namespace amp::test
