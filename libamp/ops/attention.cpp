// Scaled dot product attention: arguments in, op call out.
#include "libamp/ops/attention.h"

#include <cmath>

#include "libamp/dispatch/run_op.h"

namespace amp {

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const Tensor& attn_mask, double dropout_p, bool is_causal,
                                    std::optional<double> scale, bool enable_gqa) {
  constexpr OpId op = OpId::scaled_dot_product_attention;
  if (query.dim() < 2 || key.dim() < 2 || value.dim() < 2)
    fail(ErrorCode::runtime, op_info(op).name,
         "operands need at least two dims: got " + describe(query) + ", " + describe(key) + " and " + describe(value));
  const double width = static_cast<double>(std::max<std::int64_t>(1, query.size(-1)));
  return run_op1({op,
                  {query, key, value, attn_mask},
                  {{"dropout_p", dropout_p},
                   {"is_causal", is_causal},
                   {"scale", scale.value_or(1 / std::sqrt(width))},
                   {"enable_gqa", enable_gqa}},
                  {}});
}

}  // namespace amp
