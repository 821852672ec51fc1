// The one switch from a run-time dtype to a C++ type, so that no body writes its own.
#pragma once
#include <type_traits>
#include <utility>

#include "libamp/base/error.h"
#include "libamp/base/half.h"
#include "libamp/base/words.h"

namespace amp {

template <typename T>
struct TypeTag {
  using type = T;
};

/// True for the narrow floating types, whose arithmetic is done in float.
template <typename T>
inline constexpr bool kIsNarrowFloat = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16> ||
                                       std::is_same_v<T, Float8E4M3FN> || std::is_same_v<T, Float8E5M2>;

/// Element conversion as PyTorch casts: floating to integer truncates, to bool is "not zero".
template <typename To, typename From>
constexpr To convert_element(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (kIsNarrowFloat<From>) {
    return convert_element<To>(static_cast<float>(value));
  } else if constexpr (kIsNarrowFloat<To>) {
    return To(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    // Through int64 where it fits: out-of-range values wrap instead of being undefined.
    constexpr From kLimit = static_cast<From>(9.2e18);
    const bool fits = value > -kLimit && value < kLimit;
    return static_cast<To>(fits ? static_cast<long long>(value) : 0LL);
  } else {
    return static_cast<To>(value);
  }
}

/// Calls f(TypeTag<T>{}) with the C++ type of `dtype`.
template <typename F>
decltype(auto) dispatch_dtype(DType dtype, F&& f) {
  switch (dtype) {
#define AMP_DTYPE(id, name, short_name, bytes, is_floating, c_type) \
  case DType::id:                                                   \
    return f(TypeTag<c_type>{});
#include "libamp/base/dtype.def"
    case DType::count_:
      break;
  }
  fail(ErrorCode::runtime, "dtype", "not a dtype");
}

}  // namespace amp
