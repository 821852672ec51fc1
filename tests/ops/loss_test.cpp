// Distances and losses: values against their definitions, gradients against difference quotients, autocast's lists.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>

#include "libamp/autocast/scope.h"
#include "tests/support/gradcheck.h"
#include "tests/support/printed.h"

using namespace amp;
using amp::test::gradcheck;
using amp::test::gradgradcheck;
using amp::test::TensorFunction;
using amp::test::values;

namespace {

// For gradgradcheck: the gradient of a square depends on the input even where f is linear.
test::TensorFunction squared(const test::TensorFunction& f) {
  return [f](const Tensors& in) {
    const Tensor y = f(in);
    return y * y;
  };
}

const double kInf = std::numeric_limits<double>::infinity();

Tensor table(std::initializer_list<double> v, const Shape& sizes, DType dtype = DType::float32) {
  return tensor(std::span(v.begin(), v.size()), sizes, {.dtype = dtype});
}

Tensor leaf(const Shape& sizes, int seed, double shift = 0) {
  return (values(sizes, seed) + shift).detach().requires_grad_();
}
Tensor signs(const Shape& sizes) {
  return where(gt(values(sizes, 9), 0), ones(sizes), full(sizes, -1)).to(DType::float64);
}
Tensor classes(std::initializer_list<double> v) { return tensor(v, {.dtype = DType::int64}); }
Tensor class_table(std::initializer_list<double> v, const Shape& sizes) {
  return tensor(std::span(v.begin(), v.size()), sizes, {.dtype = DType::int64});
}

double log_sigmoid_of(double x) { return -std::log1p(std::exp(-x)); }

// A loss of one term per element: value, and a definition of the term.
struct PairCase {
  const char* name;
  Tensor (*run)(const Tensor& x, const Tensor& t, std::string_view reduction);
  double (*term)(double x, double t);
  double shift_x, shift_t;  // added to values in (-1, 1)
};

const PairCase kPairs[] = {
    {"mse_loss", [](const Tensor& x, const Tensor& t, std::string_view r) { return mse_loss(x, t, r); },
     [](double x, double t) { return (x - t) * (x - t); }, 0, 0},
    {"l1_loss", [](const Tensor& x, const Tensor& t, std::string_view r) { return l1_loss(x, t, r); },
     [](double x, double t) { return std::abs(x - t); }, 0, 0},
    {"smooth_l1_loss",
     [](const Tensor& x, const Tensor& t, std::string_view r) { return smooth_l1_loss(x, t, r, 0.5); },
     [](double x, double t) { return std::abs(x - t) < 0.5 ? (x - t) * (x - t) : std::abs(x - t) - 0.25; }, 0, 0},
    {"huber_loss", [](const Tensor& x, const Tensor& t, std::string_view r) { return huber_loss(x, t, r, 0.5); },
     [](double x, double t) {
       return std::abs(x - t) <= 0.5 ? 0.5 * (x - t) * (x - t) : 0.5 * (std::abs(x - t) - 0.25);
     },
     0, 0},
    {"soft_margin_loss", [](const Tensor& x, const Tensor& t, std::string_view r) { return soft_margin_loss(x, t, r); },
     [](double x, double t) { return std::log1p(std::exp(-x * t)); }, 0, 0},
    {"kl_div", [](const Tensor& x, const Tensor& t, std::string_view r) { return kl_div(x, t, r); },
     [](double x, double t) { return t * std::log(t) - t * x; }, 0, 1.5},
    {"kl_div of logarithms", [](const Tensor& x, const Tensor& t, std::string_view r) { return kl_div(x, t, r, true); },
     [](double x, double t) { return std::exp(t) * (t - x); }, 0, 0},
    {"poisson_nll_loss",
     [](const Tensor& x, const Tensor& t, std::string_view r) { return poisson_nll_loss(x, t, true, false, 1e-8, r); },
     [](double x, double t) { return std::exp(x) - t * x; }, 0, 0},
    {"poisson_nll_loss, full, of rates",
     [](const Tensor& x, const Tensor& t, std::string_view r) { return poisson_nll_loss(x, t, false, true, 1e-3, r); },
     [](double x, double t) {
       const double stirling = t > 1 ? t * std::log(t) - t + 0.5 * std::log(2 * std::acos(-1.0) * t) : 0;
       return x - t * std::log(x + 1e-3) + stirling;
     },
     1.5, 2.2},
    {"binary_cross_entropy_with_logits",
     [](const Tensor& x, const Tensor& t, std::string_view r) { return binary_cross_entropy_with_logits(x, t, {}, r); },
     [](double x, double t) { return -t * log_sigmoid_of(x) - (1 - t) * log_sigmoid_of(-x); }, 0, 0.5},
};

}  // namespace

