// PyTorch's tests of GradScaler, by their names (test_torch.py, test_cuda.py and its multi-GPU and FSDP files of 2.11),
// on the one CPU device. Those of whole training runs are in pytorch_training_test.cpp.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <type_traits>

#include "libamp/dispatch/run_op.h"
#include "libamp/observe/in_process.h"
#include "tests/support/toy_training.h"

using namespace amp;
using namespace amp::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

// The op behind unscale_, on gradients of one dtype; returns found_inf.
double check_and_unscale(const Tensors& gradients, double scale) {
  const Tensor found = zeros({});
  OpCall call{OpId::amp_foreach_non_finite_check_and_unscale_, gradients, {}, {}};
  call.inputs.push_back(found);
  call.inputs.push_back(scalar_tensor(scale));
  run_op(std::move(call));
  return found.item();
}

// Scale 4: gradients of 4 become 1. Also a transposed gradient and one whose elements are apart in memory.
Tensors scaled_gradients(DType dtype) {
  const Tensor plain = full({4, 4}, 4, {.dtype = dtype});
  return {plain.clone(), plain.clone().t(), full({4, 8}, 4, {.dtype = dtype}).narrow(1, 0, 4)};
}

Tensor sparse_gradient(std::initializer_list<double> rows, const Tensor& values, const Shape& sizes) {
  return sparse_coo_tensor(tensor(rows, {.dtype = DType::int64}).view({1, -1}), values, sizes);
}

// An optimizer that scales by itself and only looks at what it is given.
struct Looks final : Optimizer {
  Tensor seen_scale, seen_found;
  explicit Looks(const Tensors& params) { add_group(params); }
  [[nodiscard]] bool supports_amp_scaling() const override { return true; }
  Options options(std::size_t) override { return {}; }
  void update(std::size_t, const Tensor&, const Tensor&, State&) override { look(); }
  void update_sparse(std::size_t, const Tensor&, const Tensor&, State&) override { look(); }
  void look() {
    seen_scale = grad_scale;
    seen_found = found_inf;
  }
};

struct Used {
  Tensor param = parameter({1, 1});
  SGD optimizer{{param}, {.lr = 1}};
  GradScaler scaler;
  explicit Used(const GradScalerOptions& options = {.init_scale = 4}) : scaler("cpu", options) {
    (void)scaler.scale(scalar_tensor(1));
  }
};

}  // namespace

TEST_CASE("test_grad_scaling_unscale") {
  for (const DType dtype : {DType::float32, DType::float64, DType::bfloat16, DType::float16}) {
    const Tensors clean = scaled_gradients(dtype);
    CHECK(check_and_unscale(clean, 4) == 0);
    for (const Tensor& g : clean) CHECK(g.contiguous().to_vector() == std::vector<double>(16, 1));
    for (const double bad : {kInf, -kInf, kNaN})
      for (std::size_t at = 0; at < 3; ++at) {  // in each tensor in turn
        const Tensors gradients = scaled_gradients(dtype);
        gradients[at].select(0, 2).select(0, 1).fill_(bad);
        CHECK(check_and_unscale(gradients, 4) == 1);
        // The others are unscaled all the same.
        CHECK(gradients[(at + 1) % 3].contiguous().to_vector() == std::vector<double>(16, 1));
        CHECK(gradients[at].select(0, 0).contiguous().to_vector() == std::vector<double>(4, 1));
      }
  }
  // One call for each dtype, however many gradients there are.
  Tensors params;
  for (int i = 0; i < 600; ++i) params.push_back(parameter({1}, i % 3 == 0 ? DType::float64 : DType::float32));
  SGD optimizer(params, {.lr = 1});
  GradScaler scaler("cpu", {.init_scale = 4});
  Tensor loss = scalar_tensor(0, {.dtype = DType::float64});
  for (const Tensor& p : params) loss = loss + p.sum();
  scaler.scale(loss).backward();
  observe::Recording recording;
  scaler.unscale_(optimizer);
  int calls = 0;
  for (const OpEvent& e : recording.ops)
    calls += e.op == static_cast<std::uint16_t>(OpId::amp_foreach_non_finite_check_and_unscale_);
  CHECK(calls == 2);
  for (const Tensor& p : params) CHECK(p.grad().item() == 1);
}

