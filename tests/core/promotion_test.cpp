// Type promotion against PyTorch's table (torch.promote_types, torch.result_type).
#include <catch2/catch_test_macros.hpp>

#include "libamp/ops/ops.h"

using namespace amp;

TEST_CASE("two dtypes meet where PyTorch's table says") {
  using D = DType;
  struct Row {
    D a, b, result;
  };
  const Row rows[] = {
      {D::float16, D::bfloat16, D::float32}, {D::float16, D::float32, D::float32},
      {D::bfloat16, D::float64, D::float64}, {D::int64, D::float16, D::float16},
      {D::uint8, D::int8, D::int16},         {D::uint8, D::int16, D::int16},
      {D::uint8, D::int64, D::int64},        {D::bool_, D::uint8, D::uint8},
      {D::bool_, D::float16, D::float16},    {D::int8, D::int32, D::int32},
      {D::bool_, D::bool_, D::bool_},        {D::int32, D::float64, D::float64},
  };
  for (const auto& row : rows) {
    CHECK(promote_types(row.a, row.b) == row.result);
    CHECK(promote_types(row.b, row.a) == row.result);
  }
  CHECK_THROWS_AS(promote_types(D::float8_e4m3fn, D::float16), Error);
  CHECK(promote_types(D::float8_e5m2, D::float8_e5m2) == D::float8_e5m2);
}

TEST_CASE("0-dim tensors and numbers count only by category") {
  const Tensor half = zeros({2}, {.dtype = DType::float16});
  const Tensor ints = zeros({2}, {.dtype = DType::int32});
  const Tensor scalar32 = zeros({}, {.dtype = DType::float32});
  CHECK(result_type({half, scalar32}) == DType::float16);
  CHECK(result_type({ints, scalar32}) == DType::float32);
  CHECK(result_type({half, wrapped_number(2.0)}) == DType::float16);
  CHECK(result_type({ints, wrapped_number(std::int64_t{2})}) == DType::int32);
  CHECK(result_type({ints, wrapped_number(2.0)}) == DType::float32);
  // A 0-dim half loss times a 0-dim float32 scale is float32, which GradScaler relies on.
  CHECK(result_type({zeros({}, {.dtype = DType::float16}), scalar32}) == DType::float32);
  CHECK((half * 2.0).dtype() == DType::float16);
  CHECK((ints / 2.0).dtype() == DType::float32);
}
