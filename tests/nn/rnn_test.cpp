// Recurrent modules: names, shapes, layouts, packed sequences, and their dtypes under autocast.
#include "libamp/nn/rnn.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <functional>
#include <map>

#include "libamp/autocast/scope.h"
#include "libamp/autograd/autograd.h"
#include "libamp/core/grad_mode.h"
#include "libamp/ops/ops.h"

using namespace amp;
using Catch::Matchers::ContainsSubstring;

namespace {

double worst(const Tensor& a, const Tensor& b) {
  REQUIRE(to_string(a.sizes()) == to_string(b.sizes()));
  const std::vector<double> x = a.to_vector(), y = b.to_vector();
  double most = 0;
  for (std::size_t i = 0; i < x.size(); ++i) most = std::max(most, std::abs(x[i] - y[i]));
  return most;
}
bool same(const Tensor& a, const Tensor& b) { return a.dtype() == b.dtype() && worst(a, b) == 0; }

std::string names(const nn::Module& m) {
  std::string all;
  for (const auto& [name, t] : m.named_parameters()) all += name + to_string(t.sizes()) + " ";
  return all;
}

// The three classes behind one face: out, and the states as a list.
struct Any {
  std::shared_ptr<nn::Module> module;
  std::function<std::pair<Tensor, Tensors>(const Tensor&, const Tensor&, const Tensor&)> run;
  std::function<std::pair<Tensor, Tensors>(const nn::PackedSequence&, const Tensor&, const Tensor&)> run_packed;
};

Any make(const std::string& kind, std::int64_t in, std::int64_t hidden, std::int64_t layers, bool bias,
         bool batch_first, bool bidirectional) {
  if (kind == "LSTM") {
    auto m = std::make_shared<nn::LSTM>(
        in, hidden,
        nn::LSTMArguments{
            .num_layers = layers, .bias = bias, .batch_first = batch_first, .bidirectional = bidirectional});
    return {m,
            [m](const Tensor& x, const Tensor& h, const Tensor& c) {
              const auto [out, state] = (*m)(x, {h, c});
              return std::pair<Tensor, Tensors>{out, {state.first, state.second}};
            },
            [m](const nn::PackedSequence& x, const Tensor& h, const Tensor& c) {
              const auto [out, state] = (*m)(x, {h, c});
              return std::pair<Tensor, Tensors>{out.data, {state.first, state.second}};
            }};
  }
  const auto behind = [](auto m) {
    return Any{m,
               [m](const Tensor& x, const Tensor& h, const Tensor&) {
                 const auto [out, state] = (*m)(x, h);
                 return std::pair<Tensor, Tensors>{out, {state}};
               },
               [m](const nn::PackedSequence& x, const Tensor& h, const Tensor&) {
                 const auto [out, state] = (*m)(x, h);
                 return std::pair<Tensor, Tensors>{out.data, {state}};
               }};
  };
  if (kind == "GRU")
    return behind(std::make_shared<nn::GRU>(
        in, hidden,
        nn::GRUArguments{
            .num_layers = layers, .bias = bias, .batch_first = batch_first, .bidirectional = bidirectional}));
  return behind(std::make_shared<nn::RNN>(
      in, hidden,
      nn::RNNArguments{
          .num_layers = layers, .bias = bias, .batch_first = batch_first, .bidirectional = bidirectional}));
}

}  // namespace

