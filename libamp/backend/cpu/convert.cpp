// The conversion loops and the choice between them.
#include "libamp/backend/cpu/convert.h"

#include <immintrin.h>

#include <cmath>
#include <cstring>

#include "libamp/dispatch/backend.h"

namespace amp::cpu {
namespace {

struct Paths {
  const char* name;
  void (*half_to_float)(const Half*, float*, std::int64_t);
  void (*float_to_half)(const float*, Half*, std::int64_t);
  void (*bfloat16_to_float)(const BFloat16*, float*, std::int64_t);
  void (*float_to_bfloat16)(const float*, BFloat16*, std::int64_t);
};

template <typename To, typename From>
void convert_scalar(const From* in, To* out, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = convert_element<To>(in[i]);
}
constexpr Paths kScalar = {"scalar", convert_scalar<float, Half>, convert_scalar<Half, float>,
                           convert_scalar<float, BFloat16>, convert_scalar<BFloat16, float>};

__attribute__((target("avx2,f16c"))) void half_to_float_avx2(const Half* in, float* out, std::int64_t n) {
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i))));
  convert_scalar(in + i, out + i, n - i);
}
__attribute__((target("avx2,f16c"))) void float_to_half_avx2(const float* in, Half* out, std::int64_t n) {
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  convert_scalar(in + i, out + i, n - i);
}
__attribute__((target("avx2"))) void bfloat16_to_float_avx2(const BFloat16* in, float* out, std::int64_t n) {
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i)));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), _mm256_slli_epi32(wide, 16));
  }
  convert_scalar(in + i, out + i, n - i);
}
// Round to nearest even by adding half of the last kept bit, minus one where the kept bit is even; NaN keeps a bit.
__attribute__((target("avx2"))) void float_to_bfloat16_avx2(const float* in, BFloat16* out, std::int64_t n) {
  const __m256i one = _mm256_set1_epi32(1), bias = _mm256_set1_epi32(0x7fff), quiet = _mm256_set1_epi32(0x7fc0);
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m256 value = _mm256_loadu_ps(in + i);
    const __m256i bits = _mm256_castps_si256(value);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), one);
    __m256i rounded = _mm256_srli_epi32(_mm256_add_epi32(bits, _mm256_add_epi32(bias, odd)), 16);
    const __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_UNORD_Q));
    rounded = _mm256_blendv_epi8(rounded, quiet, is_nan);
    const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(rounded, rounded), 0x08);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), _mm256_castsi256_si128(packed));
  }
  convert_scalar(in + i, out + i, n - i);
}
constexpr Paths kAvx2 = {"avx2+f16c", half_to_float_avx2, float_to_half_avx2, bfloat16_to_float_avx2,
                         float_to_bfloat16_avx2};

__attribute__((target("avx512f"))) void half_to_float_avx512(const Half* in, float* out, std::int64_t n) {
  std::int64_t i = 0;
  for (; i + 16 <= n; i += 16)
    _mm512_storeu_ps(out + i, _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(in + i))));
  convert_scalar(in + i, out + i, n - i);
}
__attribute__((target("avx512f"))) void float_to_half_avx512(const float* in, Half* out, std::int64_t n) {
  std::int64_t i = 0;
  for (; i + 16 <= n; i += 16)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i),
                        _mm512_cvtps_ph(_mm512_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  convert_scalar(in + i, out + i, n - i);
}
constexpr Paths kAvx512 = {"avx512", half_to_float_avx512, float_to_half_avx512, bfloat16_to_float_avx2,
                           float_to_bfloat16_avx2};

bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c"); }
bool has_avx512() { return __builtin_cpu_supports("avx512f") && has_avx2(); }

const Paths* best() { return has_avx512() ? &kAvx512 : has_avx2() ? &kAvx2 : &kScalar; }
const Paths*& paths() {
  static const Paths* chosen = best();
  return chosen;
}

