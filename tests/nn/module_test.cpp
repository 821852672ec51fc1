// Modules: names, paths, modes, state, conversion, and what a call announces.
#include "libamp/nn/module.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "libamp/nn/activations.h"
#include "libamp/nn/containers.h"
#include "libamp/nn/init.h"
#include "libamp/nn/layers.h"
#include "libamp/nn/norms.h"
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

TEST_CASE("a state that does not fit may be loaded in part, but not with wrong shapes", "[nn]") {
  Net from, to;
  auto state = from.state_dict();
  state.erase("scale");
  state["extra"] = ones({1});
  const auto keys = to.load_state_dict(state, false);
  CHECK(keys.missing_keys == std::vector<std::string>{"scale"});
  CHECK(keys.unexpected_keys == std::vector<std::string>{"extra"});
  CHECK(from.head->weight.to_vector() == to.head->weight.to_vector());
  state["head.weight"] = ones({3});
  state["head.bias"] = ones({4}) * 9.0;
  CHECK(error_message([&] { to.load_state_dict(state, false); }).find("head.weight") != std::string::npos);
  CHECK(to.head->bias.to_vector() == from.head->bias.to_vector());
}

TEST_CASE("a state dict holds shared tensors under each name, and no transient buffers", "[nn]") {
  class Tied : public nn::Module {
   public:
    Tied() {
      first = register_module("first", nn::Linear(2, 2));
      second = register_parameter("second", first->weight);
      register_buffer("kept", ones({1}));
      register_buffer("transient", ones({1}), false);
    }
    std::shared_ptr<nn::Linear> first;
    Tensor second;
  };
  Tied tied;
  CHECK(names(tied.named_parameters()) == std::vector<std::string>{"second", "first.bias"});
  CHECK(names(tied.named_buffers()).size() == 2);
  std::vector<std::string> keys;
  for (const auto& [key, value] : tied.state_dict()) keys.push_back(key);
  CHECK(keys == std::vector<std::string>{"first.bias", "first.weight", "kept", "second"});
  tied.to(DType::float64);
  CHECK(tied.get_buffer("transient").dtype() == DType::float64);
  CHECK(tied.second.dtype() == DType::float64);
}

TEST_CASE("a state of an early version may lack the count of batches", "[nn]") {
  nn::Sequential net(nn::BatchNorm1d(3));
  auto state = net.state_dict();
  CHECK(state.erase("0.num_batches_tracked") == 1);
  net.load_state_dict(state);
  state.erase("0.running_var");
  const std::string message = error_message([&] { net.load_state_dict(state); });
  CHECK(message.find("0.running_var") != std::string::npos);
  CHECK(message.find("num_batches_tracked") == std::string::npos);
}

TEST_CASE("modules are found by path and visited children first", "[nn]") {
  Net net;
  CHECK(net.get_parameter("block.inner.weight").is_same(net.block->inner->weight));
  CHECK(net.get_buffer("scale").is_same(net.scale));
  CHECK(net.get_submodule("block.inner").get() == net.block->inner.get());
  CHECK(error_message([&] { (void)net.get_parameter("block.outer.weight"); }).find("outer") != std::string::npos);
  CHECK(error_code([&] { (void)net.get_buffer("head.bias"); }) == ErrorCode::value);
  CHECK(net.children().size() == 2);
  CHECK(net.modules().size() == 4);
  CHECK(net.parameters(false).empty());
  CHECK(net.buffers().size() == 1);
  std::vector<const nn::Module*> order;
  net.apply([&](nn::Module& module) {
    order.push_back(&module);
    if (auto* linear = dynamic_cast<nn::Linear*>(&module)) nn::init::ones_(linear->weight);
  });
  CHECK(order == std::vector<const nn::Module*>{net.block->inner.get(), net.block.get(), net.head.get(), &net});
  CHECK(net.head->weight.to_vector() == std::vector<double>(8, 1));
}

TEST_CASE("a module moves between devices, or says what is missing", "[nn]") {
  Net net;
  const Tensor before = net.head->weight;
  net.to(kCPU).cpu();
  CHECK(net.head->weight.is_same(before));
  if (!is_available(DeviceType::cuda)) {
    CHECK(error_message([&] { net.cuda(); }).find("cuda") != std::string::npos);
    CHECK(net.head->weight.device() == kCPU);
  }
}