TEST_CASE("Recurrent modules have PyTorch's parameter names and shapes, and start within 1/sqrt(hidden)") {
  manual_seed(1);
  const nn::LSTM lstm(5, 6, {.num_layers = 2, .bidirectional = true, .proj_size = 3});
  CHECK(names(lstm) ==
        "weight_ih_l0[24, 5] weight_hh_l0[24, 3] bias_ih_l0[24] bias_hh_l0[24] weight_hr_l0[3, 6] "
        "weight_ih_l0_reverse[24, 5] weight_hh_l0_reverse[24, 3] bias_ih_l0_reverse[24] bias_hh_l0_reverse[24] "
        "weight_hr_l0_reverse[3, 6] "
        "weight_ih_l1[24, 6] weight_hh_l1[24, 3] bias_ih_l1[24] bias_hh_l1[24] weight_hr_l1[3, 6] "
        "weight_ih_l1_reverse[24, 6] weight_hh_l1_reverse[24, 3] bias_ih_l1_reverse[24] bias_hh_l1_reverse[24] "
        "weight_hr_l1_reverse[3, 6] ");
  CHECK(names(nn::GRU(5, 6, {.bias = false})) == "weight_ih_l0[18, 5] weight_hh_l0[18, 6] ");
  CHECK(names(nn::RNN(5, 6)) == "weight_ih_l0[6, 5] weight_hh_l0[6, 6] bias_ih_l0[6] bias_hh_l0[6] ");
  CHECK(names(nn::LSTMCell(5, 6)) == "weight_ih[24, 5] weight_hh[24, 6] bias_ih[24] bias_hh[24] ");
  CHECK(names(nn::GRUCell(5, 6)) == "weight_ih[18, 5] weight_hh[18, 6] bias_ih[18] bias_hh[18] ");
  CHECK(names(nn::RNNCell(5, 6, false)) == "weight_ih[6, 5] weight_hh[6, 6] ");
  const nn::GRU large(50, 100);
  for (const auto& [name, t] : large.named_parameters()) {
    INFO(name);
    double most = 0, sum = 0;
    for (const double v : t.to_vector()) most = std::max(most, std::abs(v)), sum += v * v;
    CHECK(most <= 0.1);
    CHECK(most > 0.09);
    // The variance of a uniform distribution in +-0.1 is 0.01 / 3.
    CHECK(std::abs(sum / static_cast<double>(t.numel()) - 0.01 / 3) < 0.0006);
  }
}

TEST_CASE("Shapes of recurrent modules: batch first, without a batch, both directions, projected") {
  const Tensor x = randn({4, 3, 5});
  nn::LSTM lstm(5, 6, {.num_layers = 2, .batch_first = true, .bidirectional = true, .proj_size = 2});
  const auto [out, state] = lstm(x);
  CHECK(to_string(out.sizes()) == "[4, 3, 4]");
  CHECK(to_string(state.first.sizes()) == "[4, 4, 2]");
  CHECK(to_string(state.second.sizes()) == "[4, 4, 6]");
  const auto [one, one_state] = lstm(x[1]);
  CHECK(to_string(one.sizes()) == "[3, 4]");
  CHECK(worst(one, out[1]) < 1e-6);
  CHECK(to_string(one_state.second.sizes()) == "[4, 6]");
  CHECK(worst(one_state.second, select(state.second, 1, 1)) < 1e-6);

  nn::GRU gru(5, 6);
  const auto [g, h] = gru(x);
  CHECK(to_string(g.sizes()) == "[4, 3, 6]");
  CHECK(worst(g[3], h[0]) == 0);
  const auto [carried, last] = gru(narrow(x, 0, 2, 2), gru(narrow(x, 0, 0, 2)).second);
  CHECK(worst(carried, narrow(g, 0, 2, 2)) < 1e-6);
  CHECK(worst(last, h) < 1e-6);
  nn::Sequential model(nn::GRU(5, 6), nn::RNN(6, 2, {.nonlinearity = "relu"}));
  CHECK(to_string(model(x).sizes()) == "[4, 3, 2]");
}

TEST_CASE("Both directions: the second one is the first one on the sequence turned round") {
  nn::GRU both(5, 6, {.bidirectional = true}), one(5, 6);
  std::map<std::string, Tensor> state;
  for (const auto& [name, t] : both.state_dict())
    if (const auto at = name.find("_reverse"); at != std::string::npos) state[name.substr(0, at)] = t;
  one.load_state_dict(state);
  const Tensor x = randn({4, 3, 5});
  Tensors turned;
  for (std::int64_t t = 3; t >= 0; --t) turned.push_back(x[t]);
  const auto [out, h] = both(x);
  const auto [back, back_h] = one(stack(turned));
  for (std::int64_t t = 0; t < 4; ++t) CHECK(worst(narrow(out[t], 1, 6, 6), back[3 - t]) < 1e-6);
  CHECK(worst(h[1], back_h[0]) < 1e-6);
}

