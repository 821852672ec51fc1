// A second, independent statement of autocast's rules: written from PyTorch's documentation and registrations as lists
// of names, sharing nothing with libamp's decision but the types. What libamp does is compared with what this says.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "libamp/base/words.h"

namespace amp::fuzz {

struct Region {
  Policy policy = Policy::cpu;
  DType fast = DType::bfloat16;
};

struct Prediction {
  bool refused = false;            ///< the call is an error: banned, or types that promotion does not take
  std::optional<DType> operands;   ///< floating operands other than float64 are converted to it
  std::optional<DType> attribute;  ///< the op is asked for this dtype=
};

/// What a region does to a call of `op` with operands of these types, in order of the signature.
/// voters: so many operands decide where types are promoted (optional ones do not).
Prediction predict(std::string_view op, Region region, const std::vector<DType>& operands, std::size_t voters);

/// The type that operands with these types and numbers of dims meet in without autocast; floating and bool only.
DType meet(const std::vector<DType>& types, const std::vector<int>& dims);

}  // namespace amp::fuzz
