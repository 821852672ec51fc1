// Packing and padding, both as one selection of rows, so that gradients flow.
#include "libamp/nn/packed_sequence.h"

#include <algorithm>
#include <numeric>

#include "libamp/ops/create.h"
#include "libamp/ops/index.h"
#include "libamp/ops/join.h"
#include "libamp/ops/view.h"

namespace amp::nn {
namespace {

Tensor indices(const std::vector<std::int64_t>& values) {
  return from_memory(values.data(), {static_cast<std::int64_t>(values.size())}, DType::int64);
}

// Steps and batch as one dim of rows.
Tensor as_rows(const Tensor& t) {
  Shape sizes = t.sizes();
  sizes.erase(0);
  sizes[0] = -1;
  return reshape(t, sizes);
}

std::vector<std::int64_t> values_of(const Tensor& t) {
  const Tensor flat = contiguous(t);
  const auto* data = flat.data<std::int64_t>();
  return {data, data + flat.numel()};
}

}  // namespace

PackedSequence pack_padded_sequence(const Tensor& input, const std::vector<std::int64_t>& lengths, bool batch_first,
                                    bool enforce_sorted) {
  constexpr const char* kName = "pack_padded_sequence";
  if (input.dim() < 2) fail(ErrorCode::runtime, kName, "input needs 2 dims or more: got " + describe(input));
  const Tensor padded = batch_first ? transpose(input, 0, 1) : input;
  const std::int64_t steps = padded.size(0), batch = padded.size(1);
  if (static_cast<std::int64_t>(lengths.size()) != batch || batch == 0)
    fail(ErrorCode::runtime, kName,
         "need one length for each sequence: got " + std::to_string(lengths.size()) + " for " + describe(input));
  for (const std::int64_t length : lengths)
    if (length < 1 || length > steps)
      fail(ErrorCode::runtime, kName,
           "a length does not fit: got " + std::to_string(length) + ", need 1 to " + std::to_string(steps));
  std::vector<std::int64_t> order(lengths.size()), back(lengths.size());
  std::iota(order.begin(), order.end(), 0);
  const auto longer = [&](std::int64_t a, std::int64_t b) { return lengths[a] > lengths[b]; };
  if (enforce_sorted && !std::is_sorted(order.begin(), order.end(), longer))
    fail(ErrorCode::runtime, kName, "lengths must not increase: need sorted sequences, or enforce_sorted = false");
  std::stable_sort(order.begin(), order.end(), longer);
  for (std::size_t i = 0; i < order.size(); ++i) back[order[i]] = static_cast<std::int64_t>(i);
  std::vector<std::int64_t> batch_sizes, rows;
  for (std::int64_t t = 0; t < lengths[order[0]]; ++t) {
    const std::size_t before = rows.size();
    for (const std::int64_t b : order)
      if (lengths[b] > t) rows.push_back(t * batch + b);
    batch_sizes.push_back(static_cast<std::int64_t>(rows.size() - before));
  }
  return {index_select(as_rows(padded), 0, indices(rows)), indices(batch_sizes),
          enforce_sorted ? Tensor() : indices(order), enforce_sorted ? Tensor() : indices(back)};
}

std::pair<Tensor, std::vector<std::int64_t>> pad_packed_sequence(const PackedSequence& sequence, bool batch_first,
                                                                 double padding_value, std::int64_t total_length) {
  const std::vector<std::int64_t> batch_sizes = values_of(sequence.batch_sizes);
  const std::int64_t longest = static_cast<std::int64_t>(batch_sizes.size());
  if (longest == 0) fail(ErrorCode::value, "pad_packed_sequence", "the sequence is empty");
  const std::int64_t steps = total_length > 0 ? total_length : longest, batch = batch_sizes[0];
  if (steps < longest)
    fail(ErrorCode::value, "pad_packed_sequence",
         "total_length is less than the longest sequence: got " + std::to_string(total_length) + ", need " +
             std::to_string(longest));
  // One row of padding below the data, for the places where there is none.
  Shape row_sizes = sequence.data.sizes();
  row_sizes[0] = 1;
  const Tensor padding = full(row_sizes, padding_value, {.dtype = sequence.data.dtype()});
  std::vector<std::int64_t> order(static_cast<std::size_t>(batch));
  std::iota(order.begin(), order.end(), 0);
  if (sequence.unsorted_indices.defined()) order = values_of(sequence.unsorted_indices);
  std::vector<std::int64_t> rows, lengths(order.size(), 0);
  std::int64_t first = 0;
  for (std::int64_t t = 0; t < steps; ++t) {
    const std::int64_t going_on = t < longest ? batch_sizes[t] : 0;
    for (std::size_t b = 0; b < order.size(); ++b) {
      const bool there = order[b] < going_on;
      rows.push_back(there ? first + order[b] : sequence.data.size(0));
      lengths[b] += there ? 1 : 0;
    }
    first += going_on;
  }
  Shape sizes = sequence.data.sizes();
  sizes[0] = batch;
  sizes.insert(0, steps);
  const Tensor padded = reshape(index_select(cat({sequence.data, padding}, 0), 0, indices(rows)), sizes);
  return {batch_first ? transpose(padded, 0, 1) : padded, lengths};
}

Tensor pad_sequence(const Tensors& sequences, bool batch_first, double padding_value) {
  if (sequences.empty()) fail(ErrorCode::runtime, "pad_sequence", "there is no sequence: need at least one");
  std::int64_t longest = 0;
  for (const Tensor& t : sequences) longest = std::max(longest, t.size(0));
  Tensors padded;
  for (const Tensor& t : sequences) {
    Shape rest = t.sizes();
    rest[0] = longest - t.size(0);
    padded.push_back(rest[0] == 0 ? t : cat({t, full(rest, padding_value, {.dtype = t.dtype()})}, 0));
  }
  return stack(padded, batch_first ? 0 : 1);
}

PackedSequence pack_sequence(const Tensors& sequences, bool enforce_sorted) {
  std::vector<std::int64_t> lengths;
  for (const Tensor& t : sequences) lengths.push_back(t.size(0));
  return pack_padded_sequence(pad_sequence(sequences), lengths, false, enforce_sorted);
}

}  // namespace amp::nn
