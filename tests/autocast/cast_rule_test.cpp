// The cast decision as a pure function: rule x operands x region -> dtype and reason (SEMANTICS: the dtype matrix).
#include "libamp/autocast/cast_rule.h"

#include <catch2/catch_test_macros.hpp>
#include <vector>

using namespace amp;
using D = DType;

namespace {

OpInfo row(CastRule rule, int min_inputs = 2, int max_inputs = 6) {
  return {"op", rule, CastRule::none, min_inputs, max_inputs, BodyKind::backend, true, 0, "free", ""};
}
Operand on_cpu(D dtype) { return {true, dtype, DeviceType::cpu}; }
const DeviceAutocast kHalfRegion{true, D::float16, Policy::cuda, false};

}  // namespace

TEST_CASE("each rule gives the dtype and the reason of the matrix") {
  struct Row {
    CastRule rule;
    std::vector<D> operands;
    D target;
    Reason reason;
  };
  const D none = D::count_;
  const Row rows[] = {
      {CastRule::lower_precision, {D::float32, D::float32}, D::float16, Reason::listed_lower},
      {CastRule::lower_precision, {D::bfloat16, D::float32}, D::float16, Reason::listed_lower},
      {CastRule::lower_precision, {D::float8_e5m2, D::float32}, D::float16, Reason::listed_lower},
      {CastRule::lower_precision, {D::float64, D::float64}, D::float16, Reason::left_alone},
      {CastRule::lower_precision, {D::int64, D::int64}, D::float16, Reason::left_alone},
      {CastRule::fp32, {D::float16}, D::float32, Reason::listed_fp32},
      {CastRule::fp32, {D::float64}, D::float32, Reason::left_alone},
      {CastRule::promote, {D::float16, D::float16}, D::float16, Reason::promoted_widest},
      {CastRule::promote, {D::float16, D::float32}, D::float32, Reason::promoted_widest},
      {CastRule::promote, {D::float32, D::bfloat16}, D::float32, Reason::promoted_widest},
      {CastRule::promote, {D::float64, D::float64}, D::float16, Reason::left_alone},
      {CastRule::none, {D::float32}, none, Reason::not_listed},
  };
  for (const auto& r : rows) {
    std::vector<Operand> operands;
    for (const D d : r.operands) operands.push_back(on_cpu(d));
    const CastDecision decision = decide(row(r.rule), operands, DeviceType::cpu, kHalfRegion, {});
    CHECK(decision.refusal == Refusal::none);
    CHECK(decision.target == r.target);
    CHECK(decision.reason == r.reason);
  }
}

TEST_CASE("promotion depends on the order of the arguments, as PyTorch's does") {
  const auto op = row(CastRule::promote);
  const Operand half = on_cpu(D::float16), bf16 = on_cpu(D::bfloat16), single = on_cpu(D::float32);
  const DeviceAutocast bf16_region{true, D::bfloat16, Policy::cuda, false};
  const auto refusal = [&](std::vector<Operand> operands) {
    return decide(op, operands, DeviceType::cpu, bf16_region, {}).refusal;
  };
  CHECK(refusal({half, single}) == Refusal::promote_mismatch);
  CHECK(refusal({single, half}) == Refusal::none);
  CHECK(refusal({half, half}) == Refusal::promote_mismatch);
  CHECK(refusal({bf16, single}) == Refusal::none);
  CHECK(refusal({on_cpu(D::float64), bf16}) == Refusal::none);
  // Optional arguments do not vote: the third of an op with two required ones is cast, whatever it is.
  CHECK(refusal({bf16, bf16, half}) == Refusal::none);
}

TEST_CASE("the dtype argument is set only where the first operand is eligible and none was given") {
  const auto op = row(CastRule::fp32_set_opt_dtype, 1);
  const auto with = [&](D dtype, bool given) {
    const std::vector<Operand> operands = {on_cpu(dtype)};
    return decide(op, operands, DeviceType::cpu, kHalfRegion, {.dtype_given = given});
  };
  CHECK(with(D::float16, false).dtype_attribute == D::float32);
  CHECK(with(D::float16, false).target == D::count_);  // the input itself is not cast
  CHECK(with(D::float16, true).dtype_attribute == D::count_);
  CHECK(with(D::float16, true).reason == Reason::explicit_dtype);
  CHECK(with(D::int64, false).dtype_attribute == D::count_);
  CHECK(with(D::float64, false).dtype_attribute == D::count_);
  const auto append = row(CastRule::fp32_append_dtype, 1);
  const std::vector<Operand> doubles = {on_cpu(D::float64)};
  CHECK(decide(append, doubles, DeviceType::cpu, kHalfRegion, {}).dtype_attribute == D::float64);
}

TEST_CASE("a banned op is refused whatever its dtypes, but only where its tensors are") {
  const auto op = row(CastRule::banned);
  for (const D d : {D::float16, D::float32, D::float64}) {
    const std::vector<Operand> operands = {on_cpu(d), on_cpu(d)};
    CHECK(decide(op, operands, DeviceType::cpu, kHalfRegion, {}).refusal == Refusal::banned);
    CHECK(decide(op, operands, DeviceType::cuda, kHalfRegion, {}).refusal == Refusal::none);
  }
}

TEST_CASE("the reason says why nothing was decided") {
  const auto op = row(CastRule::lower_precision);
  const std::vector<Operand> operands = {on_cpu(D::float32), on_cpu(D::float32)};
  DeviceAutocast off{};
  const auto reason = [&](const DeviceAutocast& state, CallForm form) {
    return decide(op, operands, DeviceType::cpu, state, form).reason;
  };
  CHECK(reason(off, {}) == Reason::autocast_off);
  off.nested_off = true;
  CHECK(reason(off, {}) == Reason::nested_off);
  CHECK(reason(off, {.in_backward = true}) == Reason::gradient_formula);
  CHECK(reason(off, {.inside_listed_op = true}) == Reason::inside_listed_op);
  CHECK(reason(kHalfRegion, {.in_place_or_out = true}) == Reason::in_place_or_out);
}

TEST_CASE("operands of another device are never touched") {
  const std::vector<Operand> operands = {{true, D::float32, DeviceType::cuda}};
  CHECK_FALSE(is_eligible(operands[0], DeviceType::cpu));
  CHECK(decide(row(CastRule::fp32, 1), operands, DeviceType::cpu, kHalfRegion, {}).reason == Reason::left_alone);
}
