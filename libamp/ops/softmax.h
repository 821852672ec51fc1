// Softmax and the losses built on it.
#pragma once
#include <optional>
#include <string_view>

#include "libamp/core/tensor.h"

namespace amp {

// Float32 results under CUDA's rules, unless dtype is given; the input is converted while it is read.
Tensor softmax(const Tensor& input, std::int64_t dim, std::optional<DType> dtype = {});
Tensor log_softmax(const Tensor& input, std::int64_t dim, std::optional<DType> dtype = {});
/// softmax(-input)
Tensor softmin(const Tensor& input, std::int64_t dim, std::optional<DType> dtype = {});

/// input: log probabilities [classes], [batch, classes] or [batch, classes, d...]; target: int64 class indices without
/// the class dim; weight [classes] or undefined. reduction: "mean" (over the weights that count), "sum", "none".
/// Float32 under both devices' rules.
Tensor nll_loss(const Tensor& input, const Tensor& target, const Tensor& weight = {}, std::int64_t ignore_index = -100,
                std::string_view reduction = "mean");
/// nll_loss of log_softmax over the class dim. target: class indices, or probabilities of the input's shape.
/// Under CUDA's rules it is not listed itself, but what it consists of is; under the CPU's it is float32. As in PyTorch
/// the log_softmax inside is asked for in the input's dtype, so half precision logits give half precision
/// log probabilities even there.
Tensor cross_entropy(const Tensor& input, const Tensor& target, const Tensor& weight = {},
                     std::int64_t ignore_index = -100, std::string_view reduction = "mean", double label_smoothing = 0);

}  // namespace amp
