// A table of vectors, read by row number.
#pragma once
#include <optional>

#include "libamp/nn/module.h"

namespace amp::nn {

/// Options of Embedding, in the order of PyTorch's arguments.
struct EmbeddingOptions {
  /// A row that starts as zeros and gets no gradient; negative numbers count from the end.
  std::optional<std::int64_t> padding_idx = {};
  /// Rows that are read and whose norm is larger are scaled down to it, in place and before they are read.
  std::optional<double> max_norm = {};
  double norm_type = 2;
  /// The table's gradient is sparse: only the rows that were read (see ops/sparse.h; SGD, Adagrad and SparseAdam take
  /// it).
  bool sparse = false;
};

/// Rows of a table [num_embeddings, embedding_dim] that starts normal(0, 1). input: int64 of any shape.
/// `nn::Embedding(10, 3, {.padding_idx = 0})`
class Embedding : public Module {
 public:
  /// Throws Error(value) for a padding_idx that is no row.
  Embedding(std::int64_t num_embeddings, std::int64_t embedding_dim, const EmbeddingOptions& options = {});
  /// A layer with this table [rows, width]; freeze: it is not trained.
  static Embedding from_pretrained(const Tensor& embeddings, bool freeze = true, const EmbeddingOptions& options = {});
  Tensor forward(const Tensor& input) override;
  Tensor weight;

 private:
  Embedding(const Tensor& table, const EmbeddingOptions& options);
  void limit_norms(const Tensor& input) const;

  EmbeddingOptions options_;
  std::int64_t padding_row_ = -1;
};

}  // namespace amp::nn