TEST_CASE("test_grad_scaling_update_scale") {
  const Tensor scale = scalar_tensor(4), tracker = zeros({}, {.dtype = DType::int32}), found = zeros({});
  const auto update = [&] {
    run_op({OpId::amp_update_scale_,
            {scale, tracker, found},
            {{"growth_factor", 2.0}, {"backoff_factor", 0.25}, {"growth_interval", std::int64_t{2}}},
            {}});
  };
  update();
  CHECK(tracker.item() == 1);
  CHECK(scale.item() == 4);
  update();
  CHECK(tracker.item() == 0);
  CHECK(scale.item() == 8);
  found.fill_(1);
  update();
  CHECK(tracker.item() == 0);
  CHECK(scale.item() == 2);
}

TEST_CASE("test_grad_scaling_unscale_sparse") {
  Used used;
  const Tensor table = ones({4, 2});
  table.requires_grad_();
  SGD optimizer({table}, {.lr = 1});
  const auto unscale = [&](const Tensor& gradient) {
    table.set_grad(gradient);
    used.scaler.unscale_(optimizer);
    const double scale_before = used.scaler.get_scale();
    used.scaler.update();
    const bool found = used.scaler.get_scale() < scale_before;
    used.scaler.update(4.0);
    return found;
  };
  CHECK_FALSE(unscale(sparse_gradient({0, 3}, full({2, 2}, 16), {4, 2})));
  CHECK(table.grad().is_sparse());
  CHECK(table.grad().values().to_vector() == std::vector<double>(4, 4));
  for (const double bad : {kInf, kNaN}) {
    const Tensor values = full({2, 2}, 16);
    values.select(0, 1).select(0, 0).fill_(bad);
    CHECK(unscale(sparse_gradient({0, 3}, values, {4, 2})));
  }
  // Entries that are not coalesced are checked one by one: 3e38 twice at one row is not seen in float32.
  CHECK_FALSE(unscale(sparse_gradient({1, 1}, full({2, 2}, 3e38), {4, 2})));
  CHECK_FALSE(table.grad().is_coalesced());
}

TEST_CASE("test_grad_scaling_unscale_sparse_half") {
  // The part of PyTorch's test with float16, which only an optimizer that unscales by itself lets pass: duplicates are
  // coalesced first, so that their sum is seen to overflow.
  const Tensor table = tensor(std::vector<double>(8, 1), {4, 2}, {.dtype = DType::float16, .requires_grad = true});
  Looks optimizer({table});
  for (const auto& [value, found] : {std::pair{60000.0, true}, std::pair{100.0, false}}) {
    Used used;
    table.set_grad(sparse_gradient({1, 1}, full({2, 2}, value, {.dtype = DType::float16}), {4, 2}));
    CHECK(used.scaler.step(optimizer).skipped == found);
    CHECK(optimizer.seen_found.item() == (found ? 1 : 0));
    CHECK(table.grad().is_coalesced());
  }
  Used used;
  SGD plain({parameter({1}, DType::float16)}, {.lr = 1});
  plain.parameters()[0].set_grad(full({1}, 1, {.dtype = DType::float16}));
  CHECK_THROWS_WITH(used.scaler.unscale_(plain), ContainsSubstring("float16"));
}

TEST_CASE("test_grad_scaling_state_dict") {
  for (const bool lazy_init_first : {true, false}) {
    GradScaler s0("cpu", {.init_scale = 3, .growth_factor = 4, .backoff_factor = 0.5, .growth_interval = 2});
    GradScaler s1("cpu", {.init_scale = 6, .growth_factor = 7, .backoff_factor = 0.8, .growth_interval = 1});
    auto state = s0.state_dict();
    state["_growth_tracker"] = 2;
    if (lazy_init_first) (void)s1.scale(full({1}, 4));
    s1.load_state_dict(state);
    CHECK(s1.get_scale() == 3);
    CHECK(s1.get_growth_factor() == 4);
    CHECK(s1.get_backoff_factor() == 0.5);
    CHECK(s1.get_growth_interval() == 2);
    CHECK(s1.state_dict().at("_growth_tracker") == 2);
    CHECK(s1.scale(full({1}, 4)).item() == 12);
    CHECK(s1.state_dict().at("_growth_tracker") == 2);
  }
}

