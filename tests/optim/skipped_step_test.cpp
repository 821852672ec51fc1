// A step that the scaler skips leaves no trace: not in parameters, momentum, step counters, nor in what a scheduler
// sees. Every optimizer, with and without the fused flavour.
#include <catch2/catch_test_macros.hpp>
#include <functional>
#include <memory>

#include "libamp/optim/lr_scheduler.h"
#include "tests/optim/optimizer_reference.h"

using namespace amp;
using namespace amp::testing;

namespace {

struct Row {
  const char* what;
  std::function<std::unique_ptr<Optimizer>(const Tensor&, bool fused)> make;
};

const Row kOptimizers[] = {
    {"SGD",
     [](const Tensor& p, bool fused) {
       return std::make_unique<SGD>(
           Tensors{p}, SGDOptions{.lr = 0.1, .momentum = 0.9, .dampening = 0.5, .weight_decay = 0.1, .fused = fused});
     }},
    {"Adam",
     [](const Tensor& p, bool fused) {
       return std::make_unique<Adam>(Tensors{p}, AdamOptions{.lr = 0.1, .amsgrad = true, .fused = fused});
     }},
    {"AdamW",
     [](const Tensor& p, bool fused) {
       return std::make_unique<AdamW>(Tensors{p}, AdamOptions{.lr = 0.1, .weight_decay = 0.1, .fused = fused});
     }},
    {"Adagrad",
     [](const Tensor& p, bool fused) {
       return std::make_unique<Adagrad>(Tensors{p}, AdagradOptions{.lr = 0.1, .lr_decay = 0.1, .fused = fused});
     }},
    {"RMSprop",
     [](const Tensor& p, bool fused) {
       return std::make_unique<RMSprop>(Tensors{p},
                                        RMSpropOptions{.lr = 0.1, .momentum = 0.9, .centered = true, .fused = fused});
     }},
};

struct End {
  std::vector<double> param;
  std::map<std::string, std::vector<double>> state;
  std::uint64_t taken, skipped;
};

// Steps with the gradients of times 0 to kSteps, where one of `bad` has an infinity planted.
End train(const Row& row, bool fused, DType dtype, const std::vector<int>& times, const std::vector<int>& bad) {
  const Tensor param = tensor(kStart, {.dtype = dtype, .requires_grad = true});
  const auto optimizer = row.make(param, fused);
  GradScaler scaler("cpu", {.init_scale = 64, .growth_interval = 1000});
  for (const int t : times) {
    const bool spoil = std::find(bad.begin(), bad.end(), t) != bad.end();
    optimizer->zero_grad();
    scaler.scale((param * tensor(gradient_of(t), {.dtype = dtype})).sum()).backward();
    if (spoil) set_element(param.grad(), 1, kInf);
    CHECK(scaler.step(*optimizer).skipped == spoil);
    scaler.update(64.0);
  }
  End end{param.to_vector(), {}, optimizer->steps_taken(), optimizer->steps_skipped()};
  for (const auto& [name, value] : optimizer->state(param)) end.state[name] = value.to_vector();
  return end;
}

}  // namespace

TEST_CASE("a skipped step leaves no trace in any optimizer", "[optim]") {
  for (const Row& row : kOptimizers)
    for (const bool fused : {false, true})
      for (const DType dtype : {DType::float32, DType::float16}) {
        if (dtype == DType::float16 && !fused) continue;  // the scaler refuses half gradients there
        CAPTURE(row.what, fused, name(dtype));
        const End with = train(row, fused, dtype, {0, 1, 2, 3, 4, 5}, {0, 3});
        const End without = train(row, fused, dtype, {1, 2, 4, 5}, {});
        CHECK(with.param == without.param);
        CHECK(with.state == without.state);
        CHECK(with.taken == 4);
        CHECK(with.skipped == 2);
        CHECK(without.skipped == 0);
      }
}

TEST_CASE("half parameters of every optimizer move by less than they can show", "[optim]") {
  // 1 + 2^-12 is no float16: only a float32 master adds the small steps up.
  for (const Row& row : kOptimizers) {
    CAPTURE(row.what);
    const Tensor param = parameter({1}, DType::float16);
    const auto optimizer = row.make(param, false);
    *optimizer->find_option(0, "lr") = 0x1p-13;
    for (int t = 0; t < 40; ++t) {
      param.set_grad(tensor({1}, {.dtype = DType::float16}));
      optimizer->step();
    }
    CHECK(param.item() < 1);
    CHECK(optimizer->state(param).at("master").dtype() == DType::float32);
  }
}
