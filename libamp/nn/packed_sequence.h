// Sequences of different lengths in one batch, without the padding: torch.nn.utils.rnn.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "libamp/core/tensor.h"

namespace amp::nn {

/// The sequences sorted by length, longest first; then step by step the elements of those that are still going on.
struct PackedSequence {
  Tensor data;                              ///< [sum of lengths, features...]
  Tensor batch_sizes;                       ///< int64 [longest length]: sequences going on in each step
  Tensor sorted_indices, unsorted_indices;  ///< int64 [batch], or undefined if they came sorted
};

/// input [steps, batch, ...], or [batch, steps, ...] if batch_first; lengths: of each sequence, 1 to steps.
/// enforce_sorted: lengths must not increase; otherwise they are sorted here. Throws Error(runtime).
PackedSequence pack_padded_sequence(const Tensor& input, const std::vector<std::int64_t>& lengths,
                                    bool batch_first = false, bool enforce_sorted = true);

/// The inverse: a padded batch in the original order, and the lengths. total_length: steps of the result, if more than
/// the longest sequence has. Throws Error(value) if it is less.
std::pair<Tensor, std::vector<std::int64_t>> pad_packed_sequence(const PackedSequence& sequence,
                                                                 bool batch_first = false, double padding_value = 0,
                                                                 std::int64_t total_length = 0);

/// Sequences [length, ...] as one padded batch [longest, sequences, ...], or [sequences, longest, ...].
Tensor pad_sequence(const Tensors& sequences, bool batch_first = false, double padding_value = 0);
/// pack_padded_sequence of sequences with different lengths.
PackedSequence pack_sequence(const Tensors& sequences, bool enforce_sorted = true);

}  // namespace amp::nn
