// Gradients of reading and writing by index: reading's gradient is adding by index, and the other way round.
#include "libamp/autograd/gradient.h"
#include "libamp/core/grad_mode.h"
#include "libamp/dispatch/run_op.h"
#include "libamp/ops/sparse.h"

namespace amp::gradients {
namespace {

Tensor zeros_of(const Shape& sizes, const Tensor& like) {
  return zeros(sizes, {.dtype = like.dtype(), .device = like.device()});
}
std::int64_t dim_of(const GradCall& g) { return g.attributes().integer("dim", 0); }

Tensors saved_indices(const GradCall& g, std::size_t first) {
  Tensors indices;
  for (std::size_t i = first; i < g.input_count(); ++i) indices.push_back(g.in(i));
  return indices;
}

}  // namespace

Tensors index(const GradCall& g) {
  Tensors result(g.input_count());
  result[0] = amp::index_put(zeros_of(g.input_sizes(0), g.grad()), saved_indices(g, 1), g.grad(), true);
  return result;
}
Tensors index_put(const GradCall& g) {
  Tensors result(g.input_count());
  const Tensors indices = saved_indices(g, 2);
  const bool accumulate = g.attributes().flag("accumulate", false);
  if (g.needs(0)) result[0] = accumulate ? g.grad() : amp::index_put(g.grad(), indices, zeros_of({}, g.grad()), false);
  if (g.needs(1)) result[1] = amp::index(g.grad(), indices);
  return result;
}

Tensors gather(const GradCall& g) {
  return {amp::scatter_add(zeros_of(g.input_sizes(0), g.grad()), dim_of(g), g.in(1), g.grad()), Tensor()};
}
Tensors scatter(const GradCall& g) {
  const Tensor index = g.in(1);
  return {g.needs(0) ? amp::scatter(g.grad(), dim_of(g), index, zeros_of(index.sizes(), g.grad())) : Tensor(), Tensor(),
          g.needs(2) ? amp::gather(g.grad(), dim_of(g), index) : Tensor()};
}
Tensors scatter_add(const GradCall& g) {
  return {g.grad(), Tensor(), g.needs(2) ? amp::gather(g.grad(), dim_of(g), g.in(1)) : Tensor()};
}

Tensors index_select(const GradCall& g) {
  return {amp::index_add(zeros_of(g.input_sizes(0), g.grad()), dim_of(g), reshape(g.in(1), {-1}), g.grad()), Tensor()};
}
Tensors index_copy(const GradCall& g) {
  const Tensor index = g.in(1);
  return {g.needs(0) ? amp::index_copy(g.grad(), dim_of(g), index, zeros_of(g.input_sizes(2), g.grad())) : Tensor(),
          Tensor(), g.needs(2) ? amp::index_select(g.grad(), dim_of(g), index) : Tensor()};
}
Tensors index_add(const GradCall& g) {
  return {g.grad(), Tensor(), g.needs(2) ? amp::index_select(g.grad(), dim_of(g), g.in(1)) : Tensor()};
}

namespace {

// The rows of grad where they were read; padding is left out, as in PyTorch.
Tensor sparse_embedding_gradient(const GradCall& g) {
  if (grad_mode().enabled)
    fail(ErrorCode::not_implemented, "embedding",
         "a sparse gradient cannot be differentiated again: need sparse = false, or create_graph = false");
  Tensor indices = reshape(g.in(1), {-1}), rows = reshape(g.grad(), {-1, g.input_sizes(0)[1]});
  if (const std::int64_t padding = g.attributes().integer("padding_idx", -1); padding >= 0) {
    const Tensor kept = reshape(nonzero(ne(indices, static_cast<double>(padding))), {-1});
    indices = amp::index_select(indices, 0, kept);
    rows = amp::index_select(rows, 0, kept);
  }
  return sparse_unchecked(unsqueeze(to(indices, DType::int64), 0), rows, g.input_sizes(0));
}

}  // namespace

Tensors embedding(const GradCall& g) {
  if (g.attributes().flag("sparse", false)) return {sparse_embedding_gradient(g), Tensor()};
  return {
      amp::embedding_dense_backward(g.grad(), g.in(1), g.input_sizes(0)[0], g.attributes().integer("padding_idx", -1)),
      Tensor()};
}
Tensors embedding_dense_backward(const GradCall& g) {
  const std::int64_t padding = g.attributes().integer("padding_idx", -1);
  const Tensor rows = amp::embedding(g.grad(), g.in(1));
  if (padding < 0) return {rows, Tensor()};
  return {amp::masked_fill(rows, unsqueeze(amp::eq(g.in(1), static_cast<double>(padding)), -1), 0), Tensor()};
}

Tensors triu(const GradCall& g) { return {amp::triu(g.grad(), g.attributes().integer("diagonal", 0))}; }
Tensors tril(const GradCall& g) { return {amp::tril(g.grad(), g.attributes().integer("diagonal", 0))}; }

}  // namespace amp::gradients
