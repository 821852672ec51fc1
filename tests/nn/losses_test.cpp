// Every loss module gives what the function of its meaning gives, with each of its options; two of them
// also their formulas.
#include "libamp/nn/losses.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <functional>
#include <numbers>

#include "tests/support/gradcheck.h"
#include "tests/support/toy_training.h"

using namespace amp;
using namespace amp::testing;

TEST_CASE("losses give what the function of their meaning gives", "[nn]") {
  const Tensor a = test::values({4, 3}, 1), b = test::values({4, 3}, 2), c = test::values({4, 3}, 3);
  const Tensor classes = tensor({0, 2, 1, 2}, {.dtype = DType::int64}),
               signs = where(gt(b, 0), ones_like(b), -ones_like(b));
  const Tensor weight = tensor({1, 2, 0.5}, {.dtype = DType::float64}), p = sigmoid(a), q = sigmoid(b);
  const Tensor sign1 = signs.select(1, 0).contiguous();
  const Tensor several = tensor({0, 2, -1, 1, -1, 0, 2, 1, 0, -1, 0, 0}, {.dtype = DType::int64}).view({4, 3});
  struct Row {
    const char* what;
    std::function<Tensor(const std::string&)> module, function;
  };
  using S = std::string;
  const Row rows[] = {
      {"CrossEntropy", [&](const S& r) { return nn::CrossEntropyLoss(weight, 1, r, 0.1)(a, classes); },
       [&](const S& r) { return cross_entropy(a, classes, weight, 1, r, 0.1); }},
      {"NLL", [&](const S& r) { return nn::NLLLoss(weight, 2, r)(a, classes); },
       [&](const S& r) { return nll_loss(a, classes, weight, 2, r); }},
      {"MSE", [&](const S& r) { return nn::MSELoss(r)(a, b); }, [&](const S& r) { return mse_loss(a, b, r); }},
      {"L1", [&](const S& r) { return nn::L1Loss(r)(a, b); }, [&](const S& r) { return l1_loss(a, b, r); }},
      {"SmoothL1", [&](const S& r) { return nn::SmoothL1Loss(r, 0.5)(a, b); },
       [&](const S& r) { return smooth_l1_loss(a, b, r, 0.5); }},
      {"Huber", [&](const S& r) { return nn::HuberLoss(r, 0.5)(a, b); },
       [&](const S& r) { return huber_loss(a, b, r, 0.5); }},
      {"KLDiv", [&](const S& r) { return nn::KLDivLoss(r, true)(a, b); },
       [&](const S& r) { return kl_div(a, b, r, true); }},
      {"PoissonNLL", [&](const S& r) { return nn::PoissonNLLLoss(false, true, 1e-3, r)(p, q * 4.0); },
       [&](const S& r) { return poisson_nll_loss(p, q * 4.0, false, true, 1e-3, r); }},
      {"BCE", [&](const S& r) { return nn::BCELoss(weight, r)(p, q); },
       [&](const S& r) { return binary_cross_entropy(p, q, weight, r); }},
      {"BCEWithLogits", [&](const S& r) { return nn::BCEWithLogitsLoss(weight, r, weight)(a, q); },
       [&](const S& r) { return binary_cross_entropy_with_logits(a, q, weight, r, weight); }},
      {"SoftMargin", [&](const S& r) { return nn::SoftMarginLoss(r)(a, signs); },
       [&](const S& r) { return soft_margin_loss(a, signs, r); }},
      {"HingeEmbedding", [&](const S& r) { return nn::HingeEmbeddingLoss(0.5, r)(a, signs); },
       [&](const S& r) { return hinge_embedding_loss(a, signs, 0.5, r); }},
      {"MultiLabelMargin", [&](const S& r) { return nn::MultiLabelMarginLoss(r)(a, several); },
       [&](const S& r) { return multilabel_margin_loss(a, several, r); }},
      {"MultiMargin", [&](const S& r) { return nn::MultiMarginLoss(2, 0.5, weight, r)(a, classes); },
       [&](const S& r) { return multi_margin_loss(a, classes, 2, 0.5, weight, r); }},
      {"CosineEmbedding", [&](const S& r) { return nn::CosineEmbeddingLoss(0.25, r)(a, b, sign1); },
       [&](const S& r) { return cosine_embedding_loss(a, b, sign1, 0.25, r); }},
      {"MarginRanking", [&](const S& r) { return nn::MarginRankingLoss(0.25, r)(a, b, signs); },
       [&](const S& r) { return margin_ranking_loss(a, b, signs, 0.25, r); }},
      {"TripletMargin", [&](const S& r) { return nn::TripletMarginLoss(0.5, 1, 1e-3, true, r)(a, b, c); },
       [&](const S& r) { return triplet_margin_loss(a, b, c, 0.5, 1, 1e-3, true, r); }},
  };
  for (const Row& row : rows)
    for (const char* reduction : {"mean", "sum", "none"}) {
      CAPTURE(row.what, reduction);
      const Tensor got = row.module(reduction), need = row.function(reduction);
      CHECK(got.sizes() == need.sizes());
      CHECK(got.to_vector() == need.to_vector());
    }
  CHECK(nn::KLDivLoss("batchmean")(a, p).item() == kl_div(a, p, "batchmean").item());
}

