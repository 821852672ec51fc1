// Reductions, scans, orders and softmax of the catalogue.
#include <limits>

#include "libamp/ops/ops.h"
#include "tests/random/rows.h"

namespace amp::fuzz {
namespace {

using In = const Tensors&;
using Dtype = std::optional<DType>;

bool is_nonempty(const Shape& first, Choice&, std::vector<Want>&) { return !first.empty(); }
bool is_vector(const Shape& first, Choice&, std::vector<Want>& others) {
  if (first.size() != 1) return false;
  others = {{first, Data::real}};
  return true;
}

/// Some of the dims; empty: all.
Shape pick_dims(const Shape& sizes, Choice& c) {
  Shape dims;
  for (int d = 0; d < sizes.size(); ++d)
    if (c.chance(0.4)) dims.push_back(c.chance(0.5) ? d : d - sizes.size());
  return dims;
}

#define AMP_FUZZ_REDUCE(name, data, exact, call)                                                                       \
  rows.push_back(                                                                                                      \
      {#name, data, is_nonempty,                                                                                       \
       []([[maybe_unused]] In in, [[maybe_unused]] Choice& c, [[maybe_unused]] Dtype dtype) -> Tensor { call }, exact, \
       Result::first})

void add_sums(Rows& rows) {
  AMP_FUZZ_REDUCE(sum, Data::real, Exact::products, return sum(in[0], dtype););
  AMP_FUZZ_REDUCE(sum, Data::real, Exact::products, const Shape dims = pick_dims(in[0].sizes(), c);
                  return sum(in[0], dims, c.chance(0.5), dtype););
  AMP_FUZZ_REDUCE(mean, Data::real, Exact::products, return mean(in[0]););
  AMP_FUZZ_REDUCE(mean, Data::real, Exact::products, const Shape dims = pick_dims(in[0].sizes(), c);
                  return mean(in[0], dims, c.chance(0.5)););
  AMP_FUZZ_REDUCE(prod, Data::nonzero, Exact::products, return prod(in[0], dtype););
  AMP_FUZZ_REDUCE(prod, Data::nonzero, Exact::products, const int d = pick_dim(in[0].sizes(), c);
                  return prod(in[0], d, c.chance(0.5), dtype););
  AMP_FUZZ_REDUCE(cumsum, Data::real, Exact::products, return cumsum(in[0], pick_dim(in[0].sizes(), c), dtype););
  AMP_FUZZ_REDUCE(cumprod, Data::nonzero, Exact::products, return cumprod(in[0], pick_dim(in[0].sizes(), c), dtype););
  AMP_FUZZ_REDUCE(logsumexp, Data::real, Exact::products, const Shape dims = {pick_dim(in[0].sizes(), c)};
                  return logsumexp(in[0], dims, c.chance(0.5)););
  AMP_FUZZ_REDUCE(softmax, Data::real, Exact::products, return softmax(in[0], pick_dim(in[0].sizes(), c), dtype););
  AMP_FUZZ_REDUCE(log_softmax, Data::real, Exact::products,
                  return log_softmax(in[0], pick_dim(in[0].sizes(), c), dtype););
}

void add_spreads(Rows& rows) {
  const auto has_two = [](const Shape& first, Choice& c, std::vector<Want>&) {
    return !first.empty() && first[pick_dim(first, c)] > 1;
  };
  rows.push_back({"var", Data::real, has_two,
                  [](In in, Choice& c, Dtype) {
                    const Shape dims = {pick_dim(in[0].sizes(), c)};
                    return var(in[0], dims, static_cast<double>(c.below(2)), c.chance(0.5));
                  },
                  Exact::products, Result::first});
  rows.push_back({"std", Data::real, has_two,
                  [](In in, Choice& c, Dtype) {
                    const Shape dims = {pick_dim(in[0].sizes(), c)};
                    return std(in[0], dims, 1, c.chance(0.5));
                  },
                  Exact::products, Result::first});
  AMP_FUZZ_REDUCE(norm, Data::nonzero, Exact::products, const Shape dims = pick_dims(in[0].sizes(), c);
                  return norm(in[0], c.chance(0.5) ? 2 : 1, dims, c.chance(0.5), dtype););
  AMP_FUZZ_REDUCE(norm, Data::nonzero, Exact::products,
                  return norm(in[0], std::numeric_limits<double>::infinity(), {}, false, dtype););
  AMP_FUZZ_REDUCE(linalg_vector_norm, Data::nonzero, Exact::products, const Shape dims = pick_dims(in[0].sizes(), c);
                  return vector_norm(in[0], c.chance(0.5) ? 3 : 2, dims, c.chance(0.5), dtype););
}

void add_extremes(Rows& rows) {
  AMP_FUZZ_REDUCE(max, Data::real, Exact::bits, return max(in[0]););
  AMP_FUZZ_REDUCE(min, Data::real, Exact::bits, return min(in[0]););
  AMP_FUZZ_REDUCE(amax, Data::real, Exact::bits, const Shape dims = pick_dims(in[0].sizes(), c);
                  return amax(in[0], dims, c.chance(0.5)););
  AMP_FUZZ_REDUCE(amin, Data::real, Exact::bits, const Shape dims = pick_dims(in[0].sizes(), c);
                  return amin(in[0], dims, c.chance(0.5)););
  AMP_FUZZ_REDUCE(max_dim, Data::real, Exact::bits, const int d = pick_dim(in[0].sizes(), c);
                  return max(in[0], std::int64_t{d}, c.chance(0.5)).values;);
  AMP_FUZZ_REDUCE(min_dim, Data::real, Exact::bits, const int d = pick_dim(in[0].sizes(), c);
                  return min(in[0], std::int64_t{d}, c.chance(0.5)).values;);
  AMP_FUZZ_REDUCE(topk, Data::real, Exact::bits, const int d = pick_dim(in[0].sizes(), c);
                  const auto k = 1 + c.below(in[0].size(d)); return topk(in[0], k, d, c.chance(0.5)).values;);
  AMP_FUZZ_REDUCE(sort, Data::real, Exact::bits, const int d = pick_dim(in[0].sizes(), c);
                  return sort(in[0], d, c.chance(0.5)).values;);
  rows.push_back({"argmax", Data::real, is_nonempty,
                  [](In in, Choice& c, Dtype) { return argmax(in[0], pick_dim(in[0].sizes(), c)); }, Exact::bits,
                  Result::index});
  rows.push_back({"argmin", Data::real, is_nonempty, [](In in, Choice&, Dtype) { return argmin(in[0]); }, Exact::bits,
                  Result::index});
  rows.push_back(
      {"all", Data::real, is_nonempty, [](In in, Choice&, Dtype) { return all(in[0]); }, Exact::bits, Result::boolean});
  rows.push_back({"any", Data::real, is_nonempty,
                  [](In in, Choice& c, Dtype) { return any(in[0], {pick_dim(in[0].sizes(), c)}); }, Exact::bits,
                  Result::boolean});
}

void add_vectors(Rows& rows) {
  rows.push_back({"dot", Data::real, is_vector, [](In in, Choice&, Dtype) { return dot(in[0], in[1]); },
                  Exact::products, Result::promoted, Mixed::refuses});
  rows.push_back({"vdot", Data::real, is_vector, [](In in, Choice&, Dtype) { return vdot(in[0], in[1]); },
                  Exact::products, Result::promoted, Mixed::refuses});
  rows.push_back({"cross", Data::real,
                  [](const Shape& first, Choice&, std::vector<Want>& others) {
                    if (first.empty() || first.back() != 3) return false;
                    others = {{first, Data::real}};
                    return true;
                  },
                  [](In in, Choice&, Dtype) { return cross(in[0], in[1]); }, Exact::products, Result::promoted,
                  Mixed::unknown});
}

}  // namespace

void add_reduce_rows(Rows& rows) {
  add_sums(rows);
  add_spreads(rows);
  add_extremes(rows);
  add_vectors(rows);
}

}  // namespace amp::fuzz
