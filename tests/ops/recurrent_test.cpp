// Recurrent layers and fused cells: thnn_fused_lstm_cell thnn_fused_lstm_cell_backward thnn_fused_gru_cell
// thnn_fused_gru_cell_backward lstm_layer lstm_layer_backward gru_layer gru_layer_backward rnn_layer
// rnn_layer_backward. A layer as one op must agree with the same layer from single ops, in values and gradients.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>

#include "libamp/autocast/scope.h"
#include "libamp/autograd/autograd.h"
#include "libamp/core/grad_mode.h"
#include "libamp/core/thread_pool.h"
#include "libamp/ops/ops.h"
#include "libamp/ops/recurrent_layer.h"
#include "tests/support/gradcheck.h"

using namespace amp;
using amp::test::gradcheck;
using amp::test::gradgradcheck;
using amp::test::values;
using Catch::Matchers::ContainsSubstring;

namespace {

double worst(const Tensor& a, const Tensor& b) {
  REQUIRE(a.defined());
  REQUIRE(b.defined());
  REQUIRE(to_string(a.sizes()) == to_string(b.sizes()));
  const std::vector<double> x = a.to_vector(), y = b.to_vector();
  double most = 0;
  for (std::size_t i = 0; i < x.size(); ++i) most = std::max(most, std::abs(x[i] - y[i]));
  return most;
}

struct Case {
  const char* name;
  OpId op;
  const char* nonlinearity;
  bool reverse, packed, biases, projection;
};

// AMP_CASES of the layer: every kind, both directions, whole and packed, with and without what may be left out.
const Case kCases[] = {
    {"lstm", OpId::lstm_layer, "", false, false, true, false},
    {"lstm reverse", OpId::lstm_layer, "", true, false, true, false},
    {"lstm without biases", OpId::lstm_layer, "", false, false, false, false},
    {"lstm projected", OpId::lstm_layer, "", false, false, true, true},
    {"lstm projected, packed, reverse", OpId::lstm_layer, "", true, true, true, true},
    {"lstm packed", OpId::lstm_layer, "", false, true, true, false},
    {"lstm packed reverse", OpId::lstm_layer, "", true, true, true, false},
    {"gru", OpId::gru_layer, "", false, false, true, false},
    {"gru reverse without biases", OpId::gru_layer, "", true, false, false, false},
    {"gru packed", OpId::gru_layer, "", false, true, true, false},
    {"gru packed reverse", OpId::gru_layer, "", true, true, true, false},
    {"rnn tanh", OpId::rnn_layer, "tanh", false, false, true, false},
    {"rnn tanh packed reverse", OpId::rnn_layer, "tanh", true, true, true, false},
    {"rnn relu", OpId::rnn_layer, "relu", false, false, true, false},
    {"rnn relu reverse without biases", OpId::rnn_layer, "relu", true, false, false, false},
};

struct Sizes {
  std::int64_t steps, batch, in, hidden, out;
};

RecurrentLayer make_layer(const Case& c, const Sizes& s, DType dtype = DType::float64) {
  const std::int64_t gates = c.op == OpId::lstm_layer ? 4 : c.op == OpId::gru_layer ? 3 : 1;
  const std::int64_t out = c.projection ? s.out : s.hidden;
  const double scale = 1 / std::sqrt(static_cast<double>(s.hidden));
  const auto make = [&](const Shape& sizes, int seed, double by) { return to(values(sizes, seed) * by, dtype); };
  RecurrentLayer l;
  l.op = c.op;
  l.reverse = c.reverse;
  l.nonlinearity = c.nonlinearity;
  Shape input = {s.steps, s.batch, s.in};
  if (c.packed) {
    std::vector<double> sizes;
    std::int64_t total = 0;
    for (std::int64_t t = 0; t < s.steps; ++t) {
      const std::int64_t rows = std::max<std::int64_t>(1, s.batch - t * s.batch / (s.steps + 1));
      sizes.push_back(static_cast<double>(rows));
      total += rows;
    }
    l.batch_sizes = tensor(sizes, {.dtype = DType::int64});
    input = {total, s.in};
  }
  l.input = make(input, 1, 1);
  l.w_ih = make({gates * s.hidden, s.in}, 2, scale);
  l.w_hh = make({gates * s.hidden, out}, 3, scale);
  l.h0 = make({s.batch, out}, 4, 1);
  if (c.op == OpId::lstm_layer) l.c0 = make({s.batch, s.hidden}, 5, 1);
  if (c.biases) l.b_ih = make({gates * s.hidden}, 6, 1), l.b_hh = make({gates * s.hidden}, 7, 1);
  if (c.projection) l.w_hr = make({out, s.hidden}, 8, scale);
  return l;
}

Tensors operands(const RecurrentLayer& l) {
  Tensors all;
  for (const Tensor& t : {l.input, l.w_ih, l.w_hh, l.h0, l.c0, l.b_ih, l.b_hh, l.w_hr})
    if (t.defined()) all.push_back(t);
  return all;
}
Tensor everything(const RecurrentResult& r) {
  Tensor all = cat({flatten(r.out), flatten(r.h_n)});
  return r.c_n.defined() ? cat({all, flatten(r.c_n)}) : all;
}

// The layer with operands from a list, for gradcheck.
RecurrentLayer with(const RecurrentLayer& l, const Tensors& t) {
  RecurrentLayer copy = l;
  std::size_t k = 0;
  for (Tensor* to : {&copy.input, &copy.w_ih, &copy.w_hh, &copy.h0, &copy.c0, &copy.b_ih, &copy.b_hh, &copy.w_hr})
    if (to->defined()) *to = t[k++];
  return copy;
}

}  // namespace

