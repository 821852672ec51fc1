// Losses and distances of the catalogue, and the catalogue itself.
#include "libamp/ops/ops.h"
#include "tests/random/rows.h"

namespace amp::fuzz {
namespace {

using In = const Tensors&;
using Dtype = std::optional<DType>;
using Wants = std::vector<Want>;

const char* pick_reduction(Choice& c) {
  constexpr const char* kReductions[] = {"mean", "sum", "none"};
  return kReductions[c.below(3)];
}
template <Data kOther>
bool same(const Shape& first, Choice&, Wants& others) {
  others = {{first, kOther}};
  return !first.empty();
}
bool classes(const Shape& first, Choice&, Wants& others) {
  if (first.size() != 2) return false;
  others = {{{first[0]}, Data::index, first[1]}};
  return true;
}

void add_pairwise(Rows& rows) {
  const auto push = [&rows](const char* op, Data first, auto need, auto run) {
    rows.push_back({op, first, need, run, Exact::products, Result::promoted, Mixed::unknown});
  };
  push("mse_loss", Data::real, same<Data::real>,
       [](In in, Choice& c, Dtype) { return mse_loss(in[0], in[1], pick_reduction(c)); });
  push("l1_loss", Data::real, same<Data::real>,
       [](In in, Choice& c, Dtype) { return l1_loss(in[0], in[1], pick_reduction(c)); });
  push("smooth_l1_loss", Data::real, same<Data::real>,
       [](In in, Choice& c, Dtype) { return smooth_l1_loss(in[0], in[1], pick_reduction(c), 0.5); });
  push("huber_loss", Data::real, same<Data::real>,
       [](In in, Choice& c, Dtype) { return huber_loss(in[0], in[1], pick_reduction(c), 0.5); });
  push("soft_margin_loss", Data::real, same<Data::sign>,
       [](In in, Choice& c, Dtype) { return soft_margin_loss(in[0], in[1], pick_reduction(c)); });
  push("kl_div", Data::real, same<Data::positive>,
       [](In in, Choice& c, Dtype) { return kl_div(in[0], in[1], pick_reduction(c)); });
  push("poisson_nll_loss", Data::real, same<Data::positive>,
       [](In in, Choice& c, Dtype) { return poisson_nll_loss(in[0], in[1], true, false, 1e-8, pick_reduction(c)); });
  push("binary_cross_entropy_with_logits", Data::real, same<Data::unit>,
       [](In in, Choice& c, Dtype) { return binary_cross_entropy_with_logits(in[0], in[1], {}, pick_reduction(c)); });
  push("binary_cross_entropy", Data::probability, same<Data::probability>,
       [](In in, Choice& c, Dtype) { return binary_cross_entropy(in[0], in[1], {}, pick_reduction(c)); });
}

void add_rankings(Rows& rows) {
  const auto push = [&rows](const char* op, auto need, auto run) {
    rows.push_back({op, Data::real, need, run, Exact::products, Result::promoted, Mixed::unknown});
  };
  push("hinge_embedding_loss", same<Data::sign>,
       [](In in, Choice& c, Dtype) { return hinge_embedding_loss(in[0], in[1], 1, pick_reduction(c)); });
  push(
      "margin_ranking_loss",
      [](const Shape& first, Choice&, Wants& others) {
        others = {{first, Data::real}, {first, Data::sign}};
        return !first.empty();
      },
      [](In in, Choice& c, Dtype) { return margin_ranking_loss(in[0], in[1], in[2], 0.25, pick_reduction(c)); });
  push(
      "cosine_embedding_loss",
      [](const Shape& first, Choice&, Wants& others) {
        if (first.size() != 2) return false;
        others = {{first, Data::nonzero}, {{first[0]}, Data::sign}};
        return true;
      },
      [](In in, Choice& c, Dtype) { return cosine_embedding_loss(in[0], in[1], in[2], 0.25, pick_reduction(c)); });
  push(
      "triplet_margin_loss",
      [](const Shape& first, Choice&, Wants& others) {
        if (first.size() != 2) return false;
        others = {{first, Data::real}, {first, Data::real}};
        return true;
      },
      [](In in, Choice& c, Dtype) {
        return triplet_margin_loss(in[0], in[1], in[2], 1, 2, 1e-3, c.chance(0.5), "mean");
      });
  push("multi_margin_loss", classes,
       [](In in, Choice& c, Dtype) { return multi_margin_loss(in[0], in[1], 1, 1, {}, pick_reduction(c)); });
  push("nll_loss", classes,
       [](In in, Choice& c, Dtype) { return nll_loss(in[0], in[1], {}, -100, pick_reduction(c)); });
}

void add_distances(Rows& rows) {
  const auto push = [&rows](const char* op, auto need, auto run) {
    rows.push_back({op, Data::nonzero, need, run, Exact::inside, Result::promoted, Mixed::unknown});
  };
  push("dist", same<Data::real>, [](In in, Choice&, Dtype) { return dist(in[0], in[1]); });
  push(
      "cosine_similarity",
      [](const Shape& first, Choice&, Wants& others) {
        others = {{first, Data::nonzero}};
        return first.size() >= 2;
      },
      [](In in, Choice&, Dtype) { return cosine_similarity(in[0], in[1]); });
  push(
      "cdist",
      [](const Shape& first, Choice&, Wants& others) {
        if (first.size() != 2) return false;
        others = {{{3, first[1]}, Data::real}};
        return true;
      },
      [](In in, Choice& c, Dtype) { return cdist(in[0], in[1], c.chance(0.5) ? 2 : 1); });
  rows.push_back({"pdist", Data::nonzero,
                  [](const Shape& first, Choice&, Wants&) { return first.size() == 2 && first[0] > 1; },
                  [](In in, Choice& c, Dtype) { return pdist(in[0], c.chance(0.5) ? 2 : 1.5); }, Exact::inside,
                  Result::promoted, Mixed::unknown, false, true});
  rows.push_back({"renorm", Data::nonzero, [](const Shape& first, Choice&, Wants&) { return first.size() >= 2; },
                  [](In in, Choice& c, Dtype) { return renorm(in[0], 2, pick_dim(in[0].sizes(), c), 1); },
                  Exact::inside, Result::first});
}

void add_cross_entropy(Rows& rows) {
  rows.push_back({"cross_entropy_loss", Data::real, classes,
                  [](In in, Choice& c, Dtype) {
                    return cross_entropy(in[0], in[1], {}, -100, pick_reduction(c), c.chance(0.5) ? 0.1 : 0);
                  },
                  Exact::inside, Result::first, Mixed::unknown, true});
}

}  // namespace

void add_loss_rows(Rows& rows) {
  add_pairwise(rows);
  add_rankings(rows);
  add_distances(rows);
  add_cross_entropy(rows);
}

const std::vector<Row>& catalogue() {
  static const Rows kRows = [] {
    Rows rows;
    add_pointwise_rows(rows);
    add_reduce_rows(rows);
    add_shape_rows(rows);
    add_product_rows(rows);
    add_layer_rows(rows);
    add_loss_rows(rows);
    return rows;
  }();
  return kRows;
}

}  // namespace amp::fuzz