TEST_CASE("test_pickle_gradscaler") {
  for (const bool lazy_init : {true, false})
    for (const bool enabled : {true, false}) {
      GradScaler a(
          "cpu",
          {.init_scale = 3, .growth_factor = 4, .backoff_factor = 0.5, .growth_interval = 2, .enabled = enabled});
      if (lazy_init) (void)a.scale(full({1}, 4));
      GradScaler b = a.clone();
      CHECK(b.is_enabled() == enabled);
      if (!enabled) continue;
      CHECK(b.get_scale() == 3);
      CHECK(b.get_growth_factor() == 4);
      CHECK(b.get_backoff_factor() == 0.5);
      CHECK(b.get_growth_interval() == 2);
      CHECK(b.state_dict().at("_growth_tracker") == 0);
      CHECK(b.scale(full({1}, 4)).item() == 12);
      // The table of optimizers starts empty and READY: a first unscale_ is the first.
      const Tensor p = parameter({1});
      SGD optimizer({p}, {.lr = 1});
      p.set_grad(ones({1}));
      CHECK_NOTHROW(b.unscale_(optimizer));
      CHECK_THROWS_AS(b.clone(), Error);  // in mid-iteration
    }
}

TEST_CASE("test_params_invalidated_with_grads_invalidated_between_unscale_and_step") {
  for (const bool fused : {false, true})
    for (const double bad : {kInf, kNaN}) {
      const Tensor p = parameter({1, 1});
      SGD optimizer({p}, {.lr = 1, .fused = fused});
      GradScaler scaler("cpu", {.init_scale = 128});
      scaler.scale(p.sum()).backward();
      scaler.unscale_(optimizer);
      p.grad().fill_(bad);
      const auto result = scaler.step(optimizer);
      scaler.update();
      CHECK_FALSE(result.skipped);
      for (const double v : p.to_vector()) CHECK_FALSE(std::isfinite(v));
      CHECK(scaler.get_scale() == 128);
    }
}

TEST_CASE("test_grad_scale_will_not_overflow") {
  const Tensor p = parameter({1, 1});
  SGD optimizer({p}, {.lr = 1e-3});
  GradScaler scaler("cpu", {.init_scale = 1e38, .growth_factor = 16, .growth_interval = 1});
  scaler.scale((p * 1e-3).sum()).backward();
  CHECK_FALSE(scaler.step(optimizer).skipped);
  scaler.update();
  CHECK(std::isfinite(scaler.get_scale()));
  CHECK(scaler.get_scale() == static_cast<double>(1e38f));
}

TEST_CASE("test_grad_scaler_pass_itself") {
  // PyTorch hands a scaler to optimizers of an older kind, whose step has a grad_scaler parameter, and warns. An
  // optimizer here has one kind of step; what it finds during step are the two tensors, and nothing afterwards.
  const Tensor p = parameter({1});
  Looks optimizer({p});
  GradScaler scaler("cpu", {.init_scale = 4});
  scaler.scale(p.sum()).backward();
  scaler.step(optimizer);
  REQUIRE(optimizer.seen_scale.defined());
  CHECK(optimizer.seen_scale.item() == 4);
  CHECK(optimizer.seen_found.item() == 0);
  CHECK_FALSE(optimizer.grad_scale.defined());
  CHECK_FALSE(optimizer.found_inf.defined());
  scaler.update();
  // After unscale_ there is nothing left to divide by.
  p.set_grad({});
  scaler.scale(p.sum()).backward();
  scaler.unscale_(optimizer);
  scaler.step(optimizer);
  CHECK_FALSE(optimizer.seen_scale.defined());
  CHECK(optimizer.seen_found.defined());
}

TEST_CASE("test_grad_scaling_scale") {
  // On two devices in PyTorch; on one: containers keep their type and every tensor is multiplied by one scale, which is
  // made on the device of the first.
  GradScaler scaler("cpu", {.init_scale = 2});
  const Tensor t = full({1}, 4);
  const auto nested = scaler.scale(std::tuple(std::vector{t, t}, std::pair{t, std::vector{t}}));
  CHECK(std::get<0>(nested)[1].item() == 8);
  CHECK(std::get<1>(nested).first.item() == 8);
  CHECK(std::get<1>(nested).second[0].item() == 8);
}

