// What the normalisations share: checks of dtypes, sums in fixed order, moments of a stretch.
#pragma once
#include "libamp/backend/cpu/dense.h"
#include "libamp/backend/cpu/lanes.h"

namespace amp::cpu {

/// Scale and shift must have the input's dtype; a half type input may have float32 ones, as PyTorch allows.
inline void require_norm_dtypes(const OpCall& call, const Tensor& input,
                                std::initializer_list<const Tensor*> parameters) {
  const bool half = is_floating(input.dtype()) && size_of(input.dtype()) == 2;
  for (const Tensor* t : parameters)
    if (t->defined() && t->dtype() != input.dtype() && !(half && t->dtype() == DType::float32))
      call.fail("parameters must have the input's dtype (or float32 with a half precision input): got input " +
                describe(input) + " and " + describe(*t));
}

/// Dtype of saved means and inverse deviations.
inline DType moment_dtype(DType input) { return input == DType::float64 ? DType::float64 : DType::float32; }

}  // namespace amp::cpu
