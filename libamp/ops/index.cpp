// User-facing indexing.
#include "libamp/ops/index.h"

#include "libamp/dispatch/run_op.h"
#include "libamp/ops/create.h"
#include "libamp/ops/reduce.h"
#include "libamp/ops/view.h"

namespace amp {
namespace {

Tensor run1(OpId op, Tensors inputs, Attributes attributes) {
  return run_op1({op, std::move(inputs), std::move(attributes), {}});
}

// A mask covers the dims of `indexed` from `first` on. What goes beyond the last dim is left to the count of indices.
void check_mask(const Tensor& mask, std::size_t number, const Tensor& indexed, int first, const char* where) {
  for (int d = 0; d < mask.dim() && first + d < indexed.dim(); ++d)
    if (mask.size(d) != indexed.size(first + d))
      fail(ErrorCode::index, where,
           "The shape of the mask " + to_string(mask.sizes()) + " at index " + std::to_string(number) +
               " does not match the shape of the indexed tensor " + to_string(indexed.sizes()) + " at index " +
               std::to_string(first + d));
}

// Bool masks become one int64 index tensor for each of their dims.
Tensors plain_indices(const Tensor& indexed, const Tensors& indices, const char* where) {
  Tensors plain;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const Tensor& index = indices[i];
    if (index.defined() && is_floating(index.dtype()))
      fail(ErrorCode::index, where, "an index has the wrong dtype: got " + describe(index) + ", need int64 or bool");
    if (!index.defined() || index.dtype() != DType::bool_) {
      plain.push_back(index.defined() && index.dtype() != DType::int64 ? index.to(DType::int64) : index);
      continue;
    }
    check_mask(index, i, indexed, static_cast<int>(plain.size()), where);
    const Tensor positions = nonzero(index);
    for (int d = 0; d < index.dim(); ++d) plain.push_back(select(positions, 1, d));
  }
  return plain;
}

Tensors with_indices(Tensors operands, const Tensors& indices, const char* where) {
  const Tensors plain = plain_indices(operands[0], indices, where);
  operands.insert(operands.end(), plain.begin(), plain.end());
  return operands;
}

}  // namespace

Tensor index(const Tensor& input, const Tensors& indices) {
  return run1(OpId::index, with_indices({input}, indices, "index"), {});
}
Tensor index_put(const Tensor& input, const Tensors& indices, const Tensor& values, bool accumulate) {
  return run1(OpId::index_put, with_indices({input, values}, indices, "index_put"), {{"accumulate", accumulate}});
}
const Tensor& index_put_(const Tensor& input, const Tensors& indices, const Tensor& values, bool accumulate) {
  run_op1({OpId::index_put, with_indices({input, values}, indices, "index_put_"), {{"accumulate", accumulate}}, input});
  return input;
}

Tensor gather(const Tensor& input, std::int64_t dim, const Tensor& index) {
  return run1(OpId::gather, {input, index}, {{"dim", dim}});
}
Tensor scatter(const Tensor& input, std::int64_t dim, const Tensor& index, const Tensor& src) {
  return run1(OpId::scatter, {input, index, src}, {{"dim", dim}});
}
Tensor scatter(const Tensor& input, std::int64_t dim, const Tensor& index, double value) {
  return scatter(input, dim, index, full(index.sizes(), value, {.dtype = input.dtype(), .device = input.device()}));
}
Tensor scatter_add(const Tensor& input, std::int64_t dim, const Tensor& index, const Tensor& src) {
  return run1(OpId::scatter_add, {input, index, src}, {{"dim", dim}});
}
Tensor index_select(const Tensor& input, std::int64_t dim, const Tensor& index) {
  return run1(OpId::index_select, {input, index}, {{"dim", dim}});
}
Tensor index_copy(const Tensor& input, std::int64_t dim, const Tensor& index, const Tensor& source) {
  return run1(OpId::index_copy, {input, index, source}, {{"dim", dim}});
}
Tensor index_add(const Tensor& input, std::int64_t dim, const Tensor& index, const Tensor& source) {
  return run1(OpId::index_add, {input, index, source}, {{"dim", dim}});
}

Tensor embedding(const Tensor& weight, const Tensor& indices, std::int64_t padding_idx, bool sparse) {
  Attributes attributes{{"padding_idx", padding_idx}};
  if (sparse) attributes.set("sparse", true);
  return run1(OpId::embedding, {weight, indices}, std::move(attributes));
}
Tensor embedding_dense_backward(const Tensor& grad, const Tensor& indices, std::int64_t num_weights,
                                std::int64_t padding_idx) {
  return run1(OpId::embedding_dense_backward, {grad, indices},
              {{"num_weights", num_weights}, {"padding_idx", padding_idx}});
}

Tensor one_hot(const Tensor& indices, std::int64_t num_classes) {
  if (num_classes < 0) num_classes = indices.numel() == 0 ? 0 : max(indices).item_as_int64() + 1;
  return run1(OpId::one_hot, {indices}, {{"num_classes", num_classes}});
}
Tensor triu(const Tensor& input, std::int64_t diagonal) { return run1(OpId::triu, {input}, {{"diagonal", diagonal}}); }
Tensor tril(const Tensor& input, std::int64_t diagonal) { return run1(OpId::tril, {input}, {{"diagonal", diagonal}}); }
Tensor nonzero(const Tensor& input) { return run1(OpId::nonzero, {input}, {}); }
Tensor masked_select(const Tensor& input, const Tensor& mask) {
  const Shape sizes = broadcast_shapes(input.sizes(), mask.sizes(), "masked_select");
  return index(expand(input, sizes), {expand(mask, sizes)});
}

}  // namespace amp