TEST_CASE("CTCLoss gives what the function gives", "[nn]") {
  const Tensor log_probs = log_softmax(test::values({6, 2, 4}), 2);
  const Tensor targets = tensor({1, 2, 3, 3, 1, 2}, {.dtype = DType::int64}).view({2, 3});
  const Tensor input_lengths = tensor({6, 5}, {.dtype = DType::int64}),
               target_lengths = tensor({3, 2}, {.dtype = DType::int64});
  CHECK(nn::CTCLoss(0, "sum")(log_probs, targets, input_lengths, target_lengths).item() ==
        ctc_loss(log_probs, targets, input_lengths, target_lengths, 0, "sum").item());
}

TEST_CASE("class weights are buffers", "[nn]") {
  const Tensor weight = tensor({1, 2, 0.5});
  CHECK(nn::CrossEntropyLoss(weight).named_buffers().size() == 1);
  CHECK(nn::BCEWithLogitsLoss({}, "mean", weight).state_dict().contains("pos_weight"));
  nn::NLLLoss loss(weight);
  loss.to(DType::float64);
  CHECK(loss.named_buffers()[0].second.dtype() == DType::float64);
}

TEST_CASE("MultiLabelSoftMarginLoss follows its formula", "[nn]") {
  const Tensor x = test::values({4, 3}, 1), y = gt(test::values({4, 3}, 2), 0).to(DType::float64);
  const Tensor weight = tensor({1, 2, 0.5}, {.dtype = DType::float64});
  const auto xs = x.to_vector(), ys = y.to_vector(), ws = weight.to_vector();
  double total = 0;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    const double s = 1 / (1 + std::exp(-xs[i]));
    total -= ws[i % 3] * (ys[i] * std::log(s) + (1 - ys[i]) * std::log(1 - s)) / 3;
  }
  CHECK(std::abs(nn::MultiLabelSoftMarginLoss(weight, "sum")(x, y).item() - total) < 1e-12);
  CHECK(std::abs(nn::MultiLabelSoftMarginLoss(weight)(x, y).item() - total / 4) < 1e-12);
  CHECK(nn::MultiLabelSoftMarginLoss({}, "none")(x, y).sizes() == Shape{4});
  CHECK(error_code([&] { nn::MultiLabelSoftMarginLoss({}, "most")(x, y); }) == ErrorCode::value);
}

TEST_CASE("GaussianNLLLoss follows its formula, limits the variance, keeps its gradient", "[nn]") {
  const Tensor x = test::values({4, 3}, 1), y = test::values({4, 3}, 2), var = test::values({4, 3}, 3) + 1.5;
  const auto xs = x.to_vector(), ys = y.to_vector(), vs = var.to_vector();
  double total = 0;
  for (std::size_t i = 0; i < xs.size(); ++i)
    total += 0.5 * (std::log(2 * std::numbers::pi * vs[i]) + std::pow(xs[i] - ys[i], 2) / vs[i]);
  CHECK(std::abs(nn::GaussianNLLLoss(true, 1e-6, "sum")(x, y, var).item() - total) < 1e-12);
  CHECK(std::abs(nn::GaussianNLLLoss(true)(x, y, var).item() - total / 12) < 1e-12);
  CHECK(nn::GaussianNLLLoss(false, 1e-6, "none")(x, y, var.narrow(1, 0, 1)).sizes() == Shape{4, 3});
  CHECK(nn::GaussianNLLLoss()(x, y, var.select(1, 0)).item() ==
        nn::GaussianNLLLoss()(x, y, var.narrow(1, 0, 1)).item());
  const Tensor small = tensor({0}, {.dtype = DType::float64, .requires_grad = true});
  nn::GaussianNLLLoss(false, 0.5)(tensor({1}, {.dtype = DType::float64}), tensor({0}, {.dtype = DType::float64}), small)
      .backward();
  CHECK(small.grad().item() == 0.5 * (2 - 4));  // 1 / (2 eps) - 1 / (2 eps^2), as if the variance were eps
  Tensors in{x, y, var};
  for (const Tensor& t : in) t.requires_grad_();
  CHECK(test::gradcheck([](const Tensors& at) { return nn::GaussianNLLLoss()(at[0], at[1], at[2]); }, in) == "");
  CHECK(error_code([&] { nn::GaussianNLLLoss()(x, y, -var); }) == ErrorCode::value);
  CHECK(error_code([&] { nn::GaussianNLLLoss()(x, y, ones({2})); }).has_value());
}
