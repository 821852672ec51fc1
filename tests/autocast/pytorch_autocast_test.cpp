// PyTorch's tests of the autocast state machine, by their names (test/test_autocast.py and test_cuda.py of 2.11), on
// the one CPU device. Those of the op lists are in pytorch_op_lists_test.cpp.
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <map>
#include <thread>
#include <type_traits>

#include "libamp/autocast/cast_cache.h"
#include "libamp/autocast/scope.h"
#include "libamp/autograd/autograd.h"
#include "libamp/autograd/checkpoint.h"
#include "libamp/autograd/custom_fwd.h"
#include "libamp/observe/in_process.h"
#include "libamp/ops/ops.h"

using namespace amp;
using amp::autograd::AutogradContext;
using amp::autograd::Function;
using Catch::Matchers::ContainsSubstring;

namespace {

AutocastOptions cuda_rules(DType dtype = kFloat16) { return {.dtype = dtype, .policy = Policy::cuda}; }
Tensor random_leaf(const Shape& sizes, DType dtype = kFloat32) {
  return randn(sizes, {.dtype = dtype, .requires_grad = true});
}
bool on() { return is_autocast_enabled(DeviceType::cpu); }
DType fast() { return get_autocast_dtype(DeviceType::cpu); }

// Casts autocast made (not those the cache saved), of tensors with `elements`.
int casts_made(const observe::Recording& recording, std::int64_t elements) {
  int count = 0;
  for (const CastEvent& e : recording.casts)
    count += e.cached == 0 && e.kind == static_cast<std::uint8_t>(CastKind::autocast) &&
             e.elements == static_cast<std::uint64_t>(elements);
  return count;
}

struct Seen {
  bool forward_on, backward_on;
  DType forward_dtype, backward_dtype;
} seen;

// mm whose forward and backward run as the region of forward says.
struct MyMM : Function<MyMM> {
  static inline const auto forward = custom_fwd("cpu")([](AutogradContext* ctx, const Tensor& a, const Tensor& b) {
    seen.forward_on = on();
    ctx->save_for_backward({a, b});
    const Tensor product = mm(a, b);
    seen.forward_dtype = product.dtype();
    return product;
  });
  static inline const auto backward = custom_bwd("cpu")([](AutogradContext* ctx, const Tensors& grads) {
    seen.backward_on = on();
    const Tensors saved = ctx->get_saved_variables();
    const Tensors result{mm(grads[0], saved[1].t()), mm(saved[0].t(), grads[0])};
    seen.backward_dtype = result[0].dtype();
    return result;
  });
};

using Container = std::map<std::string, std::pair<Tensor, std::vector<Tensor>>>;

// As PyTorch's: takes containers, other devices' and types' tensors, and expects half precision to have become float32.
struct CastingMM : Function<CastingMM> {
  static inline const auto forward = custom_fwd("cpu", {.cast_inputs = kFloat32})(
      [](AutogradContext* ctx, const Tensor& a, const Container& container, const Tensor& expect_type,
         const std::string& text, const std::tuple<Tensor, int>& pair) {
        const DType expected = expect_type.dtype() == kFloat64 ? kFloat64 : kFloat32;
        CHECK(a.dtype() == expected);
        CHECK(container.at("in").first.dtype() == expected);
        CHECK(container.at("in").second[0].dtype() == expected);
        CHECK(container.at("in").second[1].dtype() == kInt64);
        CHECK(std::get<0>(pair).dtype() == expected);
        CHECK(std::get<1>(pair) == 7);
        CHECK(text == "passes");
        CHECK_FALSE(on());
        ctx->save_for_backward({a, container.at("in").first});
        return mm(a, container.at("in").first);
      });
  static inline const auto backward = custom_bwd("cpu")([](AutogradContext* ctx, const Tensors& grads) {
    CHECK_FALSE(on());
    const Tensors saved = ctx->get_saved_variables();
    return Tensors{mm(grads[0], saved[1].t()), Tensor(), Tensor(), Tensor(), Tensor()};
  });
};

struct Plain : Function<Plain> {
  static inline const auto forward =
      custom_fwd("cpu", {.cast_inputs = kFloat32})([](AutogradContext*, const Tensor& a) -> Tensor { return a * 1.0; });
  static inline const auto backward = custom_bwd("cpu")([](AutogradContext*, const Tensors& grads) { return grads; });
};

struct Unwrapped : Function<Unwrapped> {
  static Tensor forward(AutogradContext*, const Tensor& x) { return x * 1.0; }
  static inline const auto backward =
      custom_bwd("cpu")([](AutogradContext*, const Tensors& grads) { return Tensors{grads[0]}; });
};

}  // namespace

