// Layers: each calls its op with its own arguments, keeps its state, and follows training mode.
#include "libamp/nn/layers.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <functional>

#include "libamp/nn/activations.h"
#include "libamp/nn/losses.h"
#include "libamp/nn/norms.h"
#include "libamp/ops/arrange.h"
#include "libamp/ops/distance.h"
#include "tests/support/gradcheck.h"
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
      {"RMSNorm", [&] { return nn::RMSNorm({8}, 1e-3)(rows); }, [&] { return rms_norm(rows, {8}, {}, 1e-3); }},
      {"InstanceNorm2d", [&] { return nn::InstanceNorm2d(4)(x); }, [&] { return instance_norm(x); }},
      {"MaxPool1d", [&] { return nn::MaxPool1d(3, 2, 1)(x[0]); }, [&] { return max_pool1d(x[0], 3, 2, 1); }},
      {"MaxPool3d", [&] { return nn::MaxPool3d(2)(x); }, [&] { return max_pool3d(x, 2); }},
      {"MaxPool2d dilated", [&] { return nn::MaxPool2d(2, 3, 0, 2, true)(x); },
       [&] { return max_pool2d(x, 2, 3, 0, 2, true); }},
      {"AvgPool1d", [&] { return nn::AvgPool1d(3, 2, 1, true, false)(x[0]); },
       [&] { return avg_pool1d(x[0], 3, 2, 1, true, false); }},
      {"AvgPool2d divisor", [&] { return nn::AvgPool2d(2, 2, 1, false, true, 3)(x); },
       [&] { return avg_pool2d(x, 2, 2, 1, false, true, 3); }},
      {"AvgPool3d", [&] { return nn::AvgPool3d(2)(x); }, [&] { return avg_pool3d(x, 2); }},
      {"AdaptiveAvgPool1d", [&] { return nn::AdaptiveAvgPool1d(4)(x[0]); },
       [&] { return adaptive_avg_pool1d(x[0], 4); }},
      {"AdaptiveAvgPool3d", [&] { return nn::AdaptiveAvgPool3d(2)(x); }, [&] { return adaptive_avg_pool3d(x, 2); }},
      {"Upsample to a size", [&] { return nn::Upsample(9, "bilinear", true)(x); },
       [&] { return interpolate(x, 9, "bilinear", true); }},
      {"Upsample by a factor", [&] { return nn::Upsample(ScaleFactors{{2}})(x); },
       [&] { return interpolate(x, ScaleFactors{{2}}); }},
      {"AdaptiveMaxPool1d", [&] { return nn::AdaptiveMaxPool1d(4)(x[0]); },
       [&] { return adaptive_max_pool1d(x[0], 4).first; }},
      {"AdaptiveMaxPool2d",
       [&] {
         return nn::AdaptiveMaxPool2d({2, 3})(x);
       },
       [&] {
         return adaptive_max_pool2d(x, {2, 3}).first;
       }},
      {"AdaptiveMaxPool3d", [&] { return nn::AdaptiveMaxPool3d(2)(x); },
       [&] { return adaptive_max_pool3d(x, 2).first; }},
      {"LPPool1d", [&] { return nn::LPPool1d(2, 3, 2)(x[0]); }, [&] { return lp_pool1d(x[0], 2, 3, 2); }},
      {"LPPool2d", [&] { return nn::LPPool2d(3, 2)(x * x); }, [&] { return lp_pool2d(x * x, 3, 2); }},
      {"MaxUnpool2d",
       [&] {
         const auto [values, indices] = max_pool2d_with_indices(x, 2);
         return nn::MaxUnpool2d(2)(values, indices);
       },
       [&] {
         const auto [values, indices] = max_pool2d_with_indices(x, 2);
         return max_unpool2d(values, indices, 2);
       }},
      {"ReflectionPad2d", [&] { return nn::ReflectionPad2d(2)(x); },
       [&] {
         return pad(x, {2, 2, 2, 2}, "reflect");
       }},
      {"ReplicationPad1d",
       [&] {
         return nn::ReplicationPad1d({1, 3})(x[0]);
       },
       [&] {
         return pad(x[0], {1, 3}, "replicate");
       }},
      {"CircularPad2d",
       [&] {
         return nn::CircularPad2d({1, 0, 2, 1})(x);
       },
       [&] {
         return pad(x, {1, 0, 2, 1}, "circular");
       }},
      {"ZeroPad2d", [&] { return nn::ZeroPad2d(1)(x); },
       [&] {
         return pad(x, {1, 1, 1, 1});
       }},
      {"ConstantPad3d", [&] { return nn::ConstantPad3d(1, 7)(x); },
       [&] {
         return pad(x, {1, 1, 1, 1, 1, 1}, "constant", 7);
       }},
      {"Identity", [&] { return nn::Identity()(x); }, [&] { return x; }},
      {"Unflatten",
       [&] {
         return nn::Unflatten(1, {2, -1})(rows);
       },
       [&] {
         return rows.view({5, 2, 4});
       }},
      {"CosineSimilarity", [&] { return nn::CosineSimilarity()(rows, rows * 2.0 + 1.0); },
       [&] { return cosine_similarity(rows, rows * 2.0 + 1.0); }},
  };
  for (const Row& row : rows_of) {
    CAPTURE(row.what);
    const Tensor got = row.layer(), need = row.function();
    CHECK(got.sizes() == need.sizes());
    CHECK(got.to_vector() == need.to_vector());
  }
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

