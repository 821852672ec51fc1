// Gradients of the whole table: each sample call's gradients, and the gradients of those, against difference quotients
// in float64. A differentiable row without a sample fails here, so an op that is added is tested as it comes.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <map>
#include <set>

#include "libamp/autocast/scope.h"
#include "libamp/autograd/gradient.h"
#include "tests/support/gradcheck.h"
#include "tests/support/op_samples.h"

using namespace amp;
using namespace amp::test;
using Catch::Matchers::ContainsSubstring;

namespace {

// Rows whose gradient is another thing than the derivative of what they compute, as in PyTorch; tests of their own say
// what it is.
const std::set<std::string_view> kNotTheDerivative{
    "to",                               // the sample rounds to float32
    "fake_quantize_per_tensor_affine",  // straight through
    "ctc_loss", "ctc_loss_nll",         // that of the logits, see backend/cpu/ctc.cpp
};
// Rows that back-propagate once: PyTorch has no second derivative of them either.
const std::set<std::string_view> kOnce{"grid_sampler", "ctc_loss", "ctc_loss_nll"};
// Declared `missing`: the two above, geqrf, which PyTorch does not differentiate at all, and fused gradients that are
// only run where nothing is recorded (while it is, single ops take their place, to any order).
const std::set<std::string_view> kMissing{"grid_sampler_backward",
                                          "ctc_loss_backward",
                                          "geqrf",
                                          "layer_norm_backward",
                                          "rms_norm_backward",
                                          "group_norm_backward",
                                          "batch_norm_backward",
                                          "attention_backward",
                                          "thnn_fused_lstm_cell_backward",
                                          "thnn_fused_gru_cell_backward",
                                          "lstm_layer_backward",
                                          "gru_layer_backward",
                                          "rnn_layer_backward"};

// One number of all floating outputs, weighted.
Tensor weighed(const Tensors& outputs) {
  Tensor total;
  for (const Tensor& t : outputs) {
    if (!t.defined() || !t.is_floating_point() || t.numel() == 0) continue;
    const Tensor part = weighted_sum(t.to(DType::float64));
    total = total.defined() ? total + part : part;
  }
  return total;
}

bool is_differentiable(const OpSample& sample) {
  for (const Argument& argument : sample.arguments)
    if (argument.is_floating() && argument.differentiable) {
      const Tensor result = weighed(sample.function(make_arguments(sample, kFloat64, 1, true)));
      return result.defined() && result.requires_grad();
    }
  return false;
}

TensorFunction function_of(const OpSample& sample) {
  return [&sample](const Tensors& arguments) { return weighed(sample.function(arguments)); };
}

}  // namespace

TEST_CASE("every differentiable row of the table has a sample call that back-propagates") {
  for (std::size_t i = 1; i < kOpCount; ++i) {
    const auto op = static_cast<OpId>(i);
    if (gradient_formula(op) == nullptr) continue;
    INFO("op " << op_info(op).name << " needs a row in tests/support/op_samples_*.cpp");
    bool any = false;
    for (const OpSample* sample : samples_of(op)) any = any || is_differentiable(*sample);
    CHECK(any);
  }
}

TEST_CASE("gradients of every sample call are its difference quotients") {
  for (const OpSample& sample : op_samples()) {
    if (kNotTheDerivative.contains(op_info(sample.op).name) || kMissing.contains(op_info(sample.op).name)) continue;
    INFO(op_info(sample.op).name << ": " << sample.text);
    if (!is_differentiable(sample)) continue;
    CHECK(gradcheck(function_of(sample), make_arguments(sample, kFloat64, 1, true)) == "");
  }
}

TEST_CASE("gradients of gradients of every sample call are difference quotients of the gradients") {
  for (const OpSample& sample : op_samples()) {
    const std::string_view name = op_info(sample.op).name;
    if (kOnce.contains(name) || kMissing.contains(name) || kNotTheDerivative.contains(name)) continue;
    INFO(name << ": " << sample.text);
    if (!is_differentiable(sample)) continue;
    CHECK(gradgradcheck(function_of(sample), make_arguments(sample, kFloat64, 1, true)) == "");
  }
}

TEST_CASE("what cannot be differentiated twice says so by name") {
  for (const std::string_view name : kOnce) {
    INFO(name);
    REQUIRE_FALSE(samples_of(find_op(name)).empty());
    const OpSample& sample = *samples_of(find_op(name))[0];
    const Tensors arguments = make_arguments(sample, kFloat64, 1, true);
    const Tensor first = grad({weighed(sample.function(arguments))}, {arguments[0]}, {}, true, true)[0];
    const std::string inner =
        std::string(name.substr(0, 8)) + (name.starts_with("ctc") ? "_backward" : "pler_backward");
    CHECK_THROWS_WITH(grad({weighted_sum(first)}, {arguments[0]}), ContainsSubstring(inner));
  }
}

TEST_CASE("only rows that PyTorch cannot differentiate either, and fused gradients, are declared missing") {
  for (std::size_t i = 1; i < kOpCount; ++i) {
    const OpInfo& op = op_info(static_cast<OpId>(i));
    if (!op.differentiable || gradient_formula(static_cast<OpId>(i)) != nullptr) continue;
    INFO(op.name);
    CHECK(kMissing.contains(op.name));
  }
}