TEST_CASE("test_grad_scaling_device_as_key") {
  // Equal devices are one key: gradients on "cpu", however it was written, are one group and one found_inf.
  const Tensor a = zeros({1}, {.device = device("cpu"), .requires_grad = true});
  const Tensor b = zeros({1}, {.device = kCPU, .requires_grad = true});
  SGD optimizer({a, b}, {.lr = 1});
  GradScaler scaler("cpu", {.init_scale = 2});
  scaler.scale((a + b).sum()).backward();
  observe::Recording recording;
  scaler.unscale_(optimizer);
  int calls = 0;
  for (const OpEvent& e : recording.ops)
    calls += e.op == static_cast<std::uint16_t>(OpId::amp_foreach_non_finite_check_and_unscale_);
  CHECK(calls == 1);
}

TEST_CASE("test_grad_scaler_deprecated_warning") {
  // PyTorch warns for torch.cuda.amp.GradScaler and its CPU twin. There is one class here, with the device's name.
  static_assert(std::is_constructible_v<GradScaler, std::string_view>);
  CHECK(GradScaler("cpu").is_enabled());
  CHECK_THROWS_AS(GradScaler("tpu"), Error);
}

TEST_CASE("test_sharded_grad_scaler_found_inf") {
  // FSDP: an infinity on one rank makes every rank back off. One process here: two optimizers stand for two ranks, each
  // with its own found_inf; update() adds them up.
  const Tensor a = parameter({1}), b = parameter({1});
  SGD rank0({a}, {.lr = 1}), rank1({b}, {.lr = 1});
  GradScaler scaler("cpu", {.init_scale = 8});
  scaler.scale(a.sum() + b.sum()).backward();
  set_element(b.grad(), 0, kInf);
  CHECK_FALSE(scaler.step(rank0).skipped);
  CHECK(scaler.step(rank1).skipped);
  scaler.update();
  CHECK(scaler.get_scale() == 4);
}

TEST_CASE("test_grad_scaling") {
  // FSDP: the scale keeps a loss's dtype. ShardedGradScaler casts back what this scaler, as the ordinary one, promotes.
  GradScaler scaler("cpu", {.init_scale = 2});
  CHECK(scaler.scale(ones({1}, {.dtype = kFloat16})).dtype() == kFloat16);
  CHECK(scaler.scale(ones({1}, {.dtype = kFloat64})).dtype() == kFloat64);
  CHECK(scaler.scale(ones({}, {.dtype = kFloat16})).dtype() == kFloat32);
}

TEST_CASE("test_scaling_unscaling_sparse") {
  GradScaler scaler("cpu", {.init_scale = 2});
  const Tensor table = ones({4, 2});
  table.requires_grad_();
  SGD optimizer({table}, {.lr = 1});
  scaler.scale(embedding(table, tensor({0, 2, 2}, {.dtype = DType::int64}), -1, true).sum()).backward();
  REQUIRE(table.grad().is_sparse());
  CHECK(table.grad().values().to_vector() == std::vector<double>(6, 2));
  scaler.unscale_(optimizer);
  CHECK(table.grad().to_dense().to_vector() == std::vector<double>{1, 1, 0, 0, 2, 2, 0, 0});
  CHECK_FALSE(scaler.step(optimizer).skipped);
  CHECK(table.to_vector() == std::vector<double>{0, 0, 1, 1, -1, -1, 1, 1});
}

TEST_CASE("test_inf_gradients_skip_optim_step") {
  Used used;
  used.param.set_grad(full({2}, kInf));
  const auto before = used.param.to_vector();
  CHECK(used.scaler.step(used.optimizer).skipped);
  CHECK(used.scaler.step_was_skipped(used.optimizer));
  CHECK(used.param.to_vector() == before);
  used.scaler.update();
  CHECK(used.scaler.get_scale() == 2);
  CHECK(used.scaler.step_was_skipped(used.optimizer));  // stays known for a scheduler
}
