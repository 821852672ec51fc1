// Checkpointing: the same numbers, less memory in between, the same dtypes and random numbers in the second run.
#include "libamp/autograd/checkpoint.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "libamp/autocast/cast_cache.h"
#include "libamp/autocast/scope.h"
#include "libamp/autograd/autograd.h"
#include "libamp/autograd/function.h"
#include "libamp/observe/in_process.h"
#include "libamp/ops/ops.h"
#include "tests/support/gradcheck.h"

using namespace amp;
using Catch::Matchers::ContainsSubstring;

namespace {

Tensor parameter(const Shape& sizes, int seed) {
  Tensor p = test::values(sizes, seed).to(kFloat32);
  p = p.detach();
  p.requires_grad_();
  return p;
}

// Layers of a product and two pointwise functions, whose inputs backward needs.
struct Net {
  std::vector<Tensor> weights;
  explicit Net(int layers, std::int64_t width = 8) {
    for (int i = 0; i < layers; ++i) weights.push_back(parameter({width, width}, i));
  }
  [[nodiscard]] Tensor block(const Tensor& x, std::size_t i) const { return sin(tanh(linear(x, weights[i])) * 1.5); }
  Tensor run(Tensor x, bool checkpointed, const CheckpointOptions& options = {}) const {
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const auto f = [this, i](const Tensor& in) { return block(in, i); };
      x = checkpointed ? checkpoint(f, x, options) : f(x);
    }
    return x;
  }
  std::vector<std::vector<double>> take_gradients() const {
    std::vector<std::vector<double>> taken;
    for (const Tensor& w : weights) {
      taken.push_back(w.grad().to_vector());
      w.set_grad({});
    }
    return taken;
  }
};

std::size_t bytes_now() { return memory_stats().allocated_bytes; }

}  // namespace

TEST_CASE("a checkpointed network has the gradients of the plain one, bit for bit") {
  const bool reentrant = GENERATE(false, true);
  for (const std::optional<DType> fast : {std::optional<DType>{}, std::optional{kFloat16}, std::optional{kBFloat16}})
    for (const Policy policy : {Policy::cuda, Policy::cpu}) {
      const Net net(3);
      const Tensor x = parameter({4, 8}, 9);
      std::vector<std::vector<double>> plain, again;
      for (const bool checkpointed : {false, true}) {
        Tensor loss;
        {
          const autocast region("cpu",
                                {.dtype = fast.value_or(kBFloat16), .enabled = fast.has_value(), .policy = policy});
          loss = net.run(x, checkpointed, {.use_reentrant = reentrant}).sum();
        }
        loss.backward();
        (checkpointed ? again : plain) = net.take_gradients();
        (checkpointed ? again : plain).push_back(x.grad().to_vector());
        x.set_grad({});
      }
      CHECK(plain == again);
    }
}

TEST_CASE("the saved tensors of a checkpointed stretch are not held between forward and backward") {
  const bool reentrant = GENERATE(false, true);
  const Net net(1, 64);
  const Tensor x = parameter({256, 64}, 9);
  const auto held_by = [&](bool checkpointed) {
    const std::size_t before = bytes_now();
    const auto f = [&](const Tensor& in) {
      Tensor y = in;
      for (int i = 0; i < 5; ++i) y = net.block(y, 0);
      return y;
    };
    const Tensor y = checkpointed ? checkpoint(f, x, {.use_reentrant = reentrant}) : f(x);
    const std::size_t held = bytes_now() - before;
    y.sum().backward();
    return held;
  };
  const std::size_t activation = 256 * 64 * 4;
  CHECK(held_by(false) >= 10 * activation);
  CHECK(held_by(true) <= 2 * activation);
  const std::size_t after = bytes_now();
  held_by(true);
  CHECK(bytes_now() == after);  // nor after backward
}

TEST_CASE("a checkpoint is computed once more for backward, and once for each backward of a retained graph") {
  int runs = 0;
  const Tensor x = parameter({4}, 1);
  const Tensor y = checkpoint(
      [&](const Tensor& in) {
        ++runs;
        return sin(cos(in) * in);
      },
      x);
  CHECK(runs == 1);
  y.sum().backward({}, true);
  CHECK(runs == 2);
  const auto first = x.grad().to_vector();
  x.set_grad({});
  y.sum().backward();
  CHECK(runs == 3);
  CHECK(x.grad().to_vector() == first);
  CHECK_THROWS_WITH(y.sum().backward(), ContainsSubstring("retain_graph"));
}

