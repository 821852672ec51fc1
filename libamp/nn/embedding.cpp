// The embedding layer: starting values, the padding row, limits of norms.
#include "libamp/nn/embedding.h"

#include <set>

#include "libamp/core/grad_mode.h"
#include "libamp/nn/new_parameter.h"
#include "libamp/ops/index.h"
#include "libamp/ops/reduce.h"

namespace amp::nn {

Embedding::Embedding(std::int64_t num_embeddings, std::int64_t embedding_dim, const EmbeddingOptions& options)
    : Embedding(as_weights([&] {
                  return init::normal_(empty({num_embeddings, embedding_dim}));
                }),
                options) {
  if (padding_row_ >= 0) init::constant_(weight.detach().select(0, padding_row_), 0);
}

Embedding::Embedding(const Tensor& table, const EmbeddingOptions& options) : options_(options) {
  const std::int64_t rows = table.size(0);
  if (options.padding_idx) {
    padding_row_ = *options.padding_idx < 0 ? *options.padding_idx + rows : *options.padding_idx;
    if (padding_row_ < 0 || padding_row_ >= rows)
      fail(ErrorCode::value, "Embedding",
           "padding_idx must be a row of the table: got " + std::to_string(*options.padding_idx) + " of " +
               std::to_string(rows));
  }
  weight = register_parameter("weight", table);
}

Embedding Embedding::from_pretrained(const Tensor& embeddings, bool freeze, const EmbeddingOptions& options) {
  if (embeddings.dim() != 2)
    fail(ErrorCode::value, "Embedding::from_pretrained", "need a table of 2 dims: got " + describe(embeddings));
  Embedding layer(embeddings.detach(), options);
  layer.weight.requires_grad_(!freeze);
  return layer;
}

// As torch.embedding_renorm_: rows that are larger are scaled by max_norm / (norm + 1e-7).
void Embedding::limit_norms(const Tensor& input) const {
  const no_grad quiet;
  const std::vector<double> all = input.to_vector();
  for (const double row : std::set<double>(all.begin(), all.end())) {
    const Tensor values = weight.detach().select(0, static_cast<std::int64_t>(row));
    const double norm = vector_norm(values, options_.norm_type).item();
    if (norm > *options_.max_norm) values.mul_(*options_.max_norm / (norm + 1e-7));
  }
}

Tensor Embedding::forward(const Tensor& input) {
  if (options_.max_norm) limit_norms(input);
  return embedding(weight, input, padding_row_, options_.sparse);
}

}  // namespace amp::nn