TEST_CASE("batch norm without a momentum keeps the plain mean of its batches", "[nn]") {
  nn::BatchNorm1d layer(2, {.momentum = std::nullopt});
  double mean = 0;
  for (int i = 1; i <= 3; ++i) {
    const Tensor x = sample({6, 2}) * static_cast<double>(i) + static_cast<double>(i);
    layer(x);
    mean += x.select(1, 0).mean().item() / 3;
  }
  CHECK(std::abs(layer.running_mean.select(0, 0).item() - mean) < 1e-6);
  CHECK(layer.num_batches_tracked.item() == 3);
  nn::BatchNorm3d deep(3);
  CHECK(deep(sample({2, 3, 2, 2, 2})).sizes() == Shape{2, 3, 2, 2, 2});
  CHECK(error_code([&] { deep(sample({2, 3, 2, 2})); }) == ErrorCode::value);
}

TEST_CASE("instance norm takes an image without a batch, and keeps statistics if asked", "[nn]") {
  const Tensor x = sample({2, 3, 4, 4});
  nn::InstanceNorm2d layer(3, {.momentum = 1, .affine = true, .track_running_stats = true});
  const Tensor batched = layer(x), single = layer(x[1]);
  CHECK(single.sizes() == Shape{3, 4, 4});
  CHECK(single.to_vector() == batched[1].contiguous().to_vector());
  CHECK(std::abs(layer.running_mean.select(0, 0).item() - x[1][0].mean().item()) < 1e-6);
  CHECK(layer.state_dict().size() == 5);
  layer.eval();
  CHECK(layer(x).to_vector() != batched.to_vector());
  CHECK(error_code([&] { layer(sample({2, 4, 4, 4})); }) == ErrorCode::value);
  CHECK(error_code([&] { layer(sample({4})); }) == ErrorCode::value);
  CHECK(nn::InstanceNorm1d(3).state_dict().empty());
  CHECK(nn::InstanceNorm3d(3)(sample({1, 3, 2, 2, 2})).sizes() == Shape{1, 3, 2, 2, 2});
}

TEST_CASE("convolution layers in every number of dims differentiate, also with other paddings", "[nn]") {
  const auto check = [](nn::Module& module, const Shape& sizes) {
    module.to(DType::float64);
    const Tensor x = test::values(sizes).requires_grad_();
    Tensors inputs{x};
    for (const Tensor& p : module.parameters()) inputs.push_back(p);
    return test::gradcheck([&](const Tensors& in) { return module(in[0]); }, inputs);
  };
  nn::Conv1d one(2, 3, 3, {.stride = 2, .padding = 2, .padding_mode = "circular"});
  CHECK(check(one, {2, 2, 5}) == "");
  nn::Conv2d two(2, 4, {3, 2}, {.padding = "same", .dilation = {1, 2}, .groups = 2, .padding_mode = "reflect"});
  CHECK(check(two, {1, 2, 4, 5}) == "");
  nn::Conv3d three(1, 2, 2, {.padding = 1, .bias = false, .padding_mode = "replicate"});
  CHECK(check(three, {1, 1, 2, 3, 2}) == "");
  nn::ConvTranspose1d up1(2, 3, 3, {.stride = 2, .padding = 1, .output_padding = 1});
  CHECK(check(up1, {1, 2, 4}) == "");
  nn::ConvTranspose2d up2(2, 2, 2, {.stride = {2, 1}, .groups = 2, .dilation = 2});
  CHECK(check(up2, {1, 2, 3, 2}) == "");
  nn::ConvTranspose3d up3(1, 1, 2);
  CHECK(check(up3, {1, 1, 2, 2, 2}) == "");
}

