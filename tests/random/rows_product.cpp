// Matrix products and convolutions of the catalogue.
#include "libamp/ops/ops.h"
#include "tests/random/rows.h"

namespace amp::fuzz {
namespace {

using In = const Tensors&;
using Dtype = std::optional<DType>;
using Wants = std::vector<Want>;

constexpr auto kRefuses = Mixed::refuses;

bool rows_by_columns(const Shape& first, Choice& c, Wants& others) {
  if (first.size() != 2) return false;
  others = {{{first[1], 1 + c.below(4)}, Data::real}};
  return true;
}
bool matmul_other(const Shape& first, Choice& c, Wants& others) {
  if (first.empty()) return false;
  const std::int64_t k = first.back();
  switch (c.below(3)) {
    case 0:
      others = {{{k}, Data::real}};
      return true;
    case 1:
      others = {{{2, k, 1 + c.below(3)}, Data::real}};
      return first.size() <= 2 || first[first.size() - 3] == 2 || first[first.size() - 3] == 1;
    default:
      others = {{{k, 1 + c.below(4)}, Data::real}};
      return true;
  }
}
bool linear_weight(const Shape& first, Choice& c, Wants& others) {
  if (first.empty()) return false;
  const std::int64_t out = 1 + c.below(4);
  others = {{{out, first.back()}, Data::real}, {{out}, Data::real}};
  return true;
}
bool batch_by_batch(const Shape& first, Choice& c, Wants& others) {
  if (first.size() != 3) return false;
  others = {{{first[0], first[2], 1 + c.below(3)}, Data::real}};
  return true;
}

void add_plain(Rows& rows) {
  const auto push = [&rows](const char* op, auto need, auto run) {
    rows.push_back({op, Data::real, need, run, Exact::products, Result::promoted, kRefuses});
  };
  push("matmul", matmul_other, [](In in, Choice&, Dtype) { return matmul(in[0], in[1]); });
  push("linear", linear_weight, [](In in, Choice&, Dtype) { return linear(in[0], in[1], in[2]); });
  push("mm", rows_by_columns, [](In in, Choice&, Dtype) { return mm(in[0], in[1]); });
  push("bmm", batch_by_batch, [](In in, Choice&, Dtype) { return bmm(in[0], in[1]); });
  push(
      "mv",
      [](const Shape& first, Choice&, Wants& others) {
        if (first.size() != 2) return false;
        others = {{{first[1]}, Data::real}};
        return true;
      },
      [](In in, Choice&, Dtype) { return mv(in[0], in[1]); });
}

void add_sums_of_products(Rows& rows) {
  const auto push = [&rows](const char* op, auto need, auto run) {
    rows.push_back({op, Data::real, need, run, Exact::products, Result::promoted, kRefuses});
  };
  push(
      "addmm",
      [](const Shape& first, Choice& c, Wants& others) {
        if (first.size() != 2) return false;
        const std::int64_t k = 1 + c.below(4);
        others = {{{first[0], k}, Data::real}, {{k, first[1]}, Data::real}};
        return true;
      },
      [](In in, Choice&, Dtype) { return addmm(in[0], in[1], in[2], 0.5, 2); });
  push(
      "addmv",
      [](const Shape& first, Choice& c, Wants& others) {
        if (first.size() != 1) return false;
        const std::int64_t k = 1 + c.below(4);
        others = {{{first[0], k}, Data::real}, {{k}, Data::real}};
        return true;
      },
      [](In in, Choice&, Dtype) { return addmv(in[0], in[1], in[2], 1, 0.5); });
  push(
      "addr",
      [](const Shape& first, Choice&, Wants& others) {
        if (first.size() != 2) return false;
        others = {{{first[0]}, Data::real}, {{first[1]}, Data::real}};
        return true;
      },
      [](In in, Choice&, Dtype) { return addr(in[0], in[1], in[2], 0.5, 1); });
  push(
      "addbmm",
      [](const Shape& first, Choice&, Wants& others) {
        if (first.size() != 2) return false;
        others = {{{2, first[0], 3}, Data::real}, {{2, 3, first[1]}, Data::real}};
        return true;
      },
      [](In in, Choice&, Dtype) { return addbmm(in[0], in[1], in[2]); });
  push(
      "baddbmm",
      [](const Shape& first, Choice&, Wants& others) {
        if (first.size() != 3) return false;
        others = {{{first[0], first[1], 3}, Data::real}, {{first[0], 3, first[2]}, Data::real}};
        return true;
      },
      [](In in, Choice&, Dtype) { return baddbmm(in[0], in[1], in[2], 0.5, 0.5); });
}

void add_composites(Rows& rows) {
  const auto push = [&rows](const char* op, auto need, auto run, Exact exact) {
    rows.push_back({op, Data::real, need, run, exact, Result::promoted, Mixed::unknown, true});
  };
  const auto chain = [](const Shape& first, Choice& c, Wants& others) {
    if (first.size() != 2) return false;
    const std::int64_t k = 1 + c.below(3);
    others = {{{first[1], k}, Data::real}, {{k, 3}, Data::real}};
    return true;
  };
  push(
      "chain_matmul", chain, [](In in, Choice&, Dtype) { return chain_matmul(in); }, Exact::inside);
  push(
      "linalg_multi_dot", chain, [](In in, Choice&, Dtype) { return multi_dot(in); }, Exact::inside);
  push(
      "einsum", rows_by_columns, [](In in, Choice&, Dtype) { return einsum("ij,jk->ki", in); }, Exact::inside);
  push(
      "einsum", batch_by_batch, [](In in, Choice&, Dtype) { return einsum("bij,bjk->ik", in); }, Exact::inside);
  push(
      "tensordot", rows_by_columns, [](In in, Choice&, Dtype) { return tensordot(in[0], in[1], 1); }, Exact::inside);
  rows.push_back({"bilinear", Data::real,
                  [](const Shape& first, Choice&, Wants& others) {
                    if (first.size() < 2) return false;
                    Shape second = first;
                    second[second.size() - 1] = 2;
                    others = {{second, Data::real}, {{3, first.back(), 2}, Data::real}, {{3}, Data::real}};
                    return true;
                  },
                  [](In in, Choice&, Dtype) { return bilinear(in[0], in[1], in[2], in[3]); }, Exact::inside,
                  Result::promoted, Mixed::unknown, true});
}

template <int kSpatial>
bool conv_weight(const Shape& first, Choice& c, Wants& others) {
  if (first.size() != kSpatial + 2) return false;
  const std::int64_t groups = first[1] % 2 == 0 && c.chance(0.3) ? 2 : 1;
  const std::int64_t out = 2 * (1 + c.below(2));
  Shape weight = {out, first[1] / groups};
  for (int d = 0; d < kSpatial; ++d) {
    weight.push_back(1 + c.below(3));
    if (weight.back() > first[d + 2]) return false;
  }
  others = {{weight, Data::real}, {{out}, Data::real}};
  return true;
}
template <int kSpatial>
bool transposed_weight(const Shape& first, Choice& c, Wants& others) {
  if (first.size() != kSpatial + 2) return false;
  Shape weight = {first[1], 2};
  for (int d = 0; d < kSpatial; ++d) weight.push_back(1 + c.below(3));
  others = {{weight, Data::real}, {{2}, Data::real}};
  return true;
}

std::int64_t groups_of(In in) { return in[0].size(1) / in[1].size(1); }

#define AMP_FUZZ_CONV(spatial)                                                                                         \
  rows.push_back({"conv" #spatial "d", Data::real, conv_weight<spatial>,                                               \
                  [](In in, Choice& c, Dtype) {                                                                        \
                    const auto stride = 1 + c.below(2), padding = c.below(2);                                          \
                    return conv##spatial##d(in[0], in[1], in[2], stride, static_cast<int>(padding), 1, groups_of(in)); \
                  },                                                                                                   \
                  Exact::biased, Result::promoted, kRefuses});                                                         \
  rows.push_back(                                                                                                      \
      {"conv_transpose" #spatial "d", Data::real, transposed_weight<spatial>,                                          \
       [](In in, Choice& c, Dtype) { return conv_transpose##spatial##d(in[0], in[1], in[2], 1 + c.below(2)); },        \
       Exact::products, Result::promoted, kRefuses})

void add_convolutions(Rows& rows) {
  AMP_FUZZ_CONV(1);
  AMP_FUZZ_CONV(2);
  AMP_FUZZ_CONV(3);
}

}  // namespace

void add_product_rows(Rows& rows) {
  add_plain(rows);
  add_sums_of_products(rows);
  add_composites(rows);
  add_convolutions(rows);
}

}  // namespace amp::fuzz
