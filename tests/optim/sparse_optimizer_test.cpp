// Optimizers and sparse gradients: who takes them, what moves, and what the scaler and clipping make of them.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>

#include "libamp/nn/clip.h"
#include "libamp/nn/embedding.h"
#include "libamp/optim/adagrad.h"
#include "libamp/optim/rmsprop.h"
#include "libamp/optim/sparse_adam.h"
#include "tests/support/toy_training.h"

using namespace amp;
using namespace amp::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

using Values = std::vector<double>;

Tensor table(DType dtype = DType::float32) {
  return tensor(Values{1, -1, 2, -2, 3, -3, 4, -4}, {4, 2}, {.dtype = dtype, .requires_grad = true});
}

// Rows read in each step; row 3 never is, row 0 twice in the first.
const std::vector<Values> kReads{{0, 2, 0}, {1, 0}, {2}};

// Trains on a loss that weighs every element it reads differently.
template <typename O>
Values train(const Tensor& weight, O& optimizer, bool sparse) {
  for (const Values& reads : kReads) {
    optimizer.zero_grad();
    const Tensor rows = embedding(weight, tensor(reads, {.dtype = DType::int64}), -1, sparse);
    const Tensor factors = tensor({0.5, -1.5}, {.dtype = weight.dtype()});
    (rows * rows * factors).sum().backward();
    CHECK(weight.grad().is_sparse() == sparse);
    optimizer.step();
  }
  return weight.to_vector();
}

double difference(const Values& a, const Values& b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(a[i] - b[i]));
  return worst;
}

}  // namespace

TEST_CASE("SGD moves the rows a sparse gradient has as a dense one would", "[optim]") {
  const SGDOptions cases[] = {{.lr = 0.1}, {.lr = 0.1, .maximize = true}, {.lr = 0.1, .momentum = 0.9}};
  for (const SGDOptions& options : cases)
    for (const DType dtype : {DType::float32, DType::float64, DType::bfloat16}) {
      const Tensor a = table(dtype), b = table(dtype);
      SGD sparse({a}, options), dense({b}, options);
      CHECK(difference(train(a, sparse, true), train(b, dense, false)) <= (dtype == DType::bfloat16 ? 0 : 1e-6));
    }
  const Tensor w = table();
  SGD decay({w}, {.lr = 0.1, .weight_decay = 0.1});
  CHECK_THROWS_WITH(train(w, decay, true), ContainsSubstring("[SGD]") && ContainsSubstring("weight_decay"));
  const Tensor v = table();
  SGD fused({v}, {.lr = 0.1, .fused = true});
  CHECK_THROWS_WITH(train(v, fused, true), ContainsSubstring("[SGD]") && ContainsSubstring("fused"));
}

TEST_CASE("Adagrad moves the rows a sparse gradient has as a dense one would", "[optim]") {
  const AdagradOptions cases[] = {{.lr = 0.1}, {.lr = 0.1, .lr_decay = 0.2, .initial_accumulator_value = 0.5}};
  for (const AdagradOptions& options : cases)
    for (const DType dtype : {DType::float32, DType::bfloat16}) {
      const Tensor a = table(dtype), b = table(dtype);
      Adagrad sparse({a}, options), dense({b}, options);
      const Values moved = train(a, sparse, true);
      CHECK(difference(moved, train(b, dense, false)) <= (dtype == DType::bfloat16 ? 0.02 : 1e-6));
      CHECK(moved[6] == 4);
      CHECK(moved[7] == -4);
    }
  const Tensor w = table();
  Adagrad decay({w}, {.lr = 0.1, .weight_decay = 0.1});
  CHECK_THROWS_WITH(train(w, decay, true), ContainsSubstring("[Adagrad]") && ContainsSubstring("weight_decay"));
}