TEST_CASE("A recurrent layer as one op has the values of the layer from single ops") {
  for (const Case& c : kCases) {
    INFO(c.name);
    const RecurrentLayer l = make_layer(c, {5, 3, 4, 6, 2});
    const RecurrentResult one = fused_layer(l), many = composed_layer(l);
    CHECK(worst(one.out, many.out) < 1e-14);
    CHECK(worst(one.h_n, many.h_n) < 1e-14);
    if (c.op == OpId::lstm_layer) CHECK(worst(one.c_n, many.c_n) < 1e-14);
  }
}

TEST_CASE("Gradients of recurrent layers") {
  for (const Case& c : kCases) {
    INFO(c.name);
    const RecurrentLayer l = make_layer(c, {4, 3, 2, 3, 2});
    for (const Tensor& t : operands(l)) t.requires_grad_();
    const auto f = [&](const Tensors& t) { return everything(fused_layer(with(l, t))); };
    CHECK(gradcheck(f, operands(l)) == "");
    CHECK(gradgradcheck(f, operands(l)) == "");
  }
}

TEST_CASE("Long sequences of large batches: many blocks, several threads, and the same gradients") {
  const int before = num_threads();
  for (const int threads : {1, 3}) {
    set_num_threads(threads);
    for (const Case& c : kCases) {
      INFO(c.name << ", " << threads << " threads");
      const RecurrentLayer l = make_layer(c, {90, 37, 5, 24, 7});
      const Tensors t = operands(l);
      for (const Tensor& x : t) x.requires_grad_();
      const Tensor one = everything(fused_layer(l)), many = everything(composed_layer(l));
      CHECK(worst(one, many) < 1e-12);
      const Tensors a = grad({test::weighted_sum(one)}, t), b = grad({test::weighted_sum(many)}, t);
      for (std::size_t i = 0; i < t.size(); ++i) CHECK(worst(a[i], b[i]) < 1e-9);
    }
  }
  set_num_threads(before);
}

TEST_CASE("Only what is asked for is differentiated") {
  for (const Case& c : kCases) {
    INFO(c.name);
    const RecurrentLayer l = make_layer(c, {4, 3, 2, 3, 2});
    const Tensors all = operands(l);
    for (const Tensor& t : all) t.requires_grad_();
    const Tensors whole = grad({test::weighted_sum(everything(fused_layer(l)))}, all);
    for (std::size_t only = 0; only < all.size(); ++only) {
      Tensors some;
      for (std::size_t i = 0; i < all.size(); ++i)
        some.push_back(i == only ? all[i].detach().requires_grad_() : all[i].detach());
      const Tensor one = grad({test::weighted_sum(everything(fused_layer(with(l, some))))}, {some[only]})[0];
      CHECK(worst(one, whole[only]) == 0);
    }
    // Gradients of a single result: the others are not there.
    const Tensor h_n = fused_layer(l).h_n, composed = composed_layer(l).h_n;
    CHECK(worst(grad({test::weighted_sum(h_n)}, {l.w_hh})[0], grad({test::weighted_sum(composed)}, {l.w_hh})[0]) <
          1e-13);
  }
}

TEST_CASE("A recurrent layer without gradients keeps no gates, and gives the same bits") {
  for (const Case& c : kCases)
    for (const DType dtype : {DType::float32, DType::float16}) {
      INFO(c.name);
      const RecurrentLayer l = make_layer(c, {6, 5, 4, 9, 2}, dtype);
      const Tensor quiet = everything(fused_layer(l));
      l.w_ih.requires_grad_();
      CHECK(worst(everything(fused_layer(l)), quiet) == 0);
    }
}

