// Sparse tensors over the dense ops: reading and adding by index do the work.
#include "libamp/ops/sparse.h"

#include <algorithm>
#include <numeric>

#include "libamp/core/grad_mode.h"
#include "libamp/ops/create.h"
#include "libamp/ops/index.h"
#include "libamp/ops/join.h"
#include "libamp/ops/math.h"
#include "libamp/ops/view.h"

namespace amp {
namespace {

const SparseParts& parts(const Tensor& t, const char* where) {
  if (!t.is_sparse()) fail(ErrorCode::runtime, where, "needs a sparse tensor: got " + describe(t));
  return *t.impl()->sparse;
}

// One index tensor a sparse dim, as index and index_put take them.
Tensors index_list(const Tensor& sparse) {
  const Tensor& indices = sparse.impl()->sparse->indices;
  Tensors list;
  for (std::int64_t d = 0; d < indices.size(0); ++d) list.push_back(select(indices, 0, d));
  return list;
}

void check_indices(const Tensor& indices, const Shape& sizes) {
  const std::vector<double> values = indices.to_vector();
  const std::int64_t count = indices.size(1);
  for (std::int64_t d = 0; d < indices.size(0); ++d)
    for (std::int64_t i = 0; i < count; ++i) {
      const auto value = static_cast<std::int64_t>(values[static_cast<std::size_t>(d * count + i)]);
      if (value < 0 || value >= sizes[static_cast<int>(d)])
        fail(ErrorCode::index, "sparse_coo_tensor",
             "index out of range: got " + std::to_string(value) + " in dim " + std::to_string(d) + " of size " +
                 std::to_string(sizes[static_cast<int>(d)]));
    }
}

// Position of each entry, as if the sparse dims were one.
std::vector<std::int64_t> flat_indices(const Tensor& sparse) {
  const Tensor indices = contiguous(sparse.impl()->sparse->indices);
  const auto* data = indices.data<std::int64_t>();
  const std::int64_t count = indices.size(1);
  std::vector<std::int64_t> flat(static_cast<std::size_t>(count), 0);
  for (std::int64_t d = 0; d < indices.size(0); ++d)
    for (std::int64_t i = 0; i < count; ++i) {
      auto& f = flat[static_cast<std::size_t>(i)];
      f = f * sparse.sizes()[static_cast<int>(d)] + data[d * count + i];
    }
  return flat;
}

}  // namespace

Tensor sparse_unchecked(const Tensor& indices, const Tensor& values, const Shape& sizes, bool coalesced) {
  auto impl = std::make_shared<TensorImpl>();
  impl->storage = values.impl()->storage;
  impl->sizes = sizes;
  impl->strides = contiguous_strides(sizes);
  impl->dtype = values.dtype();
  impl->sparse = std::make_shared<SparseParts>(SparseParts{indices, values.detach(), coalesced});
  return Tensor(std::move(impl));
}

Tensor sparse_coo_tensor(const Tensor& indices, const Tensor& values, const Shape& sizes) {
  const auto refuse = [&](const std::string& need) {
    fail(ErrorCode::runtime, "sparse_coo_tensor",
         "arguments do not fit: got indices " + describe(indices) + ", values " + describe(values) + " and size " +
             to_string(sizes) + ", need " + need);
  };
  if (!indices.defined() || indices.dtype() != DType::int64 || indices.dim() != 2) refuse("int64 indices [dims, n]");
  if (!values.defined() || values.dim() == 0 || values.size(0) != indices.size(1)) refuse("one value an index");
  const int sparse_dims = static_cast<int>(indices.size(0));
  bool fits = sparse_dims > 0 && sizes.size() == sparse_dims + values.dim() - 1;
  for (int d = sparse_dims; fits && d < sizes.size(); ++d) fits = sizes[d] == values.sizes()[d - sparse_dims + 1];
  if (!fits) refuse("a size of the index dims and then the values' dims");
  check_indices(indices, sizes);
  return sparse_unchecked(indices, values, sizes);
}

Tensor with_values(const Tensor& sparse, const Tensor& values) {
  const SparseParts& own = parts(sparse, "with_values");
  return sparse_unchecked(own.indices, values, sparse.sizes(), own.coalesced);
}

Tensor coalesce(const Tensor& input) {
  const SparseParts& own = parts(input, "coalesce");
  if (own.coalesced) return input;
  const no_grad quiet;
  const std::vector<std::int64_t> flat = flat_indices(input);
  std::vector<std::int64_t> order(flat.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return flat[static_cast<std::size_t>(a)] < flat[static_cast<std::size_t>(b)];
  });
  // For each entry the place of its index among the distinct ones, and of each distinct one its first entry.
  std::vector<std::int64_t> place(flat.size()), first;
  for (const std::int64_t i : order) {
    if (first.empty() || flat[static_cast<std::size_t>(first.back())] != flat[static_cast<std::size_t>(i)])
      first.push_back(i);
    place[static_cast<std::size_t>(i)] = static_cast<std::int64_t>(first.size()) - 1;
  }
  const auto as_tensor = [](const std::vector<std::int64_t>& v) {
    return from_memory(v.data(), {static_cast<std::int64_t>(v.size())}, DType::int64);
  };
  Shape sizes = own.values.sizes();
  sizes[0] = static_cast<std::int64_t>(first.size());
  const Tensor zero = zeros(sizes, {.dtype = input.dtype(), .device = input.device()});
  return sparse_unchecked(index_select(own.indices, 1, as_tensor(first)),
                          index_add(zero, 0, as_tensor(place), own.values), input.sizes(), true);
}