TEST_CASE("padding modes read what stands at the other side, the edge, or the mirror", "[nn]") {
  const auto run = [](const char* mode, const ConvPadding& padding) {
    nn::Conv1d layer(1, 1, 4, {.padding = padding, .bias = false, .padding_mode = mode});
    layer.weight.detach().copy_(tensor({1000, 100, 10, 1}).view({1, 1, 4}));
    const no_grad quiet;
    return layer(tensor({1, 2, 3, 4}).view({1, 1, 4})).to_vector();
  };
  using V = std::vector<double>;
  CHECK(run("zeros", 1) == V{123, 1234, 2340});
  CHECK(run("circular", 1) == V{4123, 1234, 2341});
  CHECK(run("replicate", 1) == V{1123, 1234, 2344});
  CHECK(run("reflect", 1) == V{2123, 1234, 2343});
  CHECK(run("reflect", "same") == V{2123, 1234, 2343, 3432});
  CHECK(run("circular", "valid") == V{1234});
  CHECK(error_code([] { nn::Conv1d(1, 1, 3, {.padding_mode = "mirror"}); }) == ErrorCode::value);
  CHECK(error_code([&] { run("reflect", 4); }) == ErrorCode::runtime);
}

TEST_CASE("a transposed convolution gives the output size that is asked for", "[nn]") {
  nn::ConvTranspose2d layer(1, 1, 3, {.stride = 2, .padding = 1});
  const Tensor x = sample({1, 1, 4, 4});
  CHECK(layer(x).sizes() == Shape{1, 1, 7, 7});
  CHECK(layer(x, {8, 7}).sizes() == Shape{1, 1, 8, 7});
  CHECK(layer(x, {1, 1, 8, 8}).sizes() == Shape{1, 1, 8, 8});
  CHECK(layer(x, {8, 7}).to_vector() ==
        conv_transpose2d(x, layer.weight, layer.bias, 2, 1, SizeList{1, 0}).to_vector());
  CHECK(error_code([&] { layer(x, {9, 8}); }) == ErrorCode::value);
  CHECK(error_code([&] { layer(x, {8}); }) == ErrorCode::value);
}

TEST_CASE("Bilinear, Unflatten and PixelShuffle follow their definitions", "[nn]") {
  nn::Bilinear layer(2, 3, 4);
  const Tensor a = sample({5, 2}), b = sample({5, 3});
  CHECK(layer(a, b).to_vector() == bilinear(a, b, layer.weight, layer.bias).to_vector());
  CHECK(layer.named_parameters().size() == 2);
  CHECK(nn::PixelShuffle(2)(arange(8).view({1, 8, 1, 1})).to_vector() == std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7});
  const Tensor shuffled = nn::PixelShuffle(2)(arange(16).view({4, 2, 2}));
  CHECK(shuffled.sizes() == Shape{1, 4, 4});
  CHECK(shuffled[0][0].to_vector() == std::vector<double>{0, 4, 1, 5});
  CHECK(error_code([&] { nn::PixelShuffle(2)(ones({3, 2, 2})); }) == ErrorCode::runtime);
  CHECK(error_code([&] { nn::Unflatten(0, {2, 2})(ones({5})); }) == ErrorCode::runtime);
  CHECK(error_code([&] { nn::Unflatten(0, {0, -1})(ones({5})); }) == ErrorCode::runtime);
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
  const nn::Embedding last(5, 3, {.padding_idx = -1});
  CHECK(last.weight.select(0, 4).to_vector() == std::vector<double>{0, 0, 0});
}

TEST_CASE("an embedding limits norms of what it reads, and takes a table", "[nn]") {
  const Tensor table = tensor({3, 4, 0.3, 0.4, 30, 40}).view({3, 2});
  nn::Embedding layer = nn::Embedding::from_pretrained(table, false, {.max_norm = 1});
  CHECK(layer.weight.requires_grad());
  const auto values = layer(tensor({0, 1, 0}, {.dtype = DType::int64})).to_vector();
  CHECK(std::abs(values[0] - 0.6) < 1e-6);
  CHECK(std::abs(values[2] - 0.3) < 1e-7);
  CHECK(layer.weight.select(0, 2).to_vector() == std::vector<double>{30, 40});  // was not read
  CHECK_FALSE(nn::Embedding::from_pretrained(table).weight.requires_grad());
  CHECK(error_code([] { nn::Embedding::from_pretrained(ones({2})); }) == ErrorCode::value);
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

TEST_CASE("convolutions check padding when they are made") {
  CHECK_THROWS_AS(nn::Conv2d(1, 1, {3}, {.padding = "sane"}), Error);
  CHECK_THROWS_AS(nn::Conv1d(1, 1, {3}, {.stride = 2, .padding = "same"}), Error);
  CHECK_THROWS_AS(nn::Conv2d(1, 1, {3}, {.stride = {1, 2}, .padding = "same"}), Error);
  CHECK_NOTHROW(nn::Conv2d(1, 1, {3}, {.stride = 2, .padding = "valid"}));
  CHECK_NOTHROW(nn::Conv2d(1, 1, {3}, {.padding = "same"}));
}