// Against float64 on the same rounded operands. Each step rounds what it gives out (half an eps of a value below 1) and
// each product sums `in + out` terms in float32; errors of earlier steps come on top, damped or kept by the gates.
TEST_CASE("Half precision layers stay within rounding of float64, forward and backward") {
  const Sizes s{6, 5, 8, 12, 4};
  for (const Case& c : kCases)
    for (const DType dtype : {DType::float32, DType::float16, DType::bfloat16}) {
      INFO(c.name << " " << name(dtype));
      const double eps = dtype == DType::float32 ? 0x1p-23 : dtype == DType::float16 ? 0x1p-10 : 0x1p-7;
      const double tolerance = static_cast<double>(s.steps) * (eps + static_cast<double>(s.in + s.hidden) * 0x1p-23);
      const RecurrentLayer low = make_layer(c, s, dtype);
      Tensors wide, narrow = operands(low);
      for (const Tensor& t : narrow) wide.push_back(to(t, DType::float64).detach().requires_grad_());
      for (const Tensor& t : narrow) t.requires_grad_();
      const Tensor got = everything(fused_layer(low)), want = everything(fused_layer(with(low, wide)));
      CHECK(got.dtype() == dtype);
      double largest = 1;
      for (const double v : want.to_vector()) largest = std::max(largest, std::abs(v));
      CHECK(worst(got, want) < tolerance * largest);
      const Tensors a = grad({sum(got, DType::float32)}, narrow), b = grad({sum(want)}, wide);
      for (std::size_t i = 0; i < a.size(); ++i) {
        CHECK(a[i].dtype() == dtype);
        double most = 1;
        for (const double v : b[i].to_vector()) most = std::max(most, std::abs(v));
        CHECK(worst(a[i], b[i]) < 2 * tolerance * most);
      }
    }
}

TEST_CASE("A half precision sequence cut in two gives the same bits: each step sees the state as it was given out") {
  for (const Case& c : kCases) {
    if (c.op == OpId::lstm_layer || c.packed || c.reverse) continue;  // an LSTM keeps its cell state in float32
    INFO(c.name);
    const RecurrentLayer l = make_layer(c, {6, 5, 4, 9, 2}, DType::float16);
    const RecurrentResult whole = fused_layer(l);
    RecurrentLayer part = l;
    part.input = narrow(l.input, 0, 0, 3);
    part.h0 = fused_layer(part).h_n;
    part.input = narrow(l.input, 0, 3, 3);
    const RecurrentResult second = fused_layer(part);
    CHECK(worst(second.out, narrow(whole.out, 0, 3, 3)) == 0);
    CHECK(worst(second.h_n, whole.h_n) == 0);
  }
}

TEST_CASE("A layer step by step is its cell") {
  const RecurrentLayer l = make_layer(kCases[0], {4, 3, 5, 6, 6});
  const RecurrentResult r = fused_layer(l);
  std::pair<Tensor, Tensor> state{l.h0, l.c0};
  for (std::int64_t t = 0; t < 4; ++t) {
    state = lstm_cell(l.input[t], state, l.w_ih, l.w_hh, l.b_ih, l.b_hh);
    CHECK(worst(r.out[t], state.first) < 1e-14);
  }
  CHECK(worst(r.c_n, state.second) < 1e-14);
  const RecurrentLayer g = make_layer(kCases[7], {4, 3, 5, 6, 6});
  const RecurrentResult gr = fused_layer(g);
  Tensor h = g.h0;
  for (std::int64_t t = 0; t < 4; ++t) {
    h = gru_cell(g.input[t], h, g.w_ih, g.w_hh, g.b_ih, g.b_hh);
    CHECK(worst(gr.out[t], h) < 1e-14);
  }
}