TEST_CASE("element losses have the values of their definitions, under every reduction") {
  for (const PairCase& c : kPairs) {
    INFO(c.name);
    const Tensor x = leaf({3, 4}, 1, c.shift_x), t = leaf({3, 4}, 2, c.shift_t);
    const std::vector<double> xs = x.to_vector(), ts = t.to_vector(), each = c.run(x, t, "none").to_vector();
    double total = 0;
    for (std::size_t i = 0; i < xs.size(); ++i) {
      CHECK(std::abs(each[i] - c.term(xs[i], ts[i])) < 1e-12);
      total += each[i];
    }
    CHECK(std::abs(c.run(x, t, "sum").item() - total) < 1e-12);
    CHECK(std::abs(c.run(x, t, "mean").item() - total / 12) < 1e-12);
    CHECK_THROWS_AS(c.run(x, t, "median"), Error);
  }
  CHECK(std::abs(kl_div(values({4, 3}), values({4, 3}, 2) + 2, "batchmean").item() -
                 kl_div(values({4, 3}), values({4, 3}, 2) + 2, "sum").item() / 4) < 1e-12);
  CHECK(std::isnan(mse_loss(empty({0}), empty({0})).item()));
}

TEST_CASE("a mean over many elements has float32's digits, and the same bits whatever the threads") {
  const Tensor x = values({300, 301}).to(DType::float32), zero = zeros({300, 301});
  double exact = 0;
  for (const double v : x.to_vector()) exact += v * v;
  CHECK(mse_loss(x, zero, "sum").item() == static_cast<double>(static_cast<float>(exact)));
}

TEST_CASE("gradients of element losses agree with difference quotients, twice") {
  for (const PairCase& c : kPairs)
    for (const char* reduction : {"mean", "sum", "none"}) {
      INFO(c.name << " " << reduction);
      const Tensor x = leaf({3, 4}, 1, c.shift_x), t = leaf({3, 4}, 2, c.shift_t);
      const TensorFunction f = [&](const Tensors& in) { return c.run(in[0], in[1], reduction); };
      CHECK(gradcheck(f, {x, t}) == "");
      CHECK(gradgradcheck(squared(f), {x, t}) == "");
    }
  // Operands that broadcast.
  const TensorFunction f = [](const Tensors& in) { return mse_loss(in[0], in[1]); };
  CHECK(gradcheck(f, {leaf({3, 4}, 1), leaf({4}, 2)}) == "");
}

