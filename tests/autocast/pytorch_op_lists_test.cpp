// PyTorch's op-list tests of autocast, by their names: every listed op has the dtype its list says. They go over the
// sample calls of tests/support, so an op that is added to a list is tested as soon as it has a sample, and one test
// fails if it has none.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <set>

#include "libamp/ops/ops.h"
#include "tests/autocast/op_list_check.h"

using namespace amp;
using namespace amp::test;
using Catch::Matchers::ContainsSubstring;

namespace {

// PyTorch keeps its lists by where a function lives in Python.
enum class Home { torch, nn, linalg };
Home home_of(OpId op) {
  static const std::set<std::string_view> nn{"linear",
                                             "prelu",
                                             "softplus",
                                             "nll_loss",
                                             "l1_loss",
                                             "smooth_l1_loss",
                                             "mse_loss",
                                             "huber_loss",
                                             "multilabel_margin_loss",
                                             "soft_margin_loss",
                                             "multi_margin_loss",
                                             "scaled_dot_product_attention"};
  const std::string_view name = op_info(op).name;
  return name.starts_with("linalg_") ? Home::linalg : nn.contains(name) ? Home::nn : Home::torch;
}

// Checks every sample of ops that `policy` gives this rule; returns how many there were.
int check_list(Policy policy, CastRule rule, Home home, DType fast, bool methods_only = false) {
  int count = 0;
  for (const OpSample& sample : op_samples()) {
    if (op_info(sample.op).rule(policy) != rule || home_of(sample.op) != home) continue;
    if (methods_only && !sample.method) continue;
    ++count;
    const DType ran_in = rule == CastRule::lower_precision ? fast : DType::float32;
    for (const DType given : {DType::float32, fast})
      CHECK(check_listed(sample, policy, fast, given, ran_in, ran_in) == "");
  }
  return count;
}

int check_fp32_lists(Policy policy, Home home, bool methods_only = false) {
  int count = 0;
  for (const DType fast : {kFloat16, kBFloat16})
    for (const CastRule rule : {CastRule::fp32, CastRule::fp32_set_opt_dtype, CastRule::fp32_append_dtype})
      count += check_list(policy, rule, home, fast, methods_only);
  return count;
}

// Samples of ops on no list that promote by themselves: run once with the first argument in `first`.
Tensors run_mixed(const OpSample& sample, DType first, DType others) {
  Tensors arguments = make_arguments(sample, others);
  if (arguments[0].is_floating_point()) arguments[0] = arguments[0].to(first);
  return sample.function(arguments);
}

}  // namespace

TEST_CASE("every op on a list of autocast has a sample call, and every sample runs in float64") {
  for (std::size_t i = 1; i < kOpCount; ++i) {
    const OpInfo& op = op_info(static_cast<OpId>(i));
    if (op.cuda_rule == CastRule::none && op.cpu_rule == CastRule::none) continue;
    INFO("op " << op.name << " needs a row in tests/support/op_samples_*.cpp");
    CHECK_FALSE(samples_of(static_cast<OpId>(i)).empty());
  }
  for (const OpSample& sample : op_samples()) {
    INFO(op_info(sample.op).name << ": " << sample.text);
    CHECK_NOTHROW(sample.function(make_arguments(sample, kFloat64)));
  }
}

TEST_CASE("test_autocast_torch_fp16") {
  CHECK(check_list(Policy::cuda, CastRule::lower_precision, Home::torch, kFloat16) > 20);
}

TEST_CASE("test_autocast_torch_bf16") {
  CHECK(check_list(Policy::cuda, CastRule::lower_precision, Home::torch, kBFloat16) > 20);
}

TEST_CASE("test_autocast_torch_low_precision") {  // the CPU's list, which is shorter
  for (const DType fast : {kFloat16, kBFloat16})
    CHECK(check_list(Policy::cpu, CastRule::lower_precision, Home::torch, fast) > 10);
}

TEST_CASE("test_autocast_torch_fp32") {
  CHECK(check_fp32_lists(Policy::cuda, Home::torch) > 40);
  CHECK(check_fp32_lists(Policy::cpu, Home::torch) > 10);
}

TEST_CASE("test_autocast_nn_fp16") {
  CHECK(check_list(Policy::cuda, CastRule::lower_precision, Home::nn, kFloat16) > 0);
}

TEST_CASE("test_autocast_nn_bf16") {
  CHECK(check_list(Policy::cuda, CastRule::lower_precision, Home::nn, kBFloat16) > 0);
}

TEST_CASE("test_autocast_nn_low_precision") {
  for (const DType fast : {kFloat16, kBFloat16})
    CHECK(check_list(Policy::cpu, CastRule::lower_precision, Home::nn, fast) > 0);
}

TEST_CASE("test_autocast_nn_fp32") {
  CHECK(check_fp32_lists(Policy::cuda, Home::nn) > 0);
  CHECK(check_fp32_lists(Policy::cpu, Home::nn) > 0);
}

TEST_CASE("test_autocast_linalg_fp16") {
  for (const DType fast : {kFloat16, kBFloat16})
    CHECK(check_list(Policy::cuda, CastRule::lower_precision, Home::linalg, fast) > 0);
}

TEST_CASE("test_autocast_methods_fp16") {
  for (const DType fast : {kFloat16, kBFloat16})
    CHECK(check_list(Policy::cuda, CastRule::lower_precision, Home::torch, fast, true) > 0);
}