// What rounding `in` to a narrow type loses: non-zero to zero, and finite out of range.
template <typename To, typename C>
void count_loss(const C* in, std::int64_t n) {
  std::uint64_t to_zero = 0, to_inf = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto narrow = static_cast<float>(convert_element<To>(in[i]));
    if (narrow == 0 && in[i] != C(0)) ++to_zero;
    if (!std::isfinite(narrow) && std::isfinite(static_cast<double>(in[i]))) ++to_inf;
  }
  add_rounding_loss(to_zero, to_inf);
}

}  // namespace

void half_to_float(const Half* in, float* out, std::int64_t n) { paths()->half_to_float(in, out, n); }
void float_to_half(const float* in, Half* out, std::int64_t n) {
  if (counting_rounding()) count_loss<Half>(in, n);
  paths()->float_to_half(in, out, n);
}
void bfloat16_to_float(const BFloat16* in, float* out, std::int64_t n) { paths()->bfloat16_to_float(in, out, n); }
void float_to_bfloat16(const float* in, BFloat16* out, std::int64_t n) {
  if (counting_rounding()) count_loss<BFloat16>(in, n);
  paths()->float_to_bfloat16(in, out, n);
}

const char* conversion_path() noexcept { return paths()->name; }
bool set_conversion_path(const char* path) noexcept {
  for (const Paths* candidate : {&kScalar, &kAvx2, &kAvx512}) {
    if (std::strcmp(candidate->name, path) != 0) continue;
    if ((candidate == &kAvx2 && !has_avx2()) || (candidate == &kAvx512 && !has_avx512())) return false;
    paths() = candidate;
    return true;
  }
  return false;
}

template <typename C>
void load_as(const void* data, DType dtype, std::int64_t offset, std::int64_t step, std::int64_t n, C* out) {
  dispatch_dtype(dtype, [&]<typename T>(TypeTag<T>) {
    const T* in = static_cast<const T*>(data) + offset;
    if constexpr (std::is_same_v<C, float> && std::is_same_v<T, Half>) {
      if (step == 1) return half_to_float(in, out, n);
    } else if constexpr (std::is_same_v<C, float> && std::is_same_v<T, BFloat16>) {
      if (step == 1) return bfloat16_to_float(in, out, n);
    }
    for (std::int64_t i = 0; i < n; ++i) out[i] = convert_element<C>(in[i * step]);
  });
}

template <typename C>
void store_from(void* data, DType dtype, std::int64_t offset, std::int64_t step, std::int64_t n, const C* in) {
  dispatch_dtype(dtype, [&]<typename T>(TypeTag<T>) {
    T* out = static_cast<T*>(data) + offset;
    if constexpr (std::is_same_v<C, float> && std::is_same_v<T, Half>) {
      if (step == 1) return float_to_half(in, out, n);
    } else if constexpr (std::is_same_v<C, float> && std::is_same_v<T, BFloat16>) {
      if (step == 1) return float_to_bfloat16(in, out, n);
    }
    if constexpr (kIsNarrowFloat<T>) {
      if (counting_rounding()) count_loss<T>(in, n);
    }
    for (std::int64_t i = 0; i < n; ++i) out[i * step] = convert_element<T>(in[i]);
  });
}

template void load_as<float>(const void*, DType, std::int64_t, std::int64_t, std::int64_t, float*);
template void load_as<double>(const void*, DType, std::int64_t, std::int64_t, std::int64_t, double*);
template void load_as<std::int64_t>(const void*, DType, std::int64_t, std::int64_t, std::int64_t, std::int64_t*);
template void store_from<float>(void*, DType, std::int64_t, std::int64_t, std::int64_t, const float*);
template void store_from<double>(void*, DType, std::int64_t, std::int64_t, std::int64_t, const double*);
template void store_from<std::int64_t>(void*, DType, std::int64_t, std::int64_t, std::int64_t, const std::int64_t*);

}  // namespace amp::cpu