TEST_CASE("cross entropy of probabilities and of logits, weighted") {
  const Tensor logits = leaf({3, 4}, 1), target = leaf({3, 4}, 2, 1).detach() * 0.5;
  const Tensor weight = leaf({4}, 3, 2), positive = leaf({4}, 4, 2);
  const Tensor direct = binary_cross_entropy(sigmoid(logits), target, weight, "none");
  const Tensor fused = binary_cross_entropy_with_logits(logits, target, weight, "none");
  const std::vector<double> a = direct.to_vector(), b = fused.to_vector();
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(std::abs(a[i] - b[i]) < 1e-12);
  const std::vector<double> with_positive =
      binary_cross_entropy_with_logits(logits, target, {}, "none", positive).to_vector();
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double x = logits.to_vector()[i], t = target.to_vector()[i], p = positive.to_vector()[i % 4];
    CHECK(std::abs(with_positive[i] - (-p * t * log_sigmoid_of(x) - (1 - t) * log_sigmoid_of(-x))) < 1e-12);
  }
  const TensorFunction of_logits = [](const Tensors& in) {
    return binary_cross_entropy_with_logits(in[0], in[1], in[2], "mean", in[3]);
  };
  const Tensor soft = leaf({3, 4}, 2, 1);
  CHECK(gradcheck(of_logits, {logits, soft, weight, positive}) == "");
  CHECK(gradgradcheck(squared(of_logits), {logits, soft, weight, positive}) == "");
  const TensorFunction of_probabilities = [](const Tensors& in) {
    return binary_cross_entropy(in[0] * in[0] * 0.5 + 0.1, in[1], in[2]);
  };
  CHECK(gradcheck(of_probabilities, {logits, soft, weight}) == "");
  CHECK(gradgradcheck(squared(of_probabilities), {logits, soft, weight}, 1e-4) == "");
  // A certain and wrong prediction costs 100, and an extreme logit stays finite.
  CHECK(binary_cross_entropy(zeros({1}), ones({1})).item() == 100);
  CHECK(binary_cross_entropy_with_logits(full({1}, -1000), ones({1})).item() == 1000);
  CHECK_THROWS_AS(binary_cross_entropy(full({1}, 1.5), ones({1})), Error);
  CHECK_THROWS_AS(binary_cross_entropy(ones({2}), ones({1})), Error);
}

TEST_CASE("margin losses by hand") {
  const Tensor x = table({0.1, 0.2, 0.4, 0.8}, {1, 4}, DType::float64);
  // sum over other classes of max(0, 1 - x[3] + x[c]) / 4
  CHECK(std::abs(multi_margin_loss(x, classes({3})).item() - (0.3 + 0.4 + 0.6) / 4) < 1e-12);
  CHECK(std::abs(multi_margin_loss(x, classes({3}), 2).item() - (0.09 + 0.16 + 0.36) / 4) < 1e-12);
  CHECK(std::abs(multi_margin_loss(x.view({4}), classes({3}).view({})).item() - 1.3 / 4) < 1e-12);
  const Tensor weight = tensor({1, 1, 1, 3}, {.dtype = DType::float64});
  CHECK(std::abs(multi_margin_loss(x, classes({3}), 1, 1, weight).item() - 3.9 / 4) < 1e-12);
  // Targets 3 and 0, as in PyTorch's documentation: 0.25 * ((1-(0.1-0.2)) + (1-(0.1-0.4)) + (1-(0.8-0.2)) +
  // (1-(0.8-0.4)))
  CHECK(std::abs(multilabel_margin_loss(x, class_table({3, 0, -1, 1}, {1, 4})).item() - 0.85) < 1e-12);
  CHECK(hinge_embedding_loss(tensor({0.25, 3, 0.5}), tensor({1, -1, -1}), 1, "none").to_vector() ==
        std::vector<double>{0.25, 0, 0.5});
  CHECK(margin_ranking_loss(tensor({1, 1}), tensor({0, 2}), tensor({1, 1}), 0.5, "none").to_vector() ==
        std::vector<double>{0, 1.5});
  const Tensor a = table({1, 0, 0, 1}, {2, 2}), b = table({1, 0, 1, 0}, {2, 2});
  const std::vector<double> cosine = cosine_embedding_loss(a, b, tensor({-1, 1}), 0.25, "none").to_vector();
  CHECK(std::abs(cosine[0] - 0.75) < 1e-6);
  CHECK(std::abs(cosine[1] - 1) < 1e-6);
  const Tensor anchor = zeros({1, 2}), near = table({3, 4}, {1, 2}), far = table({0, 5}, {1, 2});
  CHECK(std::abs(triplet_margin_loss(anchor, near, far).item() - 1) < 1e-5);
  CHECK_THROWS_AS(multi_margin_loss(x, classes({3}), 3), Error);
  CHECK_THROWS_AS(multi_margin_loss(x, classes({4})), Error);
}