TEST_CASE("Fused cells: values and gradients, of every result") {
  const Tensor in4 = values({3, 20}, 1), state4 = values({3, 20}, 2), c = values({3, 5}, 3), b4 = values({20}, 4),
               d4 = values({20}, 5);
  const auto [h, cell, gates] = thnn_fused_lstm_cell(in4, state4, c, b4, d4);
  const Tensors a = chunk(in4 + state4 + b4 + d4, 4, 1);
  const Tensor want = sigmoid(a[1]) * c + sigmoid(a[0]) * tanh(a[2]);
  CHECK(worst(cell, want) < 1e-15);
  CHECK(worst(h, sigmoid(a[3]) * tanh(want)) < 1e-15);
  CHECK(worst(gates, cat({sigmoid(a[0]), sigmoid(a[1]), tanh(a[2]), sigmoid(a[3])}, 1)) < 1e-15);
  for (const Tensor& t : {in4, state4, c, b4, d4}) t.requires_grad_();
  const auto lstm_all = [](const Tensors& i) {
    const auto [x, y, z] = thnn_fused_lstm_cell(i[0], i[1], i[2], i[3], i[4]);
    return cat({x, y, z}, 1);
  };
  CHECK(gradcheck(lstm_all, {in4, state4, c, b4, d4}) == "");
  CHECK(gradgradcheck(lstm_all, {in4, state4, c, b4, d4}) == "");
  const auto lstm_hidden = [](const Tensors& i) { return std::get<0>(thnn_fused_lstm_cell(i[0], i[1], i[2])); };
  CHECK(gradcheck(lstm_hidden, {in4, state4, c}) == "");
  CHECK(gradgradcheck(lstm_hidden, {in4, state4, c}) == "");

  const Tensor in3 = values({3, 15}, 1), state3 = values({3, 15}, 2), b3 = values({15}, 4), d3 = values({15}, 5);
  for (const Tensor& t : {in3, state3, b3, d3}) t.requires_grad_();
  const auto gru_all = [](const Tensors& i) {
    const auto [x, y] = thnn_fused_gru_cell(i[0], i[1], i[2], i[3], i[4]);
    return cat({x, y}, 1);
  };
  CHECK(gradcheck(gru_all, {in3, state3, c, b3, d3}) == "");
  CHECK(gradgradcheck(gru_all, {in3, state3, c, b3, d3}) == "");
  const auto gru_hidden = [](const Tensors& i) { return thnn_fused_gru_cell(i[0], i[1], i[2]).first; };
  CHECK(gradcheck(gru_hidden, {in3, state3, c}) == "");
  CHECK(gradgradcheck(gru_hidden, {in3, state3, c}) == "");
}

TEST_CASE("Fused cells run in the region's dtype under CUDA's rules, and need one dtype otherwise") {
  const Tensor in = ones({2, 12}), c = ones({2, 3});
  {
    const autocast region("cpu", {.dtype = kBFloat16, .policy = Policy::cuda});
    CHECK(std::get<0>(thnn_fused_lstm_cell(in, in, c)).dtype() == kBFloat16);
    CHECK(thnn_fused_gru_cell(ones({2, 9}), ones({2, 9}), c).first.dtype() == kBFloat16);
  }
  const autocast region("cpu", {.dtype = kBFloat16});
  CHECK(std::get<0>(thnn_fused_lstm_cell(in, in, c)).dtype() == kFloat32);
  CHECK_THROWS_WITH(thnn_fused_lstm_cell(in.half(), in.half(), c),
                    ContainsSubstring("[thnn_fused_lstm_cell]") && ContainsSubstring("float16[2, 12]"));
}

TEST_CASE("Recurrent layers name what does not fit") {
  const Case& c = kCases[0];
  const auto broken = [&](auto change, const char* text) {
    RecurrentLayer l = make_layer(c, {4, 3, 2, 3, 3});
    change(l);
    CHECK_THROWS_WITH(fused_layer(l), ContainsSubstring("[lstm_layer]") && ContainsSubstring(text));
  };
  broken([](RecurrentLayer& l) { l.input = values({4, 3, 5}); }, "the input's weight does not fit");
  broken([](RecurrentLayer& l) { l.input = values({4, 2}); }, "input needs 3 dims");
  broken([](RecurrentLayer& l) { l.input = zeros({0, 3, 2}, {.dtype = DType::float64}); }, "has no step");
  broken([](RecurrentLayer& l) { l.h0 = values({2, 3}); }, "initial hidden state");
  broken([](RecurrentLayer& l) { l.c0 = values({3, 4}); }, "initial cell state");
  broken([](RecurrentLayer& l) { l.b_ih = values({11}); }, "the input's bias");
  broken([](RecurrentLayer& l) { l.w_hh = to(l.w_hh, DType::float32); }, "float32");
  broken([](RecurrentLayer& l) { l.batch_sizes = tensor({1, 2}, {.dtype = DType::int64}); }, "packed");
  broken(
      [](RecurrentLayer& l) {
        l.input = values({3, 2}), l.batch_sizes = tensor({1, 2}, {.dtype = DType::int64});
      },
      "must not grow");
  broken(
      [](RecurrentLayer& l) {
        l.input = values({9, 2}), l.batch_sizes = tensor({3, 2}, {.dtype = DType::int64});
      },
      "do not sum");
}