TEST_CASE("test_autocast_custom_enabled") {
  for (const DType dtype : {kFloat16, kBFloat16})
    for (const Policy policy : {Policy::cuda, Policy::cpu}) {
      const Tensor x = random_leaf({8, 8}), y = random_leaf({8, 8});
      Tensor loss;
      {
        const autocast region("cpu", {.dtype = dtype, .policy = policy});
        const Tensor output = MyMM::apply(x, y);
        CHECK(output.dtype() == dtype);
        loss = output.sum();
      }
      loss.backward();  // outside: the region of forward comes back for this function alone
      CHECK(seen.forward_on);
      CHECK(seen.backward_on);
      CHECK(seen.forward_dtype == dtype);
      CHECK(seen.backward_dtype == dtype);
      CHECK(x.grad().dtype() == kFloat32);
      CHECK_FALSE(on());
    }
  // Without a region around forward, backward has none either, wherever it is called.
  const Tensor x = random_leaf({4, 4}), y = random_leaf({4, 4});
  const Tensor output = MyMM::apply(x, y);
  const autocast region(DeviceType::cpu, cuda_rules());
  output.sum().backward();
  CHECK_FALSE(seen.backward_on);
  CHECK(seen.backward_dtype == kFloat32);
}

TEST_CASE("test_autocast_custom_cast_inputs") {
  const auto run = [](const Tensor& x, const Tensor& y) {
    const Container container{{"in", {y, {y, ones({2}, {.dtype = kInt64})}}}};
    return CastingMM::apply(x, container, x, std::string("passes"), std::tuple<Tensor, int>(y, 7));
  };
  const Tensor x = random_leaf({8, 8}, kFloat16), y = randn({8, 8}, {.dtype = kFloat16});
  {
    const autocast region(DeviceType::cpu, cuda_rules());
    const Tensor output = run(x, y);
    CHECK(output.dtype() == kFloat32);
    const Tensor loss = output.sum();
    loss.backward();  // inside the region: backward is not autocast all the same
    CHECK(x.grad().dtype() == kFloat16);
    CHECK(on());
    CHECK(run(x.to(kFloat64), y.to(kFloat64)).dtype() == kFloat64);  // float64 is not eligible
  }
  // Outside a region the decorator does nothing.
  const Tensor wide = random_leaf({8, 8}), other = randn({8, 8});
  CHECK(run(wide, other).dtype() == kFloat32);
  CHECK(Plain::apply(x).dtype() == kFloat16);
  CHECK_THROWS_WITH(custom_fwd("tpu"), ContainsSubstring("tpu"));
  CHECK_THROWS_WITH(Unwrapped::apply(wide).sum().backward(), ContainsSubstring("custom_fwd"));
}

TEST_CASE("test_autocast_cat_jit") {
  // Issue 38958: CPU tensors in a CUDA region are not eligible. There is no tracer here; the eager half is what failed.
  set_autocast_enabled(DeviceType::cuda, true);
  const Tensor a = ones({2}, {.dtype = kFloat16}), b = ones({2});
  CHECK(cat({a, b}).dtype() == kFloat32);
  CHECK(stack({a, a}).dtype() == kFloat16);
  CHECK(cat({b, b}).dtype() == kFloat32);
  CHECK(mm(ones({2, 2}), ones({2, 2})).dtype() == kFloat32);
  set_autocast_enabled(DeviceType::cuda, false);
}

TEST_CASE("test_autocast_cache_leak") {
  // Issue 48049: repeating a layer under no_grad must not add a cast each time.
  const Tensor weight = random_leaf({64, 64}), bias = random_leaf({64}), input = ones({8, 64});
  const autocast region(DeviceType::cpu, cuda_rules());
  const no_grad quiet;
  (void)linear(input, weight, bias);
  const std::size_t first = memory_stats().allocated_bytes;
  for (int i = 0; i < 5; ++i) {
    (void)linear(input, weight, bias);
    CHECK(memory_stats().allocated_bytes == first);
  }
}

