// Reductions and scans beyond sum. dims empty: over all elements. Half inputs are accumulated in float32 or wider and
// rounded once. `dtype`: accumulate and return in that type.
#pragma once
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "libamp/core/tensor.h"

namespace amp {

struct ValuesIndices {     ///< what was found along a dim, and where
  Tensor values, indices;  // indices: int64
};

Tensor mean(const Tensor& input, std::optional<DType> dtype = {});
Tensor mean(const Tensor& input, const Shape& dims, bool keepdim = false, std::optional<DType> dtype = {});
/// correction: subtracted from the count (1: sample variance)
Tensor var(const Tensor& input, const Shape& dims = {}, double correction = 1, bool keepdim = false);
Tensor std(const Tensor& input, const Shape& dims = {}, double correction = 1, bool keepdim = false);
struct VarMean {     ///< the two of one pass
  Tensor var, mean;  // std_mean: the deviation in `var`
};
VarMean var_mean(const Tensor& input, const Shape& dims = {}, double correction = 1, bool keepdim = false);
VarMean std_mean(const Tensor& input, const Shape& dims = {}, double correction = 1, bool keepdim = false);
/// Sum and mean of what is not NaN.
Tensor nansum(const Tensor& input, const Shape& dims = {}, bool keepdim = false);
Tensor nanmean(const Tensor& input, const Shape& dims = {}, bool keepdim = false);
Tensor count_nonzero(const Tensor& input, const Shape& dims = {});  ///< int64
Tensor prod(const Tensor& input, std::optional<DType> dtype = {});
Tensor prod(const Tensor& input, std::int64_t dim, bool keepdim = false, std::optional<DType> dtype = {});
Tensor cumsum(const Tensor& input, std::int64_t dim, std::optional<DType> dtype = {});
Tensor cumprod(const Tensor& input, std::int64_t dim, std::optional<DType> dtype = {});
Tensor logcumsumexp(const Tensor& input, std::int64_t dim);
/// Running extremes and where they were last found.
ValuesIndices cummax(const Tensor& input, std::int64_t dim);
ValuesIndices cummin(const Tensor& input, std::int64_t dim);
/// Differences of neighbours along a dim, n times.
Tensor diff(const Tensor& input, std::int64_t n = 1, std::int64_t dim = -1);

/// (sum |x|^p)^(1/p); p = 0 counts non-zeros, +-infinity gives the largest or smallest |x|. torch.norm.
Tensor norm(const Tensor& input, double p = 2, const Shape& dims = {}, bool keepdim = false,
            std::optional<DType> dtype = {});
/// The same under torch.linalg's name and argument order.
Tensor vector_norm(const Tensor& input, double ord = 2, const Shape& dims = {}, bool keepdim = false,
                   std::optional<DType> dtype = {});
Tensor logsumexp(const Tensor& input, const Shape& dims, bool keepdim = false);

/// Over all elements, or over dims; equal extremes share the gradient. NaN wins.
Tensor max(const Tensor& input);
Tensor min(const Tensor& input);
Tensor amax(const Tensor& input, const Shape& dims = {}, bool keepdim = false);
Tensor amin(const Tensor& input, const Shape& dims = {}, bool keepdim = false);
/// Along one dim, with where it was found (the first of equals); that one gets the gradient.
ValuesIndices max(const Tensor& input, std::int64_t dim, bool keepdim = false);
ValuesIndices min(const Tensor& input, std::int64_t dim, bool keepdim = false);
/// Without dim: index into the flattened input. int64.
Tensor argmax(const Tensor& input, std::optional<std::int64_t> dim = {}, bool keepdim = false);
Tensor argmin(const Tensor& input, std::optional<std::int64_t> dim = {}, bool keepdim = false);
Tensor all(const Tensor& input, const Shape& dims = {}, bool keepdim = false);  ///< bool
Tensor any(const Tensor& input, const Shape& dims = {}, bool keepdim = false);

/// The k largest (or smallest) along a dim, in order.
ValuesIndices topk(const Tensor& input, std::int64_t k, std::int64_t dim = -1, bool largest = true);
/// Stable; NaN counts as largest.
ValuesIndices sort(const Tensor& input, std::int64_t dim = -1, bool descending = false);

Tensor argsort(const Tensor& input, std::int64_t dim = -1, bool descending = false);  ///< the indices of sort
/// Smallest and largest of all.
std::pair<Tensor, Tensor> aminmax(const Tensor& input);
/// The k-th smallest (from 1) of each slice, and where.
ValuesIndices kthvalue(const Tensor& input, std::int64_t k, std::int64_t dim = -1, bool keepdim = false);
/// The lower of the middle two. NaN: median is NaN, nanmedian leaves it out.
Tensor median(const Tensor& input);
ValuesIndices median(const Tensor& input, std::int64_t dim, bool keepdim = false);
Tensor nanmedian(const Tensor& input);
ValuesIndices nanmedian(const Tensor& input, std::int64_t dim, bool keepdim = false);
/// The value below which a share q lies; between elements by `interpolation`: linear, lower, higher, nearest, midpoint.
/// Several q make a new first dim. float32 and float64; float32 under the CPU's rules.
Tensor quantile(const Tensor& input, double q, std::optional<std::int64_t> dim = {}, bool keepdim = false,
                std::string_view interpolation = "linear");
Tensor quantile(const Tensor& input, const Tensor& q, std::optional<std::int64_t> dim = {}, bool keepdim = false,
                std::string_view interpolation = "linear");
Tensor nanquantile(const Tensor& input, double q, std::optional<std::int64_t> dim = {}, bool keepdim = false,
                   std::string_view interpolation = "linear");
Tensor nanquantile(const Tensor& input, const Tensor& q, std::optional<std::int64_t> dim = {}, bool keepdim = false,
                   std::string_view interpolation = "linear");
/// How often each of 0, 1, ... occurs in a 1-dim int64 tensor; or the sums of weights.
Tensor bincount(const Tensor& input, const Tensor& weights = {}, std::int64_t minlength = 0);

// Products of vectors. Promoted to the widest type under CUDA's rules.
Tensor dot(const Tensor& input, const Tensor& tensor);
Tensor vdot(const Tensor& input, const Tensor& other);
/// Vector product of 3-element slices along dim.
Tensor cross(const Tensor& input, const Tensor& other, std::int64_t dim = -1);

}  // namespace amp