TEST_CASE("gradients of distances and margin losses agree with difference quotients, twice") {
  const Tensor x = leaf({4, 3}, 1), y = leaf({4, 3}, 2), z = leaf({4, 3}, 3), w = leaf({5, 3}, 4);
  const Tensor row_signs = signs({4}), element_signs = signs({4, 3}), labels = classes({2, 0, 1, 1});
  struct Case {
    const char* name;
    TensorFunction run;
    Tensors inputs;
  };
  const Case cases[] = {
      {"dist", [](const Tensors& in) { return dist(in[0], in[1], 3); }, {x, y}},
      {"cdist 2", [](const Tensors& in) { return cdist(in[0], in[1]); }, {x, w}},
      {"cdist 1", [](const Tensors& in) { return cdist(in[0], in[1], 1); }, {x, w}},
      {"cdist 3", [](const Tensors& in) { return cdist(in[0], in[1], 3); }, {x, w}},
      {"cdist infinity", [](const Tensors& in) { return cdist(in[0], in[1], kInf); }, {x, w}},
      {"cdist, a batch against one",
       [](const Tensors& in) {
         return cdist(stack({in[0], in[0] * in[0]}), in[1]);
       },
       {x, w}},
      {"pdist", [](const Tensors& in) { return pdist(in[0]); }, {x}},
      {"pairwise_distance", [](const Tensors& in) { return pairwise_distance(in[0], in[1]); }, {x, y}},
      {"cosine_similarity", [](const Tensors& in) { return cosine_similarity(in[0], in[1]); }, {x, y}},
      {"renorm", [](const Tensors& in) { return renorm(in[0], 2, 0, 0.9); }, {x}},
      {"normalize", [](const Tensors& in) { return normalize(in[0]); }, {x}},
      {"cosine_embedding_loss",
       [&](const Tensors& in) { return cosine_embedding_loss(in[0], in[1], row_signs, 0.1); },
       {x, y}},
      {"hinge_embedding_loss", [&](const Tensors& in) { return hinge_embedding_loss(in[0], element_signs); }, {x}},
      {"margin_ranking_loss",
       [&](const Tensors& in) { return margin_ranking_loss(in[0], in[1], element_signs, 0.3); },
       {x, y}},
      {"triplet_margin_loss",
       [](const Tensors& in) { return triplet_margin_loss(in[0], in[1], in[2], 1, 2, 1e-6, true); },
       {x, y, z}},
      {"multi_margin_loss", [&](const Tensors& in) { return multi_margin_loss(in[0], labels, 2); }, {x}},
      {"multilabel_margin_loss",
       [](const Tensors& in) {
         return multilabel_margin_loss(in[0], class_table({2, 0, -1, 1, -1, 0, -1, 0, 1, 0, 1, 2}, {4, 3}));
       },
       {x}},
  };
  for (const Case& c : cases) {
    INFO(c.name);
    CHECK(gradcheck(c.run, c.inputs) == "");
    CHECK(gradgradcheck(squared(c.run), c.inputs, 1e-4) == "");
  }
}