TEST_CASE("test_autocast_checkpointing") {
  const bool reentrant = GENERATE(true, false);
  const Tensor weights[] = {random_leaf({8, 8}), random_leaf({8, 8}), random_leaf({8, 8})};
  const Tensor input = random_leaf({8, 8}, kFloat16);
  for (const DType dtype : {kFloat16, kBFloat16}) {
    Tensor output;
    {
      const autocast region(DeviceType::cpu, cuda_rules(dtype));
      std::vector<std::function<Tensor(const Tensor&)>> layers;
      for (const Tensor& w : weights) layers.emplace_back([&w](const Tensor& x) { return linear(x, w); });
      output = checkpoint_sequential(layers, 2, input, {.use_reentrant = reentrant});
      CHECK(output.requires_grad());
      CHECK(output.dtype() == dtype);
    }
    output.sum().backward();
  }
  CHECK(weights[0].grad().dtype() == kFloat32);
  CHECK(input.grad().dtype() == kFloat16);
}

TEST_CASE("test_autocast_disabled_with_fp32_dtype") {
  const autocast region("cpu", {.dtype = kFloat32, .enabled = false});
  CHECK(ones({10}).dtype() == kFloat32);
  CHECK(fast() == kFloat32);  // set although disabled
  CHECK_FALSE(on());
}

TEST_CASE("test_generic_autocast") {
  // torch.amp.autocast(device_type=...) and the device's own spelling; here a string, a device type or a device.
  const Tensor a = ones({4, 4});
  DType by_string, by_type, by_device;
  {
    const autocast region("cpu", kFloat16);
    by_string = mm(a, a).dtype();
  }
  {
    const autocast region(DeviceType::cpu, {.dtype = kFloat16});
    by_type = mm(a, a).dtype();
  }
  {
    const autocast region(device("cpu"), {.dtype = kFloat16});
    by_device = mm(a, a).dtype();
  }
  CHECK(by_string == kFloat16);
  CHECK(by_type == by_string);
  CHECK(by_device == by_string);
}

TEST_CASE("test_cpu_autocast_deprecated_warning") {
  // PyTorch's device-specific classes are deprecated aliases. There are none here: one guard, and no warning from it.
  static_assert(std::is_constructible_v<autocast, std::string_view, AutocastOptions>);
  const autocast region("cpu", kBFloat16);
  CHECK(on());
}

TEST_CASE("test_cast_cache_is_global") {
  // Forward here, and a region of its own in a backward that runs in another thread: one cast of the weight. An outer
  // region keeps the cache from being cleared, where PyTorch's test replaces the clearing by nothing.
  static Tensor weight;
  weight = random_leaf({2, 3});
  struct CustomLinear : Function<CustomLinear> {
    static Tensor forward(AutogradContext* ctx, const Tensor& x, const Tensor& w) {
      ctx->save_for_backward({x, w});
      return linear(x, w);
    }
    static Tensors backward(AutogradContext* ctx, const Tensors& grads) {
      const autocast region(DeviceType::cpu, AutocastOptions{.dtype = kFloat16, .policy = Policy::cuda});
      const Tensors saved = ctx->get_saved_variables();
      return {matmul(grads[0], saved[1]), matmul(grads[0].t(), saved[0])};
    }
  };
  const Tensor input = random_leaf({4, 3});
  observe::Recording recording;
  const autocast outer("cpu", {.enabled = false});
  Tensor output;
  {
    const autocast region(DeviceType::cpu, cuda_rules());
    output = CustomLinear::apply(input, weight);
  }
  std::thread([&] { output.sum().backward(); }).join();
  CHECK(casts_made(recording, weight.numel()) == 1);
  CHECK(input.grad().defined());
  weight = Tensor();
}

