// Layers: each calls its op with its own arguments, keeps its state, and follows training mode.
#include "libamp/nn/layers.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <functional>

#include "libamp/nn/activations.h"
#include "libamp/nn/losses.h"
#include "libamp/nn/norms.h"
#include "tests/support/toy_training.h"

using namespace amp;
using namespace amp::testing;

namespace {

Tensor sample(const Shape& sizes) {
  manual_seed(5);
  return randn(sizes);
}

}  // namespace

TEST_CASE("layers give what the function of their name gives", "[nn]") {
  const Tensor x = sample({2, 4, 6, 6}), rows = sample({5, 8});
  nn::Conv2d conv(4, 6, {3, 2}, {.stride = 2, .padding = {1, 0}, .groups = 2});
  nn::Linear linear(8, 3);
  struct Row {
    const char* what;
    std::function<Tensor()> layer, function;
  };
  const Row rows_of[] = {
      {"Linear", [&] { return linear(rows); }, [&] { return amp::linear(rows, linear.weight, linear.bias); }},
      {"Conv2d", [&] { return conv(x); },
       [&] {
         return conv2d(x, conv.weight, conv.bias, 2, {1, 0}, 1, 2);
       }},
      {"MaxPool2d", [&] { return nn::MaxPool2d(2, 1)(x); }, [&] { return max_pool2d(x, 2, 1); }},
      {"AvgPool2d", [&] { return nn::AvgPool2d(3, 2, 1)(x); }, [&] { return avg_pool2d(x, 3, 2, 1); }},
      {"AdaptiveAvgPool2d", [&] { return nn::AdaptiveAvgPool2d(2)(x); }, [&] { return adaptive_avg_pool2d(x, 2); }},
      {"Flatten", [&] { return nn::Flatten()(x); },
       [&] {
         return x.view({2, 144});
       }},
      {"ReLU", [&] { return nn::ReLU()(x); }, [&] { return relu(x); }},
      {"Sigmoid", [&] { return nn::Sigmoid()(x); }, [&] { return sigmoid(x); }},
      {"Tanh", [&] { return nn::Tanh()(x); }, [&] { return tanh(x); }},
      {"SiLU", [&] { return nn::SiLU()(x); }, [&] { return silu(x); }},
      {"GELU", [&] { return nn::GELU("tanh")(x); }, [&] { return gelu(x, "tanh"); }},
      {"LeakyReLU", [&] { return nn::LeakyReLU(0.2)(x); }, [&] { return leaky_relu(x, 0.2); }},
      {"ELU", [&] { return nn::ELU(0.5)(x); }, [&] { return elu(x, 0.5); }},
      {"Softplus", [&] { return nn::Softplus(2)(x); }, [&] { return softplus(x, 2); }},
      {"Softmax", [&] { return nn::Softmax(1)(rows); }, [&] { return softmax(rows, 1); }},
      {"LogSoftmax", [&] { return nn::LogSoftmax(1)(rows); }, [&] { return log_softmax(rows, 1); }},
      {"LayerNorm",
       [&] {
         return nn::LayerNorm({6, 6}, 1e-3)(x);
       },
       [&] {
         return layer_norm(x, {6, 6}, {}, {}, 1e-3);
       }},
      {"GroupNorm", [&] { return nn::GroupNorm(2, 4)(x); }, [&] { return group_norm(x, 2); }},
  };
  for (const Row& row : rows_of) {
    CAPTURE(row.what);
    const Tensor got = row.layer(), need = row.function();
    CHECK(got.sizes() == need.sizes());
    CHECK(got.to_vector() == need.to_vector());
  }
}

TEST_CASE("losses give what the function of their name gives", "[nn]") {
  const Tensor logits = sample({4, 3}), other = sample({4, 3}), classes = tensor({0, 2, 1, 2}, {.dtype = DType::int64});
  const Tensor weight = tensor({1, 2, 0.5});
  CHECK(nn::CrossEntropyLoss(weight, -100, "mean", 0.1)(logits, classes).item() ==
        cross_entropy(logits, classes, weight, -100, "mean", 0.1).item());
  CHECK(nn::NLLLoss({}, 2, "sum")(logits, classes).item() == nll_loss(logits, classes, {}, 2, "sum").item());
  CHECK(nn::MSELoss()(logits, other).item() == mse_loss(logits, other).item());
  CHECK(nn::L1Loss("sum")(logits, other).item() == l1_loss(logits, other, "sum").item());
  CHECK(nn::BCEWithLogitsLoss(weight)(logits, sigmoid(other)).item() ==
        binary_cross_entropy_with_logits(logits, sigmoid(other), weight).item());
  CHECK(nn::CrossEntropyLoss(weight).named_buffers().size() == 1);
}

