// The notation of op_samples_*.cpp: AMP_SAMPLE(op, call, arguments...), AMP_SAMPLE_METHOD(op, call, method,
// arguments...). In a call, a[i] is argument i.
#pragma once
#include <utility>

#include "libamp/dispatch/run_op.h"
#include "libamp/ops/ops.h"
#include "tests/support/op_samples.h"

namespace amp::test {

inline Argument any(const Shape& sizes) { return {sizes, Fill::any}; }
inline Argument positive(const Shape& sizes) { return {sizes, Fill::positive}; }
inline Argument unit(const Shape& sizes) { return {sizes, Fill::unit}; }
inline Argument probability(const Shape& sizes) { return {sizes, Fill::probability}; }
inline Argument signs(const Shape& sizes) { return {sizes, Fill::signs, false}; }
inline Argument binary(const Shape& sizes) { return {sizes, Fill::binary, false}; }
inline Argument index_below(std::int64_t high, const Shape& sizes) { return {sizes, Fill::index, false, high}; }
inline Argument mask(const Shape& sizes) { return {sizes, Fill::mask, false}; }
inline Argument dominant(const Shape& sizes) { return {sizes, Fill::dominant}; }
/// A floating argument that never asks for a gradient.
inline Argument fixed(Argument argument) {
  argument.differentiable = false;
  return argument;
}

inline Tensors outputs(const Tensor& output) { return {output}; }
inline Tensors outputs(const Tensors& output) { return output; }
inline Tensors outputs(const std::pair<Tensor, Tensor>& output) { return {output.first, output.second}; }
inline Tensors outputs(const ValuesIndices& output) { return {output.values, output.indices}; }

/// Defined by each op_samples_*.cpp for its topic.
using SampleList = std::vector<OpSample>;

}  // namespace amp::test

#define AMP_SAMPLE_CALL(call) [](const ::amp::Tensors& a) -> ::amp::Tensors { return ::amp::test::outputs(call); }
#define AMP_SAMPLE(op, call, ...) \
  ::amp::test::OpSample { ::amp::OpId::op, #call, {__VA_ARGS__}, AMP_SAMPLE_CALL(call), nullptr }
#define AMP_SAMPLE_METHOD(op, call, method, ...) \
  ::amp::test::OpSample { ::amp::OpId::op, #call, {__VA_ARGS__}, AMP_SAMPLE_CALL(call), AMP_SAMPLE_CALL(method) }