TEST_CASE("Dropout between layers zeroes its share of elements while training, and none of the last layer") {
  manual_seed(3);
  // A plain layer that passes its input on: out = relu(x), so that what dropout does can be counted.
  const std::int64_t n = 40;
  nn::RNN rnn(n, n, {.num_layers = 2, .nonlinearity = "relu", .bias = false, .dropout = 0.3});
  {
    const no_grad quiet;
    const Tensor eye = tril(triu(ones({n, n})));
    for (const auto& [name, t] : rnn.named_parameters())
      name.find("_ih") != std::string::npos ? t.copy_(eye) : t.zero_();
  }
  const Tensor x = ones({50, 20, n});
  const Tensor out = rnn(x).first;
  double zero = 0, scaled = 0;
  for (const double v : out.to_vector()) zero += v == 0, scaled += std::abs(v - 1 / 0.7) < 1e-6;
  const double all = static_cast<double>(out.numel());
  CHECK(zero + scaled == all);
  CHECK(std::abs(zero / all - 0.3) < 5 * std::sqrt(0.21 / all));
  rnn.eval();
  CHECK(worst(rnn(x).first, x) == 0);
}

TEST_CASE("A packed batch gives what each sequence gives alone") {
  const std::vector<std::int64_t> lengths = {3, 5, 1, 4};
  const Tensor x = randn({5, 4, 3});
  const nn::PackedSequence packed = nn::pack_padded_sequence(x, lengths, false, false);
  CHECK(packed.batch_sizes.to_vector() == std::vector<double>{4, 3, 3, 2, 1});
  CHECK(packed.sorted_indices.to_vector() == std::vector<double>{1, 3, 0, 2});
  const auto [unpacked, found] = nn::pad_packed_sequence(packed, false, -1, 6);
  CHECK(found == lengths);
  for (std::int64_t t = 0; t < 6; ++t)
    for (std::int64_t b = 0; b < 4; ++b) CHECK(worst(unpacked[t][b], t < lengths[b] ? x[t][b] : full({3}, -1)) == 0);

  nn::LSTM lstm(3, 4, {.num_layers = 2, .bidirectional = true});
  const Tensor h0 = randn({4, 4, 4}), c0 = randn({4, 4, 4});
  const auto [out, state] = lstm(packed, {h0, c0});
  const Tensor padded = nn::pad_packed_sequence(out).first;
  for (std::int64_t b = 0; b < 4; ++b) {
    const auto [alone, last] =
        lstm(narrow(narrow(x, 1, b, 1), 0, 0, lengths[b]), {narrow(h0, 1, b, 1), narrow(c0, 1, b, 1)});
    CHECK(worst(narrow(narrow(padded, 1, b, 1), 0, 0, lengths[b]), alone) < 1e-6);
    CHECK(worst(narrow(state.first, 1, b, 1), last.first) < 1e-6);
    CHECK(worst(narrow(state.second, 1, b, 1), last.second) < 1e-6);
  }
  CHECK_THROWS_WITH(nn::pack_padded_sequence(x, lengths), ContainsSubstring("enforce_sorted"));
  CHECK_THROWS_WITH(nn::pack_padded_sequence(x, {5, 5, 5}), ContainsSubstring("one length for each"));
  CHECK_THROWS_WITH(nn::pack_padded_sequence(x, {5, 4, 3, 0}), ContainsSubstring("1 to 5"));
  CHECK_THROWS_WITH(nn::pad_packed_sequence(packed, false, 0, 4), ContainsSubstring("total_length"));
}

TEST_CASE("Sequences of different lengths are padded and packed") {
  const Tensor a = randn({2, 3}), b = randn({4, 3});
  const Tensor padded = nn::pad_sequence({a, b}, true, 7);
  CHECK(to_string(padded.sizes()) == "[2, 4, 3]");
  CHECK(worst(narrow(padded[0], 0, 0, 2), a) == 0);
  CHECK(worst(narrow(padded[0], 0, 2, 2), full({2, 3}, 7)) == 0);
  const nn::PackedSequence packed = nn::pack_sequence({a, b}, false);
  CHECK(packed.batch_sizes.to_vector() == std::vector<double>{2, 2, 1, 1});
  CHECK(worst(packed.data[1], a[0]) == 0);
  CHECK_THROWS_WITH(nn::pack_sequence({a, b}), ContainsSubstring("enforce_sorted"));
}