TEST_CASE("batch norm keeps running statistics while training and uses them in evaluation", "[nn]") {
  const Tensor x = sample({8, 3, 4, 4}) * 2.0 + 1.0;
  nn::BatchNorm2d layer(3, {.momentum = 1});
  const Tensor trained = layer(x);
  CHECK(layer.num_batches_tracked.item() == 1);
  for (std::int64_t c = 0; c < 3; ++c) {
    const auto values = x.select(1, c).contiguous().to_vector();
    double mean = 0, square = 0;
    for (const double v : values) mean += v / static_cast<double>(values.size());
    for (const double v : values) square += (v - mean) * (v - mean) / static_cast<double>(values.size() - 1);
    CHECK(std::abs(layer.running_mean.select(0, c).item() - mean) < 1e-5);
    CHECK(std::abs(layer.running_var.select(0, c).item() - square) < 1e-4);
  }
  layer.eval();
  const Tensor evaluated = layer(x);
  CHECK(layer.num_batches_tracked.item() == 1);
  CHECK(evaluated.to_vector() ==
        batch_norm(x, layer.running_mean, layer.running_var, layer.weight, layer.bias).to_vector());
  CHECK(evaluated.to_vector() != trained.to_vector());
  CHECK(error_code([&] { layer(sample({2, 3})); }) == ErrorCode::value);
  nn::BatchNorm1d stateless(3, {.affine = false, .track_running_stats = false});
  CHECK(stateless.state_dict().empty());
  CHECK(stateless.eval()(sample({4, 3})).sizes() == Shape{4, 3});
}

TEST_CASE("dropout works while training only", "[nn]") {
  manual_seed(1);
  nn::Dropout layer(0.25);
  const Tensor x = ones({4000});
  double zeros = 0;
  for (const double v : layer(x).to_vector()) {
    CHECK((v == 0 || std::abs(v - 1 / 0.75) < 1e-6));
    zeros += v == 0;
  }
  CHECK(std::abs(zeros / 4000 - 0.25) < 0.04);
  layer.eval();
  CHECK(layer(x).to_vector() == x.to_vector());
  CHECK(error_code([] { nn::Dropout(1.5); }) == ErrorCode::value);
}

TEST_CASE("an embedding's padding row stays zero", "[nn]") {
  nn::Embedding layer(5, 3, {.padding_idx = 2});
  const Tensor out = layer(tensor({2, 4, 2}, {.dtype = DType::int64}));
  CHECK(out.sizes() == Shape{3, 3});
  CHECK(out.select(0, 0).to_vector() == std::vector<double>{0, 0, 0});
  out.sum().backward();
  CHECK(layer.weight.grad().select(0, 2).to_vector() == std::vector<double>{0, 0, 0});
  CHECK(layer.weight.grad().select(0, 4).to_vector() == std::vector<double>{1, 1, 1});
  CHECK(error_code([] { nn::Embedding(5, 3, {.padding_idx = 5}); }) == ErrorCode::value);
}

TEST_CASE("a small convolutional network learns under autocast with a scaler", "[nn]") {
  manual_seed(11);
  nn::Sequential model(nn::Conv2d(1, 4, 3, {.padding = 1}), nn::BatchNorm2d(4), nn::ReLU(), nn::MaxPool2d(2),
                       nn::Flatten(), nn::Linear(16, 2));
  nn::CrossEntropyLoss criterion;
  for (const DType dtype : {DType::float16, DType::bfloat16}) {
    AdamW optimizer(model.parameters(), {.lr = 0.02});
    GradScaler scaler("cpu", {.init_scale = 1024, .enabled = dtype == DType::float16});
    const Tensor target = randint(0, 2, {32});
    const Tensor input = randn({32, 1, 4, 4}) * 0.3 + target.to(DType::float32).view({32, 1, 1, 1});
    double first = 0, last = 0;
    for (int step = 0; step < 30; ++step) {
      optimizer.zero_grad();
      Tensor loss;
      {
        const autocast region(DeviceType::cpu, {.dtype = dtype, .policy = Policy::cuda});
        loss = criterion(model(input), target);
      }
      scaler.scale(loss).backward();
      scaler.step(optimizer);
      scaler.update();
      last = loss.item();
      if (step == 0) first = last;
    }
    CAPTURE(name(dtype), first, last);
    CHECK(last < 0.5 * first);
  }
}