TEST_CASE("a target that has to be broadcast gets a warning, once") {
  const Tensor x = ones({7, 11}), row = ones({7, 1});
  const std::pair<const char*, std::function<void(const Tensor&)>> losses[] = {
      {"mse_loss", [&](const Tensor& t) { mse_loss(x, t); }},
      {"l1_loss", [&](const Tensor& t) { l1_loss(x, t); }},
      {"smooth_l1_loss", [&](const Tensor& t) { smooth_l1_loss(x, t); }},
      {"huber_loss", [&](const Tensor& t) { huber_loss(x, t); }},
  };
  for (const auto& [name, run] : losses) {
    INFO(name);
    CHECK(testing::printed([&] { run(x); }) == "");
    CHECK(testing::printed([&] { run(row); })
              .starts_with(std::string("libamp warning: [") + name +
                           "] Using a target size ([7, 1]) that is different to the input size ([7, 11])."));
    CHECK(testing::printed([&] { run(row); }) == "");
  }
}

TEST_CASE("distances have their values, and zero distances no NaN") {
  const Tensor a = table({0, 0, 3, 4}, {2, 2}), b = table({0, 0, 0, 4, 3, 0}, {3, 2});
  CHECK(cdist(a, b).to_vector() == std::vector<double>{0, 4, 3, 5, 3, 4});
  CHECK(cdist(a, b, 1).to_vector() == std::vector<double>{0, 4, 3, 7, 3, 4});
  CHECK(cdist(a, b, kInf).to_vector() == std::vector<double>{0, 4, 3, 4, 3, 4});
  CHECK(cdist(a, b, 0).to_vector() == std::vector<double>{0, 1, 1, 2, 1, 1});
  CHECK(pdist(b).to_vector() == std::vector<double>{4, 3, 5});
  CHECK(dist(a, zeros({2, 2})).item() == 5);
  const Tensor same = zeros({2, 2}).requires_grad_();
  for (const double p : {1.0, 1.5, 2.0, 3.0, kInf}) {
    same.set_grad({});
    sum(cdist(same, zeros({3, 2}), p)).backward();
    CHECK(same.grad().to_vector() == std::vector<double>(4, 0.0));
  }
  const std::vector<double> limited = renorm(table({3, 4, 0.3, 0.4}, {2, 2}), 2, 0, 1).to_vector();
  CHECK(std::abs(limited[0] - 0.6) < 1e-6);
  CHECK(limited[3] == static_cast<double>(0.4f));
  CHECK(normalize(zeros({2, 2})).to_vector() == std::vector<double>(4, 0.0));
  CHECK_THROWS_AS(cdist(a.half(), b.half()), Error);
  CHECK_THROWS_AS(pdist(a.half()), Error);
  CHECK_THROWS_AS(renorm(a, 0, 0, 1), Error);
}

TEST_CASE("losses are float32 under both rules; cross entropy of probabilities is banned under CUDA's") {
  const Tensor x = full({3, 4}, 0.5, {.dtype = DType::float16}), t = ones({3, 4}, {.dtype = DType::float16});
  for (const Policy policy : {Policy::cuda, Policy::cpu}) {
    const autocast region(DeviceType::cpu, {.dtype = DType::float16, .policy = policy});
    for (const PairCase& c : kPairs) {
      INFO(c.name);
      CHECK(c.run(x, t, "mean").dtype() == DType::float32);
    }
    CHECK(hinge_embedding_loss(x, t).dtype() == DType::float32);
    CHECK(triplet_margin_loss(x, t, t).dtype() == DType::float32);
    CHECK(cosine_embedding_loss(x, t, ones({3})).dtype() == DType::float32);
    CHECK(multi_margin_loss(x, classes({0, 1, 2})).dtype() == DType::float32);
    CHECK(cdist(x, t).dtype() == DType::float32);
    CHECK(cosine_similarity(x, t).dtype() == (policy == Policy::cuda ? DType::float32 : DType::float16));
    if (policy == Policy::cpu)
      CHECK(binary_cross_entropy(x, t).dtype() == DType::float32);
    else
      CHECK_THROWS_AS(binary_cross_entropy(x, t), Error);
  }
  CHECK(mse_loss(x, t).dtype() == DType::float16);
  CHECK(mse_loss(x, t.to(DType::float64)).dtype() == DType::float64);
}