TEST_CASE("SparseAdam is Adam on the rows that have a gradient, and leaves the others", "[optim]") {
  const SparseAdamOptions options{.lr = 0.1, .betas = {0.8, 0.95}, .eps = 1e-6};
  const Tensor w = table();
  SparseAdam optimizer({w}, options);
  const Values got = train(w, optimizer, true);
  // The same in float64, element by element.
  Values p{1, -1, 2, -2, 3, -3, 4, -4}, m(8, 0), v(8, 0);
  for (std::size_t t = 0; t < kReads.size(); ++t) {
    Values g(8, 0);
    std::vector<bool> touched(8, false);
    for (const double row : kReads[t])
      for (std::size_t k = 0; k < 2; ++k) {
        const std::size_t i = static_cast<std::size_t>(row) * 2 + k;
        g[i] += 2 * p[i] * (k == 0 ? 0.5 : -1.5);
        touched[i] = true;
      }
    const double step = static_cast<double>(t + 1);
    for (std::size_t i = 0; i < 8; ++i) {
      if (!touched[i]) continue;
      m[i] += 0.2 * (g[i] - m[i]);
      v[i] += 0.05 * (g[i] * g[i] - v[i]);
      p[i] -= 0.1 * std::sqrt(1 - std::pow(0.95, step)) / (1 - std::pow(0.8, step)) * m[i] / (std::sqrt(v[i]) + 1e-6);
    }
  }
  CHECK(difference(got, p) < 1e-5);
  CHECK(optimizer.state(w).at("step").item() == 3);
  CHECK_THROWS_WITH(train(w, optimizer, false), ContainsSubstring("[SparseAdam]") && ContainsSubstring("dense"));
  CHECK_THROWS_WITH(SparseAdam({table()}, {.lr = 0}), ContainsSubstring("lr"));
  // A half table has a float32 master copy of which it is the rounded one.
  const Tensor half = table(DType::bfloat16);
  SparseAdam of_half({half}, options);
  CHECK(difference(train(half, of_half, true), p) < 0.05);
  const Tensor master = of_half.state(half).at("master");
  CHECK(half.to_vector() == master.to(DType::bfloat16).to_vector());
}

TEST_CASE("optimizers that keep moments of everything refuse sparse gradients by name", "[optim]") {
  const auto message = [](auto make) {
    const Tensor w = table();
    auto optimizer = make(Tensors{w});
    return error_message([&] { train(w, optimizer, true); });
  };
  CHECK_THAT(message([](const Tensors& p) { return Adam(p); }),
             ContainsSubstring("[Adam]") && ContainsSubstring("sparse") && ContainsSubstring("SparseAdam"));
  CHECK_THAT(message([](const Tensors& p) { return AdamW(p); }), ContainsSubstring("sparse"));
  CHECK_THAT(message([](const Tensors& p) { return RMSprop(p); }), ContainsSubstring("[RMSprop]"));
}

TEST_CASE("zero_grad(false) leaves a sparse gradient without entries", "[optim]") {
  const Tensor w = table();
  SGD optimizer({w}, {.lr = 1});
  embedding(w, tensor({1}, {.dtype = DType::int64}), -1, true).sum().backward();
  optimizer.zero_grad(false);
  REQUIRE(w.grad().is_sparse());
  CHECK(w.grad().values().numel() == 0);
  optimizer.step();
  CHECK(w.to_vector() == table().to_vector());
}

TEST_CASE("clipping takes the norm of the coalesced gradient", "[optim]") {
  const auto gradients = [](bool sparse) {
    const Tensor w = table(), other = table();
    embedding(w, tensor({0, 2, 0}, {.dtype = DType::int64}), -1, sparse).sum().backward();
    other.sum().backward();
    const double norm = nn::utils::clip_grad_norm_({w, other}, 1.0).item();
    Values all = w.grad().to_dense().to_vector();
    all.push_back(norm);
    return all;
  };
  CHECK(difference(gradients(true), gradients(false)) < 1e-6);
}

TEST_CASE("a layer with a sparse table is trained through autocast and the scaler", "[optim]") {
  manual_seed(5);
  nn::Embedding sparse(6, 4, {.sparse = true});
  nn::Embedding dense(6, 4);
  dense.load_state_dict(sparse.state_dict());
  const Tensor reads = tensor({5, 1, 5, 0}, {.dtype = DType::int64});
  const auto run = [&](nn::Embedding& layer) {
    SGD optimizer({layer.weight}, {.lr = 0.5});
    GradScaler scaler("cpu", {.init_scale = 64, .growth_interval = 2});
    Values skips;
    for (int i = 0; i < 4; ++i) {
      optimizer.zero_grad();
      Tensor loss;
      {
        const autocast region("cpu", {.dtype = kFloat16, .policy = Policy::cuda});
        loss = mse_loss(layer(reads), ones({4, 4}));
      }
      scaler.scale(loss).backward();
      if (i == 1) {
        const Tensor g = layer.weight.grad();
        (g.is_sparse() ? g.values() : g).select(0, 1).fill_(kInf);
      }
      skips.push_back(scaler.step(optimizer).skipped);
      scaler.update();
    }
    CHECK(skips == Values{0, 1, 0, 0});
    return layer.weight.to_vector();
  };
  CHECK(difference(run(sparse), run(dense)) < 1e-6);
  CHECK(sparse.weight.grad().is_sparse());
}