TEST_CASE("gradients of gradients go through a checkpoint that is not reentrant") {
  Tensor x = test::values({2, 3});
  x.requires_grad_();
  const auto f = [](const Tensors& in) { return checkpoint([](const Tensor& t) { return sin(t * t) * t; }, in[0]); };
  CHECK(test::gradcheck(f, {x}) == "");
  CHECK(test::gradgradcheck(f, {x}) == "");
}

TEST_CASE("grad() passes a checkpoint only where it is not reentrant") {
  const Tensor x = parameter({4}, 1);
  const auto f = [](const Tensor& in) { return sin(in) * in; };
  CHECK(grad({checkpoint(f, x).sum()}, {x})[0].to_vector() == grad({f(x).sum()}, {x})[0].to_vector());
  CHECK_THROWS_WITH(grad({checkpoint(f, x, {.use_reentrant = true}).sum()}, {x}), ContainsSubstring("reentrant"));
}

TEST_CASE("checkpoints nest") {
  const bool reentrant = GENERATE(false, true);
  const Net net(4);
  const Tensor x = parameter({4, 8}, 9);
  net.run(x, false).sum().backward();
  const auto plain = net.take_gradients();
  const CheckpointOptions options{.use_reentrant = reentrant};
  checkpoint([&](const Tensor& in) { return net.run(in, true, options); }, x, options).sum().backward();
  CHECK(net.take_gradients() == plain);
}

TEST_CASE("dropout draws the same numbers in the second run, and the generator goes on as if there were none") {
  const bool reentrant = GENERATE(false, true);
  const Tensor x = parameter({64}, 1);
  const auto f = [](const Tensor& in) { return dropout(in, 0.5) * in; };
  const auto run = [&](bool checkpointed) {
    manual_seed(11);
    const Tensor y = checkpointed ? checkpoint(f, x, {.use_reentrant = reentrant}) : f(x);
    (void)rand({3});
    y.sum().backward();
    auto result = x.grad().to_vector();
    x.set_grad({});
    result.push_back(rand({1}).item());
    return result;
  };
  CHECK(run(true) == run(false));
  manual_seed(11);
  const Tensor y = checkpoint(f, x, {.use_reentrant = reentrant, .preserve_rng_state = false});
  y.sum().backward();
  const auto mixed = x.grad().to_vector();
  x.set_grad({});
  manual_seed(11);
  f(x).sum().backward();
  CHECK(mixed != x.grad().to_vector());  // so that the option means something
  x.set_grad({});
}

TEST_CASE("the second run has phase recompute, the dtypes of the first, and clears the casts it made") {
  const bool reentrant = GENERATE(false, true);
  const Net net(1);
  const Tensor x = parameter({4, 8}, 9);
  observe::Recording recording;
  Tensor loss;
  {
    const autocast region("cpu", {.dtype = kFloat16, .policy = Policy::cuda});
    loss = checkpoint(
               [&](const Tensor& in) {
                 const Tensor y = net.block(in, 0);
                 const autocast off("cpu", {.enabled = false});
                 return exp(y.to_float());
               },
               x, {.use_reentrant = reentrant})
               .sum();
  }
  CHECK(cast_cache::size().entries == 0);
  loss.backward();
  CHECK(cast_cache::size().entries == 0);
  const auto list = [&](Phase phase) {
    std::vector<std::string> ops;
    for (const OpEvent& e : recording.ops)
      if (e.phase == static_cast<std::uint8_t>(phase))
        ops.push_back(std::string(op_info(static_cast<OpId>(e.op)).name) + " " +
                      std::string(name(static_cast<DType>(e.compute_dtype))) + " " +
                      std::string(name(static_cast<Reason>(e.reason))));
    return ops;
  };
  auto forward = list(Phase::forward);
  REQUIRE(forward.size() > 4);
  forward.pop_back();  // the sum is outside
  CHECK(forward == list(Phase::recompute));
  CHECK(forward[0] == "linear float16 listed low precision");
}