TEST_CASE("test_autocast_methods_fp32") {
  CHECK(check_fp32_lists(Policy::cuda, Home::torch, true) > 0);
  // PyTorch's __rdiv__ is reciprocal() * number, which is why it is on the documented list.
  const autocast region(DeviceType::cpu, rules(Policy::cuda, kFloat16));
  CHECK((2.0 / ones({3}).half()).dtype() == kFloat32);
  CHECK(pow(2.0, ones({3}).half()).dtype() == kFloat32);
}

TEST_CASE("test_autocast_torch_need_autocast_promote") {
  for (const Policy policy : {Policy::cuda, Policy::cpu})
    for (const DType fast : {kFloat16, kBFloat16})
      for (const OpSample& sample : op_samples()) {
        if (op_info(sample.op).rule(policy) != CastRule::promote) continue;
        INFO(sample.text << " with " << name(fast));
        // All in the fast dtype: stays there. One float32 among them: all meet in float32, bit for bit.
        CHECK(check_listed(sample, policy, fast, fast, fast, fast) == "");
        const Tensors wide = cast_all(make_arguments(sample, kFloat32), kFloat32);
        const Tensors by_hand = sample.function(wide);
        const autocast region(DeviceType::cpu, rules(policy, fast));
        for (const auto& [first, others] : {std::pair{fast, kFloat32}, std::pair{kFloat32, fast}}) {
          const Tensors mixed = run_mixed(sample, first, others);
          CHECK(same_bits(mixed, by_hand));
        }
      }
}

TEST_CASE("test_autocast_torch_expect_builtin_promote") {
  // On no list, or not on that device's: the wider type by the ordinary rules, also inside a region.
  for (const DType fast : {kFloat16, kBFloat16})
    for (const char* op : {"add", "sub", "mul", "div", "eq", "ne", "lt", "le", "gt", "ge", "cat", "stack"})
      for (const OpSample* sample : samples_of(find_op(op))) {
        INFO(sample->text << " with " << name(fast));
        const Tensors outside[] = {run_mixed(*sample, fast, kFloat32), run_mixed(*sample, kFloat32, fast)};
        const autocast region(DeviceType::cpu, rules(Policy::cuda, fast));
        const Tensors inside[] = {run_mixed(*sample, fast, kFloat32), run_mixed(*sample, kFloat32, fast)};
        for (const int i : {0, 1}) {
          const DType result = inside[i][0].dtype();
          CHECK((result == kBool || result == kFloat32));
          CHECK(same_bits(inside[i], outside[i]));
        }
      }
}

TEST_CASE("test_autocast_methods_expect_builtin_promote") {
  const Tensor half = tensor({1, 2, 3}, {.dtype = kFloat16}), wide = tensor({3, 2, 1});
  const autocast region(DeviceType::cpu, rules(Policy::cuda, kFloat16));
  CHECK((half + wide).dtype() == kFloat32);
  CHECK((wide - half).dtype() == kFloat32);
  CHECK((half * wide).dtype() == kFloat32);
  CHECK((half / wide).dtype() == kFloat32);
  CHECK((half * half).dtype() == kFloat16);
  CHECK(half.eq(wide).dtype() == kBool);
}

TEST_CASE("test_autocast_banned") {
  const OpSample& sample = *samples_of(find_op("binary_cross_entropy")).at(0);
  for (const DType given : {kFloat16, kFloat32, kFloat64}) {
    const autocast region(DeviceType::cpu, rules(Policy::cuda, kFloat16));
    CHECK_THROWS_WITH(sample.function(make_arguments(sample, given)),
                      ContainsSubstring("unsafe to autocast") && ContainsSubstring("with_logits"));
    const autocast off("cpu", {.enabled = false});
    CHECK_NOTHROW(sample.function(make_arguments(sample, given)));
  }
  const autocast region(DeviceType::cpu, rules(Policy::cpu, kBFloat16));  // the CPU allows it, in float32
  CHECK(sample.function(make_arguments(sample, kBFloat16))[0].dtype() == kFloat32);
}

TEST_CASE("test_autocast_ignored_types") {
  for (const DType fast : {kFloat16, kBFloat16}) {
    const autocast region(DeviceType::cpu, rules(Policy::cuda, fast));
    const Tensor wide = ones({4, 4}, {.dtype = kFloat64}), integers = ones({4, 4}, {.dtype = kInt32});
    const Tensor half = ones({4, 4}, {.dtype = kFloat16});
    CHECK_THROWS_AS(mm(wide, half), Error);  // reaches the op mixed
    CHECK(mm(wide, wide).dtype() == kFloat64);
    CHECK(mm(integers, integers).dtype() == kInt32);
    CHECK(exp(wide).dtype() == kFloat64);                  // fp32
    CHECK(sum(wide).dtype() == kFloat64);                  // fp32_set_opt_dtype
    CHECK(sum(integers).dtype() == kInt64);                // so that integers keep their own rule
    CHECK(norm(wide).dtype() == kFloat64);                 // fp32_append_dtype
    CHECK(addcmul(wide, wide, wide).dtype() == kFloat64);  // promote
  }
  for (const OpSample& sample : op_samples()) {  // float64 goes through every listed op untouched
    const CastRule rule = op_info(sample.op).cuda_rule;
    if (rule == CastRule::none || rule == CastRule::banned) continue;
    INFO(sample.text);
    const Tensors arguments = make_arguments(sample, kFloat64);
    const Tensors outside = sample.function(arguments);
    const autocast region(DeviceType::cpu, rules(Policy::cuda, kFloat16));
    CHECK(same_bits(sample.function(arguments), outside));
  }
}