Tensor to_dense(const Tensor& input) {
  const SparseParts& own = parts(input, "to_dense");
  const no_grad quiet;
  return index_put(zeros(input.sizes(), {.dtype = input.dtype(), .device = input.device()}), index_list(input),
                   own.values, true);
}

Tensor sparse_add(const Tensor& input, const Tensor& other, double alpha) {
  const no_grad quiet;
  if (!(input.sizes() == other.sizes()))
    fail(ErrorCode::runtime, "add",
         "sparse operands need equal sizes: got " + describe(input) + " and " + describe(other));
  if (!other.is_sparse())
    fail(ErrorCode::runtime, "add", "a dense tensor cannot be added to a sparse one: need add(dense, sparse)");
  const DType dtype = promote_types(input.dtype(), other.dtype());
  const SparseParts& added = *other.impl()->sparse;
  if (!input.is_sparse()) {
    const Tensor sum = input.dtype() == dtype ? clone(input) : to(input, dtype);
    add_sparse_(sum, other, alpha);
    return sum;
  }
  const SparseParts& own = *input.impl()->sparse;
  if (own.indices.size(0) != added.indices.size(0))
    fail(ErrorCode::runtime, "add",
         "sparse operands have different sparse dims: got " + describe(input) + " and " + describe(other));
  const Tensor scaled = alpha == 1 ? added.values : added.values * alpha;
  return sparse_unchecked(cat({own.indices, added.indices}, 1), cat({to(own.values, dtype), to(scaled, dtype)}, 0),
                          input.sizes());
}

void add_sparse_(const Tensor& dense, const Tensor& sparse, double alpha) {
  const SparseParts& own = parts(sparse, "add_");
  const no_grad quiet;
  const Tensor values = alpha == 1 ? own.values : own.values * alpha;
  index_put_(dense, index_list(sparse), to(values, dense.dtype()), true);
}

Tensor gather_rows(const Tensor& dense, const Tensor& sparse) {
  parts(sparse, "gather_rows");
  const no_grad quiet;
  return index(dense, index_list(sparse));
}

void set_rows_(const Tensor& dense, const Tensor& sparse, const Tensor& values) {
  if (!parts(sparse, "set_rows_").coalesced)
    fail(ErrorCode::runtime, "set_rows_", "needs a coalesced tensor: got " + describe(sparse));
  const no_grad quiet;
  index_put_(dense, index_list(sparse), to(values, dense.dtype()), false);
}

}  // namespace amp
