// User-facing joins and splits.
#include "libamp/ops/join.h"

#include <algorithm>

#include "libamp/dispatch/run_op.h"
#include "libamp/ops/view.h"

namespace amp {

Tensor cat(const Tensors& tensors, std::int64_t dim) { return run_op1({OpId::cat, tensors, {{"dim", dim}}, {}}); }
Tensor stack(const Tensors& tensors, std::int64_t dim) { return run_op1({OpId::stack, tensors, {{"dim", dim}}, {}}); }

Tensors split(const Tensor& input, std::int64_t size, std::int64_t dim) {
  const std::int64_t length = input.size(dim);
  if (size < 0 || (size == 0 && length > 0))
    fail(ErrorCode::runtime, "split",
         "split size out of range: got " + std::to_string(size) + " for " + describe(input));
  Tensors parts;
  for (std::int64_t start = 0; start < length; start += size)
    parts.push_back(narrow(input, dim, start, std::min(size, length - start)));
  if (length == 0) parts.push_back(input);
  return parts;
}

Tensors split(const Tensor& input, const Shape& sizes, std::int64_t dim) {
  Tensors parts;
  std::int64_t start = 0;
  for (const auto size : sizes) {
    if (size < 0 || start + size > input.size(dim)) break;
    parts.push_back(narrow(input, dim, start, size));
    start += size;
  }
  if (static_cast<int>(parts.size()) != sizes.size() || start != input.size(dim))
    fail(ErrorCode::runtime, "split",
         "sizes must sum to the size of dim " + std::to_string(dim) + ": got " + to_string(sizes) + " for " +
             describe(input));
  return parts;
}

Tensors chunk(const Tensor& input, std::int64_t chunks, std::int64_t dim) {
  if (chunks <= 0) fail(ErrorCode::runtime, "chunk", "need at least one chunk: got " + std::to_string(chunks));
  const std::int64_t length = input.size(dim);
  return split(input, std::max<std::int64_t>(1, (length + chunks - 1) / chunks), dim);
}

Tensors unbind(const Tensor& input, std::int64_t dim) {
  Tensors parts;
  for (std::int64_t i = 0; i < input.size(dim); ++i) parts.push_back(select(input, dim, i));
  return parts;
}

}  // namespace amp
