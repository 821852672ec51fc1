// Modules: names, paths, modes, state, conversion, and what a call announces.
#include "libamp/nn/module.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "libamp/nn/activations.h"
#include "libamp/nn/init.h"
#include "libamp/nn/layers.h"
#include "libamp/observe/in_process.h"
#include "libamp/optim/sgd.h"
#include "tests/support/toy_training.h"

using namespace amp;
using namespace amp::testing;

namespace {

// Two linear layers, one of them inside a block, and a buffer.
class Block : public nn::Module {
 public:
  Block() { inner = register_module("inner", nn::Linear(3, 2, false)); }
  Tensor forward(const Tensor& input) override { return (*inner)(input); }
  std::shared_ptr<nn::Linear> inner;
};

class Net : public nn::Module {
 public:
  Net() {
    block = register_module("block", Block());
    head = register_module("head", nn::Linear(2, 4));
    scale = register_buffer("scale", ones({4}));
  }
  Tensor forward(const Tensor& input) override { return (*head)((*block)(input)) * scale; }
  // Reaches past the block.
  Tensor shortcut(const Tensor& input) {
    const Scope scope(*this);
    return (*block->inner)(input);
  }
  std::shared_ptr<Block> block;
  std::shared_ptr<nn::Linear> head;
  Tensor scale;
};

std::vector<std::string> names(const nn::Module::Named& list) {
  std::vector<std::string> all;
  for (const auto& [name, tensor] : list) all.push_back(name);
  return all;
}

}  // namespace

TEST_CASE("parameters are named by their path", "[nn]") {
  const Net net;
  CHECK(names(net.named_parameters()) == std::vector<std::string>{"block.inner.weight", "head.weight", "head.bias"});
  CHECK(names(net.named_buffers()) == std::vector<std::string>{"scale"});
  const Tensors parameters = net.parameters();
  CHECK(std::string(observe::text(parameters[2].name())) == "head.bias");
  CHECK(parameters[0].is_leaf());
  CHECK(parameters[0].requires_grad());
  std::vector<std::string> modules;
  for (const auto& [path, module] : net.named_modules()) modules.push_back(path);
  CHECK(modules == std::vector<std::string>{"", "block", "block.inner", "head"});

  nn::Sequential sequential(nn::Flatten(), nn::Linear(6, 2));
  CHECK(names(sequential.named_parameters()) == std::vector<std::string>{"1.weight", "1.bias"});
  CHECK(sequential.size() == 2);
  CHECK(error_code([&] { (void)sequential[2]; }) == ErrorCode::index);
}

TEST_CASE("a shared module counts once", "[nn]") {
  const auto shared = std::make_shared<nn::Linear>(2, 2);
  nn::Sequential net(shared, nn::ReLU(), shared);
  CHECK(names(net.named_parameters()) == std::vector<std::string>{"0.weight", "0.bias"});
  CHECK(net.named_modules().size() == 3);
}

TEST_CASE("ops announce the path of the module that called them", "[nn]") {
  Net net;
  nn::Sequential outer(nn::Flatten(), std::make_shared<Net>());
  const Tensor input = ones({1, 3});
  const observe::Recording recording;
  const auto path_of_linear = [&](std::size_t n) {
    std::vector<std::string> paths;
    for (const OpEvent& op : recording.ops)
      if (op.op == static_cast<std::uint16_t>(OpId::linear)) paths.emplace_back(observe::text(op.module_path));
    REQUIRE(paths.size() > n);
    return paths[n];
  };
  net(input);
  CHECK(path_of_linear(0) == "block.inner");
  CHECK(path_of_linear(1) == "head");
  outer(input);
  CHECK(path_of_linear(2) == "1.block.inner");
  net.shortcut(input);
  CHECK(path_of_linear(4) == "block.inner");
  (*net.head)(ones({1, 2}));  // called by nobody: it is the root
  CHECK(path_of_linear(5).empty());
  CHECK(context().module_path == 0);
}