TEST_CASE("Cells take inputs with and without a batch, and states that are left out are zeros") {
  const Tensor x = randn({3, 5});
  nn::LSTMCell lstm(5, 6);
  nn::GRUCell gru(5, 6);
  nn::RNNCell rnn(5, 6, true, "relu");
  const auto [h, c] = lstm(x);
  const auto [h1, c1] = lstm(x[1], {zeros({6}), zeros({6})});
  CHECK(to_string(h1.sizes()) == "[6]");
  CHECK(worst(h1, h[1]) < 1e-6);
  CHECK(worst(c1, c[1]) < 1e-6);
  CHECK(worst(gru(x[2]), gru(x)[2]) < 1e-6);
  CHECK(worst(rnn(x[2]), rnn(x)[2]) < 1e-6);
  CHECK_THROWS_WITH(gru(x, zeros({6})), ContainsSubstring("both have a batch"));
}

TEST_CASE("Recurrent modules name what is wrong with their arguments") {
  CHECK_THROWS_WITH(nn::LSTM(3, 0), ContainsSubstring("hidden_size"));
  CHECK_THROWS_WITH(nn::LSTM(3, 4, {.num_layers = 0}), ContainsSubstring("num_layers"));
  CHECK_THROWS_WITH(nn::LSTM(3, 4, {.proj_size = 4}), ContainsSubstring("proj_size must be smaller"));
  CHECK_THROWS_WITH(nn::GRU(3, 4, {.dropout = 1.5}), ContainsSubstring("probability"));
  CHECK_THROWS_WITH(nn::RNN(3, 4, {.nonlinearity = "gelu"}), ContainsSubstring("gelu"));
  nn::GRU gru(3, 4);
  CHECK_THROWS_WITH(gru(ones({5, 2, 4})), ContainsSubstring("number of features"));
  CHECK_THROWS_WITH(gru(ones({3})), ContainsSubstring("3 dims"));
  CHECK_THROWS_WITH(gru(ones({5, 2, 3}), ones({1, 3, 4})), ContainsSubstring("initial state"));
  CHECK_THROWS_WITH(gru(ones({5, 2, 3}), ones({2, 4})), ContainsSubstring("3 dims"));
  CHECK_THROWS_WITH(gru(ones({5, 2, 3}).half()), ContainsSubstring("does not match weight dtype"));
  const Tensors mixed = {ones({12, 3}), ones({12, 4}).half()};
  const autocast region("cpu", {.dtype = kFloat16, .policy = Policy::cuda});
  CHECK_THROWS_WITH(amp::gru(ones({5, 2, 3}), zeros({1, 2, 4}), mixed, false, 1, 0, true, false, false),
                    ContainsSubstring("one dtype"));
}

