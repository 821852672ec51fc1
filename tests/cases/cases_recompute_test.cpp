// Case A09: recomputing a checkpointed block in other dtypes than forward had.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "libamp/autocast/scope.h"
#include "libamp/autograd/autograd.h"
#include "libamp/autograd/checkpoint.h"
#include "libamp/nn/layers.h"
#include "libamp/observe/in_process.h"
#include "libamp/ops/ops.h"

using namespace amp;
using Catch::Matchers::ContainsSubstring;

namespace {

// Ops of a phase with the dtype they ran in and why.
std::vector<std::string> ops_of(const observe::Recording& recording, Phase phase) {
  std::vector<std::string> list;
  for (const OpEvent& e : recording.ops)
    if (e.phase == static_cast<std::uint8_t>(phase))
      list.push_back(std::string(op_info(static_cast<OpId>(e.op)).name) + " " +
                     std::string(name(static_cast<DType>(e.compute_dtype))) + ", " +
                     std::string(name(static_cast<Reason>(e.reason))));
  return list;
}

}  // namespace

TEST_CASE("a block recomputed under bfloat16 lists the ops and dtypes of forward, region for region", "[cases][A09]") {
  for (const bool reentrant : {false, true})
    for (const Policy policy : {Policy::cuda, Policy::cpu}) {
      nn::Linear first(8, 8), second(8, 8);
      const auto block = [&](const Tensor& x) {
        const Tensor y = relu(first(x));
        const autocast off("cpu", {.enabled = false});
        return softmax(second(y.to_float()), -1);
      };
      const Tensor x = randn({4, 8}, {.requires_grad = true});
      observe::Recording recording;
      Tensor out;
      {
        const autocast region("cpu", {.dtype = kBFloat16, .policy = policy});
        out = checkpoint(block, x, {.use_reentrant = reentrant});
      }
      const auto forward = ops_of(recording, Phase::forward);
      out.backward(ones({4, 8}));
      REQUIRE(forward.size() == 4);
      CHECK(forward[0] == "linear bfloat16, listed low precision");
      CHECK(forward[2] == "linear float32, nested off");
      CHECK(ops_of(recording, Phase::recompute) == forward);
      CHECK(first.weight.grad().defined());
    }
}

TEST_CASE("recomputed ops carry the module paths of forward", "[cases][A09]") {
  struct Block : nn::Module {
    std::shared_ptr<nn::Linear> layer = register_module("layer", nn::Linear(4, 4));
    Tensor forward(const Tensor& x) override { return tanh((*layer)(x)); }
  };
  struct Model : nn::Module {
    std::shared_ptr<Block> block = register_module("block", std::make_shared<Block>());
    bool reentrant = false;
    Tensor forward(const Tensor& x) override {
      return checkpoint([this](const Tensor& in) { return (*block)(in); }, x, {.use_reentrant = reentrant});
    }
  };
  for (const bool reentrant : {false, true}) {
    Model model;
    model.reentrant = reentrant;
    observe::Recording recording;
    model(randn({2, 4}, {.requires_grad = true})).sum().backward();
    std::vector<std::string> paths[2];
    for (const OpEvent& e : recording.ops)
      if (const auto phase = static_cast<Phase>(e.phase); phase == Phase::forward || phase == Phase::recompute)
        if (e.op != static_cast<std::uint16_t>(OpId::sum))
          paths[phase == Phase::recompute].push_back(observe::text(e.module_path));
    CHECK(paths[0] == std::vector<std::string>{"block.layer", "block"});
    CHECK(paths[1] == paths[0]);
  }
}

TEST_CASE("a recomputation in another dtype is refused, and the op is named", "[cases][A09]") {
  nn::Linear layer(8, 8);
  bool again = false;
  const auto block = [&](const Tensor& x) {
    const autocast region("cpu", {.dtype = again ? kFloat16 : kBFloat16});
    again = true;
    return tanh(layer(x));
  };
  const Tensor x = randn({4, 8}, {.requires_grad = true});
  CHECK_THROWS_WITH(checkpoint(block, x).sum().backward(), ContainsSubstring("'linear'") &&
                                                               ContainsSubstring("float16") &&
                                                               ContainsSubstring("need 'linear' saved bfloat16"));
}
