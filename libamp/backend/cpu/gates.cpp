// The loops of gates.h. Written once as plain loops without branches, and compiled for three vector widths: a step of
// a small layer spends as long in its exponentials as in its matrix product.
#include "libamp/backend/cpu/gates.h"

#include "libamp/backend/cpu/vector_exp.h"

namespace amp::cpu {
namespace {

#define AMP_INLINE __attribute__((always_inline)) inline

template <typename C>
AMP_INLINE C sigmoid_of(C x) {
  return C(1) / (C(1) + vector_exp(-x));
}

// Near 0 by a polynomial (coefficients as in Cephes' tanhf), else by the exponential: within 3 units in the last place.
AMP_INLINE float tanh_of(float x) {
  const float magnitude = x < 0 ? -x : x, square = x * x;
  float p = -5.70498872745e-3f;
  p = p * square + 2.06390887954e-2f;
  p = p * square - 5.37397155531e-2f;
  p = p * square + 1.33314422036e-1f;
  p = p * square - 3.33332819422e-1f;
  const float near = p * square * x + x;
  const float small = vector_exp(-2.0f * magnitude);
  const float far = (1.0f - small) / (1.0f + small);
  const float signed_far = x < 0 ? -far : far;
  return magnitude < 0.625f ? near : signed_far;
}
AMP_INLINE double tanh_of(double x) { return std::tanh(x); }

struct LstmForward {
  template <typename C>
  static AMP_INLINE void run(C* gates, const C* previous, C* cell, C* hidden, std::int64_t n) {
    C *in = gates, *forget = gates + n, *fresh = gates + 2 * n, *out = gates + 3 * n;
#pragma GCC ivdep
    for (std::int64_t i = 0; i < n; ++i) {
      const C a = sigmoid_of(in[i]), f = sigmoid_of(forget[i]), g = tanh_of(fresh[i]), o = sigmoid_of(out[i]);
      const C c = f * previous[i] + a * g;
      in[i] = a, forget[i] = f, fresh[i] = g, out[i] = o;
      cell[i] = c;
      hidden[i] = o * tanh_of(c);
    }
  }
};

struct LstmBackward {
  template <typename C>
  static AMP_INLINE void run(const C* gates, const C* previous, const C* cell, const C* d_hidden, C* d_cell, C* d_gates,
                             std::int64_t n) {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < n; ++i) {
      const C a = gates[i], f = gates[n + i], g = gates[2 * n + i], o = gates[3 * n + i], t = tanh_of(cell[i]);
      const C dc = d_cell[i] + d_hidden[i] * o * (C(1) - t * t);
      d_gates[i] = dc * g * a * (C(1) - a);
      d_gates[n + i] = dc * previous[i] * f * (C(1) - f);
      d_gates[2 * n + i] = dc * a * (C(1) - g * g);
      d_gates[3 * n + i] = d_hidden[i] * t * o * (C(1) - o);
      d_cell[i] = dc * f;
    }
  }
};

struct GruForward {
  template <typename C>
  static AMP_INLINE void run(C* gates, const C* of_hidden, const C* previous, C* hidden, std::int64_t n) {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < n; ++i) {
      const C r = sigmoid_of(gates[i] + of_hidden[i]), u = sigmoid_of(gates[n + i] + of_hidden[n + i]);
      const C kept = of_hidden[2 * n + i], fresh = tanh_of(gates[2 * n + i] + r * kept);
      gates[i] = r, gates[n + i] = u, gates[2 * n + i] = fresh, gates[3 * n + i] = kept;
      hidden[i] = fresh + u * (previous[i] - fresh);
    }
  }
};

struct GruBackward {
  template <typename C>
  static AMP_INLINE void run(const C* gates, const C* previous, C* d_hidden, C* d_input, C* d_of_hidden,
                             std::int64_t n) {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < n; ++i) {
      const C r = gates[i], u = gates[n + i], fresh = gates[2 * n + i], kept = gates[3 * n + i], d = d_hidden[i];
      const C d_fresh = d * (C(1) - u) * (C(1) - fresh * fresh);
      const C d_reset = d_fresh * kept * r * (C(1) - r);
      const C d_update = d * (previous[i] - fresh) * u * (C(1) - u);
      d_input[i] = d_reset, d_input[n + i] = d_update, d_input[2 * n + i] = d_fresh;
      d_of_hidden[i] = d_reset, d_of_hidden[n + i] = d_update, d_of_hidden[2 * n + i] = d_fresh * r;
      d_hidden[i] = d * u;
    }
  }
};

struct TanhForward {
  template <typename C>
  static AMP_INLINE void run(C* values, std::int64_t n) {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < n; ++i) values[i] = tanh_of(values[i]);
  }
};

template <typename Loop, typename... A>
void plain(A... arguments) {
  Loop::run(arguments...);
}
template <typename Loop, typename... A>
__attribute__((target("avx2,fma"), flatten)) void avx2(A... arguments) {
  Loop::run(arguments...);
}
template <typename Loop, typename... A>
__attribute__((target("avx512f,avx512dq,prefer-vector-width=512"), flatten)) void avx512(A... arguments) {
  Loop::run(arguments...);
}

#define AMP_KERNELS(C, path) \
  { path<LstmForward>, path<LstmBackward>, path<GruForward>, path<GruBackward>, path<TanhForward> }

constexpr CellKernels<double> kDouble = AMP_KERNELS(double, plain);
constexpr CellKernels<float> kPlain = AMP_KERNELS(float, plain), kAvx2 = AMP_KERNELS(float, avx2),
                             kAvx512 = AMP_KERNELS(float, avx512);

const CellKernels<float>& best() {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) return kAvx512;
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? kAvx2 : kPlain;
}

}  // namespace

template <>
const CellKernels<float>& cell_kernels<float>() noexcept {
  static const CellKernels<float>& chosen = best();
  return chosen;
}
template <>
const CellKernels<double>& cell_kernels<double>() noexcept {
  return kDouble;
}

}  // namespace amp::cpu
