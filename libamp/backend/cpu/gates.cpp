// The loops of gates.h: plain loops without branches, which the compiler vectorises. A step of a small layer spends as
// long in its exponentials as in its matrix product.
#include "libamp/backend/cpu/gates.h"

#include "libamp/backend/cpu/vector_math.h"

namespace amp::cpu {

template <typename C>
void lstm_forward(C* gates, const C* previous, C* cell, C* hidden, std::int64_t n) {
  C *in = gates, *forget = gates + n, *fresh = gates + 2 * n, *out = gates + 3 * n;
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) {
    const C a = vector_sigmoid(in[i]), f = vector_sigmoid(forget[i]), g = vector_tanh(fresh[i]),
            o = vector_sigmoid(out[i]);
    const C c = f * previous[i] + a * g;
    in[i] = a, forget[i] = f, fresh[i] = g, out[i] = o;
    cell[i] = c;
    hidden[i] = o * vector_tanh(c);
  }
}

template <typename C>
void lstm_backward(const C* gates, const C* previous, const C* cell, const C* d_hidden, C* d_cell, C* d_gates,
                   std::int64_t n) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) {
    const C a = gates[i], f = gates[n + i], g = gates[2 * n + i], o = gates[3 * n + i], t = vector_tanh(cell[i]);
    const C dc = d_cell[i] + d_hidden[i] * o * (C(1) - t * t);
    d_gates[i] = dc * g * a * (C(1) - a);
    d_gates[n + i] = dc * previous[i] * f * (C(1) - f);
    d_gates[2 * n + i] = dc * a * (C(1) - g * g);
    d_gates[3 * n + i] = d_hidden[i] * t * o * (C(1) - o);
    d_cell[i] = dc * f;
  }
}

template <typename C>
void gru_forward(C* gates, const C* of_hidden, const C* previous, C* hidden, std::int64_t n) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) {
    const C r = vector_sigmoid(gates[i] + of_hidden[i]), u = vector_sigmoid(gates[n + i] + of_hidden[n + i]);
    const C kept = of_hidden[2 * n + i], fresh = vector_tanh(gates[2 * n + i] + r * kept);
    gates[i] = r, gates[n + i] = u, gates[2 * n + i] = fresh, gates[3 * n + i] = kept;
    hidden[i] = fresh + u * (previous[i] - fresh);
  }
}

template <typename C>
void gru_backward(const C* gates, const C* previous, C* d_hidden, C* d_input, C* d_of_hidden, std::int64_t n) {
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

template <typename C>
void tanh_forward(C* values, std::int64_t n) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) values[i] = vector_tanh(values[i]);
}

template void lstm_forward<float>(float*, const float*, float*, float*, std::int64_t);
template void lstm_backward<float>(const float*, const float*, const float*, const float*, float*, float*,
                                   std::int64_t);
template void gru_forward<float>(float*, const float*, const float*, float*, std::int64_t);
template void gru_backward<float>(const float*, const float*, float*, float*, float*, std::int64_t);
template void tanh_forward<float>(float*, std::int64_t);
template void lstm_forward<double>(double*, const double*, double*, double*, std::int64_t);
template void lstm_backward<double>(const double*, const double*, const double*, const double*, double*, double*,
                                    std::int64_t);
template void gru_forward<double>(double*, const double*, const double*, double*, std::int64_t);
template void gru_backward<double>(const double*, const double*, double*, double*, double*, std::int64_t);
template void tanh_forward<double>(double*, std::int64_t);

}  // namespace amp::cpu
