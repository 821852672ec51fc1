// Scaled dot product attention.
#pragma once
#include <optional>

#include "libamp/core/tensor.h"

namespace amp {

/// softmax(query key^T * scale + mask) value, as torch.nn.functional.scaled_dot_product_attention. Listed low
/// precision. query [..., queries, width], key [..., keys, width], value [..., keys, value width]; leading dims
/// broadcast. attn_mask broadcasts to [..., queries, keys]: numbers are added to the scores, of a bool mask false
/// hides. is_causal: query i sees keys 0 to i; not together with a mask. scale left out: 1 / sqrt(width). enable_gqa:
/// key and value may have fewer heads (dim -3), each of which serves a group of query heads. A query that sees no key
/// gets zeros.
Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const Tensor& attn_mask = {}, double dropout_p = 0, bool is_causal = false,
                                    std::optional<double> scale = {}, bool enable_gqa = false);

}  // namespace amp