TEST_CASE("forward hooks see and replace inputs and outputs until they are removed", "[nn]") {
  nn::Sequential net(nn::Linear(2, 2, false), nn::ReLU());
  nn::init::eye_(net[0].get_parameter("weight"));
  std::vector<std::string> calls;
  auto before = net[0].register_forward_pre_hook([&](nn::Module& module, const Tensor& input) {
    calls.push_back(&module == &net[0] ? "before" : "other");
    return input * 2.0;
  });
  auto after = net[1].register_forward_hook([&](nn::Module&, const Tensor& input, const Tensor& output) {
    calls.push_back(input.to_vector() == std::vector<double>{-2, 6} ? "after" : "other");
    return output + 1.0;
  });
  auto silent = net[1].register_forward_hook([](nn::Module&, const Tensor&, const Tensor&) { return Tensor(); });
  CHECK(net(tensor({-1, 3}).view({1, 2})).to_vector() == std::vector<double>{1, 7});
  CHECK(calls == std::vector<std::string>{"before", "after"});
  before.remove();
  before.remove();
  after.remove();
  silent.remove();
  CHECK(net(tensor({-1, 3}).view({1, 2})).to_vector() == std::vector<double>{0, 3});
  nn::Module::HookHandle outlived;
  {
    nn::ReLU gone;
    outlived = gone.register_forward_hook([](nn::Module&, const Tensor&, const Tensor& o) { return o; });
  }
  outlived.remove();
}

TEST_CASE("containers hold modules and parameters by number and by name", "[nn]") {
  class Holder : public nn::Module {
   public:
    Holder() {
      layers = register_module("layers", nn::ModuleList());
      layers->append(nn::Linear(2, 3)).append(nn::Linear(3, 2));
      heads = register_module("heads", nn::ModuleDict());
      heads->insert("a", nn::Linear(2, 1)).insert("b", nn::ReLU());
      scales = register_module("scales", nn::ParameterList({ones({1}), ones({2})}));
      table = register_module("table", nn::ParameterDict());
      table->insert("x", ones({1}));
    }
    Tensor forward(const Tensor& input) override {
      Tensor x = input;
      for (const auto& layer : *layers) x = (*layer)(x);
      return (*(*heads)["a"])(x * (*scales)[1]);
    }
    std::shared_ptr<nn::ModuleList> layers;
    std::shared_ptr<nn::ModuleDict> heads;
    std::shared_ptr<nn::ParameterList> scales;
    std::shared_ptr<nn::ParameterDict> table;
  };
  Holder net;
  CHECK(names(net.named_parameters()) == std::vector<std::string>{"layers.0.weight", "layers.0.bias", "layers.1.weight",
                                                                  "layers.1.bias", "heads.a.weight", "heads.a.bias",
                                                                  "scales.0", "scales.1", "table.x"});
  const observe::Recording recording;
  CHECK(net(ones({1, 2})).sizes() == Shape{1, 1});
  std::vector<std::string> paths;
  for (const OpEvent& op : recording.ops)
    if (op.op == static_cast<std::uint16_t>(OpId::linear)) paths.emplace_back(observe::text(op.module_path));
  CHECK(paths == std::vector<std::string>{"layers.0", "layers.1", "heads.a"});
  CHECK(net.layers->at<nn::Linear>(1).weight.sizes() == Shape{2, 3});
  CHECK(error_code([&] { (void)net.layers->at<nn::ReLU>(1); }) == ErrorCode::type);
  CHECK(error_code([&] { (void)(*net.layers)[2]; }) == ErrorCode::index);
  CHECK(net.heads->keys() == std::vector<std::string>{"a", "b"});
  CHECK(net.heads->contains("b"));
  CHECK(error_code([&] { (void)(*net.heads)["c"]; }) == ErrorCode::value);
  CHECK(net.scales->size() == 2);
  CHECK(error_code([&] { (void)(*net.scales)[2]; }) == ErrorCode::index);
  CHECK(net.table->contains("x"));
  CHECK_FALSE(net.table->contains("y"));
  CHECK((*net.table)["x"].requires_grad());
  CHECK(error_code([&] { (*net.layers)(ones({1})); }) == ErrorCode::not_implemented);
  nn::Sequential named;
  named.append("first", nn::Linear(2, 2)).append("last", nn::ReLU());
  CHECK(names(named.named_parameters())[0] == "first.weight");
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