TEST_CASE("a function that does something else the second time is refused, by the op that differs") {
  const Tensor x = parameter({4, 4}, 1), w = parameter({4, 4}, 2);
  int runs = 0;
  const auto changing = [&](const Tensor& in) {
    const autocast region("cpu", {.dtype = ++runs == 1 ? kBFloat16 : kFloat16});
    return tanh(linear(in, w));
  };
  CHECK_THROWS_WITH(checkpoint(changing, x).sum().backward(),
                    ContainsSubstring("[checkpoint]") && ContainsSubstring("linear") && ContainsSubstring("bfloat16") &&
                        ContainsSubstring("float16"));
  runs = 0;
  const auto shorter = [&](const Tensor& in) { return ++runs == 1 ? sin(sin(in)) : sin(in); };
  CHECK_THROWS_WITH(checkpoint(shorter, x).sum().backward(), ContainsSubstring("got 1, need 2"));
}

TEST_CASE("several inputs and outputs, inputs without gradients, and no_grad") {
  const bool reentrant = GENERATE(false, true);
  const CheckpointOptions options{.use_reentrant = reentrant};
  const Tensor a = parameter({4}, 1), b = parameter({4}, 2), mask = tensor({1, 0, 1, 0});
  const auto f = [](const Tensors& in) { return Tensors{in[0] * in[1] * in[2], sin(in[1])}; };
  const auto run = [&](bool checkpointed) {
    const Tensors out = checkpointed ? checkpoint(f, Tensors{a, b, mask}, options) : f({a, b, mask});
    (out[0].sum() + out[1].sum()).backward();
    auto result = a.grad().to_vector();
    for (const double g : b.grad().to_vector()) result.push_back(g);
    a.set_grad({});
    b.set_grad({});
    return result;
  };
  CHECK(run(true) == run(false));
  CHECK_FALSE(mask.grad().defined());
  const no_grad quiet;
  CHECK_FALSE(checkpoint(f, Tensors{a, b, mask}, options)[0].requires_grad());
}

TEST_CASE("parameters get gradients even if no input needs one, without reentrance") {
  const Net net(1);
  const Tensor x = ones({2, 8});
  net.run(x, true).sum().backward();
  CHECK(net.weights[0].grad().defined());
}

TEST_CASE("functions of the user inside a checkpoint") {
  struct Cube : autograd::Function<Cube> {
    static Tensor forward(autograd::AutogradContext* ctx, const Tensor& x) {
      const Tensor y = x * x * x;
      ctx->save_for_backward({x, y});
      return y;
    }
    static Tensors backward(autograd::AutogradContext* ctx, const Tensors& grads) {
      const Tensors saved = ctx->get_saved_variables();
      return {grads[0] * 3.0 * saved[1] / saved[0]};
    }
  };
  Tensor x = full({3}, 2, {.requires_grad = true});
  checkpoint([](const Tensor& in) { return sin(Cube::apply(in * 1.0)); }, x).sum().backward();
  const auto got = x.grad().to_vector();
  x.set_grad({});
  sin(Cube::apply(x * 1.0)).sum().backward();
  CHECK(got == x.grad().to_vector());
}

TEST_CASE("a list of functions in segments") {
  const Net net(5);
  std::vector<std::function<Tensor(const Tensor&)>> functions;
  for (std::size_t i = 0; i < 5; ++i) functions.push_back([&net, i](const Tensor& in) { return net.block(in, i); });
  const Tensor x = parameter({4, 8}, 9);
  net.run(x, false).sum().backward();
  const auto plain = net.take_gradients();
  for (const std::int64_t segments : {1, 2, 5}) {
    checkpoint_sequential(functions, segments, x).sum().backward();
    CHECK(net.take_gradients() == plain);
  }
  CHECK_THROWS_WITH(checkpoint_sequential(functions, 6, x), ContainsSubstring("got 6, need 1 to 5"));
}

TEST_CASE("a hundred thousand ops in one checkpoint are freed without recursion") {
  const Tensor x = full({1}, 0.5, {.requires_grad = true});
  const Tensor y = checkpoint(
      [](const Tensor& in) {
        Tensor t = in;
        for (int i = 0; i < 100000; ++i) t = t * t;
        return t;
      },
      x);
  CHECK(y.requires_grad());
}
