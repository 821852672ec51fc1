// Pointwise rows of the catalogue.
#include "libamp/ops/ops.h"
#include "tests/random/rows.h"

namespace amp::fuzz {
namespace {

using In = const Tensors&;
using Dtype = std::optional<DType>;

template <Data kOther>
bool broadcast(const Shape& first, Choice& choice, std::vector<Want>& others) {
  others = {{pick_broadcast(first, choice), kOther}};
  return true;
}
template <Data kOther>
bool two_more(const Shape& first, Choice& choice, std::vector<Want>& others) {
  others = {{pick_broadcast(first, choice), Data::real}, {pick_broadcast(first, choice), kOther}};
  return true;
}
bool channel_weight(const Shape& first, Choice& choice, std::vector<Want>& others) {
  if (first.size() < 2) return false;
  others = {{{choice.chance(0.5) ? 1 : first[1]}, Data::real}};
  return true;
}

#define AMP_FUZZ_UNARY(name, data, exact) \
  rows.push_back({#name, data, nullptr, [](In in, Choice&, Dtype) { return name(in[0]); }, exact})
#define AMP_FUZZ_BINARY(name, data, other, exact) \
  rows.push_back({#name, data, broadcast<other>, [](In in, Choice&, Dtype) { return name(in[0], in[1]); }, exact})
#define AMP_FUZZ_COMPARE(name)                                                                                        \
  rows.push_back({#name, Data::real, broadcast<Data::real>, [](In in, Choice&, Dtype) { return name(in[0], in[1]); }, \
                  Exact::bits, Result::boolean})

void add_unary(Rows& rows) {
  AMP_FUZZ_UNARY(neg, Data::real, Exact::bits);
  AMP_FUZZ_UNARY(abs, Data::nonzero, Exact::bits);
  AMP_FUZZ_UNARY(sign, Data::nonzero, Exact::bits);
  AMP_FUZZ_UNARY(floor, Data::real, Exact::bits);
  AMP_FUZZ_UNARY(ceil, Data::real, Exact::bits);
  AMP_FUZZ_UNARY(round, Data::real, Exact::bits);
  AMP_FUZZ_UNARY(trunc, Data::real, Exact::bits);
  AMP_FUZZ_UNARY(relu, Data::real, Exact::bits);
  AMP_FUZZ_UNARY(sqrt, Data::positive, Exact::once);
  AMP_FUZZ_UNARY(sin, Data::real, Exact::once);
  AMP_FUZZ_UNARY(cos, Data::real, Exact::once);
  AMP_FUZZ_UNARY(atan, Data::real, Exact::once);
  AMP_FUZZ_UNARY(erf, Data::real, Exact::once);
  AMP_FUZZ_UNARY(tan, Data::unit, Exact::once);
  AMP_FUZZ_UNARY(acos, Data::unit, Exact::once);
  AMP_FUZZ_UNARY(asin, Data::unit, Exact::once);
  AMP_FUZZ_UNARY(erfinv, Data::unit, Exact::once);
  AMP_FUZZ_UNARY(cosh, Data::unit, Exact::once);
  AMP_FUZZ_UNARY(sinh, Data::real, Exact::once);
  AMP_FUZZ_UNARY(exp, Data::real, Exact::once);
  AMP_FUZZ_UNARY(expm1, Data::real, Exact::once);
  AMP_FUZZ_UNARY(log, Data::positive, Exact::once);
  AMP_FUZZ_UNARY(log10, Data::positive, Exact::once);
  AMP_FUZZ_UNARY(log2, Data::positive, Exact::once);
  AMP_FUZZ_UNARY(log1p, Data::positive, Exact::once);
  AMP_FUZZ_UNARY(reciprocal, Data::nonzero, Exact::once);
  AMP_FUZZ_UNARY(rsqrt, Data::positive, Exact::once);
  AMP_FUZZ_UNARY(sigmoid, Data::real, Exact::once);
  AMP_FUZZ_UNARY(tanh, Data::real, Exact::once);
  AMP_FUZZ_UNARY(silu, Data::real, Exact::once);
  AMP_FUZZ_UNARY(log_sigmoid, Data::real, Exact::once);
  AMP_FUZZ_UNARY(softplus, Data::real, Exact::once);
  AMP_FUZZ_UNARY(elu, Data::real, Exact::once);
  AMP_FUZZ_UNARY(leaky_relu, Data::real, Exact::once);
}

void add_binary(Rows& rows) {
  AMP_FUZZ_BINARY(add, Data::real, Data::real, Exact::once);
  AMP_FUZZ_BINARY(sub, Data::real, Data::real, Exact::once);
  AMP_FUZZ_BINARY(mul, Data::real, Data::real, Exact::once);
  AMP_FUZZ_BINARY(div, Data::real, Data::nonzero, Exact::once);
  AMP_FUZZ_BINARY(maximum, Data::real, Data::real, Exact::bits);
  AMP_FUZZ_BINARY(minimum, Data::real, Data::real, Exact::bits);
  AMP_FUZZ_BINARY(atan2, Data::nonzero, Data::nonzero, Exact::once);
  AMP_FUZZ_BINARY(xlogy, Data::real, Data::positive, Exact::once);
  AMP_FUZZ_COMPARE(eq);
  AMP_FUZZ_COMPARE(ne);
  AMP_FUZZ_COMPARE(lt);
  AMP_FUZZ_COMPARE(le);
  AMP_FUZZ_COMPARE(gt);
  AMP_FUZZ_COMPARE(ge);
  AMP_FUZZ_COMPARE(logical_and);
  AMP_FUZZ_COMPARE(logical_or);
  AMP_FUZZ_COMPARE(logical_xor);
}

void add_others(Rows& rows) {
  rows.push_back({"add", Data::real, broadcast<Data::real>,
                  [](In in, Choice& c, Dtype) { return add(in[0], in[1], c.chance(0.5) ? 0.5 : -2.0); }});
  rows.push_back({"mul", Data::real, nullptr, [](In in, Choice& c, Dtype) { return in[0] * (c.real() * 2 - 1); }});
  rows.push_back({"gelu", Data::real, nullptr,
                  [](In in, Choice& c, Dtype) { return gelu(in[0], c.chance(0.5) ? "tanh" : "none"); }});
  rows.push_back(
      {"clamp", Data::real, nullptr, [](In in, Choice&, Dtype) { return clamp(in[0], -0.75, 0.5); }, Exact::bits});
  rows.push_back(
      {"pow", Data::positive, nullptr, [](In in, Choice& c, Dtype) { return pow(in[0], c.chance(0.5) ? 3.0 : 0.75); }});
  rows.push_back(
      {"pow", Data::positive, broadcast<Data::unit>, [](In in, Choice&, Dtype) { return pow(in[0], in[1]); }});
  rows.push_back({"rpow", Data::real, nullptr, [](In in, Choice&, Dtype) { return pow(1.5, in[0]); }});
  rows.push_back({"prelu", Data::real, channel_weight, [](In in, Choice&, Dtype) { return prelu(in[0], in[1]); },
                  Exact::once, Result::promoted, Mixed::unknown});
  rows.push_back({"addcmul", Data::real, two_more<Data::real>,
                  [](In in, Choice&, Dtype) { return addcmul(in[0], in[1], in[2], 0.5); }, Exact::products});
  rows.push_back({"addcdiv", Data::real, two_more<Data::nonzero>,
                  [](In in, Choice&, Dtype) { return addcdiv(in[0], in[1], in[2], 0.5); }, Exact::products});
  rows.push_back({"where", Data::real,
                  [](const Shape& first, Choice& c, std::vector<Want>& others) {
                    others = {{pick_broadcast(first, c), Data::real}, {first, Data::mask}};
                    return true;
                  },
                  [](In in, Choice&, Dtype) { return where(in[2], in[0], in[1]); }, Exact::bits});
  rows.push_back({"masked_fill", Data::real, broadcast<Data::mask>,
                  [](In in, Choice&, Dtype) { return masked_fill(in[0], in[1], 0.25); }, Exact::bits, Result::first});
  rows.push_back({"logical_not", Data::real, nullptr, [](In in, Choice&, Dtype) { return logical_not(in[0]); },
                  Exact::bits, Result::boolean});
  rows.push_back(
      {"isnan", Data::real, nullptr, [](In in, Choice&, Dtype) { return isnan(in[0]); }, Exact::bits, Result::boolean});
  rows.push_back(
      {"isinf", Data::real, nullptr, [](In in, Choice&, Dtype) { return isinf(in[0]); }, Exact::bits, Result::boolean});
  rows.push_back({"isfinite", Data::real, nullptr, [](In in, Choice&, Dtype) { return isfinite(in[0]); }, Exact::bits,
                  Result::boolean});
}

// In-place forms, on a copy: regions leave them alone, also those of listed ops, and the type stays.
void add_in_place(Rows& rows) {
  const auto push = [&rows](const char* op, auto need, auto run, Exact exact) {
    rows.push_back({op, Data::real, need, run, exact, Result::first});
  };
  push(
      "add_", broadcast<Data::real>, [](In in, Choice&, Dtype) { return clone(in[0]).add_(in[1], 0.5); }, Exact::once);
  push(
      "mul_", broadcast<Data::real>, [](In in, Choice&, Dtype) { return clone(in[0]).mul_(in[1]); }, Exact::once);
  push(
      "div_", broadcast<Data::nonzero>, [](In in, Choice&, Dtype) { return clone(in[0]).div_(in[1]); }, Exact::once);
  push(
      "addcmul_", two_more<Data::real>, [](In in, Choice&, Dtype) { return addcmul_(clone(in[0]), in[1], in[2], 0.5); },
      Exact::products);
  push(
      "addcdiv_", two_more<Data::nonzero>,
      [](In in, Choice&, Dtype) { return addcdiv_(clone(in[0]), in[1], in[2], 0.5); }, Exact::products);
  push(
      "masked_fill_", broadcast<Data::mask>,
      [](In in, Choice&, Dtype) { return masked_fill_(clone(in[0]), in[1], 0.25); }, Exact::bits);
  push(
      "relu_", nullptr, [](In in, Choice&, Dtype) { return relu_(clone(in[0])); }, Exact::bits);
  push(
      "copy_", broadcast<Data::real>, [](In in, Choice&, Dtype) { return clone(in[0]).copy_(in[1]); }, Exact::once);
}

}  // namespace

void add_pointwise_rows(Rows& rows) {
  add_unary(rows);
  add_binary(rows);
  add_others(rows);
  add_in_place(rows);
}

}  // namespace amp::fuzz