TEST_CASE("test_cache_disabled") {
  // A tensor that a captured graph rewrites is cast at every use.
  const Tensor weight = random_leaf({2, 3});
  const auto casts = [&] {
    observe::Recording recording;
    const autocast region(DeviceType::cpu, cuda_rules());
    (void)linear(ones({4, 3}), weight);
    (void)linear(ones({4, 3}), weight);
    return casts_made(recording, weight.numel());
  };
  CHECK(casts() == 1);
  cast_cache::add_static(weight);
  CHECK(casts() == 2);
  cast_cache::remove_static(weight);
  CHECK(casts() == 1);
}

TEST_CASE("test_autocast_prioritize") {
  // Issue 132715: the backward of index_put in a bfloat16 region met its float16 default and raised.
  const autocast region(DeviceType::cpu, cuda_rules(kBFloat16));
  const Tensor t = random_leaf({3, 4, 5}, kBFloat16), value = randn({1}, {.dtype = kBFloat16});
  const Tensor index = randint(0, 3, {3, 4, 5});
  index_put(t, {index}, value).mean().backward();
  CHECK(t.grad().dtype() == kBFloat16);
}

TEST_CASE("test_autocast_fast_dtype") {
  std::thread([] {
    CHECK(get_autocast_dtype(DeviceType::cuda) == kFloat16);
    CHECK(get_autocast_dtype(DeviceType::cpu) == kBFloat16);
  }).join();
}

TEST_CASE("test_autocast_nograd_caching_issue_158232") {
  const Tensor weight = random_leaf({4, 4});
  const autocast region("cpu", kBFloat16);
  {
    const no_grad quiet;
    CHECK_FALSE(linear(ones({2, 4}), weight).requires_grad());
  }
  const Tensor out = linear(ones({2, 4}), weight);
  CHECK(out.requires_grad());
  out.sum().backward();
  CHECK(weight.grad().defined());
}

TEST_CASE("test_autocast_inference_mode_interaction") {
  const Tensor weight = random_leaf({4, 4}), x = ones({2, 4});
  {
    const autocast region("cpu", kBFloat16);
    {
      const inference_mode inside;
      const Tensor y = linear(x, weight);
      CHECK(y.dtype() == kBFloat16);
      CHECK_FALSE(y.requires_grad());
    }
    const Tensor y = linear(x, weight);
    CHECK(y.requires_grad());
    y.sum().backward();
    CHECK(weight.grad().defined());
  }
  weight.set_grad({});
  {
    const inference_mode around;
    const autocast region("cpu", kBFloat16);
    CHECK(linear(x, weight).dtype() == kBFloat16);
  }
  const autocast region("cpu", kBFloat16);
  linear(x, weight).sum().backward();
  CHECK(weight.grad().defined());
}

TEST_CASE("test_autocast_caching_still_works_with_gradients") {
  const Tensor weight = random_leaf({4, 4}), x = ones({2, 4});
  observe::Recording recording;
  const autocast region("cpu", kBFloat16);
  const Tensor uses[] = {linear(x, weight), linear(x, weight), linear(x, weight)};
  CHECK(casts_made(recording, 16) == 1);
  for (const Tensor& y : uses) {
    weight.set_grad({});
    y.sum().backward();
    CHECK(weight.grad().to_vector()[0] == 2);
  }
}

TEST_CASE("test_autocast_mixed_grad_contexts") {
  const Tensor weight = random_leaf({4, 4}), x = ones({2, 4});
  const autocast region("cpu", kBFloat16);
  const Tensor first = linear(x, weight);
  Tensor second;
  {
    const no_grad quiet;
    second = linear(x, weight);
  }
  const Tensor third = linear(x, weight);
  CHECK(first.requires_grad());
  CHECK_FALSE(second.requires_grad());
  CHECK(third.requires_grad());
  (first.sum() + third.sum()).backward();
  CHECK(weight.grad().to_vector()[0] == 4);
}

TEST_CASE("test_invalid_device") {
  CHECK_THROWS_WITH(autocast("not a real device"), ContainsSubstring("not a real device"));
  CHECK_THROWS_WITH(is_autocast_available("not a real device"), ContainsSubstring("not a real device"));
  CHECK(is_autocast_available("cpu"));
  CHECK(is_autocast_available("cuda"));
  CHECK_FALSE(is_autocast_available("meta"));
  CHECK_FALSE(on());
  CHECK(autocast_state().depth == 0);  // what was not made leaves nothing behind
}