TEST_CASE("the path is left when a module throws", "[nn]") {
  nn::Sequential net(nn::Linear(3, 2));
  const observe::Recording recording;
  CHECK(error_code([&] { net(ones({1, 5})); }).has_value());
  CHECK(context().module_path == 0);
  net(ones({1, 3}));
  CHECK(std::string(observe::text(recording.ops.back().module_path)) == "0");
}

TEST_CASE("training mode reaches all below", "[nn]") {
  Net net;
  CHECK(net.is_training());
  net.eval();
  CHECK_FALSE(net.block->inner->is_training());
  net.train();
  CHECK(net.block->inner->is_training());
}

TEST_CASE("a module is converted in place, for everyone who holds its parameters", "[nn]") {
  Net net;
  const Tensors before = net.parameters();
  SGD optimizer(before, {.lr = 1});
  net(ones({1, 3})).sum().backward();
  net.half();
  for (const Tensor& p : before) {
    CHECK(p.dtype() == DType::float16);
    CHECK(p.grad().dtype() == DType::float16);
  }
  CHECK(net.head->weight.dtype() == DType::float16);
  CHECK(net.scale.dtype() == DType::float16);
  CHECK(net(ones({1, 3}, {.dtype = DType::float16})).dtype() == DType::float16);
  CHECK(error_code([&] { net.to(DType::int64); }) == ErrorCode::type);
  net.zero_grad();
  CHECK_FALSE(before[0].grad().defined());
}

TEST_CASE("state dicts copy values and refuse what does not fit", "[nn]") {
  Net from, to;
  CHECK(from.head->weight.to_vector() != to.head->weight.to_vector());
  auto state = from.state_dict();
  CHECK(state.size() == 4);
  to.load_state_dict(state);
  CHECK(from.head->weight.to_vector() == to.head->weight.to_vector());
  state["head.bias"] = ones({3});
  state.erase("scale");
  state["extra"] = ones({1});
  const std::string message = error_message([&] { to.load_state_dict(state); });
  for (const char* name : {"head.bias", "scale", "extra"}) CHECK(message.find(name) != std::string::npos);
}

TEST_CASE("registration refuses bad names", "[nn]") {
  class Bad : public nn::Module {
   public:
    explicit Bad(const char* name) { register_parameter(name, ones({1})); }
    void again() { register_buffer("weight", ones({1})); }
  };
  CHECK(error_code([] { Bad(""); }) == ErrorCode::value);
  CHECK(error_code([] { Bad("a.b"); }) == ErrorCode::value);
  CHECK(error_code([] { Bad("weight").again(); }) == ErrorCode::value);
  CHECK(error_code([] { nn::Module().forward({}); }) == ErrorCode::not_implemented);
}

TEST_CASE("initial values have PyTorch's bounds", "[nn]") {
  manual_seed(3);
  const nn::Linear linear(100, 400);
  const nn::Conv2d conv(4, 50, 3);
  struct Row {
    Tensor values;
    double bound;
  };
  for (const Row& row :
       {Row{linear.weight, 0.1}, Row{linear.bias, 0.1}, Row{conv.weight, 1 / 6.0}, Row{conv.bias, 1 / 6.0}}) {
    double most = 0, sum = 0;
    for (const double v : row.values.to_vector()) {
      most = std::max(most, std::abs(v));
      sum += v;
    }
    CHECK(most <= row.bound);
    CHECK(most > 0.8 * row.bound);
    CHECK(std::abs(sum / static_cast<double>(row.values.numel())) < 0.25 * row.bound);
  }
  CHECK(nn::init::fans(conv.weight).in == 36);
  CHECK(nn::init::fans(conv.weight).out == 450);
  CHECK(error_code([&] { (void)nn::init::fans(conv.bias); }) == ErrorCode::value);
  CHECK(error_code([] { nn::Conv2d(4, 6, 3, {.groups = 4}); }) == ErrorCode::value);
}

TEST_CASE("parameters count as weights in memory", "[nn]") {
  const observe::Recording recording;
  const nn::Linear linear(8, 4);
  int weights = 0;
  for (const AllocEvent& alloc : recording.allocs)
    weights +=
        alloc.cause == static_cast<std::uint8_t>(MemoryCause::weights) && (alloc.bytes == 128 || alloc.bytes == 16);
  CHECK(weights >= 2);
}