// PyTorch's test of that name: every class, layout and dtype; the results are float16, bit for bit those of the module
// and operands cast by hand, and the gradients come back in the weights' dtype.
TEST_CASE("test_autocast_rnn") {
  const std::int64_t T = 3, B = 4, F = 5, H = 6;
  for (const char* kind : {"RNN", "GRU", "LSTM"})
    for (const char* layout : {"seq_first", "batch_first", "packed"})
      for (const std::int64_t layers : {1, 2})
        for (const int bits : {0, 1, 2, 3, 4, 5, 6, 7})
          for (const bool bias : {true, false})
            for (const bool bidirectional : {true, false}) {
              const DType input_dtype = bits & 1 ? kFloat16 : kFloat32, hidden_dtype = bits & 2 ? kFloat16 : kFloat32,
                          weight_dtype = bits & 4 ? kFloat16 : kFloat32;
              INFO(kind << " " << layout << " layers " << layers << " dtypes " << bits << " bias " << bias
                        << " directions " << (bidirectional ? 2 : 1));
              const bool batch_first = std::string(layout) == "batch_first", packed = std::string(layout) == "packed";
              const Any rnn = make(kind, F, H, layers, bias, batch_first, bidirectional);
              rnn.module->to(weight_dtype);
              const Tensor x = to(randn(batch_first ? Shape{B, T, F} : Shape{T, B, F}), input_dtype);
              const Shape states = {layers * (bidirectional ? 2 : 1), B, H};
              const Tensor h = to(randn(states), hidden_dtype), c = to(randn(states), hidden_dtype);
              const auto run = [&](const Tensor& input, const Tensor& h0, const Tensor& c0) {
                if (!packed) return rnn.run(input, h0, c0);
                return rnn.run_packed(nn::pack_padded_sequence(input, {3, 2, 1, 3}, false, false), h0, c0);
              };
              std::pair<Tensor, Tensors> r;
              {
                const autocast region("cpu", {.dtype = kFloat16, .policy = Policy::cuda});
                r = run(x, h, c);
              }
              CHECK(r.first.dtype() == kFloat16);
              sum(r.first, kFloat32).backward();
              Tensors gradients;
              for (const Tensor& p : rnn.module->parameters()) {
                CHECK(p.grad().dtype() == weight_dtype);
                gradients.push_back(p.grad().clone());
              }
              rnn.module->zero_grad();
              rnn.module->half();
              const auto control = run(x.half(), h.half(), c.half());
              sum(control.first, kFloat32).backward();
              CHECK(same(r.first, control.first));
              for (std::size_t i = 0; i < r.second.size(); ++i) CHECK(same(r.second[i], control.second[i]));
              const Tensors parameters = rnn.module->parameters();
              for (std::size_t i = 0; i < parameters.size(); ++i)
                CHECK(same(gradients[i].half(), parameters[i].grad()));
            }
}

TEST_CASE("Under CUDA's rules recurrent modules are float16 in a bfloat16 region too, as in PyTorch") {
  nn::LSTM lstm(3, 4);
  const autocast region("cpu", {.dtype = kBFloat16, .policy = Policy::cuda});
  CHECK(lstm(ones({2, 2, 3})).first.dtype() == kFloat16);
  CHECK(matmul(ones({2, 2}), ones({2, 2})).dtype() == kBFloat16);
  nn::LSTM wide(3, 4);
  wide.to(kFloat64);
  CHECK(wide(ones({2, 2, 3}, {.dtype = kFloat64})).first.dtype() == kFloat64);
}

// PyTorch's test of that name for the CPU: a half precision LSTM takes float32 operands inside a region only.
TEST_CASE("test_autocast_rnn, on the CPU") {
  nn::LSTM m(1, 1, {.num_layers = 2});
  m.bfloat16();
  const Tensor x = randn({1, 2, 1}), hx = randn({2, 2, 1}), cx = randn({2, 2, 1});
  CHECK_THROWS_WITH(m(x, {hx, cx}), ContainsSubstring("does not match weight dtype"));
  const autocast region("cpu");
  const auto [out, state] = m(x, {hx, cx});
  CHECK(out.dtype() == kBFloat16);
  CHECK(state.second.dtype() == kBFloat16);
}

TEST_CASE("Under the CPU's rules an LSTM is half precision; elsewhere a float32 state stays float32") {
  struct Row {
    const char* kind;
    DType out, state;
  };
  const Tensor x = randn({3, 2, 4});
  for (const Row& row :
       {Row{"LSTM", kBFloat16, kBFloat16}, Row{"GRU", kFloat32, kFloat32}, Row{"RNN", kBFloat16, kBFloat16}}) {
    INFO(row.kind);
    const Any rnn = make(row.kind, 4, 5, 1, true, false, false);
    const autocast region("cpu");
    const auto [out, states] = rnn.run(x, {}, {});
    CHECK(out.dtype() == row.out);
    CHECK(states[0].dtype() == row.state);
    sum(out, kFloat32).backward();
    for (const Tensor& p : rnn.module->parameters()) CHECK(p.grad().dtype() == kFloat32);
  }
  nn::LSTM projected(4, 5, {.proj_size = 2});
  const autocast region("cpu");
  const auto [out, state] = projected(x);
  CHECK(out.dtype() == kBFloat16);
  CHECK(state.second.dtype() == kFloat32);
}