TEST_CASE("test_non_string_device") {
  // PyTorch raises for a device object. A Device is typed here and welcome; numbers do not compile.
  static_assert(std::is_constructible_v<autocast, Device>);
  static_assert(!std::is_constructible_v<autocast, int>);
}

TEST_CASE("test_autocast_called_with_non_callable") {
  // A TypeError in PyTorch; here the call does not compile.
  const auto wrapped_number = autocast_wrap(DeviceType::cpu, {}, 42);
  static_assert(!std::is_invocable_v<decltype(wrapped_number)>);
  const auto wrapped = autocast_wrap(DeviceType::cpu, {.dtype = kFloat16}, [](const Tensor& x) { return mm(x, x); });
  static_assert(std::is_invocable_v<decltype(wrapped), Tensor>);
  CHECK(wrapped(ones({2, 2})).dtype() == kFloat16);
}

TEST_CASE("test_data_parallel_autocast") {
  // Issue 43102: worker threads see the flag if the state is handed over; here the dtype and the rules as well, which
  // PyTorch's DataParallel does not pass on.
  const Tensor weight = random_leaf({4, 4});
  std::array<Tensor, 3> outputs;
  {
    const autocast region(DeviceType::cpu, cuda_rules(kBFloat16));
    const AutocastState state = autocast_state();
    std::vector<std::thread> workers;
    for (Tensor& output : outputs)
      workers.emplace_back([&output, &weight, state] {
        CHECK_FALSE(on());  // a new thread starts without
        const AutocastStateScope scope(state);
        output = linear(ones({2, 4}), weight);
      });
    for (std::thread& w : workers) w.join();
  }
  for (const Tensor& output : outputs) CHECK(output.dtype() == kBFloat16);
  (outputs[0].sum() + outputs[1].sum() + outputs[2].sum()).backward();
  CHECK(weight.grad().to_vector()[0] == 6);
}

TEST_CASE("test_autocast_rnn, cells") {
  // The cells, in float32 and in the fast dtype: what they give in a region equals, bit for bit, the cell run outside
  // on operands cast by hand, and gradients come back in the operands' own dtypes. The test of that name with nn's
  // RNN, GRU and LSTM is in tests/nn/rnn_test.cpp.
  using Cell = Tensors (*)(const Tensors&);
  const std::pair<Cell, std::int64_t> cells[] = {
      {[](const Tensors& t) { return Tensors{rnn_tanh_cell(t[0], t[1], t[3], t[4], t[5], t[6])}; }, 1},
      {[](const Tensors& t) { return Tensors{rnn_relu_cell(t[0], t[1], t[3], t[4], t[5], t[6])}; }, 1},
      {[](const Tensors& t) { return Tensors{gru_cell(t[0], t[1], t[3], t[4], t[5], t[6])}; }, 3},
      {[](const Tensors& t) {
         const auto [h, c] = lstm_cell(t[0], {t[1], t[2]}, t[3], t[4], t[5], t[6]);
         return Tensors{h, c};
       },
       4}};
  for (const auto& [cell, gates] : cells)
    for (const DType low : {kFloat16, kBFloat16})
      for (const DType given : {kFloat32, low}) {
        const std::int64_t hidden = 5, rows = gates * hidden;
        const Tensors operands{random_leaf({3, 4}, given),         random_leaf({3, hidden}, given),
                               random_leaf({3, hidden}, given),    random_leaf({rows, 4}, given),
                               random_leaf({rows, hidden}, given), random_leaf({rows}, given),
                               random_leaf({rows}, given)};
        Tensors inside, by_hand, cast;
        {
          const autocast region(DeviceType::cpu, cuda_rules(low));
          inside = cell(operands);
        }
        for (const Tensor& t : operands) cast.push_back(t.detach().to(low));
        by_hand = cell(cast);
        for (std::size_t i = 0; i < inside.size(); ++i) {
          CHECK(inside[i].dtype() == low);
          CHECK(inside[i].to_vector() == by_hand[i].to_vector());
        }
        inside[0].to_float().sum().backward();
        for (const std::size_t i : {0, 1, 3, 4, 5, 6}) CHECK(operands[i].grad().dtype() == given);
      }
}
