// Bulk conversion between element types. Contiguous float <-> half types go through F16C / AVX2 / AVX-512 where the
// processor has them, chosen once at run time; every path gives the bits of base/half.h.
#pragma once
#include <cstdint>

#include "libamp/core/dtype_dispatch.h"

namespace amp::cpu {

/// The dtype whose C++ type is C, for the compute types.
template <typename C>
inline constexpr DType kDTypeOf = DType::count_;
template <>
inline constexpr DType kDTypeOf<float> = DType::float32;
template <>
inline constexpr DType kDTypeOf<double> = DType::float64;
template <>
inline constexpr DType kDTypeOf<std::int64_t> = DType::int64;

/// out[i] = element (offset + i * step) of `data`, converted to C (float, double, int64).
template <typename C>
void load_as(const void* data, DType dtype, std::int64_t offset, std::int64_t step, std::int64_t n, C* out);
/// Element (offset + i * step) of `data` = in[i], converted from C. Narrow types round to nearest even; while a
/// sampled op runs, what rounding loses is counted (dispatch/backend.h).
template <typename C>
void store_from(void* data, DType dtype, std::int64_t offset, std::int64_t step, std::int64_t n, const C* in);

/// Contiguous forms of the four hot conversions.
void half_to_float(const Half* in, float* out, std::int64_t n);
void float_to_half(const float* in, Half* out, std::int64_t n);
void bfloat16_to_float(const BFloat16* in, float* out, std::int64_t n);
void float_to_bfloat16(const float* in, BFloat16* out, std::int64_t n);

/// The instruction set chosen: "avx512", "avx2+f16c" or "scalar".
const char* conversion_path() noexcept;
/// Forces a path by that name, for tests; false if the processor lacks it.
bool set_conversion_path(const char* path) noexcept;

}  // namespace amp::cpu
